/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints arrays as NumPy does. The numbers of an array are aligned at their decimal points, and
 * columns are aligned. Arrays of more than a thousand values show only the first and last three
 * along each axis of more than six.
 *
 *     array([[1.  , 2.25],
 *            [3.5 , 4.  ]], dtype=float32)
 *
 * Unlike NumPy, it does not wrap long rows, and leaves no blank line between planes.
 */
#include "strategy/variable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/cells.h"
#include "strategy/values.h"

enum {
    SHOWN_WHOLE = 1000,
    SHOWN_AT_ENDS = 3,
    MOST_DECIMALS = 8,
    EXPONENT = 4 /* the number of characters of "e+00" */
};

/* The format of one array's numbers. left: number of characters before the decimal point, or of an
 * integer; right: number of characters after the point; exponents: whether numbers are in
 * scientific notation. */
typedef struct look {
    const dt_view *v;
    bool cut, exponents;
    int left, right;
    int indent;
} look;

/* ---- single numbers ---- */

static void shortest(const dt_view *v, int64_t i, dt_str *out) {
    if (v->type.dtype == DT_FLOAT64) dt_str_double(out, dt_cell_double(v, i));
    else dt_str_float(out, (float)dt_cell_double(v, i));
}

/* Returns how many digits after the point suffice to read the same number back, or 8 if not even
 * these suffice; 0 for nan and inf. With exponents, these are the digits after the first one. */
static int decimals(const look *l, int64_t i) {
    double x = dt_cell_double(l->v, i);
    char text[64];
    int n = 0;

    if (!isfinite(x) || x == 0) return 0;
    for (; n < MOST_DECIMALS; n++) {
        snprintf(text, sizeof text, l->exponents ? "%.*e" : "%.*f", n, x);
        double back = strtod(text, NULL);
        if (l->v->type.dtype == DT_FLOAT64 ? back == x : (float)back == (float)x) break;
    }
    return n;
}

/* Appends "1.25", "1." for a whole number, or "nan". */
static void print_float(const look *l, int64_t i, dt_str *out) {
    double x = dt_cell_double(l->v, i);
    size_t from = out->size;
    int n = decimals(l, i);

    if (!isfinite(x)) {
        const char *word = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
        dt_str_printf(out, "%*s", l->left + 1 + l->right + (l->exponents ? EXPONENT : 0), word);
    } else if (l->exponents) {
        dt_str_printf(out, "%*s%#.*e", l->left - 1 - (signbit(x) != 0), "", l->right, x);
    } else {
        char text[400];
        snprintf(text, sizeof text, "%.*f%s", n, x, n ? "" : ".");
        dt_str_printf(out, "%*s%s", (int)(l->left - (int)(strchr(text, '.') - text)), "", text);
        dt_str_pad(out, from, l->left + 1 + l->right);
    }
}

static void print_integer(const look *l, int64_t i, dt_str *out) {
    if (l->v->type.dtype == DT_UINT64)
        dt_str_printf(out, "%*llu", l->left, (unsigned long long)dt_cell_int(l->v, i));
    else dt_str_printf(out, "%*lld", l->left, (long long)dt_cell_int(l->v, i));
}

static void print_number(const look *l, int64_t i, dt_str *out) {
    if (l->v->type.dtype == DT_BOOL)
        dt_str_printf(out, "%*s", l->left, dt_cell_int(l->v, i) ? "True" : "False");
    else if (!dt_dtype_is_float(l->v->type.dtype)) print_integer(l, i, out);
    else print_float(l, i, out);
}

/* Returns the number of characters of the integer part with its sign. For nan and inf: how many of
 * the word's characters stand to the left of the column of decimal points. */
static int characters_left(const look *l, int64_t i) {
    double x = dt_cell_double(l->v, i);

    if (!isfinite(x)) return (x < 0 ? 4 : 3) - 1 - l->right - (l->exponents ? EXPONENT : 0);
    return snprintf(NULL, 0, "%.0f", l->exponents ? copysign(1, x) : trunc(x));
}

static void measure(look *l, int64_t n) {
    bool floats = dt_dtype_is_float(l->v->type.dtype);
    dt_local_str text = {0};

    for (int64_t i = 0; floats && i < n; i++)
        l->right = decimals(l, i) > l->right ? decimals(l, i) : l->right;
    for (int64_t i = 0; i < n; i++) {
        dt_str_clear(&text);
        if (!floats) print_number(&(look){.v = l->v}, i, &text);
        int left = floats ? characters_left(l, i) : (int)text.size;
        l->left = left > l->left ? left : l->left;
    }
}

/* Whether to use scientific notation, by NumPy's rule: of the absolute values that are finite and
 * not 0, the largest is at least 1e8, the smallest is below 1e-4, or their ratio exceeds 1000. */
static bool wants_exponents(const dt_view *v, int64_t n) {
    double most = 0, least = INFINITY;

    for (int64_t i = 0; i < n; i++) {
        double x = fabs(dt_cell_double(v, i));
        if (x == 0 || !isfinite(x)) continue;
        most = fmax(most, x);
        least = fmin(least, x);
    }
    return most >= 1e8 || (most > 0 && (least < 1e-4 || most / least > 1000));
}

static look format_of(const dt_view *v, int indent) {
    int64_t n = dt_type_elements(&v->type);
    look l = {.v = v,
              .cut = n > SHOWN_WHOLE,
              .exponents = dt_dtype_is_float(v->type.dtype) && wants_exponents(v, n),
              .indent = indent};

    measure(&l, n);
    return l;
}

/* ---- arrays ---- */

static void print_axis(const look *l, int axis, int64_t at, dt_str *out) {
    const dt_type *t = &l->v->type;
    int64_t n = t->dim[axis], step = 1;

    for (int d = axis + 1; d < t->rank; d++) step *= t->dim[d];
    dt_str_putc(out, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i && axis == t->rank - 1) dt_str_puts(out, ", ");
        else if (i) dt_str_printf(out, ",\n%*s", l->indent + axis + 1, "");
        if (l->cut && n > 2 * SHOWN_AT_ENDS && i == SHOWN_AT_ENDS) {
            dt_str_puts(out, "...");
            i = n - SHOWN_AT_ENDS - 1;
        } else if (axis == t->rank - 1) {
            print_number(l, at + i * step, out);
        } else {
            print_axis(l, axis + 1, at + i * step, out);
        }
    }
    dt_str_putc(out, ']');
}

static void print_scalar(const dt_view *v, dt_str *out) {
    size_t from = out->size;

    if (v->type.dtype == DT_BOOL || !dt_dtype_is_float(v->type.dtype)) {
        print_number(&(look){.v = v}, 0, out);
        return;
    }
    shortest(v, 0, out);
    dt_str_puts(out, strpbrk(dt_str_text(out) + from, ".en") ? "" : ".0");
}

static void print_shape(const dt_type *t, dt_str *out) {
    dt_str_putc(out, '(');
    for (int d = 0; d < t->rank; d++)
        dt_str_printf(out, "%s%lld", d ? ", " : "", (long long)t->dim[d]);
    dt_str_puts(out, t->rank == 1 ? ",)" : ")");
}

/* Whether NumPy leaves out the dtype, because a list of such numbers would have it anyway. */
static bool is_plain(const dt_type *t) {
    return dt_type_elements(t) > 0 &&
           (t->dtype == DT_FLOAT64 || t->dtype == DT_INT64 || t->dtype == DT_BOOL);
}

/* Appends an array without elements. NumPy prints its shape, unless it has one dimension. */
static void print_nothing(const dt_type *t, dt_str *out) {
    dt_str_puts(out, "[]");
    if (t->rank == 1) return;
    dt_str_puts(out, ", shape=");
    print_shape(t, out);
}

void dt_text_array(const dt_view *v, const char *comma, dt_str *out) {
    static const char head[] = "array(";
    dt_local_str array = {0};

    dt_str_puts(out, "shape=");
    print_shape(&v->type, out);
    dt_str_printf(out, "%s dtype=%s, numpy=", comma, dt_dtype_name(v->type.dtype));
    if (v->type.rank == 0) {
        print_scalar(v, out);
        return;
    }
    dt_str_puts(&array, head);
    if (dt_type_elements(&v->type) == 0) {
        print_nothing(&v->type, &array);
    } else {
        look l = format_of(v, (int)sizeof head - 1);
        print_axis(&l, 0, 0, &array);
    }
    if (!is_plain(&v->type)) dt_str_printf(&array, ", dtype=%s", dt_dtype_name(v->type.dtype));
    dt_str_putc(&array, ')');
    dt_str_printf(out, "%s%s", strchr(array.data, '\n') ? "\n" : "", array.data);
}

/* ---- public functions ---- */

static void print_tensor(const dt_tensor *t, dt_str *out) {
    const dt_view v = {.type = t->type, .data = t->data};

    dt_str_puts(out, "<tf.Tensor: ");
    dt_text_array(&v, ",", out);
    dt_str_putc(out, '>');
}

char *dt_tensor_text(const dt_tensor *t) {
    DT_LIVE(t);
    dt_str text = {0};

    if (!t) return NULL;
    print_tensor(t, &text);
    return dt_str_take(&text);
}

char *dt_values_text(const dt_values *v, const char *name) {
    DT_LIVE(v);
    const dt_value_entry *e = v && name ? dt_values_find(v, name) : NULL;
    dt_str text = {0};

    if (!e) return NULL;
    const bool distributed = dt_entry_is_distributed(e);
    if (distributed) dt_str_puts(&text, "PerReplica:{\n");
    for (int r = 0; r < e->n; r++) {
        if (distributed) dt_str_printf(&text, "  %d: ", r);
        print_tensor(dt_entry_local(e, r), &text);
        dt_str_puts(&text, !distributed ? "" : r + 1 < e->n ? ",\n" : "\n}");
    }
    return dt_str_take(&text);
}
