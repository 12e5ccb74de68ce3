/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that layers share: they add weights, check inputs and axes, and join masks. */
#include <assert.h>
#include <string.h>

#include "model/model.h"

static dt_status *check_size(const dt_layer_build *b, const dt_weight_request *w,
                             const dt_type *type) {
    double bytes = (double)dt_dtype_size(type->dtype);
    for (int i = 0; i < type->rank; i++) bytes *= (double)type->dim[i];
    if (bytes <= DT_MAX_WEIGHT_BYTES) return NULL;
    return dt_fail(DT_E_MODEL_SIZE, &b->at,
                   "weight '%s/%s' of shape %s needs %s; one weight may take at most 1 TiB",
                   b->name, w->name, dt_text_of_shape(type).s, dt_text_of_bytes(bytes).s);
}

int dt_layer_role(const char *weight) {
    static const char *const roles[DT_ON_WEIGHTS] = {
        [DT_ON_KERNEL] = "kernel",
        [DT_ON_BIAS] = "bias",
        [DT_ON_RECURRENT] = "recurrent_kernel",
        [DT_ON_DEPTHWISE] = "depthwise_kernel",
        [DT_ON_POINTWISE] = "pointwise_kernel",
        [DT_ON_EMBEDDINGS] = "embeddings",
        [DT_ON_GAMMA] = "gamma",
        [DT_ON_BETA] = "beta",
        [DT_ON_ALPHA] = "alpha",
    };
    const char *slash = strrchr(weight, '/'), *name = slash ? slash + 1 : weight;
    for (int i = 0; i < DT_ON_WEIGHTS; i++)
        if (strcmp(roles[i], name) == 0) return i;
    return -1;
}

dt_status *dt_layer_weight(dt_layer_build *b, const dt_weight_request *w) {
    const dt_layer_head *head = b->args;
    assert(b->n_weights < DT_MAX_WEIGHTS);
    dt_weight_spec *spec = &b->weight[b->n_weights];
    *spec = (dt_weight_spec){
        .name = w->name,
        .path = dt_arena_printf(b->arena, "%s/%s", b->name, w->name),
        .type = dt_type_of(w->dtype, w->rank, w->dim),
        .trainable = head->trainable && !w->fixed,
        .fixed = w->fixed,
        .n_inputs = w->n_inputs,
    };
    DT_TRY(check_size(b, w, &spec->type));
    DT_TRY(dt_initializer_read(b->arena, w->initializer, w->preset, &spec->initializer));
    DT_TRY(dt_initializer_check(&spec->initializer, &spec->type));
    DT_TRY(dt_regularizer_read(b->arena, head, spec));
    DT_TRY(dt_constraint_read(b->arena, head, spec));
    b->n_weights++;
    return NULL;
}

void dt_layer_further(dt_layer_build *b, const char *name, const dt_type *type) {
    assert(b->n_further < DT_MAX_FURTHER);
    b->further[b->n_further++] = (dt_further_output){name, *type};
}

/* ---- weights of other layers ---- */

/* Whether `wanted` is the weight's path, or the part of it before a slash, such as a layer's
 * name. */
static bool is_meant(const char *path, const char *wanted) {
    size_t n = strlen(wanted);
    return strncmp(path, wanted, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static dt_status *no_weight(const dt_layer_build *b, const dt_texts *path, int found) {
    const char **names =
        dt_arena_array(b->arena, const char *, DT_MAX_WEIGHTS *(size_t)b->n_earlier + 1);
    int n = 0;
    for (int i = 0; i < b->n_earlier; i++)
        for (int k = 0; k < b->earlier[i].n_weights; k++) names[n++] = b->earlier[i].weight[k].path;
    if (found > 1)
        return dt_fail(DT_E_WEIGHT, path->at, "'%.80s' has %d weights: name one of them",
                       path->v[0], found);
    dt_status *s = dt_fail(DT_E_WEIGHT, path->at, "no layer before '%s' has a weight '%.80s'",
                           b->name, path->v[0]);
    return dt_suggest_nearest(s, path->v[0], names, n);
}

dt_status *dt_layer_borrow(dt_layer_build *b, const dt_texts *path, dt_type *type) {
    int number = 0, found = 0;
    assert(b->n_borrowed < DT_MAX_BORROWED);
    for (int i = 0; i < b->n_earlier; i++)
        for (int k = 0; k < b->earlier[i].n_weights; k++, number++)
            if (is_meant(b->earlier[i].weight[k].path, path->v[0])) {
                *type = b->earlier[i].weight[k].type;
                b->borrowed[b->n_borrowed] = number;
                found++;
            }
    b->n_borrowed += found == 1;
    return found == 1 ? NULL : no_weight(b, path, found);
}

/* ---- masks ---- */

dt_value dt_mask_along(dt_value mask, dt_value x) {
    dt_type type = dt_type_of_value(x);
    type.dtype = DT_BOOL;
    return dt_broadcast_rows(mask, &type);
}

dt_value dt_masks_joined(const dt_layer_call *c) {
    dt_value mask = c->masks[0];
    for (int k = 1; k < c->n_in; k++) mask = dt_maximum(mask, c->masks[k]);
    return mask;
}

/* ---- inputs ---- */

dt_status *dt_layer_wants(const dt_layer_build *b, const char *kind, int rank) {
    static const char *const shapes[] = {"()", "(B)", "(B, features)", "(B, steps, features)"};
    dt_status *s = NULL;
    if (b->in.rank < rank)
        s = dt_fail(DT_E_MODEL_SHAPE, &b->at, "%s needs %s or more dimensions, got %s", kind,
                    shapes[rank], dt_text_of_shape(&b->in).s);
    else if (!dt_dtype_is_float(b->in.dtype))
        s = dt_suggest(dt_fail(DT_E_MODEL_SHAPE, &b->at, "%s needs floating-point values, got %s",
                               kind, dt_dtype_name(b->in.dtype)),
                       "set 'dtype: float32' on the Input to convert the values");
    return s;
}

dt_status *dt_layer_wants_exactly(const dt_layer_build *b, const char *kind, int rank,
                                  const char *shape) {
    dt_status *s = NULL;
    if (b->in.rank == rank) return dt_layer_wants(b, kind, 1);
    s = dt_fail(DT_E_MODEL_SHAPE, &b->at, "input 0 of %s has %d dimensions, %s; expected %d, %s",
                kind, b->in.rank, dt_text_of_shape(&b->in).s, rank, shape);
    return s;
}

dt_status *dt_layer_cannot_join(const dt_layer_build *b, const char *kind, int i, int k) {
    return dt_fail(DT_E_MODEL_SHAPE, &b->at, "%s cannot combine '%s', %s, and '%s', %s", kind,
                   b->from[i], dt_text_of(&b->ins[i]).s, b->from[k], dt_text_of(&b->ins[k]).s);
}

/* ---- dimensions by an axis ---- */

static dt_status *refuse_axis(const dt_dims_of *of, int64_t axis, const char *why) {
    const char *weight = of->weight;
    return dt_fail(DT_E_MODEL_SHAPE, of->at, "%s%saxis %lld is %s for %s%s%sshape %s",
                   of->who ? of->who : "", of->who ? ": " : "", (long long)axis, why,
                   weight ? "the weight '" : "input ", weight ? weight : "", weight ? "' of " : "",
                   dt_text_of_shape(of->type).s);
}

static dt_status *add_dim(const dt_dims_of *of, int64_t given, uint32_t *dims) {
    const int64_t d = given < 0 ? given + of->type->rank : given;
    if (d < 0 || d >= of->type->rank) return refuse_axis(of, given, "out of bounds");
    if (d == 0 && !of->weight) return refuse_axis(of, given, "the batch, which has no fixed size,");
    if (*dims >> d & 1) return refuse_axis(of, given, "named twice");
    *dims |= 1u << d;
    return NULL;
}

dt_status *dt_dims_find(const dt_dims_of *of, const dt_ints *axis, uint32_t *dims) {
    *dims = 0;
    for (int i = 0; i < axis->n; i++) DT_TRY(add_dim(of, axis->v[i], dims));
    return NULL;
}
