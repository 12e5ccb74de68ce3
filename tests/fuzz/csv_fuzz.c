/* CSV files, as elements of a job's data set. The first byte says what the job says of them. */
#include "fuzz.h"

static const char *const words[] = {
    "element: {x: {columns: [a, b]}, y: {column: c, dtype: int32}}",
    "header: false, element: {x: {columns: [0, 1], dtype: int64}, y: {column: 2, default_value: 7}}",
    "field_delim: ';', element: {x: {columns: [a, b], dtype: uint8}, y: {column: c, dtype: int32, vocabulary: [red, green]}}",
    "element: {x: {columns: [a, b, c, d], shape: [2, 2], dtype: float64, default_value: -1}}",
};
enum { WORDS = sizeof words / sizeof *words };

FUZZ_TARGET(csv)
{
    if (size > 0)
        fuzz_dataset("{format: csv, train: %s, %s, global_batch_size: 4}", fuzz_file(data + 1, size - 1), words[data[0] % WORDS]);
    return 0;
}
