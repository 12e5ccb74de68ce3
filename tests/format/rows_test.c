/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that `predict` writes are read back as the same numbers by the format that their first bytes
 * tell: CSV, NPY, NPZ and JSON lines, of random outputs, types, shapes and batches. A failure names
 * its seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "dtrain.h"
#include "file/file.h"
#include "strategy/values.h"
#include "../support/status.h"

#define HERE "build/tmp/rows"
enum { SEEDS = 100, MOST_OUTPUTS = 3, MOST_ROWS = 200 };

static uint64_t seed; /* of the case at hand */
#define CHECK(ok, what, ...)                                                                       \
    do {                                                                                           \
        if (!(ok)) fail_msg("seed %llu: " what, (unsigned long long)seed, __VA_ARGS__);            \
    } while (0)

typedef struct outputs {
    int n;
    char name[MOST_OUTPUTS][16];
    dt_tensor *all[MOST_OUTPUTS]; /* (rows, ...) */
    int64_t rows;
} outputs;

/* Any bits that are a finite number. */
static void draw_values(dt_random *r, const dt_type *t, char *out) {
    for (int64_t i = 0; i < dt_type_elements(t); i++) {
        const uint32_t bits[2] = {dt_random_u32(r), dt_random_u32(r)};
        float f;
        double x;
        memcpy(&f, bits, sizeof f);
        memcpy(&x, bits, sizeof x);
        if (t->dtype == DT_FLOAT32) ((float *)out)[i] = isfinite(f) ? f : -0.0F;
        else ((double *)out)[i] = isfinite(x) ? x : -0.0;
    }
}

static void draw_outputs(dt_random *r, bool one, outputs *x) {
    *x = (outputs){.n = one ? 1 : 1 + (int)dt_random_below(r, MOST_OUTPUTS),
                   .rows = 1 + dt_random_below(r, MOST_ROWS)};
    for (int o = 0; o < x->n; o++) {
        const int64_t dim[3] = {x->rows, 1 + dt_random_below(r, 4), 1 + dt_random_below(r, 3)};
        const dt_type t = dt_type_of(dt_random_below(r, 2) ? DT_FLOAT32 : DT_FLOAT64,
                                     2 + (int)dt_random_below(r, 2), dim);
        snprintf(x->name[o], sizeof x->name[o], "%s%d",
                 dt_random_below(r, 2) ? "out" : "\xc3\xa9 \"", o);
        ok_for(dt_tensor_new(&x->all[o], &t), seed);
        draw_values(r, &t, (char *)x->all[o]->data);
    }
}

static void put_rows(const outputs *x, int64_t first, int64_t n, dt_row_writer *w) {
    const char *names[MOST_OUTPUTS];
    dt_tensor *part[MOST_OUTPUTS];
    for (int o = 0; o < x->n; o++) {
        dt_type t = x->all[o]->type;
        const int64_t row = dt_type_bytes(&t) / x->rows;
        t.dim[0] = n;
        names[o] = x->name[o];
        ok_for(dt_tensor_new(&part[o], &t), seed);
        memcpy(part[o]->data, (const char *)x->all[o]->data + first * row, (size_t)(n * row));
    }
    ok_for(dt_row_writer_put(&(dt_predicted_rows){.first = first,
                                                  .n_rows = n,
                                                  .of = x->rows,
                                                  .n_outputs = x->n,
                                                  .names = names,
                                                  .values = (const dt_tensor *const *)part},
                             w),
           seed);
    for (int o = 0; o < x->n; o++) dt_tensor_unref(part[o]);
}

static void write_outputs(dt_random *r, const outputs *x, const char *path) {
    dt_row_writer *w = NULL;
    int64_t written;
    ok_for(dt_row_writer_open(&w, &(dt_row_writer_options){.path = path}), seed);
    for (int64_t at = 0, n; at < x->rows; at += n) {
        n = 1 + dt_random_below(r, 20);
        n = n < x->rows - at ? n : x->rows - at;
        put_rows(x, at, n, w);
    }
    ok_for(dt_row_writer_finish(w, &written), seed);
    CHECK(written == x->rows, "%s: %lld rows written, of %lld", path, (long long)written,
          (long long)x->rows);
    dt_row_writer_unref(w);
}

static void read_outputs(const outputs *x, const dt_format *kind, const char *path) {
    unsigned char first[DT_PEEK];
    int64_t n, bytes[MOST_OUTPUTS];
    void *row[MOST_OUTPUTS];
    bool more = true;
    dt_row_source s = {.arena = dt_arena_create(), .path = path, .n = x->n, .count = -1};
    s.element = dt_arena_array(s.arena, dt_element_spec, x->n);
    for (int o = 0; o < x->n; o++) {
        const dt_type *t = &x->all[o]->type;
        s.element[o] = (dt_element_spec){.name = x->name[o],
                                         .type = dt_type_of(t->dtype, t->rank - 1, t->dim + 1)};
        bytes[o] = dt_type_bytes(&s.element[o].type);
        row[o] = dt_arena_alloc(s.arena, (size_t)bytes[o]);
    }
    ok_for(dt_inflow_open(&s.file, path), seed);
    ok_for(dt_inflow_peek(s.file, first, DT_PEEK, &n), seed);
    CHECK(dt_format_sniff(first, n) == kind, "%s is not taken for what it is", path);
    ok_for(kind->open(&s), seed);
    for (; more; s.row += more) {
        ok_for(s.reader->next(&s, row, &more), seed);
        for (int o = 0; o < x->n && more; o++)
            CHECK(memcmp(row[o], (const char *)x->all[o]->data + s.row * bytes[o],
                         (size_t)bytes[o]) == 0,
                  "%s: row %lld of output %d is another", path, (long long)s.row, o);
    }
    CHECK(s.row == x->rows, "%s: %lld rows of %lld", path, (long long)s.row, (long long)x->rows);
    dt_row_source_close(&s);
    dt_inflow_close(s.file);
    dt_arena_destroy(s.arena);
}

static void test_rows_are_read_back(void **state) {
    static const struct {
        const dt_format *kind;
        const char *path;
    } kinds[] = {{&dt_format_csv, HERE "/y.csv"},
                 {&dt_format_npy, HERE "/y.npy"},
                 {&dt_format_npz, HERE "/y.npz"},
                 {&dt_format_jsonl, HERE "/y.jsonl"}};
    (void)state;
    print_message("seeds 1 to %d\n", SEEDS);
    ok_for(dt_dir_make(HERE), seed);
    for (seed = 1; seed <= SEEDS; seed++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            dt_random r = dt_random_stream(seed, "rows", k);
            outputs x;
            draw_outputs(&r, kinds[k].kind->content == DT_CONTENT_ARRAY, &x);
            write_outputs(&r, &x, kinds[k].path);
            read_outputs(&x, kinds[k].kind, kinds[k].path);
            for (int o = 0; o < x.n; o++) dt_tensor_unref(x.all[o]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
