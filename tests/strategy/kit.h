/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of this room share: tensors written down in a line, strategies of n devices,
 * statuses that must or must not be. */
#ifndef TESTS_STRATEGY_KIT_H
#define TESTS_STRATEGY_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "op/cells.h"
#include "strategy/values.h"
#include "../support/status.h"

#define KIT static inline __attribute__((unused))

/* ---- tensors ---- */

KIT void put(void *data, dt_dtype dtype, int64_t i, double x) {
    const dt_view v = {dt_scalar_type(dtype), data};

    if (dt_dtype_is_float(dtype)) dt_cell_set_double(&v, i, x);
    else dt_cell_set_int(&v, i, (int64_t)x);
}

KIT double get(const dt_tensor *t, int64_t i) {
    return dt_cell_double(&(dt_view){t->type, t->data}, i);
}

/* Row-major values. */
KIT dt_tensor *tensor(dt_dtype dtype, int rank, const int64_t *shape, const double *x) {
    dt_tensor *t = NULL;

    OK(dt_tensor_create(&t, dtype, rank, shape, NULL));
    for (int64_t i = 0; i < dt_tensor_elements(t); i++) put(t->data, dtype, i, x[i]);
    return t;
}

KIT dt_tensor *scalar(double x) { return tensor(DT_FLOAT32, 0, NULL, &x); }

/* (n) floats: first, first + 1, ... */
KIT dt_tensor *count_from(double first, int64_t n) {
    dt_tensor *t = NULL;

    OK(dt_tensor_create(&t, DT_FLOAT32, 1, &n, NULL));
    for (int64_t i = 0; i < n; i++) put(t->data, DT_FLOAT32, i, first + (double)i);
    return t;
}

/* Sets an entry and gives the tensor away. */
KIT void give(dt_values *v, const char *name, dt_tensor *t) {
    OK(dt_values_set(v, name, t));
    dt_tensor_unref(t);
}

KIT void give_each(dt_values *v, const char *name, dt_tensor **t, int n) {
    OK(dt_values_set_per_replica(v, name, t, n));
    for (int i = 0; i < n; i++) dt_tensor_unref(t[i]);
}

/* Replica r has rows[r] rows, (rows) floats counted through all replicas from 0. */
KIT void give_rows(dt_values *v, const char *name, const int64_t *rows, int n) {
    dt_tensor **t = calloc((size_t)n, sizeof *t);
    int64_t at = 0;

    for (int r = 0; r < n; at += rows[r++]) t[r] = count_from((double)at, rows[r]);
    give_each(v, name, t, n);
    free(t);
}

KIT dt_values *values(void) {
    dt_values *v = NULL;
    OK(dt_values_create(&v));
    return v;
}

/* The entry's tensor of one replica has this shape (-1 behind the last) and these values. */
KIT void is_local(const dt_values *v, const char *name, int replica, const int64_t *shape,
                  const double *x) {
    const dt_tensor *t = dt_values_local(v, name, replica);
    int rank = 0;

    if (!t) fail_msg("no value '%s' of replica %d", name, replica);
    for (; shape[rank] >= 0; rank++)
        if (dt_tensor_dim(t, rank) != shape[rank])
            fail_msg("'%s' of replica %d: dimension %d is %lld, not %lld", name, replica, rank,
                     (long long)dt_tensor_dim(t, rank), (long long)shape[rank]);
    assert_int_equal(dt_tensor_rank(t), rank);
    for (int64_t i = 0; i < dt_tensor_elements(t); i++)
        if (fabs(get(t, i) - x[i]) > 1e-6 * fabs(x[i]))
            fail_msg("'%s' of replica %d: element %lld is %g, not %g", name, replica, (long long)i,
                     get(t, i), x[i]);
}
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__, -1})
#define SCALAR ((const int64_t[]){-1})
#define X(...) ((const double[]){__VA_ARGS__})

/* ---- strategies ---- */

KIT dt_strategy *mirrored(int n) {
    extern const dt_strategy_row dt_strategy_mirrored;
    dt_strategy *s = NULL;

    OK(dt_strategy_open(&s, &(dt_strategy_spec){.row = &dt_strategy_mirrored, .replicas = n}));
    dt_strategy_set_engine(s, 2, DT_KERNELS_AUTO);
    return s;
}

KIT dt_strategy *tpu(const char *slice) {
    dt_resolver *r = NULL;
    dt_strategy *s = NULL;

    OK(dt_tpu_resolver(&r, slice));
    OK(dt_tpu_strategy(&s, r, NULL));
    dt_resolver_unref(r);
    dt_strategy_set_engine(s, 2, DT_KERNELS_AUTO);
    return s;
}

/* ---- data ---- */

/* An NPY file of (n) or (n, columns) values below build/tmp/strategy. */
KIT void write_npy(const char *name, const char *descr, int64_t n, int64_t columns, const void *x,
                   size_t bytes) {
    char path[128], dictionary[118], shape[48];
    unsigned char head[10] = "\x93NUMPY\x01\x00\x76";

    OK(dt_dir_make("build/tmp/strategy"));
    snprintf(path, sizeof path, "build/tmp/strategy/%s", name);
    snprintf(shape, sizeof shape, columns ? "(%lld, %lld)" : "(%lld,)", (long long)n,
             (long long)columns);
    memset(dictionary, ' ', sizeof dictionary);
    dictionary[snprintf(dictionary, sizeof dictionary,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s}", descr, shape)] =
        ' ';
    dictionary[sizeof dictionary - 1] = '\n';
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, sizeof head, f), sizeof head);
    assert_int_equal(fwrite(dictionary, 1, sizeof dictionary, f), sizeof dictionary);
    assert_int_equal(fwrite(x, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* range(n) as int64. */
KIT void write_range(const char *name, int64_t n) {
    int64_t *x = calloc((size_t)n + 1, sizeof *x);

    for (int64_t i = 0; i < n; i++) x[i] = i;
    write_npy(name, "<i8", n, 0, x, (size_t)n * sizeof *x);
    free(x);
}

/* ---- recorded cases ---- */

/* The cases of tests/golden/NAME, kept alive by *root. */
KIT json_t *golden_cases(const char *name, json_t **root) {
    char path[256];

    snprintf(path, sizeof path, "tests/golden/%s", name);
    *root = json_load_file(path, 0, NULL);
    if (!*root) fail_msg("%s cannot be read", path);
    return json_object_get(*root, "cases");
}

KIT const char *text_of(const json_t *j, const char *key) {
    const char *text = json_string_value(json_object_get(j, key));
    return text ? text : "";
}

#endif
