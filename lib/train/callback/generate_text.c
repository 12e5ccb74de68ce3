/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GenerateText: every few epochs or steps the language model continues a prompt, token by token, to
 * show what it has learned (train/generate.h). The random numbers depend only on the seed and the
 * step, so equal weights give the same text, with any number of replicas and in a resumed run.
 */
#include "train/generate.h"
#include "train/hook.h"

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

static dt_status *check(const dt_callback_job *job, const dt_named *named) {
    return dt_generator_check(job->model, job->data, "GenerateText", &named->at);
}

static void close_generator(run *r, dt_hook *h) {
    (void)r;
    dt_generator_close(h->state);
}

static dt_status *open_generator(run *r, dt_hook *h) {
    const struct settings *x = h->named->args;
    dt_generator *g = NULL;
    dt_status *s = dt_generator_open(
        &(dt_generator_options){.model = r->model,
                                .data = r->data,
                                .prompt = x->prompt,
                                .sampling = {.temperature = x->temperature, .top_p = 1}},
        &g);
    h->state = g;
    return dt_at(s, dt_callback_place(h->named, "prompt"));
}

static void report_text(const run *r, const dt_generator *g) {
    dt_local_str text = {0};
    dt_generator_decode(g, 0, dt_generator_tokens(g), &text);
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_TEXT,
                               .step = r->at.step,
                               .steps = r->size.steps,
                               .text = dt_str_text(&text)});
}

static dt_status *generate(run *r, dt_hook *h) {
    const struct settings *x = h->named->args;
    dt_generator *g = h->state;
    int32_t token;
    if (!r->q->run->event || !dt_callback_is_due(r, x->every)) return NULL;
    dt_generator_restart(g, dt_random_stream(r->q->seed, "generated text", (uint64_t)r->at.step));
    for (int64_t i = 0; i < x->max_tokens; i++) DT_TRY(dt_generator_next(g, &token, NULL));
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
