/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, and functions shared by formats; see file.h. */
#include "file/examples.h"

#include <math.h>
#include <string.h>

const dt_format *const dt_file_formats[] = {
#define DT_FILE_FORMAT(name) &dt_format_##name,
#include "file/formats.h"
#undef DT_FILE_FORMAT
    NULL,
};

const dt_format *dt_format_for(const char *path, const char **suffix) {
    const size_t n = strlen(path);
    for (const dt_format *const *c = dt_file_formats; *c; c++)
        for (const char *const *s = (*c)->writer ? (*c)->suffix : &(const char *){NULL}; *s; s++)
            if (n > strlen(*s) && strcmp(path + n - strlen(*s), *s) == 0) {
                *suffix = *s;
                return *c;
            }
    return NULL;
}

const dt_format *dt_format_sniff(const unsigned char *first, int64_t n) {
    const dt_format *const *c = dt_file_formats;
    while (*c && !((*c)->sniff && (*c)->sniff(first, n))) c++;
    return *c;
}

bool dt_format_is_named(const dt_format *f) {
    const dt_format *const *c = dt_file_formats;
    while (*c && *c != f) c++;
    return *c != NULL;
}

int dt_formats(void) {
    int n = 0;
    for (const dt_format *const *f = dt_file_formats; *f; f++) n += (*f)->open_part != NULL;
    return n;
}

static int names_before(const char *name) {
    int n = 0;
    for (const dt_format *const *f = dt_file_formats; *f; f++)
        n += (*f)->open_part && strcmp((*f)->kind.name, name) < 0;
    return n;
}

const dt_format *dt_format_at(int place) {
    const dt_format *const *f = dt_file_formats;
    while (!(*f)->open_part || names_before((*f)->kind.name) != place) f++;
    return *f;
}

bool dt_format_has_rows(const dt_format *f) {
    return f->content == DT_CONTENT_TABLE || f->content == DT_CONTENT_RECORDS;
}

const char *dt_part_name(dt_part p) {
    static const char *const names[DT_PARTS] = {"train", "validation", "test"};
    return names[p];
}

int64_t dt_row_source_values(const dt_row_source *s) {
    int64_t n = 0;
    for (int e = 0; e < s->n; e++)
        n += s->element[e].text ? 1 : dt_type_elements(&s->element[e].type);
    return n;
}

void dt_row_source_close(dt_row_source *s) {
    if (s->reader && s->reader->close) s->reader->close(s);
    s->reader = NULL;
}

#define PUT(type, least, most)                                                                     \
    if (!(x >= (double)(least) && x <= (double)(most)) || x != floor(x)) return false;             \
    ((type *)out)[i] = (type)x;                                                                    \
    return true

bool dt_row_source_put(dt_dtype dtype, double x, void *out, int64_t i) {
    switch (dtype) {
    case DT_BOOL: PUT(bool, 0, 1);
    case DT_UINT8: PUT(uint8_t, 0, UINT8_MAX);
    case DT_INT8: PUT(int8_t, INT8_MIN, INT8_MAX);
    case DT_INT16: PUT(int16_t, INT16_MIN, INT16_MAX);
    case DT_INT32: PUT(int32_t, INT32_MIN, INT32_MAX);
    case DT_INT64: PUT(int64_t, -0x1p53, 0x1p53);
    case DT_FLOAT64: ((double *)out)[i] = x; return isfinite(x);
    default: ((float *)out)[i] = (float)x; return isfinite((float)x);
    }
}

/* ---- examples read from front to back ---- */

typedef struct in_order {
    dt_examples base;
    dt_row_source *source;
    int64_t taken;
} in_order;

static dt_row_source *source_of(const dt_examples *x) { return ((const in_order *)x)->source; }

static dt_status *next_in_order(dt_examples *x, void *const *out, bool *more) {
    dt_row_source *s = source_of(x);
    int64_t *taken = &((in_order *)x)->taken;
    s->row = *taken;
    s->passed = false;
    dt_status *bad = s->reader->next(s, out, more);
    if (bad) *more = s->passed;
    else if (!*more && *taken == 0)
        bad = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", s->path);
    *taken += *more;
    return bad;
}

static bool would_wait(const dt_examples *x) {
    const dt_row_source *s = source_of(x);
    const bool holds = s->reader->holds && s->reader->holds(s);
    return !holds && s->file && !dt_inflow_is_ready(s->file);
}

static void close_in_order(dt_examples *x) {
    dt_row_source *s = source_of(x);
    dt_row_source_close(s);
    dt_inflow_close(s->file);
}

/* Lists the files of a source whose rows are files. A picture that comes through a pipe has no
 * file. */
static void list_files(dt_examples *x, dt_row_source *s) {
    x->single = s->reader->file && s->reader->file(s, 0);
    if (!x->single) return;
    x->paths = (dt_paths){.v = dt_arena_array(s->arena, char *, s->count)};
    while (x->paths.n < s->count) {
        x->paths.v[x->paths.n] = (char *)s->reader->file(s, x->paths.n);
        x->paths.n++;
    }
}

dt_examples *dt_examples_in_order(dt_row_source *s) {
    static const dt_example_reader reader = {
        .next = next_in_order, .waits = would_wait, .close = close_in_order};
    in_order *x = dt_arena_new(s->arena, in_order);
    x->base = (dt_examples){.reader = &reader, .n = s->n, .stored = s->element, .count = s->count};
    x->source = s;
    list_files(&x->base, s);
    return &x->base;
}
