/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what generate.h declares. The first token of a context comes from the model's whole
 * graph over T positions. A shorter context is padded at its end, which does not affect a causal
 * model. Further tokens come from the step of pass/decode.c if the model has one; it reads keys and
 * values of earlier positions, which the generator keeps in caches. Without such a step they come
 * from the whole graph, too. */
#include "train/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/op.h"
#include "pass/pass.h"

/* Samples a token from a model's scores: first temperature, then top_k, then top_p, which is the
 * order of Hugging Face's generate. A. Holtzman et al., The Curious Case of Neural Text
 * Degeneration (2020). */

static int64_t find_largest(const double *score, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (score[i] > score[best]) best = i;
    return best;
}

typedef struct ranked {
    double share;
    int64_t token;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

/* Returns how many tokens remain after top_k and top_p. of: [n] all tokens, the likeliest first. */
static int64_t count_kept(const dt_sampling *s, const ranked *of, int64_t n) {
    const int64_t most = s->top_k > 0 && s->top_k < n ? s->top_k : n;
    double all = 0, sum = 0;
    int64_t kept = 0;
    for (int64_t i = 0; i < most; i++) all += of[i].share;
    if (s->top_p >= 1) return most;
    while (kept < most && (kept == 0 || sum < s->top_p * all)) sum += of[kept++].share;
    return kept;
}

/* Keeps the tokens that top_k and top_p allow: sets share[i] of all other tokens, of n, to 0. */
static void keep_likeliest(const dt_sampling *s, int64_t n, double *share) {
    DT_LOCAL ranked *of = dt_alloc(dt_size_mul((size_t)n, sizeof *of));
    for (int64_t i = 0; i < n; i++) of[i] = (ranked){share[i], i};
    qsort(of, (size_t)n, sizeof *of, compare_ranked);
    for (int64_t i = count_kept(s, of, n); i < n; i++) share[of[i].token] = 0;
}

void dt_sampling_shares(const dt_sampling *s, const double *score, int64_t n, double *share) {
    const int64_t best = find_largest(score, n);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        share[i] = s->temperature == 0 ? i == best : exp((score[i] - score[best]) / s->temperature);
    if (s->temperature > 0 && (s->top_k > 0 || s->top_p < 1)) keep_likeliest(s, n, share);
    for (int64_t i = 0; i < n; i++) sum += share[i];
    for (int64_t i = 0; i < n; i++) share[i] /= sum;
}

int64_t dt_sampling_draw(const double *share, int64_t n, dt_random *random) {
    double left = dt_random_uniform(random);
    int64_t token = 0;
    for (int64_t i = 0; i < n; i++) {
        if (share[i] <= 0) continue;
        token = i;
        if (left < share[i]) break;
        left -= share[i];
    }
    return token;
}

double dt_sampling_log_probability(const double *score, int64_t n, int64_t token) {
    const double largest = score[find_largest(score, n)];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(score[i] - largest);
    return score[token] - largest - log(sum);
}

struct dt_generator {
    dt_generator_options o;
    dt_arena *arena;
    dt_random random;
    /* Both compute the scores of the next token. whole: from all tokens of a context; step: from
     * its last token and the caches. NULL: not compiled yet; step also NULL: the model has no such
     * step, or o.recomputes is set. */
    dt_compiled *whole, *step;
    /* the name of the layer or op because of which the model has no step for one token; NULL:
     * none */
    const char *mixing;
    bool is_probability; /* whether the model's scores are probabilities, not logits */
    dt_tokens text;      /* tokens of the prompt, then the generated ones */
    int64_t prompt;      /* number of tokens of the prompt, which `text` begins with */
    int64_t from;        /* index in `text` of the context's first token */
    /* number of the context's positions whose keys and values are in the caches */
    int64_t kept;
    int64_t length, vocabulary;
    /* offsets: [replicas + 1] first row of each replica in a batch of one example; window: [length]
     * the tokens of the context */
    int32_t *offsets, *window;
    double *score, *share; /* [vocabulary] the scores, and the probabilities, of the next token */
    int n_caches;
    /* arg: [2 + n_caches] arguments of the step; result: [1 + n_caches] its results */
    dt_view *arg, *result;
};

dt_status *dt_generator_check(const dt_model_spec *model, const dt_dataset_spec *data,
                              const char *what, const dt_location *at) {
    const dt_type *in = &model->input[0].type, *out = &model->output[0].type;
    bool reads = model->n_inputs == 1 && in->rank == 2 && !dt_dtype_is_float(in->dtype);
    bool speaks = model->n_outputs == 1 && out->rank == 3 && dt_dtype_is_float(out->dtype) &&
                  out->dim[1] == in->dim[1];
    if (data->format->content != DT_CONTENT_TEXT)
        return dt_fail(DT_E_FIT_KEYS, at,
                       "%s needs data of format text, which defines the tokens; got %s", what,
                       data->format->kind.name);
    if (!reads || !speaks)
        return dt_fail(DT_E_FIT_KEYS, at,
                       "%s needs a model from integers (B, steps) to scores (B, steps, vocabulary)",
                       what);
    return NULL;
}

dt_status *dt_generator_open(const dt_generator_options *o, dt_generator **out) {
    dt_arena *arena = dt_arena_create();
    dt_generator *g = dt_arena_new(arena, dt_generator);
    *out = g;
    *g = (dt_generator){.o = *o,
                        .arena = arena,
                        .length = o->model->spec.input[0].type.dim[1],
                        .vocabulary = o->model->spec.output[0].type.dim[2]};
    g->offsets = dt_arena_array(arena, int32_t, o->model->strategy->replicas + 1);
    g->window = dt_arena_array(arena, int32_t, g->length);
    g->score = dt_arena_array(arena, double, g->vocabulary);
    g->share = dt_arena_array(arena, double, g->vocabulary);
    dt_cut_rows(1, 1, o->model->strategy->replicas, g->offsets);
    DT_TRY(dt_dataset_encode(o->data, o->prompt, &g->text));
    g->prompt = g->text.n;
    return g->prompt > 0 ? NULL : dt_fail(DT_E_RANGE, NULL, "the prompt has no tokens");
}

void dt_generator_close(dt_generator *g) {
    if (!g) return;
    dt_compiled_destroy(g->whole);
    dt_compiled_destroy(g->step);
    free(g->text.v);
    dt_arena_destroy(g->arena);
}

void dt_generator_restart(dt_generator *g, dt_random random) {
    g->random = random;
    g->text.n = g->prompt;
    g->from = g->kept = 0;
}

static dt_view allocate(const dt_generator *g, const dt_type *type) {
    const dt_type one = dt_type_at(type, 1);
    return (dt_view){.type = one,
                     .data = dt_arena_alloc(g->arena, (size_t)dt_type_bytes(&one) + 1)};
}

/* Compiles the step for one token. Its token and caches are distributed to the replicas, as a batch
 * of one example; the position is not: every replica gets the same number. */
static dt_status *compile_step(dt_generator *g, dt_graph *step) {
    const int n = step->n_args;
    bool *distributed = dt_arena_array(g->arena, bool, n);
    g->n_caches = n - 2;
    g->arg = dt_arena_array(g->arena, dt_view, n);
    g->result = dt_arena_array(g->arena, dt_view, step->n_results);
    for (int i = 0; i < n; i++) {
        g->arg[i] = allocate(g, &step->node[step->arg[i].node].type);
        distributed[i] = i != 1;
    }
    return dt_compiled_create(&g->step, g->o.model->strategy, step,
                              &(dt_compile_options){.distributed = distributed, .alone = true});
}

static const char *name_mixing(const dt_generator *g, const dt_graph *graph, int node) {
    const dt_node *n = &graph->node[node];
    return dt_arena_strdup(g->arena, n->path && *n->path ? n->path : n->op->name);
}

dt_status *dt_generator_compile(dt_generator *g) {
    dt_strategy *strategy = g->o.model->strategy;
    dt_graph *graph = NULL;
    dt_match match;
    dt_decoding two = {.mixing = -1};
    if (g->whole) return NULL;
    DT_TRY(dt_match_types(g->o.data, &g->o.model->spec, NULL, &match));
    /* Documents are not masked in this graph, because a context is always one document
     * (leave_document). */
    dt_model model = *g->o.model;
    model.spec.documents = (dt_documents){0};
    DT_TRY(dt_forward_trace(&model, g->o.data, &match, &graph));
    g->is_probability = dt_output_made_by(graph, graph->result[0].node) == DT_OUTPUT_CLASSES;
    dt_status *s = g->o.recomputes ? NULL : dt_decode(graph, &two);
    if (!s && two.mixing >= 0) g->mixing = name_mixing(g, graph, two.mixing);
    if (!s && two.step) s = compile_step(g, two.step);
    if (s || two.whole) dt_graph_destroy(graph);
    if (s) {
        dt_graph_destroy(two.whole);
        return s;
    }
    return dt_compiled_create(&g->whole, strategy, two.whole ? two.whole : graph,
                              &(dt_compile_options){.alone = true});
}

/* Sets g->score to row `row` of scores (1, rows, vocabulary); if these are probabilities, to their
 * logarithms. Fails with DIVERGED for NaN and +infinity, with which the choice of a token would be
 * meaningless. */
static dt_status *take_scores(dt_generator *g, const dt_view *from, int64_t row) {
    const int64_t first = row * g->vocabulary;
    for (int64_t i = 0; i < g->vocabulary; i++) {
        double x = from->type.dtype == DT_FLOAT64 ? ((const double *)from->data)[first + i]
                                                  : (double)((const float *)from->data)[first + i];
        if (isnan(x) || x == INFINITY)
            return dt_fail(DT_E_DIVERGED, NULL, "the model computes %s as the score of token %lld",
                           isnan(x) ? "NaN" : "infinity", (long long)i);
        g->score[i] = g->is_probability ? log(x) : x;
    }
    return NULL;
}

static int64_t context(const dt_generator *g) { return g->text.n - g->from; }

/* Computes the whole context. Keeps the keys and values that the graph returns after its scores. */
static dt_status *compute_whole(dt_generator *g) {
    dt_view fed = {.type = dt_type_of(DT_INT32, 2, (int64_t[]){1, g->length}), .data = g->window};
    DT_LOCAL dt_view *result = dt_alloc((size_t)(1 + g->n_caches) * sizeof *result);
    memset(g->window, 0, (size_t)g->length * sizeof *g->window);
    memcpy(g->window, g->text.v + g->from, (size_t)context(g) * sizeof *g->window);
    dt_status *s = dt_compiled_run(g->whole, g->offsets, &fed, result);
    if (!s) s = take_scores(g, &result[0], context(g) - 1);
    for (int c = 0; !s && c < g->n_caches; c++)
        memcpy(g->arg[2 + c].data, result[1 + c].data, (size_t)dt_type_bytes(&result[1 + c].type));
    g->kept = context(g);
    return s;
}

/* Copies the keys or values of one token, `row`, to a position of a cache. Both have the same
 * dimensions, but `row` has only one position. */
static void keep_row(const dt_generator *g, const dt_view *row, dt_view *cache, int64_t position) {
    size_t above = 1, below = dt_dtype_size(DT_FLOAT32);
    int d = 0;
    for (; d < row->type.rank && row->type.dim[d] == cache->type.dim[d]; d++)
        above *= (size_t)row->type.dim[d];
    for (d++; d < row->type.rank; d++) below *= (size_t)row->type.dim[d];
    for (size_t i = 0; i < above; i++)
        memcpy((char *)cache->data + (i * (size_t)g->length + (size_t)position) * below,
               (const char *)row->data + i * below, below);
}

static dt_status *compute_step(dt_generator *g) {
    const int64_t at = g->kept++;
    *(int32_t *)g->arg[0].data = g->text.v[g->from + at];
    *(int32_t *)g->arg[1].data = (int32_t)at;
    DT_TRY(dt_compiled_run(g->step, g->offsets, g->arg, g->result));
    for (int c = 0; c < g->n_caches; c++) keep_row(g, &g->result[1 + c], &g->arg[2 + c], at);
    return take_scores(g, &g->result[0], 0);
}

/* If documents are masked, the context begins after the last end of a document. An end that is the
 * last token still belongs to the context, because its document predicts what follows it. */
static void leave_document(dt_generator *g) {
    const dt_documents *d = &g->o.model->spec.documents;
    int64_t i = g->text.n - 2;
    if (!d->masked) return;
    while (i >= g->from && g->text.v[i] != d->end) i--;
    if (i < g->from) return;
    g->from = i + 1;
    g->kept = 0;
}

/* Shortens a context of more than T tokens: of a prompt that is too long, the last T remain; of a
 * full context, the newer half. */
static void slide(dt_generator *g) {
    if (context(g) <= g->length) return;
    g->from = g->text.n == g->prompt ? g->text.n - g->length : g->from + (g->length + 1) / 2;
    g->kept = 0;
}

dt_status *dt_generator_next(dt_generator *g, int32_t *token, double *log_probability) {
    DT_TRY(dt_generator_compile(g));
    leave_document(g);
    slide(g);
    DT_TRY(g->step && g->kept > 0 ? compute_step(g) : compute_whole(g));
    dt_sampling_shares(&g->o.sampling, g->score, g->vocabulary, g->share);
    *token = (int32_t)dt_sampling_draw(g->share, g->vocabulary, &g->random);
    if (log_probability)
        *log_probability = dt_sampling_log_probability(g->score, g->vocabulary, *token);
    dt_tokens_add(&g->text, *token);
    return NULL;
}

void dt_generator_decode(const dt_generator *g, int64_t from, int64_t to, dt_str *out) {
    for (int64_t i = from; i < to; i++) dt_dataset_decode(g->o.data, g->text.v[i], i == 0, out);
}

int64_t dt_generator_tokens(const dt_generator *g) { return g->text.n; }

const char *dt_generator_mixing(const dt_generator *g) { return g->mixing; }
