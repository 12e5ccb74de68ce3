/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of StableHLO: see stablehlo.h. */
#include "op/stablehlo.h"

#include <math.h>
#include <string.h>

#include "op/cells.h"

/* ---- text ---- */

void dt_hlo_print_type(const dt_type *t, dt_str *out) {
    dt_str_puts(out, "tensor<");
    for (int d = 0; d < t->rank; d++) dt_str_printf(out, "%lldx", (long long)t->dim[d]);
    dt_str_printf(out, "%s>", t->dtype == DT_BOOL ? "i1" : dt_dtype_short(t->dtype));
}

void dt_hlo_print_value(dt_hlo_value v, dt_str *out) {
    dt_str_printf(out, v.part ? "%%%d#%d" : "%%%d", v.id, v.part - 1);
}

static dt_hlo_text numbers(const char *open, const char *first, const int64_t *v, int n,
                           const char *close) {
    dt_hlo_text text;
    dt_local_str s = {0};
    dt_str_puts(&s, open);
    for (int i = 0; i < n; i++) dt_str_printf(&s, "%s%lld", i ? ", " : first, (long long)v[i]);
    dt_str_puts(&s, close);
    snprintf(text.s, sizeof text.s, "%s", dt_str_text(&s));
    return text;
}

dt_hlo_text dt_hlo_array64(const int64_t *v, int n) {
    return numbers("array<i64", ": ", v, n, ">");
}

static void widen(const int8_t *v, int n, int64_t *out) {
    for (int i = 0; i < n; i++) out[i] = v[i];
}

dt_hlo_text dt_hlo_array(const int8_t *v, int n) {
    int64_t wide[DT_MAX_RANK];
    widen(v, n, wide);
    return dt_hlo_array64(wide, n);
}

dt_hlo_text dt_hlo_list(const int8_t *v, int n) {
    int64_t wide[DT_MAX_RANK];
    widen(v, n, wide);
    return numbers("[", "", wide, n, "]");
}

static dt_hlo_text pairs(const dt_window *w, int n) {
    dt_hlo_text text;
    dt_local_str s = {0};
    dt_str_puts(&s, "dense<[");
    for (int d = 0; d < n; d++)
        dt_str_printf(&s, "%s[%lld, %lld]", d ? ", " : "", (long long)w[d].low,
                      (long long)w[d].high);
    dt_str_printf(&s, "]> : tensor<%dx2xi64>", n);
    snprintf(text.s, sizeof text.s, "%s", dt_str_text(&s));
    return text;
}

dt_hlo_windows dt_hlo_windows_of(const dt_window *w, int n) {
    int64_t stride[DT_MAX_RANK] = {0}, base[DT_MAX_RANK] = {0}, dilation[DT_MAX_RANK] = {0};
    for (int d = 0; d < n; d++) {
        stride[d] = w[d].stride;
        base[d] = w[d].base_dilation;
        dilation[d] = w[d].dilation;
    }
    return (dt_hlo_windows){dt_hlo_array64(stride, n), dt_hlo_array64(base, n),
                            dt_hlo_array64(dilation, n), pairs(w, n)};
}

/* ---- statements ---- */

static dt_hlo_value new_value(dt_hlo *h, const dt_type *type) {
    return (dt_hlo_value){.id = h->values++, .type = *type};
}

static void open_statement(dt_hlo *h, const char *name, dt_hlo_value y, const dt_hlo_value *in,
                           int n) {
    dt_str_printf(h->out, "    %%%d = \"%s%s\"(", y.id, strchr(name, '.') ? "" : "stablehlo.",
                  name);
    for (int i = 0; i < n; i++) {
        dt_str_puts(h->out, i ? ", " : "");
        dt_hlo_print_value(in[i], h->out);
    }
    dt_str_putc(h->out, ')');
}

static void put_attributes(dt_hlo *h, const char *format, va_list list) {
    dt_local_str text = {0};
    dt_str_vprintf(&text, format, list);
    if (text.size) dt_str_printf(h->out, " {%s}", dt_str_text(&text));
}

static void close_statement(dt_hlo *h, dt_hlo_value y, const dt_hlo_value *in, int n) {
    dt_str_puts(h->out, " : (");
    for (int i = 0; i < n; i++) {
        dt_str_puts(h->out, i ? ", " : "");
        dt_hlo_print_type(&in[i].type, h->out);
    }
    dt_str_puts(h->out, ") -> ");
    dt_hlo_print_type(&y.type, h->out);
    if (h->names_layers && h->layer && *h->layer) dt_str_printf(h->out, " // %s", h->layer);
    dt_str_putc(h->out, '\n');
}

dt_hlo_value dt_hlo_op(dt_hlo *h, const char *name, const dt_hlo_value *in, int n,
                       const dt_type *type, const char *attributes, ...) {
    dt_hlo_value y = new_value(h, type);
    va_list list;
    va_start(list, attributes);
    open_statement(h, name, y, in, n);
    put_attributes(h, attributes, list);
    close_statement(h, y, in, n);
    va_end(list);
    return y;
}

/* Writes a region that combines two scalars of type s by operation `name`: ^bb0(%a: T, %b: T): %c =
 * add(%a, %b) return(%c)}) */
static void put_block(dt_hlo *h, const char *name, const char *s) {
    dt_str_printf(
        h->out,
        "    ^bb0(%%a: %s, %%b: %s):\n      %%c = \"stablehlo.%s\"(%%a, %%b) : (%s, %s) -> %s\n", s,
        s, name, s, s, s);
    dt_str_printf(h->out, "      \"stablehlo.return\"(%%c) : (%s) -> ()\n    })", s);
}

static void put_region(dt_hlo *h, int kind, dt_dtype dtype) {
    static const char *const names[] = {
        [DT_REDUCE_SUM] = "add", [DT_REDUCE_MAX] = "maximum", [DT_REDUCE_MIN] = "minimum"};
    dt_type scalar = dt_scalar_type(dtype);
    dt_local_str t = {0};
    dt_hlo_print_type(&scalar, &t);
    dt_str_puts(h->out, " ({\n");
    put_block(h, names[kind], dt_str_text(&t));
}

dt_hlo_value dt_hlo_joined(dt_hlo *h, const char *name, int kind, const dt_hlo_value *in, int n,
                           const dt_type *type, const char *attributes, ...) {
    dt_hlo_value y = new_value(h, type);
    va_list list;
    va_start(list, attributes);
    open_statement(h, name, y, in, n);
    put_region(h, kind, type->dtype);
    put_attributes(h, attributes, list);
    close_statement(h, y, in, n);
    va_end(list);
    return y;
}

dt_hlo_value dt_hlo_chosen(dt_hlo *h, const char *direction, const dt_hlo_value in[3],
                           const dt_type *type, const char *attributes, ...) {
    dt_hlo_value y = new_value(h, type);
    dt_type scalar = dt_scalar_type(type->dtype);
    dt_local_str t = {0};
    va_list list;
    va_start(list, attributes);
    dt_hlo_print_type(&scalar, &t);
    const char *s = dt_str_text(&t);
    open_statement(h, "select_and_scatter", y, in, 3);
    dt_str_printf(
        h->out,
        " ({\n    ^bb0(%%a: %s, %%b: %s):\n      %%c = \"stablehlo.compare\"(%%a, %%b) "
        "{comparison_direction = #stablehlo<comparison_direction %s>} : (%s, %s) -> tensor<i1>\n",
        s, s, direction, s, s);
    dt_str_puts(h->out, "      \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n    }, {\n");
    put_block(h, "add", s);
    put_attributes(h, attributes, list);
    close_statement(h, y, in, 3);
    va_end(list);
    return y;
}

/* The region of dt_hlo_argmax: of two pairs (value, number) it returns the one with the larger
 * value, or, if these are equal, the one with the lower number. NaN is larger than all numbers, and
 * equal to NaN. */
static void put_larger_pair(dt_hlo *h, const char *t) {
    static const struct {
        const char *result, *direction, *left, *right;
    } compare[] = {{"larger", "GT", "a", "b"},      {"equal", "EQ", "a", "b"},
                   {"a_is_nan", "NE", "a", "a"},    {"b_is_nan", "NE", "b", "b"},
                   {"b_is_number", "EQ", "b", "b"}, {"first", "LT", "i", "j"}};
    static const struct {
        const char *result, *name, *left, *right;
    } join[] = {{"nan_wins", "and", "a_is_nan", "b_is_number"},
                {"wins", "or", "larger", "nan_wins"},
                {"both_nan", "and", "a_is_nan", "b_is_nan"},
                {"tie", "or", "equal", "both_nan"},
                {"wins_tie", "and", "tie", "first"},
                {"is_a", "or", "wins", "wins_tie"}};
    const char *i32 = "tensor<i32>";
    dt_str_printf(h->out, " ({\n    ^bb0(%%a: %s, %%i: %s, %%b: %s, %%j: %s):\n", t, i32, t, i32);
    for (size_t k = 0; k < sizeof compare / sizeof *compare; k++) {
        const char *of = *compare[k].left == 'i' ? i32 : t;
        dt_str_printf(h->out,
                      "      %%%s = \"stablehlo.compare\"(%%%s, %%%s) {comparison_direction = "
                      "#stablehlo<comparison_direction %s>} : (%s, %s) -> tensor<i1>\n",
                      compare[k].result, compare[k].left, compare[k].right, compare[k].direction,
                      of, of);
    }
    for (size_t k = 0; k < sizeof join / sizeof *join; k++)
        dt_str_printf(h->out,
                      "      %%%s = \"stablehlo.%s\"(%%%s, %%%s) : (tensor<i1>, tensor<i1>) -> "
                      "tensor<i1>\n",
                      join[k].result, join[k].name, join[k].left, join[k].right);
    dt_str_printf(h->out,
                  "      %%c = \"stablehlo.select\"(%%is_a, %%a, %%b) : (tensor<i1>, %s, %s) -> "
                  "%s\n      %%k = \"stablehlo.select\"(%%is_a, %%i, %%j) : (tensor<i1>, %s, %s) "
                  "-> %s\n      \"stablehlo.return\"(%%c, %%k) : (%s, %s) -> ()\n    })",
                  t, t, t, i32, i32, i32, t, i32);
}

dt_hlo_value dt_hlo_argmax(dt_hlo *h, dt_hlo_value x, int axis, const dt_type *type) {
    dt_type numbers = x.type, scalar = dt_scalar_type(x.type.dtype),
            number = dt_scalar_type(DT_INT32), values = *type;
    dt_local_str t = {0};
    numbers.dtype = DT_INT32;
    values.dtype = x.type.dtype;
    const dt_hlo_value in[] = {
        x, dt_hlo_op(h, "iota", NULL, 0, &numbers, "iota_dimension = %d : i64", axis),
        dt_hlo_nothing(h, DT_REDUCE_MAX, x.type.dtype), dt_hlo_splat(h, &number, 0)};
    dt_hlo_value y = new_value(h, type);
    dt_str_printf(h->out, "    %%%d:2 = \"stablehlo.reduce\"(", y.id);
    for (int i = 0; i < 4; i++) {
        dt_str_puts(h->out, i ? ", " : "");
        dt_hlo_print_value(in[i], h->out);
    }
    dt_str_putc(h->out, ')');
    dt_hlo_print_type(&scalar, &t);
    put_larger_pair(h, dt_str_text(&t));
    dt_str_printf(h->out, " {dimensions = array<i64: %d>} : (", axis);
    for (int i = 0; i < 4; i++) {
        dt_str_puts(h->out, i ? ", " : "");
        dt_hlo_print_type(&in[i].type, h->out);
    }
    dt_str_puts(h->out, ") -> (");
    dt_hlo_print_type(&values, h->out);
    dt_str_puts(h->out, ", ");
    dt_hlo_print_type(type, h->out);
    dt_str_puts(h->out, ")\n");
    y.part = 2;
    return y;
}

/* The operation has two results. Its name without a number denotes the first one. */
dt_hlo_value dt_hlo_barrier(dt_hlo *h, dt_hlo_value x, dt_hlo_value after) {
    dt_hlo_value y = new_value(h, &x.type);
    dt_local_str types = {0};
    dt_hlo_print_type(&x.type, &types);
    dt_str_puts(&types, ", ");
    dt_hlo_print_type(&after.type, &types);
    const char *s = dt_str_text(&types);
    dt_str_printf(h->out, "    %%%d:2 = \"stablehlo.optimization_barrier\"(", y.id);
    dt_hlo_print_value(x, h->out);
    dt_str_puts(h->out, ", ");
    dt_hlo_print_value(after, h->out);
    dt_str_printf(h->out, ") : (%s) -> (%s)\n", s, s);
    return y;
}

dt_hlo_value dt_hlo_gather(dt_hlo *h, dt_hlo_value table, dt_hlo_value index, const dt_type *type) {
    int64_t size[DT_MAX_RANK];
    int8_t offset[DT_MAX_RANK];
    int rank = index.type.rank, n = table.type.rank - 1;
    memcpy(size, table.type.dim, sizeof size);
    size[0] = 1;
    for (int d = 0; d < n; d++) offset[d] = (int8_t)(rank + d);
    return dt_hlo_op(h, "gather", (dt_hlo_value[]){table, index}, 2, type,
                     "dimension_numbers = #stablehlo.gather<offset_dims = %s, collapsed_slice_dims "
                     "= [0], start_index_map = [0], "
                     "index_vector_dim = %d>, slice_sizes = %s, indices_are_sorted = false",
                     dt_hlo_list(offset, n).s, rank, dt_hlo_array64(size, table.type.rank).s);
}

dt_hlo_value dt_hlo_same(const dt_hlo_call *c) {
    return dt_hlo_op(c->hlo, c->node->op->name, c->in, c->node->n_in, &c->type, "%s", "");
}

dt_hlo_value dt_hlo_unary(dt_hlo *h, const char *name, dt_hlo_value x) {
    return dt_hlo_op(h, name, &x, 1, &x.type, "%s", "");
}

dt_hlo_value dt_hlo_binary(dt_hlo *h, const char *name, dt_hlo_value a, dt_hlo_value b) {
    return dt_hlo_op(h, name, (dt_hlo_value[]){a, b}, 2, &a.type, "%s", "");
}

dt_hlo_value dt_hlo_compare(dt_hlo *h, dt_direction direction, dt_hlo_value a, dt_hlo_value b) {
    static const char *const names[] = {[DT_EQ] = "EQ", [DT_NE] = "NE", [DT_LT] = "LT",
                                        [DT_LE] = "LE", [DT_GT] = "GT", [DT_GE] = "GE"};
    dt_type bools = a.type;
    bools.dtype = DT_BOOL;
    return dt_hlo_op(h, "compare", (dt_hlo_value[]){a, b}, 2, &bools,
                     "comparison_direction = #stablehlo<comparison_direction %s>",
                     names[direction]);
}

dt_hlo_value dt_hlo_select(dt_hlo *h, dt_hlo_value pred, dt_hlo_value a, dt_hlo_value b) {
    return dt_hlo_op(h, "select", (dt_hlo_value[]){pred, a, b}, 3, &a.type, "%s", "");
}

dt_hlo_value dt_hlo_convert(dt_hlo *h, dt_hlo_value x, dt_dtype dtype) {
    dt_type t = x.type;
    t.dtype = dtype;
    return x.type.dtype == dtype ? x : dt_hlo_op(h, "convert", &x, 1, &t, "%s", "");
}

dt_hlo_value dt_hlo_reshape(dt_hlo *h, dt_hlo_value x, int rank, const int64_t *dim) {
    dt_type t = dt_type_of(x.type.dtype, rank, dim);
    return dt_type_equal(&t, &x.type) ? x : dt_hlo_op(h, "reshape", &x, 1, &t, "%s", "");
}

dt_hlo_value dt_hlo_broadcast(dt_hlo *h, dt_hlo_value x, const dt_type *type, const int8_t *dims) {
    return dt_hlo_op(h, "broadcast_in_dim", &x, 1, type, "broadcast_dimensions = %s",
                     dt_hlo_array(dims, x.type.rank).s);
}

dt_hlo_value dt_hlo_slice(dt_hlo *h, dt_hlo_value x, int d, int64_t from, int64_t size) {
    int64_t start[DT_MAX_RANK] = {0}, end[DT_MAX_RANK], stride[DT_MAX_RANK];
    dt_type t = x.type;
    t.dim[d] = size;
    start[d] = from;
    for (int k = 0; k < t.rank; k++) {
        end[k] = start[k] + t.dim[k];
        stride[k] = 1;
    }
    return size == x.type.dim[d]
               ? x
               : dt_hlo_op(h, "slice", &x, 1, &t,
                           "start_indices = %s, limit_indices = %s, strides = %s",
                           dt_hlo_array64(start, t.rank).s, dt_hlo_array64(end, t.rank).s,
                           dt_hlo_array64(stride, t.rank).s);
}

dt_hlo_value dt_hlo_concatenate(dt_hlo *h, const dt_hlo_value *x, int n, int d) {
    dt_type t = x[0].type;
    for (int i = 1; i < n; i++) t.dim[d] += x[i].type.dim[d];
    return n == 1 ? x[0] : dt_hlo_op(h, "concatenate", x, n, &t, "dimension = %d : i64", d);
}

dt_hlo_value dt_hlo_dynamic_slice(dt_hlo *h, dt_hlo_value x, int d, dt_hlo_value from,
                                  int64_t size) {
    dt_hlo_value in[1 + DT_MAX_RANK] = {x}, zero = dt_hlo_like(h, from, 0);
    dt_type t = x.type;
    t.dim[d] = size;
    for (int k = 0; k < t.rank; k++) in[1 + k] = k == d ? from : zero;
    return dt_hlo_op(h, "dynamic_slice", in, 1 + t.rank, &t, "slice_sizes = %s",
                     dt_hlo_array64(t.dim, t.rank).s);
}

/* ---- constants and precision ---- */

static dt_hlo_value constant(dt_hlo *h, const dt_type *type, const char *value) {
    dt_local_str t = {0};
    dt_hlo_print_type(type, &t);
    return dt_hlo_op(h, "constant", NULL, 0, type, "value = dense<%s> : %s", value,
                     dt_str_text(&t));
}

/* Returns the bits of NaN, or of a value that is infinite in this dtype, as text, since MLIR cannot
 * write these as numbers. */
static const char *special(double value, dt_dtype dtype) {
    static const char *const bits[][3] = {
        {"0x7FC00000", "0x7F800000", "0xFF800000"},
        {"0x7FF8000000000000", "0x7FF0000000000000", "0xFFF0000000000000"},
        {"0x7E00", "0x7C00", "0xFC00"},
        {"0x7FC0", "0x7F80", "0xFF80"}};
    return bits[dtype == DT_FLOAT32   ? 0
                : dtype == DT_FLOAT64 ? 1
                : dtype == DT_FLOAT16 ? 2
                                      : 3][isnan(value) ? 0
                                           : value > 0  ? 1
                                                        : 2];
}

dt_hlo_value dt_hlo_splat(dt_hlo *h, const dt_type *type, double value) {
    char text[64];
    bool wide = type->dtype == DT_FLOAT64, none = !isfinite(wide ? value : (double)(float)value);
    if (type->dtype == DT_BOOL) snprintf(text, sizeof text, "%s", value != 0 ? "true" : "false");
    else if (!dt_dtype_is_float(type->dtype)) snprintf(text, sizeof text, "%.0f", value);
    else if (none) snprintf(text, sizeof text, "%s", special(value, type->dtype));
    else snprintf(text, sizeof text, wide ? "%.17e" : "%.9e", value);
    return constant(h, type, text);
}

dt_hlo_value dt_hlo_like(dt_hlo *h, dt_hlo_value x, double value) {
    return dt_hlo_splat(h, &x.type, value);
}

dt_hlo_value dt_hlo_word(dt_hlo *h, const dt_type *type, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return constant(h, type, text);
}

dt_hlo_value dt_hlo_nothing(dt_hlo *h, int kind, dt_dtype dtype) {
    dt_type t = dt_scalar_type(dtype);
    char text[32];
    if (kind == DT_REDUCE_SUM || dt_dtype_is_float(dtype))
        return dt_hlo_splat(h, &t,
                            kind == DT_REDUCE_SUM   ? 0
                            : kind == DT_REDUCE_MAX ? -INFINITY
                                                    : INFINITY);
    if (dtype == DT_UINT64 && kind == DT_REDUCE_MIN) return dt_hlo_word(h, &t, UINT64_MAX);
    snprintf(text, sizeof text, "%lld",
             (long long)(kind == DT_REDUCE_MAX ? dt_int_lowest(dtype) : dt_int_highest(dtype)));
    return constant(h, &t, text);
}

dt_hlo_text dt_hlo_precision(const dt_hlo *h) {
    dt_hlo_text text = {""};
    if (h->precision)
        snprintf(text.s, sizeof text.s,
                 ", precision_config = [#stablehlo<precision %s>, #stablehlo<precision %s>]",
                 h->precision, h->precision);
    return text;
}

/* ---- devices ---- */

dt_hlo_value dt_hlo_device(dt_hlo *h) {
    dt_type t = dt_scalar_type(DT_UINT32);
    return dt_hlo_convert(h, dt_hlo_op(h, "replica_id", NULL, 0, &t, "%s", ""), DT_INT64);
}

/* The index of a device is its coordinates written as digits, in the mixed base of the mesh's
 * sizes, with the last axis fastest. The rank uses some of these digits. */
dt_hlo_value dt_hlo_rank(dt_hlo *h, const dt_mesh *m, dt_mesh_axes axes) {
    dt_hlo_value rest = dt_hlo_device(h), rank = dt_hlo_like(h, rest, 0);
    int64_t step = 1;
    for (int a = m->n - 1; a >= 0; a--) {
        dt_hlo_value size = dt_hlo_like(h, rest, m->size[a]);
        if (axes >> a & 1) {
            dt_hlo_value at = dt_hlo_binary(h, "remainder", rest, size);
            rank = dt_hlo_binary(
                h, "add", rank, dt_hlo_binary(h, "multiply", at, dt_hlo_like(h, at, (double)step)));
            step *= m->size[a];
        }
        rest = dt_hlo_binary(h, "divide", rest, size);
    }
    return rank;
}

static void put_group(const dt_mesh *m, dt_mesh_axes axes, int device, dt_str *out) {
    int n = dt_mesh_parts(m, axes);
    for (int r = 0; r < n; r++)
        dt_str_printf(out, "%s%d", r ? ", " : "[", dt_mesh_peer(m, device, axes, r));
    dt_str_putc(out, ']');
}

char *dt_hlo_groups(const dt_mesh *m, dt_mesh_axes axes) {
    dt_str s = {0};
    int n = 0, size = dt_mesh_parts(m, axes);
    dt_str_puts(&s, "dense<[");
    for (int device = 0; device < dt_mesh_devices(m); device++)
        if (dt_mesh_rank(m, device, axes) == 0) {
            dt_str_puts(&s, n++ ? ", " : "");
            put_group(m, axes, device, &s);
        }
    dt_str_printf(&s, "]> : tensor<%dx%dxi64>", n, size);
    return dt_str_take(&s);
}
