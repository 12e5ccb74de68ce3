/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `predict` reads row by row: NPY, NPZ, IDX, CSV, JSON lines, TFRecord, pictures, told apart
 * by their first bytes. The byte before them says what the job says of its own data, and whether
 * they come from standard input.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/rows_file.h"
#include "fuzz.h"

enum { MOST_BATCHES = 64, BATCH = 4, MOST_INPUTS = 7, FROM_STDIN = 128 };

/* What a model takes: x (B, 2), and y (B); or one of each dtype. */
static const dt_element_spec few[] = {
    {.name = "x", .type = {.dtype = DT_FLOAT32, .rank = 2, .dim = {-1, 2}}},
    {.name = "y", .type = {.dtype = DT_INT32, .rank = 1, .dim = {-1}}},
};
#define ONE(n, d)                                                                                  \
    {                                                                                              \
        .name = n, .type = {.dtype = d, .rank = 1, .dim = {-1} }                                   \
    }
static const dt_element_spec each[MOST_INPUTS] = {
    ONE("a", DT_BOOL),  ONE("b", DT_UINT8), ONE("c", DT_INT8),   ONE("d", DT_INT16),
    ONE("e", DT_INT32), ONE("f", DT_INT64), ONE("g", DT_FLOAT64)};

#define SYNTHETIC                                                                                  \
    "{format: synthetic, examples: 4, element: {x: {shape: [2]}, y: {dtype: int32}}, map: {x: "    \
    "[{rescale: {scale: 0.5}}]}, global_batch_size: 4}"
static const struct {
    const char *text;
    const dt_element_spec *input;
    int n;
} jobs[] = {
    {SYNTHETIC, few, 1},
    {SYNTHETIC, few, 2},
    {"{format: csv, train: t, element: {x: {columns: [a, b]}, y: {column: c, dtype: int32}}, "
     "global_batch_size: 4}",
     few, 2},
    {"{format: csv, train: t, header: false, field_delim: ';', element: {x: {columns: [0, 1]}}, "
     "global_batch_size: 4}",
     few, 2},
    {"{format: csv, train: t, header: false, element: {x: {columns: [1, 2], default_value: 3}}, "
     "global_batch_size: 4}",
     few, 1},
    {"{format: tfrecord, train: t, element: {x: {shape: [2]}, y: {dtype: int32}}, "
     "global_batch_size: 4}",
     few, 2},
    {"{format: csv, train: t, element: {x: {column: a, dtype: string, max_bytes: 9}}, map: {x: "
     "[text_vectorization: {output_sequence_length: 2, "
     "vocabulary: [to, be]}]}, global_batch_size: 4}",
     few, 1},
    {"{format: tfrecord, train: t, element: {x: {dtype: string, max_bytes: 9}}, map: {x: "
     "[text_vectorization: {output_sequence_length: 2}]}, "
     "global_batch_size: 4}",
     few, 1},
    {"{format: csv, train: t, element: {x: {column: a, dtype: int32}}, map: {x: [one_hot: "
     "{num_classes: 2}]}, global_batch_size: 4}",
     few, 1},
    {"{format: csv, train: t, element: {a: {column: a, dtype: bool}, b: {column: b, dtype: uint8}, "
     "c: {column: c, dtype: int8}, d: {column: d, dtype: int16}, e: {column: e, dtype: int32}, "
     "f: {column: f, dtype: int64}, g: {column: g, dtype: float64}}, global_batch_size: 4}",
     each, MOST_INPUTS},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

/* Read once. */
static const dt_dataset_spec *spec_of(int job) {
    static dt_arena *arena;
    static dt_dataset_spec spec[JOBS];
    static dt_source source[JOBS];
    dt_tree *tree;
    if (spec[job].format) return &spec[job];
    arena = arena ? arena : dt_arena_create();
    source[job] = (dt_source){"job", jobs[job].text, strlen(jobs[job].text)};
    dt_status *s = dt_fragment_parse(arena, &source[job], &tree);
    if (!s) s = dt_dataset_read(arena, tree, "", 1, &spec[job]);
    FUZZ_CHECK(!s, dt_status_text(s));
    return &spec[job];
}

/* What one input of the fuzzer asks: whose data, and what is copied or answered beside the rows. */
typedef struct asked {
    int job;
    bool answers, keeps;
} asked;

static void look_beside(const dt_dataset *rows, int64_t first, int64_t n) {
    size_t bytes = 0;
    for (int64_t i = first; i < first + n; i++) {
        for (int k = 0; k < dt_rows_keep(rows)->n; k++)
            bytes += strlen(dt_rows_kept(rows, i, k).text);
        if (dt_rows_give_faults(rows) && dt_rows_fault(rows, i))
            bytes += strlen(dt_rows_fault(rows, i));
    }
    FUZZ_CHECK(bytes < (size_t)1 << 40, "columns without an end");
}

static dt_status *read_batches(dt_dataset *rows) {
    dt_iterator *feed = NULL;
    dt_example b = {.rows = 1};
    int64_t done = 0;
    dt_status *bad = dt_iterator_open_batches(&feed, rows, &(dt_batch_options){.batch = BATCH});
    for (int i = 0; !bad && b.rows > 0 && i < MOST_BATCHES; i++, done += b.rows) {
        bad = dt_iterator_next_batch(feed, &b);
        if (!bad) look_beside(rows, done, b.rows);
        if (i % 3 == 2) dt_rows_forget(rows);
    }
    dt_iterator_close(feed);
    return bad;
}

static void read_rows(const char *path, const asked *a) {
    static const char *column[] = {"a", "c"};
    const int job = a->job;
    const dt_rows_request q = {.path = path,
                               .job = spec_of(job),
                               .input = jobs[job].input,
                               .n = jobs[job].n,
                               .once = true,
                               .answers = a->answers,
                               .keep = {.n = a->keeps ? 2 : 0, .v = column}};
    const dt_element_spec *element;
    dt_dataset *rows = NULL;
    dt_status *bad = dt_rows_open(&rows, &q);
    if (!bad) {
        FUZZ_CHECK(dt_dataset_count(rows, DT_PART_TRAIN) >= -1 &&
                       dt_dataset_elements(rows, &element) == jobs[job].n &&
                       strcmp(element->name, jobs[job].input->name) == 0,
                   "other rows");
        bad = read_batches(rows);
    }
    fuzz_done(bad);
    dt_dataset_unref(rows);
}

/* Standard input comes back after that. */
static void read_from_stdin(const char *path, const asked *q) {
    const int kept = dup(STDIN_FILENO), fd = open(path, O_RDONLY | O_CLOEXEC);
    FUZZ_CHECK(kept >= 0 && fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO, "no standard input");
    read_rows("-", q);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(fd);
}

FUZZ_TARGET(stream) {
    if (size == 0) return 0;
    const int first = data[0] % FROM_STDIN, extra = first / JOBS;
    const asked q = {first % JOBS, extra & 1, extra & 2};
    const char *path = fuzz_file(data + 1, size - 1);
    if (data[0] >= FROM_STDIN) read_from_stdin(path, &q);
    else read_rows(path, &q);
    return 0;
}
