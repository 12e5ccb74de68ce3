/* SPDX-License-Identifier: Apache-2.0 */
/* Computes minimum, maximum and mean of every element in one pass, and reports them; see
 * inspect.h. */
#include "data/inspect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "file/cast.h"

#define BATCH_BYTES ((int64_t)4 << 20)

enum { PIECE = 1024, SHOWN = 8, LARGEST_BATCH = 4096 };

typedef struct tally {
    double least, most, sum;
    int64_t least_int, most_int;
    int64_t n, not_finite;
} tally;

typedef struct look {
    const dt_inspection *q;
    const dt_element_spec *element; /* [n] the elements of the data set */
    int n;
    int64_t count;
    tally *tally;  /* [n] minimum, maximum, sum and counts of each element's values */
    dt_str *shown; /* [n] for each element, its values in the examples to show, as bytes */
} look;

static void add_reals(tally *t, const double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            t->not_finite++;
            continue;
        }
        t->least = t->n == 0 || x[i] < t->least ? x[i] : t->least;
        t->most = t->n == 0 || x[i] > t->most ? x[i] : t->most;
        t->sum += x[i];
        t->n++;
    }
}

static void add_integers(tally *t, const int64_t *x, int64_t n) {
    for (int64_t i = 0; i < n; i++, t->n++) {
        t->least_int = t->n == 0 || x[i] < t->least_int ? x[i] : t->least_int;
        t->most_int = t->n == 0 || x[i] > t->most_int ? x[i] : t->most_int;
        t->sum += (double)x[i];
    }
}

static void add_values(tally *t, const dt_tensor *v) {
    union {
        double real[PIECE];
        int64_t integer[PIECE];
    } x;
    const int64_t all = dt_type_elements(&v->type);
    const dt_dtype from = v->type.dtype, to = dt_dtype_is_float(from) ? DT_FLOAT64 : DT_INT64;
    for (int64_t at = 0; at < all; at += PIECE) {
        const int64_t n = all - at < PIECE ? all - at : PIECE;
        dt_cast(from, to, v->data + at * (int64_t)dt_dtype_size(from), &x, n);
        if (to == DT_FLOAT64) add_reals(t, x.real, n);
        else add_integers(t, x.integer, n);
    }
}

static int64_t row_bytes(const dt_element_spec *e) {
    dt_type row = dt_type_of(e->type.dtype, e->type.rank - 1, e->type.dim + 1);
    return dt_type_bytes(&row);
}

static void add_batch(look *x, const dt_example *b, int64_t done) {
    const int64_t shown = x->q->records - done < b->rows ? x->q->records - done : b->rows;
    for (int e = 0; e < x->n; e++) {
        add_values(&x->tally[e], b->tensor[e]);
        if (shown > 0)
            dt_str_add(&x->shown[e], b->tensor[e]->data,
                       (size_t)(shown * row_bytes(&x->element[e])));
    }
}

static int64_t batch_size(const look *x) {
    int64_t bytes = 1;
    for (int e = 0; e < x->n; e++) bytes += row_bytes(&x->element[e]);
    const int64_t n = BATCH_BYTES / bytes;
    return n < 1 ? 1 : n > LARGEST_BATCH ? LARGEST_BATCH : n;
}

static dt_status *read_all(look *x) {
    dt_iterator *batches = NULL;
    dt_example b;
    int64_t done = 0;
    DT_TRY(dt_iterator_open_batches(
        &batches, x->q->data, &(dt_batch_options){.part = x->q->part, .batch = batch_size(x)}));
    dt_status *s = dt_iterator_next_batch(batches, &b);
    for (; !s && b.rows > 0; s = dt_iterator_next_batch(batches, &b)) {
        add_batch(x, &b, done);
        done += b.rows;
    }
    dt_iterator_close(batches);
    return s;
}

static void put_value(dt_str *out, const dt_type *row, const char *bytes, int64_t i) {
    double real;
    int64_t integer;
    const char *p = bytes + i * (int64_t)dt_dtype_size(row->dtype);
    if (row->dtype == DT_FLOAT32) {
        float f;
        memcpy(&f, p, sizeof f);
        dt_str_float(out, f);
    } else if (dt_dtype_is_float(row->dtype)) {
        dt_cast(row->dtype, DT_FLOAT64, p, &real, 1);
        dt_str_double(out, real);
    } else {
        dt_cast(row->dtype, DT_INT64, p, &integer, 1);
        dt_str_printf(out, "%lld", (long long)integer);
    }
}

static void put_row(dt_str *out, const dt_element_spec *e, const char *bytes) {
    const dt_type row = dt_type_of(e->type.dtype, e->type.rank - 1, e->type.dim + 1);
    const int64_t n = dt_type_elements(&row);
    dt_str_puts(out, row.rank ? "[" : "");
    for (int64_t i = 0; i < n && i < SHOWN; i++) {
        dt_str_puts(out, i ? ", " : "");
        put_value(out, &row, bytes, i);
    }
    dt_str_puts(out, n > SHOWN ? ", ...]" : row.rank ? "]" : "");
}

static void put_number(dt_str *out, const look *x, int e, bool most) {
    const tally *t = &x->tally[e];
    if (t->n == 0) dt_str_puts(out, "-");
    else if (!dt_dtype_is_float(x->element[e].type.dtype))
        dt_str_printf(out, "%lld", (long long)(most ? t->most_int : t->least_int));
    else if (x->element[e].type.dtype == DT_FLOAT32)
        dt_str_float(out, (float)(most ? t->most : t->least));
    else dt_str_double(out, most ? t->most : t->least);
}

static void put_shape(dt_str *out, const dt_element_spec *e) {
    dt_str_putc(out, '[');
    for (int d = 1; d < e->type.rank; d++)
        dt_str_printf(out, "%s%lld", d > 1 ? ", " : "", (long long)e->type.dim[d]);
    dt_str_putc(out, ']');
}

/* The number of columns of the table: element, dtype, shape, min, max, mean. Each is as wide as its
 * widest cell. */
enum { CELLS = 6 };

static void put_cell(const look *x, int e, int cell, dt_str *out) {
    const tally *t = &x->tally[e];
    switch (cell) {
    case 0: dt_str_escaped(out, x->element[e].name, strlen(x->element[e].name), 60); break;
    case 1: dt_str_puts(out, dt_dtype_name(x->element[e].type.dtype)); break;
    case 2: put_shape(out, &x->element[e]); break;
    case 3: put_number(out, x, e, false); break;
    case 4: put_number(out, x, e, true); break;
    default:
        if (t->n > 0) dt_str_printf(out, "%.6g", t->sum / (double)t->n);
        if (t->not_finite > 0)
            dt_str_printf(out, "   %lld values are not finite", (long long)t->not_finite);
    }
}

static int width_of(const look *x, int cell, const char *title) {
    int width = (int)strlen(title);
    for (int e = 0; e < x->n; e++) {
        dt_str s = {0};
        put_cell(x, e, cell, &s);
        const int n = (int)dt_utf8_count(dt_str_text(&s), s.size);
        width = n > width ? n : width;
        dt_str_release(&s);
    }
    return width;
}

static void put_table(const look *x, dt_str *out) {
    static const char *const titles[CELLS] = {"element", "dtype", "shape", "min", "max", "mean"};
    int width[CELLS];
    for (int c = 0; c < CELLS; c++) width[c] = width_of(x, c, titles[c]);
    for (int e = -1; e < x->n; e++) {
        for (int c = 0; c < CELLS; c++) {
            const size_t from = out->size;
            if (e < 0) dt_str_puts(out, titles[c]);
            else put_cell(x, e, c, out);
            if (c < CELLS - 1) dt_str_pad(out, from, width[c] + 3);
        }
        dt_str_putc(out, '\n');
    }
}

static void put_examples(const look *x, dt_str *out) {
    const int64_t n = x->q->records < x->count ? x->q->records : x->count;
    const int width = width_of(x, 0, "");
    for (int64_t i = 0; i < n; i++) {
        dt_str_printf(out, "\nexample %lld\n", (long long)i);
        for (int e = 0; e < x->n; e++) {
            const size_t from = out->size;
            dt_str_puts(out, "  ");
            put_cell(x, e, 0, out);
            dt_str_pad(out, from, width + 5);
            put_row(out, &x->element[e], dt_str_text(&x->shown[e]) + i * row_bytes(&x->element[e]));
            dt_str_putc(out, '\n');
        }
    }
}

static void put_text(const look *x, dt_str *out) {
    dt_str_escaped(out, x->q->title, strlen(x->q->title), 200);
    dt_str_printf(out, "   %s   %s   ", dt_dataset_spec_of(x->q->data)->format->kind.name,
                  dt_part_name(x->q->part));
    dt_str_grouped(out, x->count);
    dt_str_printf(out, " example%s\n\n", x->count == 1 ? "" : "s");
    put_table(x, out);
    put_examples(x, out);
    if (x->q->notes && *x->q->notes) dt_str_printf(out, "\n%s", x->q->notes);
}

static void put_json_values(dt_json *j, const dt_element_spec *e, const char *bytes) {
    const dt_type row = dt_type_of(e->type.dtype, e->type.rank - 1, e->type.dim + 1);
    const size_t size = dt_dtype_size(row.dtype);
    const bool real = dt_dtype_is_float(row.dtype);
    if (row.rank) dt_json_open(j, e->name, '[');
    for (int64_t i = 0; i < dt_type_elements(&row); i++) {
        const char *key = row.rank ? NULL : e->name, *p = bytes + i * (int64_t)size;
        double x;
        int64_t n;
        dt_cast(row.dtype, real ? DT_FLOAT64 : DT_INT64, p, real ? (void *)&x : (void *)&n, 1);
        if (row.dtype == DT_FLOAT32) dt_json_float(j, key, (float)x);
        else if (real) dt_json_double(j, key, x);
        else dt_json_int(j, key, n);
    }
    if (row.rank) dt_json_close(j, ']');
}

static void put_json_element(dt_json *j, const look *x, int e) {
    const dt_element_spec *el = &x->element[e];
    const tally *t = &x->tally[e];
    const bool real = dt_dtype_is_float(el->type.dtype);
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "name", el->name);
    dt_json_string(j, "dtype", dt_dtype_name(el->type.dtype));
    dt_json_open(j, "shape", '[');
    for (int d = 1; d < el->type.rank; d++) dt_json_int(j, NULL, el->type.dim[d]);
    dt_json_close(j, ']');
    if (real) {
        dt_json_double(j, "min", t->n ? t->least : NAN);
        dt_json_double(j, "max", t->n ? t->most : NAN);
    } else {
        dt_json_int(j, "min", t->least_int);
        dt_json_int(j, "max", t->most_int);
    }
    dt_json_double(j, "mean", t->n ? t->sum / (double)t->n : NAN);
    dt_json_int(j, "not_finite", t->not_finite);
    dt_json_close(j, '}');
}

static void put_json_notes(dt_json *j, const char *notes) {
    dt_json_open(j, "notes", '[');
    for (const char *end; notes && *notes; notes = end + (*end == '\n')) {
        dt_str line = {0};
        end = notes + strcspn(notes, "\n");
        dt_str_add(&line, notes, (size_t)(end - notes));
        dt_json_string(j, NULL, dt_str_text(&line));
        dt_str_release(&line);
    }
    dt_json_close(j, ']');
}

static void put_json(const look *x, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "format", dt_dataset_spec_of(x->q->data)->format->kind.name);
    dt_json_string(&j, "split", dt_part_name(x->q->part));
    dt_json_int(&j, "examples", x->count);
    dt_json_open(&j, "elements", '[');
    for (int e = 0; e < x->n; e++) put_json_element(&j, x, e);
    dt_json_close(&j, ']');
    dt_json_open(&j, "records", '[');
    for (int64_t i = 0; i < x->q->records && i < x->count; i++) {
        dt_json_open(&j, NULL, '{');
        for (int e = 0; e < x->n; e++)
            put_json_values(&j, &x->element[e],
                            dt_str_text(&x->shown[e]) + i * row_bytes(&x->element[e]));
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, ']');
    put_json_notes(&j, x->q->notes);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

dt_status *dt_dataset_inspect(const dt_inspection *q, dt_str *out) {
    look x = {.q = q, .count = dt_dataset_count(q->data, q->part)};
    x.n = dt_dataset_elements(q->data, &x.element);
    x.tally = dt_alloc((size_t)x.n * sizeof *x.tally + 1);
    x.shown = dt_alloc((size_t)x.n * sizeof *x.shown + 1);
    dt_status *s = read_all(&x);
    if (!s) (q->json ? put_json : put_text)(&x, out);
    for (int e = 0; e < x.n; e++) dt_str_release(&x.shown[e]);
    free(x.shown);
    free(x.tally);
    return s;
}
