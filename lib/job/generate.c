/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continues a text with a job's language model. Tokens become text in two stages, so that text
 * which the caller has received is final. Bytes wait until their character is complete, and
 * characters wait while they may be the beginning of a stop text.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "job/session.h"
#include "train/generate.h"

typedef struct generation {
    dt_job *job;
    const dt_generate_request *q;
    const dt_run_options *o;
    dt_saved saved;
    dt_session session;
    dt_generator *generator;
    dt_str bytes; /* bytes of UTF-8 at the end that do not form a complete character yet */
    dt_str text;  /* complete characters that were generated so far */
    size_t sent;  /* number of bytes of `text` that the caller has received */
    dt_generation result;
} generation;

/* ---- text ---- */

/* Whether n bytes may be the beginning of a longer character. */
static bool may_continue(const char *bytes, size_t n) {
    const unsigned char lead = (unsigned char)*bytes;
    const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)bytes[i] & 0xc0) != 0x80) return false;
    return n < size && lead <= 0xf4;
}

/* Moves complete characters from g->bytes to g->text; with `last`, also what is left at the end.
 * Bytes that are not UTF-8, and NUL, become U+FFFD. */
static void take_characters(generation *g, bool last) {
    enum { REPLACEMENT_CHARACTER = 0xfffd };
    const char *bytes = dt_str_text(&g->bytes);
    size_t at = 0;
    uint32_t code;
    while (at < g->bytes.size && (last || !may_continue(bytes + at, g->bytes.size - at))) {
        const size_t size = dt_utf8_next(bytes + at, g->bytes.size - at, &code);
        dt_str_utf8(&g->text, size && code ? code : REPLACEMENT_CHARACTER);
        at += size ? size : 1;
    }
    dt_str rest = {0};
    dt_str_add(&rest, bytes + at, g->bytes.size - at);
    dt_str_release(&g->bytes);
    g->bytes = rest;
}

/* If the part of the text that was not sent contains a stop text, cuts the text off there and
 * returns true. */
static bool cut_at_stop(generation *g) {
    const char *text = dt_str_text(&g->text), *first = NULL;
    for (int i = 0; i < g->q->n_stop; i++) {
        const char *at = strstr(text + g->sent, g->q->stop[i]);
        if (at && (!first || at < first)) first = at;
    }
    if (first) g->text.size = (size_t)(first - text);
    return first != NULL;
}

/* Returns the number of bytes at the end of the text with which a stop text may begin, so that they
 * are not sent yet. */
static size_t find_held(const generation *g) {
    const char *text = dt_str_text(&g->text);
    for (size_t at = g->sent; at < g->text.size; at++)
        for (int i = 0; i < g->q->n_stop; i++)
            if (strncmp(text + at, g->q->stop[i], g->text.size - at) == 0) return g->text.size - at;
    return 0;
}

static dt_status *send(generation *g, dt_generated_token *token, bool last) {
    const size_t held = last ? 0 : find_held(g), end = g->text.size - held;
    dt_local_str piece = {0};
    dt_str_add(&piece, dt_str_text(&g->text) + g->sent, end - g->sent);
    token->text = dt_str_text(&piece);
    g->sent = end;
    return g->q->token ? g->q->token(token, g->q->user) : NULL;
}

static dt_status *generate_one(generation *g) {
    dt_generated_token token = {0};
    int32_t number;
    DT_TRY(dt_generator_next(g->generator, &number, &token.log_probability));
    token.token = number;
    bool last = ++g->result.tokens == g->q->max_tokens;
    const int64_t n = dt_generator_tokens(g->generator);
    dt_generator_decode(g->generator, n - 1, n, &g->bytes);
    take_characters(g, last);
    g->result.stopped = cut_at_stop(g);
    return send(g, &token, last || g->result.stopped);
}

/* ---- the model ---- */

static void warn_of_mixing(const generation *g) {
    const char *mixing = dt_generator_mixing(g->generator);
    dt_local_str text = {0};
    if (!mixing || !g->o->event) return;
    dt_str_printf(
        &text,
        "'%s' may combine positions other than by causal attention: each token computes its "
        "whole context",
        mixing);
    g->o->event(&(dt_event){.kind = DT_EVENT_WARNING, .text = dt_str_text(&text)}, g->o->user);
}

static dt_status *generate_all(generation *g) {
    int64_t begin = dt_now_ns();
    dt_generator_restart(g->generator, dt_random_stream(g->q->seed, "generated text", 0));
    DT_TRY(dt_generator_compile(g->generator));
    warn_of_mixing(g);
    DT_TRY(generate_one(g));
    g->result.prompt_s = dt_seconds_since(begin);
    begin = dt_now_ns();
    while (!g->result.stopped && g->result.tokens < g->q->max_tokens) DT_TRY(generate_one(g));
    g->result.other_s = dt_seconds_since(begin);
    return NULL;
}

static dt_status *open_model(generation *g) {
    dt_job *j = g->job;
    if (j->strategy.launch.workers)
        return dt_fail(DT_E_MISUSE, NULL,
                       "a text is generated by one process, and %s says that this is one of %d",
                       j->strategy.launch.by, j->strategy.launch.workers);
    DT_TRY(dt_generator_check(&j->model, &j->dataset, "generate", &j->dataset.at));
    DT_TRY(dt_job_find_checkpoint(j, g->q->checkpoint, g->o, &g->saved));
    DT_TRY(dt_job_take_learned(j, &g->saved));
    DT_TRY(dt_job_open_data(j));
    DT_TRY(dt_session_open_model(j, g->o, &g->session));
    return dt_job_load_weights(j, &g->saved, &g->session);
}

static dt_status *open_generator(generation *g) {
    const dt_generator_options o = {
        .model = g->session.model,
        .data = g->job->data,
        .prompt = g->q->prompt,
        .sampling = {.temperature = g->q->temperature, .top_k = g->q->top_k, .top_p = g->q->top_p},
        .recomputes = g->q->without_cache};
    dt_status *s = dt_generator_open(&o, &g->generator);
    g->result.prompt_tokens = dt_generator_tokens(g->generator);
    g->result.context = g->job->model.input[0].type.dim[1];
    return s ? dt_note(s, "in the prompt") : NULL;
}

static dt_status *check_request(const dt_job *j, const dt_generate_request *q) {
    DT_TRY(dt_want(j, "dt_job_generate", "job"));
    DT_TRY(dt_want(q, "dt_job_generate", "request"));
    DT_TRY(dt_want(q->prompt, "dt_job_generate", "prompt"));
    if (q->n_stop > 0) DT_TRY(dt_want(q->stop, "dt_job_generate", "stop"));
    for (int i = 0; i < q->n_stop; i++)
        if (!q->stop[i] || !*q->stop[i])
            return dt_fail(DT_E_MISUSE, NULL, "dt_job_generate got an empty stop text");
    if (q->max_tokens < 1 || q->top_k < 0 || !(q->top_p > 0 && q->top_p <= 1) ||
        !(q->temperature >= 0) || isinf(q->temperature))
        return dt_fail(DT_E_MISUSE, NULL,
                       "dt_job_generate got max_tokens %lld, temperature %g, top_k %lld, top_p %g",
                       (long long)q->max_tokens, q->temperature, (long long)q->top_k, q->top_p);
    return NULL;
}

DT_API dt_status *dt_job_generate(dt_job *j, const dt_generate_request *q,
                                  const dt_run_options *options, dt_generation *out) {
    static const dt_run_options none = {0};
    DT_LIVE(j);
    DT_TRY(dt_status_kept());
    DT_TRY(check_request(j, q));
    generation g = {.job = j, .q = q, .o = options ? options : &none};
    dt_status *s = open_model(&g);
    if (!s) s = open_generator(&g);
    if (!s) s = generate_all(&g);
    if (!s) g.result.cached = !q->without_cache && !dt_generator_mixing(g.generator);
    if (!s && out) *out = g.result;
    dt_generator_close(g.generator);
    dt_session_close(&g.session);
    dt_saved_release(&g.saved);
    dt_str_release(&g.bytes);
    dt_str_release(&g.text);
    return s;
}
