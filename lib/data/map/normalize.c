/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize: (x - mean) / deviation, as Keras' Normalization. The mean and either the variance or
 * the deviation are given, or mean and variance are learned from the training part with Welford's
 * algorithm in float64. Each is one number, or one number per feature; the features are the values
 * along the last axis. A deviation that is not given is the square root of the variance. A
 * deviation below 1e-7 counts as 1e-7.
 *
 * With per_group each series of dataset.window has its own mean and deviation, and predictions are
 * converted back with those of their series. A group is identified by the hash of its name; a
 * lesson stores the groups as `words` of 16 hexadecimal digits, in ascending order.
 *
 * Types whose values fit float32 are computed as in Keras: a float32 difference divided by a
 * float32 deviation. For int32, int64 and float64 both operations are done in float64 and the
 * quotient is rounded once, because numbers such as 1700000000 and 1700000064 are equal as float32.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "file/cast.h"
#include "data/map/step.h"

/* The least length of a block; shorter ones, as of few features, would make inner loops that are
 * not vectorized. */
enum { LEAST_BLOCK = 64 };

struct normalize {
    dt_reals mean, variance, std;
    bool per_group;
};

static const dt_field fields[] = {
    DT_REALS(struct normalize, mean,
             .help = "mean: a number, or one per feature (last axis); default: learned from the "
                     "training data"),
    DT_REALS(struct normalize, variance, .max = INFINITY,
             .help = "variance: a number, or one per feature"),
    DT_REALS(struct normalize, std, .max = INFINITY,
             .help = "standard deviation, instead of variance"),
    DT_FLAG(struct normalize, per_group, .preset = "false",
            .help = "learn mean and variance for each group of dataset.window.group; predictions "
                    "are in the units of their group"),
    DT_END};

/* The means and deviations of all features, repeated until there are at least LEAST_BLOCK of
 * each. */
typedef struct block {
    int64_t n;
    bool wide;
    float *mean, *deviation;            /* [n] the mean and deviation of each value */
    double *wide_mean, *wide_deviation; /* [n] the same numbers, not rounded to float32 */
} block;

static dt_status *check(const void *args, const dt_location *at) {
    const struct normalize *a = args;
    if ((a->variance.n > 0) + (a->std.n > 0) != (a->mean.n > 0))
        return dt_fail(DT_E_DATASET_KEYS, at,
                       "normalize needs 'mean' with either 'variance' or 'std'; leave out all "
                       "three to learn them");
    if (a->per_group && a->mean.n > 0)
        return dt_fail(DT_E_DATASET_KEYS, at,
                       "normalize with per_group learns its means: leave out 'mean'");
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
    uint64_t group;
    int64_t features;
    /* [features] number of values of each feature, their mean, and the sum of squared differences
     * from it */
    double *count, *mean, *squares;
} moments;

static int64_t features_of(const dt_type *t) { return t->rank > 0 ? t->dim[t->rank - 1] : 1; }

static bool learns(const void *args) { return ((const struct normalize *)args)->mean.n == 0; }

/* The moments of all groups, sorted by group; without per_group all values are one group, 0. */
typedef struct lessons {
    int n, cap, last;
    moments **of; /* [n] the moments of each group */
} lessons;

static moments *create(const dt_map_stage *s, uint64_t group) {
    moments *m = dt_alloc(sizeof *m);
    m->group = group;
    m->features = features_of(&s->in);
    m->count = dt_alloc((size_t)m->features * 3 * sizeof *m->count);
    m->mean = m->count + m->features;
    m->squares = m->mean + m->features;
    for (int64_t i = 0; i < 3 * m->features; i++) m->count[i] = 0;
    return m;
}

static void *begin(const dt_map_stage *s) {
    (void)s;
    return dt_alloc(sizeof(lessons));
}

static moments *moments_of(lessons *l, const dt_map_stage *s, uint64_t group) {
    int low = 0, high = l->n;
    if (l->last < l->n && l->of[l->last]->group == group) return l->of[l->last];
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (l->of[middle]->group < group) low = middle + 1;
        else high = middle;
    }
    l->last = low;
    if (low < l->n && l->of[low]->group == group) return l->of[low];
    DT_GROW(l->of, l->cap, l->n + 1);
    memmove(l->of + low + 1, l->of + low, (size_t)(l->n++ - low) * sizeof *l->of);
    return l->of[low] = create(s, group);
}

static void learn_value(void *lesson, const dt_map_stage *s, const dt_map_at *at, const void *in) {
    const struct normalize *a = s->args;
    moments *m = moments_of(lesson, s, a->per_group ? at->group : 0);
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
    const struct normalize *a = s->args;
    const int64_t features = features_of(&s->in);
    lessons *l = lesson;
    if (arena) {
        const int n = l->n * (int)features;
        out->mean = (dt_reals){.n = n, .v = dt_arena_array(arena, double, n)};
        out->variance = (dt_reals){.n = n, .v = dt_arena_array(arena, double, n)};
        out->words.v = dt_arena_array(arena, const char *, l->n);
    }
    for (int g = 0; g < l->n; g++) {
        const moments *m = l->of[g];
        for (int64_t i = 0; arena && i < features; i++) {
            out->mean.v[g * features + i] = m->mean[i];
            out->variance.v[g * features + i] = m->squares[i] / m->count[i];
        }
        if (arena && a->per_group)
            out->words.v[out->words.n++] =
                dt_arena_printf(arena, "%016llx", (unsigned long long)m->group);
        free(l->of[g]->count);
        free(l->of[g]);
    }
    free(l->of);
    free(l);
}

static const dt_map_learning learning = {
    .wants = learns, .begin = begin, .take = learn_value, .end = end};

/* Returns the arguments of the step, completed with the learned values. */
static struct normalize settle(const void *args, const dt_lesson *learned) {
    struct normalize a = *(const struct normalize *)args;
    if (learned) {
        a.mean = learned->mean;
        a.variance = learned->variance;
    }
    return a;
}

static struct normalize settled(const dt_map_stage *s) { return settle(s->args, s->learned); }

/* ---- means and deviations ---- */

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

/* ---- groups ---- */

/* Returns the index of a group in the words of a lesson; -1 if it was not in the training data. */
static int group_index(const dt_lesson *l, uint64_t group) {
    char name[17];
    int low = 0, high = l->words.n;
    snprintf(name, sizeof name, "%016llx", (unsigned long long)group);
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int order = strcmp(l->words.v[middle], name);
        if (order == 0) return middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return -1;
}

static bool by_group(const void *args) { return ((const struct normalize *)args)->per_group; }

static bool knows(const dt_map_stage *s, uint64_t group) {
    return s->learned && group_index(s->learned, group) >= 0;
}

/* Returns the means and variances of one group. */
static struct normalize of_group(const dt_lesson *l, int place) {
    const int n = l->mean.n / l->words.n;
    return (struct normalize){.mean = {.n = n, .v = l->mean.v + place * n},
                              .variance = {.n = n, .v = l->variance.v + place * n}};
}

static void undo_group(const dt_lesson *l, uint64_t group, float *x, int64_t n) {
    const int place = group_index(l, group);
    if (place < 0) return;
    const struct normalize a = of_group(l, place);
    for (int64_t i = 0; n % a.mean.n == 0 && i < n; i++)
        x[i] = (float)((double)x[i] * wide_deviation_of(&a, i % a.mean.n) +
                       pick(&a.mean, i % a.mean.n));
}

static dt_status *infer_groups(dt_map_stage *s, dt_arena *arena) {
    const dt_lesson *l = s->learned;
    const int64_t features = features_of(&s->in), n = l->words.n;
    if (n < 1 || l->mean.n != n * features || l->variance.n != n * features)
        return dt_fail(DT_E_DATA_SHAPE, s->at, "%s: normalize has not learned %lld features",
                       s->file, (long long)features);
    const block **blocks = dt_arena_array(arena, const block *, n);
    for (int64_t g = 0; g < n; g++) {
        const struct normalize a = of_group(l, (int)g);
        DT_TRY(check_learned(s, &a));
        blocks[g] = make_block(arena, &a, features, dt_is_wide(s->in.dtype));
    }
    s->made = blocks;
    s->out.dtype = DT_FLOAT32;
    return NULL;
}

static const block *block_for(const dt_map_stage *s, const dt_map_at *at) {
    const int place = by_group(s->args) ? group_index(s->learned, at->group) : 0;
    if (!by_group(s->args)) return s->made;
    return place < 0 ? NULL : ((const block *const *)s->made)[place];
}

/* ---- the step ---- */

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    if (by_group(s->args)) return infer_groups(s, arena);
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

static void run_wide(const dt_map_stage *s, const block *b, const void *in, float *out) {
    enum { PIECE = 256 };
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
    const block *b = block_for(s, at);
    float *x = out;
    if (!b) { /* This is never reached, because opening the data set refuses unknown groups. */
        for (int64_t i = 0; i < s->values; i++) x[i] = NAN;
        return;
    }
    if (b->wide) {
        run_wide(s, b, in, out);
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
    /* With groups, dt_map_undo_group does the conversion. */
    if (by_group(args)) return (dt_value){0};
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
    .by_group = by_group,
    .knows = knows,
    .undo_group = undo_group,
    .undo = undo,
};
