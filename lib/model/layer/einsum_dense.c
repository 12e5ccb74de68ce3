/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EinsumDense: y = activation(einsum(equation, x, W) + b). Letters of the equation are dimensions
 * of x, W and y. The result is summed over letters that y lacks.
 *
 *     EinsumDense: {equation: 'abc,cd->abd', output_shape: [null, 64], bias_axes: d}
 *     EinsumDense: {equation: '...x,xy->...y', output_shape: 64, bias_axes: y}
 *
 * A letter that W and y have and x lacks takes its size from output_shape, which lists the
 * dimensions of y without the batch and those of `...`; `...` stands for dimensions that are kept.
 */
#include <ctype.h>
#include <string.h>

#include "model/model.h"

struct einsum_dense {
    dt_layer_head head;
    const char *equation, *bias_axes;
    const dt_tree *output_shape;
    int activation;
    const dt_tree *kernel_initializer, *bias_initializer;
};

static const dt_field fields[] = {
    DT_FIELD(TEXT, struct einsum_dense, equation, .required = true,
             .help = "x,W->y in letters: 'abc,cd->abd', '...x,xy->...y' or 'ab...,bc->ac...'"),
    DT_TREE(struct einsum_dense, output_shape,
            .forms = DT_FORMS(DT_FORM(DT_FIELD_INT), DT_LIST_OF(DT_FORM(DT_FIELD_INT))),
            .required = true,
            .help = "dimensions of y without the batch and '...'; null: that of x"),
    DT_FIELD(TEXT, struct einsum_dense, bias_axes,
             .help = "letters of y that have a bias; default: no bias"),
    DT_ENUM(struct einsum_dense, activation, dt_activations, .help = "activation function"),
    DT_INITIALIZER(struct einsum_dense, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_INITIALIZER(struct einsum_dense, bias_initializer, .help = "initializer; default: zeros"),
    DT_LAYER_FIELDS(struct einsum_dense),
    DT_REGULARIZER(struct einsum_dense, KERNEL, "kernel_regularizer"),
    DT_REGULARIZER(struct einsum_dense, BIAS, "bias_regularizer"),
    DT_REGULARIZER(struct einsum_dense, ACTIVITY, "activity_regularizer"),
    DT_CONSTRAINT(struct einsum_dense, KERNEL, "kernel_constraint"),
    DT_CONSTRAINT(struct einsum_dense, BIAS, "bias_constraint"),
    DT_NOT_YET("lora_rank"),
    DT_NOT_YET("lora_alpha"),
    DT_NOT_YET("quantization_config"),
    DT_END};

/* The letters of an equation that name the dimensions of one value. Dimensions of '...' are named
 * by digits. */
typedef struct letters {
    int n;
    char of[DT_MAX_RANK + 1];
} letters;

typedef struct einsum {
    letters x, w, y;
    int64_t size[128]; /* the size of the dimension that each letter names; 0: unknown so far */
} einsum;

/* ---- the equation ---- */

static int position(const letters *l, char letter) {
    const char *at = memchr(l->of, letter, (size_t)l->n);
    return at ? (int)(at - l->of) : -1;
}

static dt_status *refuse(const dt_layer_build *b, const char *why) {
    const struct einsum_dense *e = b->args;
    return dt_suggest(dt_fail(DT_E_MODEL_SHAPE, &b->at, "equation '%.80s' on %s: %s", e->equation,
                              dt_text_of_shape(&b->in).s, why),
                      "write x,W->y with a letter for each dimension, such as 'abc,cd->abd'");
}

static bool add_letter(letters *l, char letter) {
    if (l->n == DT_MAX_RANK || position(l, letter) >= 0) return false;
    l->of[l->n++] = letter;
    return true;
}

/* Reads letters up to the character `end`. '...', which must be first or last, becomes `elided`
 * digits. elided -1: there is no '...'. */
static bool read_letters(const char **text, char end, int elided, letters *out) {
    const char *p = *text;
    bool fits = true;
    for (; fits && *p && *p != end; p++) {
        if (elided >= 0 && strncmp(p, "...", 3) == 0 && (p == *text || p[3] == end)) {
            for (int i = 0; i < elided; i++) fits &= add_letter(out, (char)('0' + i));
            p += 2;
        } else fits = isalpha((unsigned char)*p) && add_letter(out, *p);
    }
    *text = *p ? p + 1 : p;
    return fits && *p == end;
}

static dt_status *read_equation(const dt_layer_build *b, einsum *out) {
    const struct einsum_dense *e = b->args;
    const char *p = e->equation, *dots = strstr(p, "..."), *comma = strchr(p, ',');
    const bool elides = dots && comma && dots < comma;
    const int letters_of_x = comma ? (int)(comma - p) - (elides ? 3 : 0) : 0;
    const int elided = elides ? b->in.rank - letters_of_x : 0;
    const int of_y = elides ? elided : -1; /* either both x and y have '...', or neither has */
    if (elided < 0) return refuse(b, "x has fewer dimensions than letters");
    if (!read_letters(&p, ',', of_y, &out->x) || !read_letters(&p, '-', -1, &out->w) ||
        *p++ != '>' || (elides && !strstr(p, "...")) || !read_letters(&p, '\0', of_y, &out->y))
        return refuse(
            b, "expected three sets of different letters, x and y also with '...' at one end");
    if (out->x.n != b->in.rank) return refuse(b, "x has another number of dimensions");
    if (out->y.n == 0 || out->y.of[0] != out->x.of[0] || position(&out->w, out->y.of[0]) >= 0)
        return refuse(b, "the first dimension of x and y must be the batch, which W lacks");
    return NULL;
}

/* ---- sizes ---- */

/* Sets *size to size i of output_shape, 0 if it is null or missing, and *n to the number of
 * sizes. */
static dt_status *output_size(const dt_tree *t, int i, int *n, int64_t *size) {
    const dt_tree *item = t->kind == DT_TREE_LIST ? i < t->n ? t->item[i] : NULL : t;
    *n = t->kind == DT_TREE_LIST ? t->n : 1;
    *size = 0;
    if (!item || item->kind == DT_TREE_NULL) return NULL;
    return dt_tree_int(item, "output_shape", 1, (double)INT32_MAX, size);
}

static dt_status *read_sizes(const dt_layer_build *b, einsum *e) {
    const dt_tree *shape = ((const struct einsum_dense *)b->args)->output_shape;
    int n = 0, given = 0;
    int64_t size;
    for (int i = 0; i < e->x.n; i++) e->size[(int)e->x.of[i]] = b->in.dim[i];
    for (int i = 1; i < e->y.n; i++) {
        if (isdigit((unsigned char)e->y.of[i])) continue;
        int64_t *own = &e->size[(int)e->y.of[i]];
        DT_TRY(output_size(shape, given++, &n, &size));
        if (*own && size && size != *own)
            return dt_fail(DT_E_MODEL_SHAPE, &shape->at,
                           "output_shape: '%c' is %lld, but x has %lld there", e->y.of[i],
                           (long long)size, (long long)*own);
        *own = size ? size : *own;
    }
    DT_TRY(output_size(shape, 0, &n, &size));
    if (n == given) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &shape->at, "output_shape: expected %d dimensions, got %d",
                   given, n);
}

static dt_status *check_letters(const dt_layer_build *b, const einsum *e) {
    for (int i = 0; i < e->y.n; i++)
        if (!e->size[(int)e->y.of[i]] ||
            (position(&e->x, e->y.of[i]) < 0 && position(&e->w, e->y.of[i]) < 0))
            return refuse(b, "y has a letter of unknown size");
    for (int i = 0; i < e->w.n; i++)
        if (!e->size[(int)e->w.of[i]]) return refuse(b, "W has a letter that x and y lack");
    int all = e->x.n;
    for (int i = 0; i < e->w.n; i++) all += position(&e->x, e->w.of[i]) < 0;
    if (all > DT_MAX_RANK) return refuse(b, "x and W have more than 8 dimensions together");
    return e->w.n ? NULL : refuse(b, "W has no letters");
}

/* ---- weights ---- */

static dt_type type_of(const einsum *e, const letters *l, dt_dtype dtype) {
    int64_t dim[DT_MAX_RANK] = {0};
    for (int i = 0; i < l->n; i++) dim[i] = e->size[(int)l->of[i]];
    return dt_type_of(dtype, l->n, dim);
}

/* Returns the number of leading dimensions of W that are summed, if only leading dimensions are;
 * else 0. */
static int summed_first(const einsum *e) {
    int n = 0;
    while (n < e->w.n && position(&e->y, e->w.of[n]) < 0) n++;
    for (int i = n; i < e->w.n; i++)
        if (position(&e->y, e->w.of[i]) < 0) return 0;
    return n;
}

static dt_status *add_kernel(dt_layer_build *b, const einsum *e) {
    const dt_type type = type_of(e, &e->w, b->in.dtype);
    dt_weight_request w = {.name = "kernel",
                           .dtype = type.dtype,
                           .rank = type.rank,
                           .initializer =
                               ((const struct einsum_dense *)b->args)->kernel_initializer,
                           .preset = "glorot_uniform",
                           .n_inputs = summed_first(e)};
    memcpy(w.dim, type.dim, sizeof w.dim);
    return dt_layer_weight(b, &w);
}

/* Adds the bias. It has y's dimensions from the first of bias_axes on, with size 1 for those that
 * are not in bias_axes. */
static dt_status *add_bias(dt_layer_build *b, const einsum *e) {
    const struct einsum_dense *d = b->args;
    dt_weight_request w = {.name = "bias",
                           .dtype = b->in.dtype,
                           .initializer = d->bias_initializer,
                           .preset = "zeros"};
    for (const char *p = d->bias_axes; *p; p++)
        if (!isalpha((unsigned char)*p) || position(&e->y, *p) < 1)
            return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                           "bias_axes '%.80s': expected letters of y other than the batch",
                           d->bias_axes);
    for (int i = 0; i < e->y.n; i++) {
        const bool has = strchr(d->bias_axes, e->y.of[i]) != NULL;
        if (has || w.rank > 0) w.dim[w.rank++] = has ? e->size[(int)e->y.of[i]] : 1;
    }
    return dt_layer_weight(b, &w);
}

static dt_status *build(dt_layer_build *b) {
    const struct einsum_dense *d = b->args;
    einsum *e = dt_arena_new(b->arena, einsum);
    DT_TRY(dt_layer_wants(b, "EinsumDense", 2));
    DT_TRY(read_equation(b, e));
    DT_TRY(read_sizes(b, e));
    DT_TRY(check_letters(b, e));
    DT_TRY(add_kernel(b, e));
    if (d->bias_axes && *d->bias_axes) DT_TRY(add_bias(b, e));
    b->made = e;
    b->out = type_of(e, &e->y, b->in.dtype);
    return NULL;
}

/* ---- graph ---- */

/* Emits x with its dimensions, which `from` names, put in the order of `to`. Dimensions that `to`
 * lacks are summed. */
static dt_value arranged(dt_value x, const letters *from, const letters *to) {
    uint32_t summed = 0;
    int perm[DT_MAX_RANK] = {0};
    letters left = {0};
    for (int i = 0; i < from->n; i++) {
        if (position(to, from->of[i]) >= 0) left.of[left.n++] = from->of[i];
        else summed |= 1u << i;
    }
    if (summed) x = dt_reduce(x, DT_REDUCE_SUM, summed);
    for (int i = 0; i < to->n; i++) perm[i] = position(&left, to->of[i]);
    return memcmp(left.of, to->of, (size_t)to->n) == 0 ? x : dt_transpose(x, perm);
}

/* Emits the product of x and W as one product of matrices; no letter occurs in all of x, W and y.
 * *out: the letters of the result. */
static dt_value product(const einsum *e, dt_value x, dt_value w, letters *out) {
    dt_dot_attr dot;
    memset(&dot, 0, sizeof dot);
    for (int i = 0; i < e->x.n; i++) {
        const int at = position(&e->w, e->x.of[i]);
        if (at < 0) {
            out->of[out->n++] = e->x.of[i];
            continue;
        }
        dot.lhs_contract[dot.n_contract] = (int8_t)i;
        dot.rhs_contract[dot.n_contract++] = (int8_t)at;
    }
    for (int i = 0; i < e->w.n; i++)
        if (position(&e->x, e->w.of[i]) < 0) out->of[out->n++] = e->w.of[i];
    return dt_dot_general(x, w, &dot);
}

/* Emits the product x * W over the dimensions of both, for equations in which letters occur in x, W
 * and y. *out: the letters of the result. */
static dt_value spread(const einsum *e, dt_value x, dt_value w, letters *out) {
    letters of_w = {0};
    int8_t dims_x[DT_MAX_RANK], dims_w[DT_MAX_RANK];
    *out = e->x;
    for (int i = 0; i < e->w.n; i++)
        if (position(out, e->w.of[i]) < 0) out->of[out->n++] = e->w.of[i];
    for (int i = 0; i < out->n; i++) {
        if (i < e->x.n) dims_x[i] = (int8_t)i;
        if (position(&e->w, out->of[i]) < 0) continue;
        dims_w[of_w.n] = (int8_t)i;
        of_w.of[of_w.n++] = out->of[i];
    }
    const dt_type type = type_of(e, out, dt_type_of_value(x).dtype);
    return dt_multiply(dt_broadcast_in_dim(x, &type, dims_x),
                       dt_broadcast_in_dim(arranged(w, &e->w, &of_w), &type, dims_w));
}

static bool is_product(const einsum *e) {
    for (int i = 0; i < e->w.n; i++)
        if (position(&e->x, e->w.of[i]) >= 0 && position(&e->y, e->w.of[i]) >= 0) return false;
    return true;
}

static dt_value call(const dt_layer_call *c) {
    const struct einsum_dense *d = c->args;
    const einsum *e = c->made;
    letters all = {0};
    dt_value y =
        is_product(e) ? product(e, c->x, c->weight[0], &all) : spread(e, c->x, c->weight[0], &all);
    y = arranged(y, &all, &e->y);
    if (d->bias_axes && *d->bias_axes) y = dt_add(y, c->weight[1]);
    return dt_activate(d->activation, y);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    return dt_activation_yields(((const struct einsum_dense *)l->args)->activation, &l->out);
}

const dt_layer dt_layer_einsum_dense = {
    .kind = {"EinsumDense", "y = activation(einsum(equation, x, W) + b)", fields,
             sizeof(struct einsum_dense), NULL},
    .build = build,
    .call = call,
    .yields = yields,
};
