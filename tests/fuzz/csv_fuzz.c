/* SPDX-License-Identifier: Apache-2.0 */
/* CSV files, as elements of a job's data set. The first byte says what the job says of them. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "fuzz.h"

static const char *const words[] = {
    "element: {x: {columns: [a, b]}, y: {column: c, dtype: int32}}",
    "header: false, element: {x: {columns: [0, 1], dtype: int64}, y: {column: 2, default_value: "
    "7}}",
    "field_delim: ';', element: {x: {columns: [a, b], dtype: uint8}, y: {column: c, dtype: int32, "
    "vocabulary: [red, green]}}",
    "element: {x: {columns: [a, b, c, d], shape: [2, 2], dtype: float64, default_value: -1}}",
    "element: {x: {column: a, dtype: bool}, y: {column: b, dtype: int8}, z: {column: c, dtype: "
    "int16}}, "
    "map: {x: [text_vectorization: {output_sequence_length: 2}]}",
    "element: {s: {column: a, dtype: string, max_bytes: 9}, y: {column: b, dtype: int8, "
    "default_value: 200}}, map: {s: [string_lookup: {}]}",
    "element: {x: {column: a, dtype: bool}, y: {column: b, dtype: int8}, z: {column: c, dtype: "
    "int16}}",
    "element: {x: {columns: [\"a*\", 1]}, y: {columns: {all_but: [\"a*\", b..c]}, dtype: int8}}",
    "field_delim: whitespace, comment: '#', skip_rows: 1, element: {x: {columns: [a, b], dtype: "
    "int32}, y: {column: c, dtype: bool}}",
    "escapechar: \"\\\\\", comment: '#', thousands: ',', decimal: \".\", element: {x: {columns: "
    "[a, b]}, y: {column: c, vocabulary: {\"1\": p, \"2\": q}}}",
    "thousands: \" \", symbols: true, element: {x: {columns: [a, b]}, y: {column: c, dtype: int8}}",
    "missing_values: [NA, -1, ''], element: {x: {columns: [a, b]}, s: {column: c, dtype: string, "
    "max_bytes: 9}, v: {column: d, vocabulary: [p, q]}}, map: {x: [impute: {strategy: median, "
    "indicator: true}], s: [impute: most_frequent, string_lookup], v: [impute: most_frequent]}",
    "element: {x: {column: a, dtype: int8, vocabulary: [w0,w1,w2,w3,w4,w5,w6,w7,w8,w9]}, y: "
    "{column: b, dtype: int32}}, "
    "map: {y: [one_hot: {num_classes: 3}]}",
};
enum { WORDS = sizeof words / sizeof *words };

/* Of the same bytes, cut in two files where a line of dashes is. */
static void read_two(const char *words_of_job, const uint8_t *data, size_t size) {
    static const char between[] = "\n-----\n";
    const uint8_t *cut = memmem(data, size, between, strlen(between));
    if (!cut) return;
    const uint8_t *second = cut + strlen(between);
    const char *folder = fuzz_folder("a.csv", data, (size_t)(cut - data) + 1);
    fuzz_folder_add("b.csv", second, size - (size_t)(second - data));
    fuzz_dataset("{format: csv, train: %s/*.csv, %s, global_batch_size: 4}", folder, words_of_job);
}

FUZZ_TARGET(csv) {
    if (size == 0) return 0;
    const char *chosen = words[data[0] % WORDS];
    fuzz_dataset("{format: csv, train: %s, %s, global_batch_size: 4}",
                 fuzz_file(data + 1, size - 1), chosen);
    read_two(chosen, data + 1, size - 1);
    return 0;
}
