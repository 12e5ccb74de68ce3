/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize: (x - mean) / deviation, as Keras' Normalization. Mean and variance are given, or
 * learned from the training part with Welford's algorithm in float64. Each is one number, or one
 * number per feature; the features are the values along the last axis. The deviation is the square
 * root of the variance, at least 1e-7.
 *
 * Types whose values fit float32 are computed as in Keras: a float32 difference divided by a
 * float32 deviation. For int32, int64 and float64 both operations are done in float64 and the
 * quotient is rounded once, because numbers such as 1700000000 and 1700000064 are equal as float32.
 */
#include <math.h>
#include <stdlib.h>

#include "base/size.h"
#include "file/cast.h"
#include "data/map/step.h"

/* values to process at a time; shorter loops over few channels would not be vectorized */
enum { LEAST_BLOCK = 64 };

struct normalize {
    dt_reals mean, variance, std;
};

static const dt_field fields[] = {
    DT_REALS(struct normalize, mean,
             .help = "mean: a number, or one per feature (last axis); default: learned from the "
                     "training data"),
    DT_REALS(struct normalize, variance, .max = INFINITY,
             .help = "variance: a number, or one per feature"),
    DT_REALS(struct normalize, std, .max = INFINITY,
             .help = "standard deviation, instead of variance"),
    DT_END};

/* Means and deviations, repeated for as many features as a block has values. */
typedef struct block {
    int64_t n;
    bool wide;
    float *mean, *deviation;            /* [n] */
    double *wide_mean, *wide_deviation; /* [n] the same numbers, not rounded to float32 */
} block;

static dt_status *check(const void *args, const dt_location *at) {
    const struct normalize *a = args;
    if ((a->variance.n > 0) + (a->std.n > 0) != (a->mean.n > 0))
        return dt_fail(DT_E_DATASET_KEYS, at,
                       "normalize needs 'mean' with either 'variance' or 'std'; leave out all "
                       "three to learn them");
    return NULL;
}

static dt_status *check_count(const dt_map_stage *s, const char *what, const dt_reals *x,
                              int64_t features) {
    if (x->n == 0 || x->n == 1 || x->n == features) return NULL;
    return dt_fail(DT_E_DATA_SHAPE, s->at,
                   "%s: '%s' has %d numbers, examples have %lld feature%s (the last axis)", s->file,
                   what, x->n, (long long)features, features == 1 ? "" : "s");
}

/* ---- learning ---- */

typedef struct moments {
    int64_t features;
    /* [features] squares: sum of squared differences from the mean */
    double *count, *mean, *squares;
} moments;

static int64_t features_of(const dt_type *t) { return t->rank > 0 ? t->dim[t->rank - 1] : 1; }

static bool learns(const void *args) { return ((const struct normalize *)args)->mean.n == 0; }

static void *begin(const dt_map_stage *s) {
    moments *m = dt_alloc(sizeof *m);
    m->features = features_of(&s->in);
    m->count = dt_alloc((size_t)m->features * 3 * sizeof *m->count);
    m->mean = m->count + m->features;
    m->squares = m->mean + m->features;
    for (int64_t i = 0; i < 3 * m->features; i++) m->count[i] = 0;
    return m;
}

static void take(void *lesson, const dt_map_stage *s, const void *in) {
    moments *m = lesson;
    const size_t size = dt_dtype_size(s->in.dtype);
    for (int64_t i = 0, f = 0; i < s->values; i++, f = f + 1 == m->features ? 0 : f + 1) {
        double x;
        dt_cast(s->in.dtype, DT_FLOAT64, (const char *)in + (size_t)i * size, &x, 1);
        const double off = x - m->mean[f];
        m->mean[f] += off / ++m->count[f];
        m->squares[f] += off * (x - m->mean[f]);
    }
}

static void end(void *lesson, const dt_map_stage *s, dt_arena *arena, dt_lesson *out) {
    moments *m = lesson;
    (void)s;
    if (arena) {
        out->mean =
            (dt_reals){.n = (int)m->features,
                       .v = dt_arena_copy(arena, m->mean, (size_t)m->features * sizeof *m->mean)};
        out->variance =
            (dt_reals){.n = (int)m->features, .v = dt_arena_array(arena, double, m->features)};
        for (int64_t i = 0; i < m->features; i++) out->variance.v[i] = m->squares[i] / m->count[i];
    }
    free(m->count);
    free(m);
}

static const dt_map_learning learning = {.wants = learns, .begin = begin, .take = take, .end = end};

/* The arguments, completed with the learned values. */
static struct normalize settle(const void *args, const dt_lesson *learned) {
    struct normalize a = *(const struct normalize *)args;
    if (learned) {
        a.mean = learned->mean;
        a.variance = learned->variance;
    }
    return a;
}

static struct normalize settled(const dt_map_stage *s) { return settle(s->args, s->learned); }

/* ---- application ---- */

static dt_status *check_learned(const dt_map_stage *s, const struct normalize *a) {
    for (int i = 0; s->learned && i < a->mean.n && i < a->variance.n; i++)
        if (!isfinite(a->mean.v[i]) || !isfinite(a->variance.v[i]) || a->variance.v[i] < 0)
            return dt_fail(DT_E_DATA_FILE, s->at,
                           "%s: normalize learns a mean of %g and a variance of %g for feature %d: "
                           "the data has values that are not finite",
                           s->file, a->mean.v[i], a->variance.v[i], i);
    return NULL;
}

static double pick(const dt_reals *x, int64_t i) { return x->v[x->n == 1 ? 0 : i]; }

static float deviation_of(const struct normalize *a, int64_t feature) {
    float d =
        a->std.n > 0 ? (float)pick(&a->std, feature) : sqrtf((float)pick(&a->variance, feature));
    return d < 1e-7F ? 1e-7F : d;
}

static double wide_deviation_of(const struct normalize *a, int64_t feature) {
    double d = a->std.n > 0 ? pick(&a->std, feature) : sqrt(pick(&a->variance, feature));
    return d < 1e-7 ? 1e-7 : d;
}

static const block *make_block(dt_arena *arena, const struct normalize *a, int64_t features,
                               bool wide) {
    block *b = dt_arena_new(arena, block);
    b->n = features * ((LEAST_BLOCK + features - 1) / features);
    b->wide = wide;
    b->mean = dt_arena_array(arena, float, b->n);
    b->deviation = dt_arena_array(arena, float, b->n);
    b->wide_mean = dt_arena_array(arena, double, b->n);
    b->wide_deviation = dt_arena_array(arena, double, b->n);
    for (int64_t i = 0; i < b->n; i++) {
        b->mean[i] = (float)pick(&a->mean, i % features);
        b->deviation[i] = deviation_of(a, i % features);
        b->wide_mean[i] = pick(&a->mean, i % features);
        b->wide_deviation[i] = wide_deviation_of(a, i % features);
    }
    return b;
}

/* Whether all features share one mean and one deviation. */
static bool are_alike(const struct normalize *a) {
    return a->mean.n == 1 && a->variance.n <= 1 && a->std.n <= 1;
}

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct normalize a = settled(s);
    int64_t last = features_of(&s->in);
    dt_status *bad = check_count(s, "mean", &a.mean, last);
    dt_status_append(&bad, check_count(s, "variance", &a.variance, last));
    dt_status_append(&bad, check_count(s, "std", &a.std, last));
    dt_status_append(&bad, check_learned(s, &a));
    if (bad) return bad;
    s->made = make_block(arena, &a, are_alike(&a) ? 1 : last, dt_is_wide(s->in.dtype));
    s->out.dtype = DT_FLOAT32;
    return NULL;
}

static void run_wide(const dt_map_stage *s, const void *in, float *out) {
    enum { PIECE = 256 };
    const block *b = s->made;
    const int64_t size = (int64_t)dt_dtype_size(s->in.dtype);
    double x[PIECE];
    for (int64_t done = 0, n; done < s->values; done += n) {
        n = s->values - done < PIECE ? s->values - done : PIECE;
        dt_cast(s->in.dtype, DT_FLOAT64, (const char *)in + done * size, x, n);
        for (int64_t i = 0; i < n; i++) {
            const int64_t feature = (done + i) % b->n;
            out[done + i] = (float)((x[i] - b->wide_mean[feature]) / b->wide_deviation[feature]);
        }
    }
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const block *b = s->made;
    float *x = out;
    (void)at;
    if (b->wide) {
        run_wide(s, in, out);
        return;
    }
    dt_cast(s->in.dtype, DT_FLOAT32, in, out, s->values);
    for (int64_t done = 0; done < s->values; done += b->n) {
        int64_t n = s->values - done < b->n ? s->values - done : b->n;
        for (int64_t i = 0; i < n; i++) x[done + i] = (x[done + i] - b->mean[i]) / b->deviation[i];
    }
}

/* Uses the first entries of the block, one for each feature. */
static dt_value emit(const dt_map_stage *s, dt_value x) {
    const struct normalize a = settled(s);
    const block *b = s->made;
    int64_t features = are_alike(&a) ? 1 : features_of(&s->in);
    const dt_dtype dtype = b->wide ? DT_FLOAT64 : DT_FLOAT32;
    dt_type line = dt_type_of(dtype, 1, &features), whole = dt_map_batch_type(&s->out);
    whole.dtype = dtype;
    dt_value mean =
        dt_map_numbers(s, x, "mean", &line, b->wide ? (const void *)b->wide_mean : b->mean);
    dt_value deviation = dt_map_numbers(s, x, "deviation", &line,
                                        b->wide ? (const void *)b->wide_deviation : b->deviation);
    x = dt_subtract(dt_convert(x, dtype), dt_broadcast_to(mean, &whole));
    return dt_convert(dt_divide(x, dt_broadcast_to(deviation, &whole)), DT_FLOAT32);
}

static dt_value features_like(dt_value x, const double *v, int64_t n) {
    const dt_type type = dt_type_of_value(x), one = dt_type_of(type.dtype, 1, &(int64_t){1});
    dt_value *each = dt_arena_array(dt_trace_arena(x.trace), dt_value, n);
    for (int64_t i = 0; i < n; i++) each[i] = dt_splat(x.trace, &one, v[i]);
    return dt_broadcast_to(n == 1 ? each[0] : dt_concatenate(each, (int)n, 0), &type);
}

static dt_value undo(const void *args, const dt_lesson *learned, dt_value x) {
    const struct normalize a = settle(args, learned);
    const dt_type type = dt_type_of_value(x);
    const int64_t n = are_alike(&a) ? 1 : dt_max(a.mean.n, dt_max(a.variance.n, a.std.n));
    if (n > 1 && (type.rank < 2 || type.dim[type.rank - 1] != n)) return (dt_value){0};
    double *mean = dt_arena_array(dt_trace_arena(x.trace), double, n),
           *deviation = dt_arena_array(dt_trace_arena(x.trace), double, n);
    for (int64_t i = 0; i < n; i++) {
        mean[i] = pick(&a.mean, i);
        deviation[i] = wide_deviation_of(&a, i);
    }
    return dt_add(dt_multiply(x, features_like(x, deviation, n)), features_like(x, mean, n));
}

const dt_map_step dt_map_normalize = {
    .kind = {"normalize", "float32 values (x - mean) / deviation, as Keras' Normalization", fields,
             sizeof(struct normalize), NULL},
    .check = check,
    .reads_float32 = true,
    .learning = &learning,
    .infer = infer,
    .run = run,
    .emit = emit,
    .takes_windows = true,
    .undo = undo,
};
