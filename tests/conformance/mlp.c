/* SPDX-License-Identifier: Apache-2.0 */
/* Digits, weights and their summaries: see mlp.h. */
#include "mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const mlp_names[MLP_WEIGHTS] = {"W1", "b1", "W2", "b2"};
const char *const mlp_paths[MLP_WEIGHTS] = {"dense/kernel", "dense/bias", "dense_1/kernel",
                                            "dense_1/bias"};

dt_strategy *mlp_mirrored(verdict *v, int replicas) {
    json_t *j = json_pack("{s:s,s:i}", "type", "MirroredStrategy", "num_replicas", replicas);
    dt_strategy *s = NULL;

    if (replicas < 1 || replicas > MOST_REPLICAS)
        differs(v, "%d replicas, where this runner has arrays for 1 to %d", replicas,
                MOST_REPLICAS);
    else s = strategy_of(v, j);
    json_decref(j);
    return s;
}

/* ---- the generator ---- */

static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/* [0, 1), exact in float32 */
static double uniform(uint64_t *state) { return (double)(draw(state) >> 48) / 65536; }

mlp_digits *mlp_draw(void) {
    mlp_digits *d = malloc(sizeof *d);
    uint64_t state = 3;

    for (int i = 0; d && i < MLP_ROWS; i++) {
        d->label[i] = (int)(draw(&state) % MLP_CLASSES);
        for (int j = 0; j < MLP_FEATURES; j++)
            d->x[i][j] = uniform(&state) * 0.5 + (j % MLP_CLASSES == d->label[i] ? 0.5 : 0);
    }
    return d;
}

/* ---- tensors ---- */

/* A tensor of floats from doubles. */
static dt_tensor *floats(verdict *v, dt_dtype dtype, int rank, const int64_t *shape,
                         const double *x) {
    dt_tensor *t = NULL;
    int64_t n = 1;

    for (int i = 0; i < rank; i++) n *= shape[i];
    float *narrow = malloc((size_t)(n + 1) * sizeof *narrow);
    for (int64_t i = 0; i < n; i++) narrow[i] = (float)x[i];
    expect_ok(
        v, "a tensor",
        dt_tensor_create(&t, dtype, rank, shape, dtype == DT_FLOAT64 ? (const void *)x : narrow));
    free(narrow);
    return t;
}

dt_tensor *mlp_images(verdict *v, const mlp_digits *d, int first, int n, dt_dtype dtype) {
    return floats(v, dtype, 2, (int64_t[]){n, MLP_FEATURES}, d->x[first]);
}

dt_tensor *mlp_labels(verdict *v, const mlp_digits *d, int first, int n, dt_dtype dtype,
                      bool sparse) {
    dt_tensor *t = NULL;
    double one_hot[MLP_ROWS * MLP_CLASSES] = {0};

    if (sparse) {
        expect_ok(v, "labels", dt_tensor_create(&t, DT_INT32, 1, (int64_t[]){n}, &d->label[first]));
        return t;
    }
    for (int i = 0; i < n; i++) one_hot[i * MLP_CLASSES + d->label[first + i]] = 1;
    return floats(v, dtype, 2, (int64_t[]){n, MLP_CLASSES}, one_hot);
}

/* ---- cases ---- */

static int get_int(const json_t *in, const char *key, int preset) {
    const json_t *j = json_object_get(in, key);
    return j ? (int)json_integer_value(j) : preset;
}

static char *get_fragment(const json_t *row, const char *preset) {
    const char *name = json_string_value(json_object_get(row, "class"));
    return name ? fragment_of(name, json_object_get(row, "arguments")) : strdup(preset);
}

mlp_case mlp_read(const golden_case *c) {
    const char *head = json_string_value(json_object_get(c->in, "head"));
    const char *dtype = json_string_value(json_object_get(c->in, "dtype"));
    mlp_case m = {.replicas = get_int(c->in, "num_replicas", 1),
                  .batch = get_int(c->in, "batch", 32),
                  .steps = get_int(c->in, "steps", 1),
                  .softmax = !head || strcmp(head, "softmax") == 0,
                  .dtype = dtype && strcmp(dtype, "float64") == 0 ? DT_FLOAT64 : DT_FLOAT32,
                  .loss = get_fragment(json_object_get(c->in, "loss"), "CategoricalCrossentropy"),
                  .optimizer = get_fragment(json_object_get(c->in, "optimizer"), "Adam")};
    m.sparse = strncmp(m.loss, "Sparse", 6) == 0;
    return m;
}

void mlp_case_release(mlp_case *m) {
    free(m->loss);
    free(m->optimizer);
}

/* ---- the network ---- */

/* (u - 0.5) * width, row by row; width 0: zeros. */
static dt_tensor *draw_weight(verdict *v, dt_dtype dtype, const int64_t *shape, int rank,
                              uint64_t seed, double width) {
    int64_t n = rank == 2 ? shape[0] * shape[1] : shape[0];
    double *w = calloc((size_t)n, sizeof *w);

    for (int64_t i = 0; i < n && width != 0; i++) w[i] = (uniform(&seed) - 0.5) * width;
    dt_tensor *t = floats(v, dtype, rank, shape, w);
    free(w);
    return t;
}

static void set_weights(verdict *v, dt_model *model, dt_dtype dtype) {
    static const struct {
        int rank;
        int64_t shape[2];
        uint64_t seed;
        double width;
    } rows[MLP_WEIGHTS] = {
        {2, {MLP_FEATURES, MLP_HIDDEN}, 1, 0.125},
        {1, {MLP_HIDDEN}, 0, 0},
        {2, {MLP_HIDDEN, MLP_CLASSES}, 2, 0.25},
        {1, {MLP_CLASSES}, 0, 0},
    };

    for (int i = 0; i < MLP_WEIGHTS; i++) {
        dt_tensor *t =
            draw_weight(v, dtype, rows[i].shape, rows[i].rank, rows[i].seed, rows[i].width);
        expect_ok(v, mlp_paths[i], dt_model_set_weight(model, mlp_paths[i], t));
        dt_tensor_unref(t);
    }
}

dt_model *mlp_model(verdict *v, const mlp_case *m) {
    dt_model *model = NULL;

    expect_ok(v, "the model",
              dt_model_create(&model,
                              "- Input: {name: x, shape: [%d], dtype: %s}\n- Dense: {units: %d, "
                              "activation: relu}\n- Dense: {units: %d, activation: %s}\n",
                              MLP_FEATURES, dtype_name(m->dtype), MLP_HIDDEN, MLP_CLASSES,
                              m->softmax ? "softmax" : "linear"));
    if (model) set_weights(v, model, m->dtype);
    return model;
}

/* ---- summaries ---- */

static double at(const dt_tensor *t, int64_t i) {
    const void *data = dt_tensor_data(t);
    return dt_tensor_dtype(t) == DT_FLOAT64 ? ((const double *)data)[i]
                                            : (double)((const float *)data)[i];
}

static void expect_part(verdict *v, const char *what, const json_t *want, const dt_tensor *got,
                        int64_t first, tolerance t) {
    const json_t *x;
    size_t i;
    char name[80];

    snprintf(name, sizeof name, "%s from %lld", what, (long long)first);
    json_array_foreach(want, i, x) expect_double(v, name, x, at(got, first + (int64_t)i), t);
}

/* Sums may cancel: what is left of them is compared with what they could have been, sqrt(n * sum of
 * squares). */
void mlp_expect_summary(verdict *v, const char *what, const json_t *want, const dt_tensor *got) {
    int64_t n = got ? dt_tensor_elements(got) : 0;
    double sum = 0, squares = 0, most = 0;
    char name[64];

    if (!got || (size_t)dt_tensor_rank(got) != json_array_size(json_object_get(want, "shape"))) {
        differs(v, "%s: no tensor of that shape", what);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        sum += at(got, i);
        squares += at(got, i) * at(got, i);
        most = fmax(most, fabs(at(got, i)));
    }
    const tolerance single = {1e-3, 1e-4 * most};
    for (int i = 0; i < dt_tensor_rank(got); i++)
        expect_int(v, what, json_array_get(json_object_get(want, "shape"), (size_t)i),
                   dt_tensor_dim(got, i));
    snprintf(name, sizeof name, "sum of %s", what);
    expect_double(v, name, json_object_get(want, "sum"), sum,
                  (tolerance){1e-3, 1e-6 * sqrt((double)n * squares)});
    snprintf(name, sizeof name, "sum of squares of %s", what);
    expect_double(v, name, json_object_get(want, "sum_of_squares"), squares, (tolerance){1e-3, 0});
    snprintf(name, sizeof name, "largest of %s", what);
    expect_double(v, name, json_object_get(want, "abs_max"), most, (tolerance){1e-3, 0});
    const json_t *last = json_object_get(want, "last");
    expect_part(v, what, json_object_get(want, "first"), got, 0, single);
    expect_part(v, what, last, got, n - (int64_t)json_array_size(last), single);
}

void mlp_expect_weights(verdict *v, const json_t *want, dt_model *model) {
    for (int i = 0; i < MLP_WEIGHTS; i++) {
        dt_tensor *t = NULL;
        expect_ok(v, mlp_paths[i], dt_model_get_weight(model, mlp_paths[i], &t));
        mlp_expect_summary(v, mlp_names[i], json_object_get(want, mlp_names[i]), t);
        dt_tensor_unref(t);
    }
}
