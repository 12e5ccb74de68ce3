/* SPDX-License-Identifier: Apache-2.0 */
/* `ckpt diff`: compares two checkpoints tensor by tensor. Both lists of tensors are sorted by name,
 * so one pass over both finds all names. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "format/contents.h"
#include "op/cells.h"

enum { LONGEST_SHOWN = 4096 };

typedef struct diff {
    double within;
    bool json, differ;
    dt_str out;
} diff;

/* How much two tensors of the same type differ: `values` counts the elements that differ; the
 * others are the largest |x - y| and the largest |x - y| / max(|x|, |y|) of any element. NaN and
 * NaN do not differ; NaN and a number differ infinitely. */
typedef struct distance {
    double absolute, relative;
    int64_t values;
} distance;

static distance measure(const dt_view *a, const dt_view *b) {
    distance d = {0};
    for (int64_t i = 0, n = dt_type_elements(&a->type); i < n; i++) {
        double x = dt_cell_double(a, i), y = dt_cell_double(b, i), far = fabs(x - y);
        if (x == y || (isnan(x) && isnan(y))) continue;
        far = isnan(far) ? INFINITY : far;
        d.values++;
        d.absolute = fmax(d.absolute, far);
        d.relative = fmax(d.relative, isinf(far) ? INFINITY : far / fmax(fabs(x), fabs(y)));
    }
    return d;
}

static void put_name(diff *d, const char *name, int width) {
    size_t from = d->out.size;
    dt_str_escaped(&d->out, name, strlen(name), LONGEST_SHOWN);
    dt_str_pad(&d->out, from, width);
}

static void put_word(diff *d, const char *name, const char *word, const char *with) {
    dt_json j = {.out = &d->out};
    d->differ = true;
    if (d->json) {
        dt_json_open(&j, NULL, '{');
        dt_json_string(&j, "name", name);
        dt_json_string(&j, "difference", word);
        dt_json_close(&j, '}');
        dt_str_putc(&d->out, '\n');
    } else {
        put_name(d, name, 40);
        dt_str_printf(&d->out, " %s", word);
        put_name(d, with, 0);
        dt_str_putc(&d->out, '\n');
    }
}

static void put_distance(diff *d, const char *name, const distance *far) {
    dt_json j = {.out = &d->out};
    if (d->json) {
        dt_json_open(&j, NULL, '{');
        dt_json_string(&j, "name", name);
        dt_json_int(&j, "values", far->values);
        dt_json_double(&j, "absolute", far->absolute);
        dt_json_double(&j, "relative", far->relative);
        dt_json_close(&j, '}');
        dt_str_putc(&d->out, '\n');
    } else {
        put_name(d, name, 40);
        dt_str_printf(&d->out, " %" PRId64 " value%s, at most %.4g, relative %.4g\n", far->values,
                      far->values == 1 ? "" : "s", far->absolute, far->relative);
    }
}

typedef struct sides {
    const dt_stored_arrays *a, *b;
} sides;

/* Compares two tensors of one type. Tensors differ if their bits do; with d->within, only if the
 * largest difference of values is more than that. If they differ, sets d->differ and prints the
 * distance. Equal values may have different bits, such as 0 and -0. */
static void judge(diff *d, const char *name, const dt_view *x, const dt_view *y) {
    if (memcmp(x->data, y->data, (size_t)dt_type_bytes(&x->type)) == 0) return;
    distance far = measure(x, y);
    if (d->within > 0 && far.absolute <= d->within) return;
    d->differ = true;
    put_distance(d, name, &far);
}

static dt_status *compare_values(diff *d, const sides *s, const dt_stored_array *a,
                                 const dt_stored_array *b) {
    void *x = NULL, *y = NULL;
    dt_status *bad = dt_contents_read(s->a, a, &x);
    if (!bad) bad = dt_contents_read(s->b, b, &y);
    if (!bad && x && y) judge(d, a->name, &(dt_view){a->type, x}, &(dt_view){b->type, y});
    else if (!bad) put_word(d, a->name, "of a type that cannot be compared", "");
    free(x);
    free(y);
    return bad;
}

static dt_status *compare(diff *d, const sides *s, const dt_stored_array *a,
                          const dt_stored_array *b) {
    if (a->type.rank != b->type.rank || memcmp(a->type.dim, b->type.dim, sizeof a->type.dim) != 0)
        put_word(d, a->name, "of another shape", "");
    else if (a->known != b->known || a->type.dtype != b->type.dtype)
        put_word(d, a->name, "of another dtype", "");
    else return compare_values(d, s, a, b);
    return NULL;
}

static dt_status *compare_files(diff *d, const sides *s) {
    int i = 0, k = 0;
    while (i < s->a->n || k < s->b->n) {
        const dt_stored_array *a = i < s->a->n ? &s->a->array[i] : NULL,
                              *b = k < s->b->n ? &s->b->array[k] : NULL;
        int order = !a ? 1 : !b ? -1 : strcmp(a->name, b->name);
        if (order < 0) put_word(d, a->name, "only in ", s->a->path);
        else if (order > 0) put_word(d, b->name, "only in ", s->b->path);
        else DT_TRY(compare(d, s, a, b));
        i += order <= 0;
        k += order >= 0;
    }
    return NULL;
}

/* Compares the files that both checkpoints have, by their titles; files that only one of them has
 * are ignored. If no difference is found, writes a line that says so, except in JSON. */
static dt_status *compare_contents(diff *d, const dt_contents *a, const dt_contents *b) {
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++)
            if (strcmp(a->file[i].title, b->file[k].title) == 0)
                DT_TRY(compare_files(d, &(sides){&a->file[i].arrays, &b->file[k].arrays}));
    if (!d->differ && !d->json)
        dt_str_puts(&d->out,
                    d->within > 0 ? "no difference that large\n" : "the same, bit for bit\n");
    return NULL;
}

dt_status *dt_checkpoint_diff(const char *a, const char *b, double within, bool json, char **text,
                              bool *differ) {
    diff d = {.within = within, .json = json};
    dt_contents x = {0}, y = {0};
    DT_REQUIRE({a, "first path"}, {b, "second path"}, {text, "place for the text"},
               {differ, "place for the answer"});
    dt_status *bad = dt_contents_open(&x, a, NULL);
    if (!bad) bad = dt_contents_open(&y, b, NULL);
    if (!bad) bad = compare_contents(&d, &x, &y);
    dt_contents_close(&x);
    dt_contents_close(&y);
    *differ = d.differ;
    if (bad) dt_str_release(&d.out);
    else *text = dt_str_take(&d.out);
    return bad;
}
