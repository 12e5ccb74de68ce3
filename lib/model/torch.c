/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by which weights become PyTorch's tensors.
 *
 * A rule applies to weights whose path within their layer has a certain end. Kernels are treated as
 * (places, inputs, outputs), where places are the positions in a convolution's window, and the
 * corresponding tensors as (outputs, inputs, places). A kernel has `ins` dimensions for inputs and
 * `outs` for outputs. In most other weights the order of values is the same.
 *
 * Some tensors hold several weights: attention's in_proj has queries, keys and values one after the
 * other. Some weights correspond to several tensors: recurrent layers of PyTorch have two biases,
 * which are added; for the GRU they are rows of one weight.
 *
 * PyTorch flattens images with channels first, dtrain with channels last. So the inputs of a Dense
 * after a Flatten are in another order, which depends on the number of channels (find_channels). So
 * are the vectors of a normalization or PReLU in between. After a layer that concatenates such
 * values, joins them with values in another order, or normalizes groups of them, the order is
 * unknown; a Dense, PReLU or normalization that reads them is refused, but for GroupNormalization.
 */
#include "model/torch.h"

#include <string.h>

/* ---- the table ---- */

typedef struct rule {
    const char *layer; /* the layer's kind must begin with this; NULL: any kind */
    /* end: the ending of paths of weights to which the rule applies; torch: the ending of the
     * tensor's name in PyTorch */
    const char *end, *torch;
    /* numbers of a kernel's dimensions for inputs and for outputs, which come last; both 0: the
     * weight is not a kernel */
    int ins, outs;
    bool flat; /* whether the tensor has only one dimension */
    /* the weight is part `part`, from 0, of `parts` equal ones of the tensor; parts 0: all of it */
    int part, parts;
    /* the tensor is row `row`, from 0, of the weight's `rows`; rows 0: it is the whole weight */
    int row, rows;
    /* [GATES] for each gate of the weight, its index in the tensor; NULL: the order is the same */
    const int *gates;
    /* whether the weight is the sum of this tensor and the tensor of the previous rule */
    bool adds;
} rule;

enum { GATES = 3 };
/* for dtrain's gates update, reset and candidate, the index in PyTorch's order reset, update,
 * new */
static const int gru[GATES] = {1, 0, 2};

#define KEPT(end_, torch_) .end = (end_), .torch = (torch_)
#define KERNEL(end_, torch_) KEPT(end_, torch_), .ins = 1, .outs = 1
/* The first rule that fits a weight determines `end`. The rules right after it with the same `end`
 * apply, too, unless the first one is for a certain layer. */
static const rule rules[] = {
    {KERNEL("lstm_cell/kernel", "weight_ih_l0")},
    {KERNEL("lstm_cell/recurrent_kernel", "weight_hh_l0")},
    {KEPT("lstm_cell/bias", "bias_ih_l0")},
    {KEPT("lstm_cell/bias", "bias_hh_l0"), .adds = true},
    {KERNEL("simple_rnn_cell/kernel", "weight_ih_l0")},
    {KERNEL("simple_rnn_cell/recurrent_kernel", "weight_hh_l0")},
    {KEPT("simple_rnn_cell/bias", "bias_ih_l0")},
    {KEPT("simple_rnn_cell/bias", "bias_hh_l0"), .adds = true},
    {KERNEL("gru_cell/kernel", "weight_ih_l0"), .gates = gru},
    {KERNEL("gru_cell/recurrent_kernel", "weight_hh_l0"), .gates = gru},
    {KEPT("gru_cell/bias", "bias_ih_l0"), .flat = true, .row = 0, .rows = 2, .gates = gru},
    {KEPT("gru_cell/bias", "bias_hh_l0"), .flat = true, .row = 1, .rows = 2, .gates = gru},
    {KEPT("query/kernel", "in_proj_weight"), .ins = 1, .outs = 2, .part = 0, .parts = 3},
    {KEPT("key/kernel", "in_proj_weight"), .ins = 1, .outs = 2, .part = 1, .parts = 3},
    {KEPT("value/kernel", "in_proj_weight"), .ins = 1, .outs = 2, .part = 2, .parts = 3},
    {KEPT("query/bias", "in_proj_bias"), .flat = true, .part = 0, .parts = 3},
    {KEPT("key/bias", "in_proj_bias"), .flat = true, .part = 1, .parts = 3},
    {KEPT("value/bias", "in_proj_bias"), .flat = true, .part = 2, .parts = 3},
    {KEPT("attention_output/kernel", "out_proj.weight"), .ins = 2, .outs = 1},
    {KEPT("attention_output/bias", "out_proj.bias")},
    {.layer = "Depthwise", KEPT("kernel", "weight"), .ins = 0, .outs = 2},
    /* kernels of other layers, such as Dense and Conv2D */
    {KERNEL("kernel", "weight")},
    {KEPT("bias", "bias")},
    {KEPT("gamma", "weight")},
    {KEPT("beta", "bias")},
    {KEPT("scale", "weight")},
    {KEPT("moving_mean", "running_mean")},
    {KEPT("moving_variance", "running_var")},
    {KEPT("embeddings", "weight")},
    {KEPT("alpha", "weight"), .flat = true},
};
enum { RULES = sizeof rules / sizeof *rules };

/* Returns the length of the path before "/end"; -1: the path is just the end; 0: it has another
 * ending. */
static int ends_in(const char *path, const char *end) {
    const size_t n = strlen(path), m = strlen(end);
    if (n < m || strcmp(path + n - m, end) != 0) return 0;
    return n == m ? -1 : path[n - m - 1] == '/' ? (int)(n - m - 1) : 0;
}

/* Returns the first rule for a weight whose path within its layer is `tail`. NULL: there is none,
 * the weight is not float32 or does not have the dimensions that the rule needs, or it projects to
 * queries, keys or values of a GroupQueryAttention, which PyTorch does not join. */
static const rule *find_rule(const dt_layer_spec *l, const dt_named_view *weight,
                             const char *tail) {
    const char *kind = l->row->kind.name;
    for (const rule *r = rules; r < rules + RULES && weight->type.dtype == DT_FLOAT32; r++) {
        const int rank = weight->type.rank, dims = r->rows ? 2 : r->ins + r->outs;
        if (!ends_in(tail, r->end) || (r->layer && strncmp(kind, r->layer, strlen(r->layer)) != 0))
            continue;
        const bool grouped = r->parts && strcmp(kind, "GroupQueryAttention") == 0;
        return rank < dims || (r->rows && rank > dims) || grouped ? NULL : r;
    }
    return NULL;
}

/* ---- shapes ---- */

struct dt_torch_move {
    const rule *rule;
    dt_named_view *tensor;
    const dt_named_view *weight;
    int64_t places, in, out; /* dimensions of the weight, or of its row, as (places, in, out) */
    /* number of channels of an image whose flattened values are the inputs or the vector; otherwise
     * 1 */
    int64_t channels;
};
typedef struct dt_torch_move move;

static int64_t count(const dt_type *t, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= t->dim[i];
    return n;
}

static void measure(move *m) {
    const rule *r = m->rule;
    const dt_type *t = &m->weight->type;
    const int first = r && r->ins + r->outs ? t->rank - r->ins - r->outs : 0;
    const int in = first + (r ? r->ins : 0);
    m->places = count(t, 0, first);
    m->in = count(t, first, in);
    m->out = count(t, in, t->rank) / (r && r->rows ? r->rows : 1);
    m->channels = 1;
}

static dt_type type_of(const move *m) {
    const rule *r = m->rule;
    const dt_type t = m->weight->type;
    if (!r || (r->ins + r->outs == 0 && !r->flat && !r->parts)) return t;
    const int places = r->ins + r->outs ? t.rank - r->ins - r->outs : 0;
    int64_t dim[DT_MAX_RANK] = {m->out * (r->parts ? r->parts : 1)};
    int rank = 1;
    if (r->ins + r->outs) dim[rank++] = m->in;
    for (int i = 0; i < places; i++) dim[rank++] = t.dim[i];
    return dt_type_of(t.dtype, rank, dim);
}

/* ---- flattened images ---- */

static bool has_values(const dt_layer_spec *l) {
    return l->n_weights > 0 && dt_dtype_is_float(l->weight[0].type.dtype);
}

/* Whether the layer has vectors with a value for each feature, and treats all features in the same
 * way. */
static bool scales_features(const dt_layer_spec *l) {
    static const dt_layer *const of[] = {&dt_layer_batch_normalization,
                                         &dt_layer_layer_normalization, &dt_layer_rms_normalization,
                                         &dt_layer_prelu};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        if (l->row == of[k]) return true;
    return false;
}

/* The order of the features of a layer's output, (B, features). In those of a flattened image the
 * channels of one pixel are adjacent, unlike in PyTorch. */
typedef struct features {
    int64_t channels; /* number of channels of that image; 1: the order is PyTorch's */
    /* the layer after Flatten from which on the order is not known: it joined features, or
     * normalized groups of them; NULL: there is none */
    const dt_layer_spec *mixed;
} features;

/* Returns the number of channels of the image that a Flatten reads; 1: it reads none, or the order
 * is PyTorch's. Values with one spatial dimension are sequences, unless they come from a layer with
 * `sides`, such as a convolution. In PyTorch, too, steps come first in sequences, so they do not
 * count as images. */
static int64_t image_channels(const dt_model_spec *m, const dt_layer_spec *l) {
    const dt_type flat = l->in;
    const int64_t channels = flat.dim[flat.rank - 1];
    bool space = flat.rank > 3;
    while (!space && l->n_in == 1) {
        l = &m->layer[l->from[0]];
        if (l->out.rank != flat.rank) break;
        space = l->row->sides > 0;
    }
    return space && count(&flat, 1, flat.rank) > channels ? channels : 1;
}

/* Returns the order of the features of layer i's output. from: [layers] that of earlier layers. */
static features features_of(const dt_model_spec *m, int i, const features *from) {
    const dt_layer_spec *l = &m->layer[i];
    const bool groups = l->row == &dt_layer_group_normalization;
    features f = {.channels = 1};
    if (l->row == &dt_layer_flatten) f.channels = image_channels(m, l);
    if (l->row == &dt_layer_flatten || l->n_in == 0 || l->out.rank != 2 ||
        (has_values(l) && !scales_features(l) && !groups))
        return f;
    f = from[l->from[0]];
    for (int k = 0; k < l->n_in; k++) {
        const features *x = &from[l->from[k]];
        if (x->mixed) f.mixed = x->mixed;
        if (x->channels != f.channels ||
            (x->channels > 1 && l->out.dim[1] != m->layer[l->from[k]].out.dim[1]))
            f.mixed = l;
    }
    if (groups && f.channels > 1) f.mixed = l;
    return f;
}

/* Sets *out to the number of channels of the flattened image that layer i reads; 1: it reads none.
 * Error CHECKPOINT_MODEL if the order of its features is not known. */
static dt_status *find_channels(const dt_model_spec *m, int i, const features *all, int64_t *out) {
    const dt_layer_spec *l = &m->layer[i];
    const features *f = l->n_in == 1 ? &all[l->from[0]] : NULL;
    *out = 1;
    if (!f || l->in.rank != 2 || (l->row != &dt_layer_dense && !scales_features(l))) return NULL;
    *out = f->channels;
    if (!f->mixed) return NULL;
    return dt_suggest(dt_fail(DT_E_CHECKPOINT_MODEL, &l->at,
                              "'%.80s' reads a flattened image through '%.80s' (%s); PyTorch "
                              "flattens channels first, and its weights for that are not known",
                              l->name, f->mixed->name, f->mixed->row->kind.name),
                      "put that layer before Flatten, or leave names: torch out");
}

/* ---- copying ---- */

/* Returns the index in the weight of the element (place, input, output), which is counted within
 * the row that the rule selects, if it selects one. */
static int64_t own_index(const move *m, int64_t s, int64_t i, int64_t o) {
    const int64_t row = m->rule && m->rule->rows ? m->rule->row * m->out : 0;
    return row + (s * m->in + i) * m->out + o;
}

/* Converts k, the index of one of n elements with channels last, to its index with channels
 * first. */
static int64_t channels_first(const move *m, int64_t k, int64_t n) {
    return k % m->channels * (n / m->channels) + k / m->channels;
}

static int64_t tensor_index(const move *m, int64_t s, int64_t i, int64_t o) {
    const rule *r = m->rule;
    if (r && r->gates) {
        const int64_t units = m->out / GATES;
        o = r->gates[o / units] * units + o % units;
    }
    if (r && r->ins) i = channels_first(m, i, m->in);
    else o = channels_first(m, o, m->out);
    return ((o + (r ? r->part : 0) * m->out) * m->in + i) * m->places + s;
}

typedef void (*copy)(const move *m, int64_t own, int64_t tensor);

static void put(const move *m, int64_t own, int64_t tensor) {
    const float *from = m->weight->data;
    ((float *)m->tensor->data)[tensor] = m->rule->adds ? 0 : from[own];
}

static void copy_or_add(const move *m, int64_t own, int64_t tensor) {
    const float value = ((const float *)m->tensor->data)[tensor];
    float *to = m->weight->data;
    to[own] = m->rule->adds ? to[own] + value : value;
}

static void copy_each(const move *m, copy one) {
    for (int64_t s = 0; s < m->places; s++)
        for (int64_t i = 0; i < m->in; i++)
            for (int64_t o = 0; o < m->out; o++)
                one(m, own_index(m, s, i, o), tensor_index(m, s, i, o));
}

void dt_torch_put(const dt_torch *t) {
    for (int i = 0; i < t->n; i++) {
        const move *m = &t->move[i];
        if (m->rule) copy_each(m, put);
        else memcpy(m->tensor->data, m->weight->data, (size_t)dt_type_bytes(&m->weight->type));
    }
}

void dt_torch_take(const dt_torch *t) {
    for (int i = 0; i < t->n; i++) {
        const move *m = &t->move[i];
        if (m->rule) copy_each(m, copy_or_add);
        else memcpy(m->weight->data, m->tensor->data, (size_t)dt_type_bytes(&m->weight->type));
    }
}

/* ---- the model ---- */

typedef struct opening {
    dt_torch *out;
    dt_arena *arena;
    dt_named_view *tensor;
} opening;

static char *dotted(dt_arena *arena, const char *path) {
    char *name = dt_arena_strdup(arena, path);
    for (char *p = name; *p; p++)
        if (*p == '/') *p = '.';
    return name;
}

/* Finds the tensor of this name, or adds it with the type that the move needs. Error
 * CHECKPOINT_MODEL if it has another type. */
static dt_status *find_tensor(opening *o, move *m, const char *name) {
    const dt_type type = type_of(m);
    dt_arrays *all = &o->out->tensors;
    for (int i = all->n - 1; i >= 0; i--) {
        if (strcmp(o->tensor[i].name, name) != 0) continue;
        m->tensor = &o->tensor[i];
        if (dt_type_equal(&m->tensor->type, &type)) return NULL;
        return dt_fail(DT_E_CHECKPOINT_MODEL, NULL,
                       "'%.200s' does not fit '%.200s' of PyTorch, where queries, keys and values "
                       "have one size",
                       m->weight->name, name);
    }
    m->tensor = &o->tensor[all->n++];
    *m->tensor = (dt_named_view){.name = name, .type = type};
    if (m->weight->data) m->tensor->data = dt_arena_alloc(o->arena, (size_t)dt_type_bytes(&type));
    return NULL;
}

static dt_status *add(opening *o, const rule *r, const dt_named_view *weight, const char *layer,
                      int64_t channels) {
    move *m = &o->out->move[o->out->n++];
    *m = (move){.rule = r, .weight = weight};
    measure(m);
    if ((r && r->ins ? m->in : m->out) % channels == 0) m->channels = channels;
    if (!r) return find_tensor(o, m, dotted(o->arena, weight->name));
    const char *tail = weight->name + strlen(layer) + 1;
    /* length of the name of an inner layer, such as "self_attention", in the path; 0 or -1: the
     * path has no such layer */
    const int inner = ends_in(tail, r->end);
    const bool cell = strstr(r->end, "_cell/"), back = cell && strncmp(tail, "backward_", 9) == 0;
    const char *name =
        inner > 0 && !cell
            ? dt_arena_printf(o->arena, "%s.%.*s.%s", layer, inner, tail, r->torch)
            : dt_arena_printf(o->arena, "%s.%s%s", layer, r->torch, back ? "_reverse" : "");
    return find_tensor(o, m, dotted(o->arena, name));
}

/* Adds the tensors of a weight. channels: the result of find_channels; the bias of a Dense has
 * outputs, not inputs. */
static dt_status *add_all(opening *o, const dt_layer_spec *l, const dt_named_view *weight,
                          int64_t channels) {
    const rule *first = find_rule(l, weight, weight->name + strlen(l->name) + 1);
    dt_status *bad = NULL;
    if (!first) return add(o, NULL, weight, l->name, 1);
    for (const rule *r = first; r < rules + RULES && strcmp(r->end, first->end) == 0; r++)
        if (r == first || !first->layer)
            dt_status_append(
                &bad, add(o, r, weight, l->name, r->ins || scales_features(l) ? channels : 1));
    return bad;
}

dt_status *dt_torch_open(dt_torch *out, const dt_model_spec *m, const dt_arrays *weights,
                         dt_arena *arena) {
    dt_status *bad = NULL;
    const dt_named_view *weight = weights->array;
    opening o = {out, arena, dt_arena_array(arena, dt_named_view, 2 * weights->n + 1)};
    *out = (dt_torch){.tensors = {.array = o.tensor},
                      .move = dt_arena_array(arena, move, 2 * weights->n + 1)};
    features *all = dt_arena_array(arena, features, m->n_layers + 1);
    for (int i = 0; i < m->n_layers; i++) {
        const dt_layer_spec *l = &m->layer[i];
        int64_t channels;
        dt_status_append(&bad, find_channels(m, i, all, &channels));
        all[i] = features_of(m, i, all);
        for (int k = 0; k < l->n_weights; k++, weight++)
            if (!dt_is_seed_counter(weight->name))
                dt_status_append(&bad, add_all(&o, l, weight, channels));
    }
    return bad;
}
