/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impute: replaces missing values, as scikit-learn's SimpleImputer. Each number of an example is a
 * feature with its own replacement, which is given or learned from the training data; a text has
 * one. NaN, the empty text, and negative vocabulary indices are missing values (file/missing.h).
 * With `indicator`, the example also gets a number for each feature that has missing values in the
 * training data: 1 if the value was missing, else 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/map/words.h"
#include "file/cast.h"

enum { MEAN, MEDIAN, MOST_FREQUENT, CONSTANT };
static const char *const strategies[] = {"mean", "median", "most_frequent", "constant", NULL};

struct impute {
    int strategy;
    const dt_tree *fill_value;
    bool indicator;
};

static const dt_field fields[] = {
    DT_ENUM(struct impute, strategy, strategies,
            .help = "mean, median or most_frequent of the training data, or constant"),
    DT_TREE(struct impute, fill_value,
            .forms = DT_FORMS(DT_FORM(DT_FIELD_REAL), DT_FORM(DT_FIELD_TEXT)),
            .help = "for strategy constant; default: 0, for texts missing_value"),
    DT_FLAG(struct impute, indicator,
            .help = "add a number for each feature with missing values in the training data: 1 "
                    "where it was missing"),
    DT_END};

/* What replaces missing values: `word` if they are texts, else `fill`, in the dtype of the
 * values. */
typedef struct filler {
    const char *word;
    void *fill;   /* [values] one replacement per feature */
    int64_t *gap; /* [gaps] indices of the features that have an indicator */
    int gaps;
} filler;

static dt_status *check(const void *args, const dt_location *at) {
    const struct impute *a = args;
    if (a->fill_value && a->strategy != CONSTANT)
        return dt_fail(DT_E_DATASET_KEYS, at, "fill_value needs 'strategy: constant'");
    if (a->fill_value && a->fill_value->kind != DT_TREE_SCALAR)
        return dt_fail(DT_E_DATASET_KEYS, &a->fill_value->at, "fill_value is a number or a text");
    return NULL;
}

static bool is_gap(double x, bool real) { return real ? isnan(x) : x < 0; }

/* ---- learning ---- */

typedef struct feature {
    int64_t n, gaps;
    double mean;
    double *seen; /* [n] the values that are not missing; only for median and most_frequent */
    int64_t cap;
} feature;

typedef struct lesson {
    feature *feature;      /* [values] what is known of each feature */
    dt_word_counts *words; /* how often each text occurs; only if the element is text */
} lesson;

static bool wants(const void *args) {
    const struct impute *a = args;
    return a->strategy != CONSTANT || a->indicator;
}

static void *begin(const dt_map_stage *s) {
    lesson *l = dt_alloc(sizeof *l);
    if (s->is_text) l->words = dt_word_counts_create();
    else l->feature = dt_alloc((size_t)s->values * sizeof *l->feature);
    return l;
}

static void note(feature *f, double x, int strategy) {
    if (strategy == MEAN) f->mean += (x - f->mean) / (double)(f->n + 1);
    if (strategy == MEDIAN || strategy == MOST_FREQUENT) {
        if (f->n == f->cap) {
            f->cap = f->cap ? 2 * f->cap : 64;
            f->seen = dt_realloc(f->seen, (size_t)f->cap * sizeof *f->seen);
        }
        f->seen[f->n] = x;
    }
    f->n++;
}

static void learn_value(void *to, const dt_map_stage *s, const dt_map_at *at, const void *in) {
    (void)at;
    const struct impute *a = s->args;
    const size_t size = dt_dtype_size(s->in.dtype);
    lesson *l = to;
    if (s->is_text && *(const char *)in) dt_word_counts_add(l->words, in, strlen(in));
    for (int64_t i = 0; !s->is_text && i < s->values; i++) {
        double x;
        dt_cast(s->in.dtype, DT_FLOAT64, (const char *)in + (size_t)i * size, &x, 1);
        if (is_gap(x, dt_dtype_is_float(s->in.dtype))) l->feature[i].gaps++;
        else note(&l->feature[i], x, a->strategy);
    }
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the most frequent value; of several that are equally frequent, the smallest. */
static double most_frequent(const feature *f) {
    int64_t most = 0, run = 0, at = 0;
    for (int64_t i = 0; i < f->n; i++) {
        run = i > 0 && f->seen[i] == f->seen[i - 1] ? run + 1 : 1;
        if (run > most) {
            most = run;
            at = i;
        }
    }
    return f->seen[at];
}

/* Returns the replacement that a strategy learns; NaN if the feature has no values, or for the
 * strategy constant. Sorts f->seen, except for the mean. */
static double fill_of(const feature *f, int strategy) {
    if (strategy == CONSTANT || f->n == 0) return NAN;
    if (strategy == MEAN) return f->mean;
    qsort(f->seen, (size_t)f->n, sizeof *f->seen, compare);
    if (strategy == MOST_FREQUENT) return most_frequent(f);
    const double low = f->seen[(f->n - 1) / 2], high = f->seen[f->n / 2];
    return isfinite(low + high) ? (low + high) / 2 : low / 2 + high / 2;
}

static void keep_numbers(const lesson *l, const dt_map_stage *s, dt_arena *arena, dt_lesson *out) {
    const struct impute *a = s->args;
    out->gaps.v = dt_arena_array(arena, double, s->values);
    for (int64_t i = 0; i < s->values && a->indicator; i++)
        if (l->feature[i].gaps > 0) out->gaps.v[out->gaps.n++] = (double)i;
    if (a->strategy == CONSTANT) return;
    out->fill = (dt_reals){.n = (int)s->values, .v = dt_arena_array(arena, double, s->values)};
    for (int64_t i = 0; i < s->values; i++) {
        const double fill = fill_of(&l->feature[i], a->strategy);
        if (!isnan(fill)) out->fill.v[i] = fill;
        /* If there are fewer replacements than values, `infer` reports that feature i has none. */
        else out->fill.n = i < out->fill.n ? (int)i : out->fill.n;
    }
}

static void end(void *from, const dt_map_stage *s, dt_arena *arena, dt_lesson *out) {
    lesson *l = from;
    const char *word = l->words ? dt_word_counts_most(l->words) : NULL;
    if (arena && l->feature) keep_numbers(l, s, arena, out);
    if (arena && word) {
        out->words = (dt_texts){.n = 1, .v = dt_arena_array(arena, const char *, 1)};
        out->words.v[0] = dt_arena_strdup(arena, word);
    }
    for (int64_t i = 0; l->feature && i < s->values; i++) free(l->feature[i].seen);
    free(l->feature);
    dt_word_counts_destroy(l->words);
    free(l);
}

static const dt_map_learning learning = {
    .wants = wants, .begin = begin, .take = learn_value, .end = end};

/* ---- replacements ---- */

static dt_status *no_values(const dt_map_stage *s, int64_t number) {
    const char *name = number < s->names.n && s->names.n == s->values ? s->names.v[number] : NULL;
    dt_status *bad =
        name ? dt_fail(DT_E_DATA_FILE, s->at, "%s: column '%.80s' has no values to learn from",
                       s->file, name)
             : dt_fail(DT_E_DATA_FILE, s->at, "%s: feature %lld has no values to learn from",
                       s->file, (long long)number);
    return dt_suggest(bad, "leave the column out, or use 'strategy: constant'");
}

/* Checks that the strategy suits the element. Texts and indices in a vocabulary are categories. */
static dt_status *check_input(const dt_map_stage *s) {
    const struct impute *a = s->args;
    const bool real = !s->is_text && dt_dtype_is_float(s->in.dtype);
    if (!s->is_text && !real && s->numbers == 0)
        return dt_fail(DT_E_DATA_TYPE, s->at,
                       "%s: impute needs floats, texts or a vocabulary, got %s", s->file,
                       dt_dtype_name(s->in.dtype));
    if (!real && (a->strategy == MEAN || a->strategy == MEDIAN))
        return dt_suggest(
            dt_fail(DT_E_DATASET_KEYS, s->at, "categories have no %s", strategies[a->strategy]),
            "write 'impute: most_frequent'");
    if (!real && a->indicator)
        return dt_suggest(
            dt_fail(DT_E_DATASET_KEYS, s->at, "an indicator stands beside numbers, not categories"),
            "let missing ones be a category: impute: {strategy: constant, fill_value: missing}");
    if (a->indicator && s->in.rank > 1)
        return dt_fail(DT_E_DATA_SHAPE, s->at,
                       "%s: an indicator needs examples of one dimension, got %d", s->file,
                       s->in.rank);
    return NULL;
}

static dt_status *make_word(const dt_map_stage *s, filler *out) {
    const struct impute *a = s->args;
    out->word = a->fill_value ? a->fill_value->text : "missing_value";
    if (a->strategy != CONSTANT) {
        if (s->learned->words.n == 0) return no_values(s, 0);
        out->word = s->learned->words.v[0];
    }
    if ((int64_t)strlen(out->word) >= s->in.dim[0] || !*out->word)
        return dt_fail(DT_E_DATASET_KEYS, s->at, "fill_value '%.80s' %s", out->word,
                       *out->word ? "is longer than the element's max_bytes" : "is empty");
    return NULL;
}

/* Gets the constant to fill with: a number, or the index of a word in the vocabulary. */
static dt_status *constant_of(const dt_map_stage *s, double *out) {
    const dt_tree *given = ((const struct impute *)s->args)->fill_value;
    *out = 0;
    if (dt_dtype_is_float(s->in.dtype))
        return given ? dt_tree_real(given, "fill_value", out) : NULL;
    for (int i = 0; given && i < s->names.n; i++)
        if (strcmp(s->names.v[i], given->text) == 0) {
            *out = i;
            return NULL;
        }
    return dt_fail(DT_E_DATASET_KEYS, given ? &given->at : s->at,
                   given ? "fill_value '%.80s' is not in the vocabulary"
                         : "strategy constant needs a fill_value that is in the vocabulary",
                   given ? given->text : "");
}

static dt_status *make_numbers(dt_map_stage *s, dt_arena *arena, filler *out) {
    const struct impute *a = s->args;
    const size_t size = dt_dtype_size(s->in.dtype);
    double constant = 0;
    if (a->strategy == CONSTANT) DT_TRY(constant_of(s, &constant));
    else if (s->learned->fill.n != s->values) return no_values(s, s->learned->fill.n);
    out->fill = dt_arena_alloc(arena, (size_t)s->values * size);
    for (int64_t i = 0; i < s->values; i++) {
        const double x = a->strategy == CONSTANT ? constant : s->learned->fill.v[i];
        if (!dt_row_source_put(s->in.dtype, x, out->fill, i) || (s->numbers && x >= s->numbers))
            return dt_fail(DT_E_DATASET_KEYS, s->at, "%.17g does not fit %s", x,
                           dt_dtype_name(s->in.dtype));
    }
    out->gap = dt_arena_array(arena, int64_t, s->values);
    for (int i = 0; a->indicator && i < s->learned->gaps.n; i++) {
        const double gap = s->learned->gaps.v[i];
        if (gap >= 0 && gap < (double)s->values && out->gaps < s->values)
            out->gap[out->gaps++] = (int64_t)gap;
    }
    return NULL;
}

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    filler *f = dt_arena_new(arena, filler);
    DT_TRY(check_input(s));
    DT_TRY(s->is_text ? make_word(s, f) : make_numbers(s, arena, f));
    s->made = f;
    if (f->gaps > 0) {
        s->out.rank = 1;
        s->out.dim[0] = s->values + f->gaps;
        s->names = (dt_texts){0};
    }
    return NULL;
}

/* ---- application ---- */

#define FILL(type, is_missing)                                                                     \
    {                                                                                              \
        const type *x = in, *fill = f->fill;                                                       \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < s->values; i++) y[i] = is_missing ? fill[i] : x[i];                \
        for (int i = 0; i < f->gaps; i++) {                                                        \
            const type value = x[f->gap[i]];                                                       \
            y[s->values + i] = value != value; /* a NaN gives 1 */                                 \
        }                                                                                          \
    }                                                                                              \
    break

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const filler *f = s->made;
    (void)at;
    if (s->is_text) {
        strcpy(out, *(const char *)in ? in : f->word);
        return;
    }
    switch (s->in.dtype) {
    case DT_FLOAT32: FILL(float, isnan(x[i]));
    case DT_FLOAT64: FILL(double, isnan(x[i]));
    case DT_INT8: FILL(int8_t, x[i] < 0);
    case DT_INT16: FILL(int16_t, x[i] < 0);
    case DT_INT32: FILL(int32_t, x[i] < 0);
    case DT_INT64: FILL(int64_t, x[i] < 0);
    default: memcpy(out, in, (size_t)dt_type_bytes(&s->in));
    }
}

/* Returns the indicator columns for a batch: 1 where the value was missing. */
static dt_value flags(const dt_map_stage *s, dt_value gap) {
    const filler *f = s->made;
    dt_value *part = dt_arena_array(dt_trace_arena(gap.trace), dt_value, f->gaps);
    const dt_value all = dt_convert(gap, s->in.dtype);
    for (int i = 0; i < f->gaps; i++) part[i] = dt_slice_axis(all, 1, f->gap[i], 1, 1);
    return dt_concatenate(part, f->gaps, 1);
}

static dt_value emit(const dt_map_stage *s, dt_value x) {
    const filler *f = s->made;
    const dt_type whole = dt_map_batch_type(&s->in);
    const dt_value fill = dt_broadcast_to(dt_map_numbers(s, x, "fill", &s->in, f->fill), &whole),
                   gap = dt_dtype_is_float(s->in.dtype) ? dt_compare(x, x, DT_NE)
                                                        : dt_compare(x, dt_like(x, 0), DT_LT);
    dt_value y = dt_select(gap, fill, x);
    if (f->gaps == 0) return y;
    if (s->in.rank == 0) {
        const int64_t column[] = {-1, 1};
        const dt_value both[] = {dt_reshape(y, 2, column),
                                 dt_reshape(dt_convert(gap, s->in.dtype), 2, column)};
        return dt_concatenate(both, 2, 1);
    }
    const dt_value both[] = {y, flags(s, gap)};
    return dt_concatenate(both, 2, 1);
}

const dt_map_step dt_map_impute = {
    .kind = {"impute", "replace missing values, as scikit-learn's SimpleImputer", fields,
             sizeof(struct impute), NULL},
    .brief = {"strategy"},
    .takes = DT_TAKES_TEXT_TOO,
    .comes_first = true,
    .keeps_numbers = true,
    .keeps_names = true,
    .check = check,
    .learning = &learning,
    .infer = infer,
    .run = run,
    .emit = emit,
};
