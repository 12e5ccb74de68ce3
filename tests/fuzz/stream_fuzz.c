/* What `predict` reads row by row: NPY, NPZ, IDX, CSV, JSON lines, TFRecord, pictures, told apart by their first bytes. */
#include <stdlib.h>
#include <string.h>

#include "data/stream/stream.h"
#include "fuzz.h"

enum { MOST_ROWS = 64 };

static const char job_text[] = "{format: synthetic, examples: 4, element: {x: {shape: [2]}, y: {dtype: int32}}, map: {x: [{rescale: {scale: 0.5}}]}, "
                               "global_batch_size: 4}";

/* What a model takes: x (B, 2), and y (B). */
static const dt_element inputs[] = {
    {.name = "x", .type = {.dtype = DT_FLOAT32, .rank = 2, .dim = {-1, 2}}},
    {.name = "y", .type = {.dtype = DT_INT32, .rank = 1, .dim = {-1}}},
};

static void read_rows(const char *path, const dt_dataset_spec *job, int n)
{
    dt_stream *s = NULL;
    float x[4][2];
    int32_t y[4];
    void *const rows[] = {x, y};
    int64_t got = 1;
    dt_status *bad = dt_stream_open(&s, &(dt_stream_request){path, job, inputs, n});
    for (int i = 0; !bad && got > 0 && i < MOST_ROWS; i++)
        bad = dt_stream_next(s, 4, rows, &got);
    fuzz_done(bad);
    dt_stream_close(s);
}

FUZZ_TARGET(stream)
{
    dt_arena *arena = dt_arena_create();
    dt_source source = {"job", job_text, strlen(job_text)};
    dt_tree *tree;
    dt_dataset_spec spec;
    fuzz_done(dt_fragment_parse(arena, &source, &tree));
    dt_status *s = dt_dataset_read(arena, tree, "", 1, &spec);
    FUZZ_CHECK(!s, "the job is wrong");
    const char *path = fuzz_file(data, size);
    read_rows(path, &spec, 1);
    read_rows(path, &spec, 2);
    dt_arena_destroy(arena);
    return 0;
}
