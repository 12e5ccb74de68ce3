/* SPDX-License-Identifier: Apache-2.0 */
/* What element-wise ops share: see elementwise.h. */
#include "op/elementwise.h"

#include "op/cells.h"
#include "op/shapes.h"

dt_status *dt_want_dtype(const dt_infer *q, int i, int c, dt_wanted wanted) {
    dt_dtype d = q->in[i].dtype;
    if (wanted == DT_WANT_NUMBERS && d == DT_BOOL)
        return dt_bad_shape(q, "(C%d) expected numbers, got %s", c, dt_text_of(&q->in[i]).s);
    if (wanted == DT_WANT_FLOATS && !dt_dtype_is_float(d))
        return dt_bad_shape(q, "(C%d) expected floats, got %s", c, dt_text_of(&q->in[i]).s);
    return NULL;
}

dt_status *dt_infer_elementwise(dt_infer *q, dt_wanted wanted) {
    for (int i = 1; i < q->n_in; i++)
        if (!dt_type_equal(&q->in[0], &q->in[i]))
            return dt_bad_shape(q, "(C1) expected two values of one type, got %s and %s",
                                dt_text_of(&q->in[0]).s, dt_text_of(&q->in[i]).s);
    DT_TRY(dt_want_dtype(q, 0, q->n_in > 1 ? 2 : 1, wanted));
    q->out = q->in[0];
    return NULL;
}

dt_status *dt_infer_any(dt_infer *q) { return dt_infer_elementwise(q, DT_WANT_ANY); }

dt_status *dt_infer_numbers(dt_infer *q) { return dt_infer_elementwise(q, DT_WANT_NUMBERS); }

dt_status *dt_infer_floats(dt_infer *q) { return dt_infer_elementwise(q, DT_WANT_FLOATS); }

void dt_rule_elementwise(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)in, (void)attr;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++) {
        for (int i = 0; i < DT_MAX_IN; i++) rule->in[i][d] = (int8_t)d;
        rule->out[d] = (int8_t)d;
    }
}

void dt_eval_unary(const dt_call *c, double (*floats)(double), int64_t (*ints)(int64_t)) {
    const dt_view *x = &c->in[0], *y = &c->out;
    int64_t n = dt_type_elements(&y->type);
    if (dt_dtype_is_float(y->type.dtype))
        for (int64_t i = 0; i < n; i++) dt_cell_set_double(y, i, floats(dt_cell_double(x, i)));
    else
        for (int64_t i = 0; i < n; i++) dt_cell_set_int(y, i, ints(dt_cell_int(x, i)));
}

void dt_eval_binary(const dt_call *c, double (*floats)(double, double),
                    int64_t (*ints)(int64_t, int64_t)) {
    const dt_view *a = &c->in[0], *b = &c->in[1], *y = &c->out;
    int64_t n = dt_type_elements(&y->type);
    if (dt_dtype_is_float(y->type.dtype))
        for (int64_t i = 0; i < n; i++)
            dt_cell_set_double(y, i, floats(dt_cell_double(a, i), dt_cell_double(b, i)));
    else
        for (int64_t i = 0; i < n; i++)
            dt_cell_set_int(y, i, ints(dt_cell_int(a, i), dt_cell_int(b, i)));
}

dt_value dt_placement(dt_value pred, dt_value dy) { return dt_select(pred, dy, dt_like(dy, 0)); }
