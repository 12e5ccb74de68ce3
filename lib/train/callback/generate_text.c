/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GenerateText: every so often a language model continues a prompt, token by token, to show what it
 * has learned:
 *
 *     the last T tokens  ── model ──▶  scores of the next one  ── softmax(scores / temperature) ──▶  a token drawn
 *
 * T is the model's length of a sequence. A shorter text stands at its beginning, filled up behind,
 * where a causal model does not look; of a longer one the last T tokens count. What is drawn is a
 * function of (seed, step), so any number of replicas and a resumed run generate the same.
 */
#include "train/hook.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    int64_t every, max_tokens;
    const char *prompt;
    double temperature;
};

static const dt_field fields[] = {
    DT_INT(struct settings, every, .min = 1, .max = 1e15, .required = true,
           .help = "generate every N steps; every N epochs if fit.epochs is set"),
    DT_TEXT(struct settings, prompt, .min = 1, .max = 1e5, .required = true,
            .help = "start of the text"),
    DT_INT(struct settings, max_tokens, .min = 1, .max = 1e6, .preset = "200",
           .help = "number of tokens to generate"),
    DT_REAL(struct settings, temperature, .preset = "1", .max = INFINITY,
            .help = "divides the logits before sampling; 0: always the most likely token"),
    DT_END};

typedef struct generator {
    const struct settings *settings;
    dt_match match;
    dt_compiled *step; /* the forward pass; NULL: not compiled yet */
    int32_t *offsets;  /* [replicas + 1] of a batch of one example */
    int32_t *token;    /* [prompt + max_tokens] */
    int32_t *window;   /* [length] the model's input */
    double *share;     /* [vocabulary] */
    int64_t prompt, n; /* number of tokens: of the prompt, and so far */
    int64_t length, vocabulary;
} generator;

/* ---- opening ---- */

static dt_status *check(const dt_callback_job *job, const dt_named *named) {
    const dt_model_spec *model = job->model;
    const dt_dataset_spec *data = job->data;
    const dt_type *in = &model->input[0].type, *out = &model->output[0].type;
    bool reads = model->n_inputs == 1 && in->rank == 2 && !dt_dtype_is_float(in->dtype);
    bool speaks = model->n_outputs == 1 && out->rank == 3 && dt_dtype_is_float(out->dtype) &&
                  out->dim[1] == in->dim[1];
    if (data->format->content != DT_CONTENT_TEXT)
        return dt_fail(DT_E_FIT_KEYS, &named->at,
                       "GenerateText needs data of format text, which defines the tokens; got %s",
                       data->format->kind.name);
    if (!reads || !speaks)
        return dt_fail(
            DT_E_FIT_KEYS, &named->at,
            "GenerateText needs a model from integers (B, steps) to scores (B, steps, vocabulary)");
    return NULL;
}

static void close_generator(run *r, dt_hook *h) {
    generator *g = h->state;
    (void)r;
    if (!g) return;
    dt_compiled_destroy(g->step);
    free(g->token);
    free(g);
}

static dt_status *open_generator(run *r, dt_hook *h) {
    const dt_named *named = h->named;
    generator *g = dt_alloc(sizeof *g);
    const struct settings *x = named->args;
    const dt_tree *prompt = dt_tree_get(named->tree, "prompt");
    h->state = g;
    g->settings = x;
    g->length = r->model->spec.input[0].type.dim[1];
    g->vocabulary = r->model->spec.output[0].type.dim[2];
    g->window = dt_arena_array(r->arena, int32_t, g->length);
    g->share = dt_arena_array(r->arena, double, g->vocabulary);
    g->offsets = dt_arena_array(r->arena, int32_t, r->strategy->replicas + 1);
    DT_TRY(dt_match_data(r->data, &r->model->spec, NULL, &g->match));
    dt_tokens tokens = {0};
    dt_status *s = dt_dataset_encode(r->data, x->prompt, &tokens);
    if (!s && tokens.n == 0) s = dt_fail(DT_E_RANGE, NULL, "the prompt has no tokens");
    g->prompt = tokens.n;
    g->token = dt_realloc(tokens.v, (size_t)(tokens.n + x->max_tokens) * sizeof *g->token);
    return dt_at(s, prompt ? &prompt->at : &named->at);
}

/* ---- one token ---- */

/* The scores of the token after the n tokens so far, lent until the next run of the step. */
static dt_status *score(const run *r, generator *g, dt_view *scores) {
    int64_t seen = g->n < g->length ? g->n : g->length;
    dt_view fed = {.type = dt_type_of(DT_INT32, 2, (int64_t[]){1, g->length}), .data = g->window},
            result;
    memset(g->window, 0, (size_t)g->length * sizeof *g->window);
    memcpy(g->window, g->token + g->n - seen, (size_t)seen * sizeof *g->window);
    dt_cut_rows(1, 1, r->strategy->replicas, g->offsets);
    DT_TRY(dt_compiled_run(g->step, g->offsets, &fed, &result));
    size_t row = (size_t)g->vocabulary * dt_dtype_size(result.type.dtype);
    *scores = (dt_view){.type = dt_type_of(result.type.dtype, 1, &g->vocabulary),
                        .data = (char *)result.data + (size_t)(seen - 1) * row};
    return NULL;
}

static double score_at(const dt_view *scores, int64_t i) {
    return scores->type.dtype == DT_FLOAT64 ? ((const double *)scores->data)[i]
                                            : (double)((const float *)scores->data)[i];
}

static int64_t find_largest(const generator *g, const dt_view *scores) {
    int64_t best = 0;
    for (int64_t i = 1; i < g->vocabulary; i++)
        if (score_at(scores, i) > score_at(scores, best)) best = i;
    return best;
}

/* Sets share[i] to exp(score - largest score) at the temperature. Returns the sum. */
static double fill_shares(generator *g, const dt_view *scores) {
    double largest = score_at(scores, find_largest(g, scores)), sum = 0;
    for (int64_t i = 0; i < g->vocabulary; i++)
        sum += g->share[i] = exp((score_at(scores, i) - largest) / g->settings->temperature);
    return sum;
}

static int64_t draw(generator *g, const dt_view *scores, dt_random *random) {
    int64_t i = 0;
    if (g->settings->temperature == 0) return find_largest(g, scores);
    double left = fill_shares(g, scores) * dt_random_uniform(random);
    while (i < g->vocabulary - 1 && left >= g->share[i]) left -= g->share[i++];
    return i;
}

/* ---- a text ---- */

static dt_status *compile(const run *r, generator *g) {
    dt_graph *graph = NULL;
    DT_TRY(dt_forward_trace(r->model, r->data, &g->match, &graph));
    return dt_compiled_create(&g->step, r->strategy, graph, &(dt_compile_options){.alone = true});
}

static void report_text(const run *r, const generator *g) {
    dt_str text = {0};
    for (int64_t i = 0; i < g->n; i++) dt_dataset_decode(r->data, g->token[i], i == 0, &text);
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_TEXT,
                               .step = r->at.step,
                               .steps = r->size.steps,
                               .text = dt_str_text(&text)});
    dt_str_release(&text);
}

static dt_status *generate(run *r, dt_hook *h) {
    generator *g = h->state;
    dt_random random = dt_random_stream(r->q->seed, "generated text", (uint64_t)r->at.step);
    dt_view scores;
    if (!r->q->run->event || !dt_callback_is_due(r, g->settings->every)) return NULL;
    if (!g->step) DT_TRY(compile(r, g));
    for (g->n = g->prompt; g->n < g->prompt + g->settings->max_tokens; g->n++) {
        DT_TRY(score(r, g, &scores));
        g->token[g->n] = (int32_t)draw(g, &scores, &random);
    }
    report_text(r, g);
    return NULL;
}

const dt_hook_row dt_callback_generate_text = {
    .kind = {"GenerateText", "generates text from a prompt with a language model", fields,
             sizeof(struct settings), NULL},
    .check = check,
    .open = open_generator,
    .settled = generate,
    .close = close_generator,
};
