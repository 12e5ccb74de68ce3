/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the dimensions of a layer's input or of a weight that a key `axis` selects. */
#include "model/layer.h"

static dt_status *refuse(const dt_dims_of *of, int64_t axis, const char *why) {
    dt_local_str text = {0};
    if (of->who) dt_str_printf(&text, "%s: ", of->who);
    dt_str_printf(&text, "axis %lld is %s for ", (long long)axis, why);
    if (of->weight) dt_str_printf(&text, "the weight '%s' of shape ", of->weight);
    else dt_str_puts(&text, "input shape ");
    dt_shape_print(of->type, &text);
    return dt_fail(DT_E_MODEL_SHAPE, of->at, "%s", dt_str_text(&text));
}

static dt_status *add_dim(const dt_dims_of *of, int64_t given, uint32_t *dims) {
    const int64_t d = given < 0 ? given + of->type->rank : given;
    if (d < 0 || d >= of->type->rank) return refuse(of, given, "out of bounds");
    if (d == 0 && !of->weight) return refuse(of, given, "the batch, which has no fixed size,");
    if (*dims >> d & 1) return refuse(of, given, "named twice");
    *dims |= 1u << d;
    return NULL;
}

dt_status *dt_dims_find(const dt_dims_of *of, const dt_ints *axis, uint32_t *dims) {
    *dims = 0;
    for (int i = 0; i < axis->n; i++) DT_TRY(add_dim(of, axis->v[i], dims));
    return NULL;
}
