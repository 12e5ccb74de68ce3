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

#include "data/stream.h"
#include "fuzz.h"

enum { MOST_ROWS = 64, ROOM = 64, BATCH = 4, MOST_INPUTS = 7, FROM_STDIN = 128 };

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

static void read_rows(const char *path, int job) {
    static double room[MOST_INPUTS][BATCH * ROOM];
    dt_stream *s = NULL;
    void *rows[MOST_INPUTS];
    int64_t got = 1;
    for (int i = 0; i < MOST_INPUTS; i++) rows[i] = room[i];
    dt_status *bad =
        dt_stream_open(&s, &(dt_stream_request){path, spec_of(job), jobs[job].input, jobs[job].n});
    for (int i = 0; !bad && got > 0 && i < MOST_ROWS; i++)
        bad = dt_stream_next(s, BATCH, rows, &got);
    if (s)
        FUZZ_CHECK(dt_stream_count(s) >= -1 &&
                       strcmp(dt_stream_elements(s)->name, jobs[job].input->name) == 0,
                   "another stream");
    fuzz_done(bad);
    dt_stream_close(s);
}

/* Standard input comes back after that. */
static void read_from_stdin(const char *path, int job) {
    const int kept = dup(STDIN_FILENO), fd = open(path, O_RDONLY | O_CLOEXEC);
    FUZZ_CHECK(kept >= 0 && fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO, "no standard input");
    read_rows("-", job);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(fd);
}

FUZZ_TARGET(stream) {
    if (size == 0) return 0;
    const int job = data[0] % FROM_STDIN % JOBS;
    const char *path = fuzz_file(data + 1, size - 1);
    if (data[0] >= FROM_STDIN) read_from_stdin(path, job);
    else read_rows(path, job);
    return 0;
}
