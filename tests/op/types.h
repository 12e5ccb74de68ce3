/* SPDX-License-Identifier: Apache-2.0 */
/* Types and values written down: type_of("f32[B*2,3]"), view_of("i8[2]", 1, 2). */
#ifndef TESTS_OP_TYPES_H
#define TESTS_OP_TYPES_H

#include <stdlib.h>
#include <string.h>

#include "op/cells.h"
#include "op/op.h"

static inline dt_type type_of(const char *text) {
    dt_type t = {0};
    size_t n = strcspn(text, "[");
    for (int d = DT_BOOL; d <= DT_FLOAT64; d++)
        if (strlen(dt_dtype_short((dt_dtype)d)) == n &&
            strncmp(text, dt_dtype_short((dt_dtype)d), n) == 0)
            t.dtype = (dt_dtype)d;
    for (const char *p = text + n; *p && p[1] != ']' && *p != ']';) {
        char *end = (char *)++p;
        bool batch = *p == 'B';
        int64_t size = batch && p[1] != '*' ? 1 : strtoll(batch ? p + 2 : p, &end, 10);
        t.dim[t.rank++] = batch ? -size : size;
        p += strcspn(p, ",]");
    }
    return t;
}

/* Takes as many values as the type has elements, in its own memory. */
static inline dt_view view_from(const char *type, const double *values) {
    dt_view v = {.type = type_of(type)};
    size_t bytes = (size_t)dt_type_bytes(&v.type);
    v.data = calloc(bytes ? bytes : 1, 1);
    for (int64_t i = 0, n = dt_type_elements(&v.type); i < n; i++)
        if (dt_dtype_is_float(v.type.dtype)) dt_cell_set_double(&v, i, values[i]);
        else dt_cell_set_int(&v, i, (int64_t)values[i]);
    return v;
}
#define VALUES(...) ((const double[]){__VA_ARGS__})

#endif
