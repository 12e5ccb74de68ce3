/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and ranges of values, and the values of a trial.
 *
 *     key=a,b,c          a list; commas inside brackets, braces and quotes do not separate
 *     key=0.1..0.5       a range of numbers, evenly distributed
 *     key=16..64         a range of integers, both ends included
 *     key=log:1e-4..0.1  evenly distributed on a logarithmic scale; also for integers
 *
 * Anything else is one value. If all keys have lists, random trials are a permutation of the grid,
 * which depends on the seed and the grid's size. Otherwise each value is drawn with Philox 4x32-10,
 * keyed by the seed and the key's name, with the trial's number as the stream; a further key then
 * does not change the values of others. More trials never change existing ones. All values are the
 * same on all machines.
 */
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/random.h"
#include "job/sweep.h"

/* ---- reading ---- */

typedef struct reading {
    dt_arena *arena;
    const dt_source *source; /* where the override was given, for messages such as "override 2" */
    const char *value;       /* the text after the '=' of the override */
} reading;

static dt_location location_at(const reading *r, const char *at, size_t n) {
    return (dt_location){.source = r->source,
                         .line = 1,
                         .col = 1 +
                                (int)dt_utf8_count(r->source->text, (size_t)(at - r->source->text)),
                         .width = (int)dt_utf8_count(at, n),
                         .offset = (size_t)(at - r->source->text)};
}

static dt_status *fault(const reading *r, const char *at, size_t n, const char *what) {
    const dt_location where = location_at(r, at, n);
    return dt_fail(DT_E_BAD_OVERRIDE, &where, "%s", what);
}

/* Finds the end of the item that begins at `at`: a comma outside of brackets and quotes, or the end
 * of the text. */
static const char *end_of_item(const char *at) {
    char quote = '\0';
    for (int depth = 0; *at; at++) {
        if (quote) quote = *at == quote ? '\0' : quote;
        else if (*at == '"' || *at == '\'') quote = *at;
        else if (strchr("[{", *at)) depth++;
        else if (strchr("]}", *at)) depth--;
        else if (*at == ',' && depth <= 0) return at;
    }
    return at;
}

static int count_items(const char *text) {
    int n = 1;
    for (text = end_of_item(text); *text; text = end_of_item(text + 1)) n++;
    return n;
}

/* Removes blanks around an item, as in 'width=32, 64'. */
static void trim(const char **at, const char **end) {
    while (*at < *end && **at == ' ') ++*at;
    while (*end > *at && (*end)[-1] == ' ') --*end;
}

static dt_status *read_list(const reading *r, int n, dt_sweep_range *out) {
    const char **value = dt_arena_array(r->arena, const char *, n);
    const char *at = r->value;
    for (int i = 0; i < n; i++) {
        const char *end = end_of_item(at), *next = end + 1, *begun = at;
        trim(&at, &end);
        if (at == end)
            return fault(r, begun, 1, "an empty value in a list; write null for a key's default");
        value[i] = dt_arena_printf(r->arena, "%.*s", (int)(end - at), at);
        for (int k = 0; k < i; k++)
            if (strcmp(value[k], value[i]) == 0)
                return fault(r, at, (size_t)(end - at), "this value is listed twice");
        at = next;
    }
    out->kind = DT_SWEPT_LIST;
    out->n = n;
    out->value = value;
    return NULL;
}

/* Splits "LO..HI" into its two sides. Returns false if the text has another form. */
static bool split(dt_arena *arena, const char *text, const char *side[2]) {
    const char *dots = strstr(text, "..");
    if (!dots) return false;
    side[0] = dt_arena_printf(arena, "%.*s", (int)(dots - text), text);
    side[1] = dots + 2;
    return true;
}

/* Whether the text is an integer from -2^53 to 2^53: all these are exact as doubles. */
static bool is_int(const char *text) {
    int64_t n;
    return dt_parse_int64(text, &n) && n <= INT64_C(1) << 53 && n >= -(INT64_C(1) << 53);
}

static dt_status *read_ends(const reading *r, const char *text, const char *const side[2],
                            dt_sweep_range *out) {
    const bool log = text != r->value;
    const size_t n = strlen(text);
    double *const end[] = {&out->least, &out->most};
    for (int i = 0; i < 2; i++)
        if (!dt_parse_double(side[i], end[i]) || !isfinite(*end[i]))
            return fault(r, text, n,
                         "a range is LO..HI, two numbers, as in 0.1..0.5 or log:1e-4..1e-1");
    if (out->least >= out->most)
        return fault(r, text, n, "a range begins below its end: write the smaller number first");
    if (log && out->least <= 0) return fault(r, text, n, "a range by logarithm begins above 0");
    const bool whole = is_int(side[0]) && is_int(side[1]);
    out->kind = log     ? whole ? DT_SWEPT_LOG_INT : DT_SWEPT_LOG
                : whole ? DT_SWEPT_INT
                        : DT_SWEPT_REAL;
    return NULL;
}

/* Whether the value is a range: it begins with "log:", or it contains ".." and the text before or
 * after the first ".." is a number. "../data" and "a..b" are not ranges. Sets *text to the value
 * without "log:", and side[] to the texts before and after the "..". */
static bool is_range(dt_arena *arena, const char *value, const char **text, const char *side[2]) {
    static const char log[] = "log:";
    double x;
    const bool by_log = strncmp(value, log, strlen(log)) == 0;
    *text = by_log ? value + strlen(log) : value;
    side[0] = *text;
    side[1] = "";
    if (!split(arena, *text, side)) return by_log;
    return by_log || dt_parse_double(side[0], &x) || dt_parse_double(side[1], &x);
}

/* Reads an override, and sets *several to whether it has more than one value. */
static dt_status *read_one(const reading *r, dt_sweep_range *out, bool *several) {
    const char *text, *side[2];
    const int n = count_items(r->value);
    *several = true;
    if (n == 1 && is_range(r->arena, r->value, &text, side)) return read_ends(r, text, side, out);
    *several = n > 1;
    return n > 1 ? read_list(r, n, out) : NULL;
}

/* Refuses a later override of a swept key, or of a mapping that contains it, which would replace
 * the value of each trial. */
static dt_status *check_replaces(const reading *r, const dt_sweep_space *s, const char *key) {
    const size_t n = strlen(key);
    for (int i = 0; i < s->n; i++) {
        const char *its = s->range[i].key;
        if (strncmp(its, key, n) == 0 && (!its[n] || its[n] == '.'))
            return fault(r, r->source->text, n,
                         "an override before this one gives several values, which this one would "
                         "replace");
    }
    return NULL;
}

static dt_status *check_key(const reading *r, const dt_sweep_space *s, const char *key) {
    if (strcmp(key, "output.dir") == 0)
        return fault(r, r->value, strlen(r->value),
                     "output.dir is the folder of the whole sweep: give one path");
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->range[i].key, key) == 0)
            return fault(r, r->source->text, strlen(key), "this key has several values already");
    DT_TRY(check_replaces(r, s, key));
    if (s->n == DT_SWEEP_MOST_PARAMETERS)
        return fault(r, r->source->text, strlen(key), "at most 64 keys can have several values");
    return NULL;
}

static dt_status *read_override(dt_arena *arena, const char *text, int i, dt_sweep_space *s) {
    const char *equals = strchr(text, '=');
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_sweep_range range = {.text = text, .operand = i};
    bool several = false;
    /* the error of an override without '=' is reported later, when the job is read */
    if (!equals) return NULL;
    *source = (dt_source){dt_arena_printf(arena, "override %d", i + 1), text, strlen(text)};
    const reading r = {arena, source, equals + 1};
    range.key = dt_arena_printf(arena, "%.*s", (int)(equals - text), text);
    DT_TRY(read_one(&r, &range, &several));
    if (!several) return check_replaces(&r, s, range.key);
    DT_TRY(check_key(&r, s, range.key));
    s->range[s->n++] = range;
    return NULL;
}

dt_status *dt_space_read(dt_arena *arena, const char *const *overrides, int n,
                         dt_sweep_space *out) {
    dt_status *faults = NULL;
    *out = (dt_sweep_space){.is_grid = true, .grid = 1};
    for (int i = 0; i < n; i++)
        dt_status_append(&faults, read_override(arena, overrides[i], i, out));
    for (int i = 0; i < out->n; i++) {
        out->is_grid &= out->range[i].kind == DT_SWEPT_LIST;
        if (!dt_mul_fits(out->grid, out->range[i].n, &out->grid)) out->grid = INT64_MAX;
    }
    return faults;
}

/* ---- the values of a trial ---- */

/* Returns the value of a parameter (an index of s->range) in trial i of the grid, lent by s. The
 * last parameter changes fastest, as in nested loops. `arena` is not used. */
const char *dt_space_grid(dt_arena *arena, const dt_sweep_space *s, int64_t i, int parameter) {
    (void)arena;
    for (int k = s->n - 1; k > parameter; k--) i /= s->range[k].n;
    return s->range[parameter].value[i % s->range[parameter].n];
}

/* Returns x as text with six significant digits, which are easy to read and type. If the range is
 * narrow (its width is less than 1/1000 of the larger magnitude of its limits), or the rounded
 * number is outside of it, the text has all digits and x is clipped to the range. */
static const char *real_text(dt_arena *arena, double x, const dt_sweep_range *r) {
    const char *text = dt_arena_printf(arena, "%.6g", x);
    double rounded;
    const bool narrow = r->most - r->least < 1e-3 * fmax(fabs(r->least), fabs(r->most));
    if (!narrow && dt_parse_double(text, &rounded) && rounded >= r->least && rounded <= r->most)
        return text;
    dt_str whole = {0};
    dt_str_double(&whole, fmin(fmax(x, r->least), r->most));
    return dt_arena_take(arena, &whole);
}

static double by_log(dt_random *random, double least, double most) {
    const double from = dt_portable_log(least), to = dt_portable_log(most);
    return dt_portable_exp(from + (to - from) * dt_random_uniform(random));
}

static const char *int_text(dt_arena *arena, double x, const dt_sweep_range *r) {
    return dt_arena_printf(arena, "%lld", (long long)fmin(fmax(floor(x), r->least), r->most));
}

static const char *draw(dt_arena *arena, const dt_sweep_range *r, dt_random *random) {
    switch (r->kind) {
    case DT_SWEPT_LIST: return r->value[dt_random_below(random, (uint64_t)r->n)];
    case DT_SWEPT_REAL:
        return real_text(arena, r->least + (r->most - r->least) * dt_random_uniform(random), r);
    case DT_SWEPT_LOG: return real_text(arena, by_log(random, r->least, r->most), r);
    case DT_SWEPT_INT:
        return int_text(
            arena, r->least + (double)dt_random_below(random, (uint64_t)(r->most - r->least) + 1),
            r);
    case DT_SWEPT_LOG_INT: return int_text(arena, by_log(random, r->least, r->most + 1), r);
    }
    return NULL;
}

/* Returns a value that trial i draws at random. If all keys have lists, with fewer than 2^63 - 1
 * combinations, no combination occurs twice: the trials are a permutation of the grid. */
const char *dt_space_random(dt_arena *arena, const dt_sweep_space *s, uint64_t seed, int64_t i,
                            int parameter) {
    const dt_sweep_range *r = &s->range[parameter];
    if (s->is_grid && s->grid < INT64_MAX) {
        const dt_permutation p = dt_permutation_make(seed, "sweep", 0, (uint64_t)s->grid);
        return dt_space_grid(arena, s, (int64_t)dt_permutation_at(&p, (uint64_t)i), parameter);
    }
    dt_random random =
        dt_random_stream(seed, dt_arena_printf(arena, "sweep %s", r->key), (uint64_t)i);
    return draw(arena, r, &random);
}
