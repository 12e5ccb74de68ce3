/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain generate: continues a text with a language model, and prints it token by token. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "env.h"
#include "print.h"
#include "verb.h"
#include "watch.h"

#define LARGEST_PROMPT ((size_t)16 << 20)

struct generate {
    struct common common;
    struct place place;
    struct compute compute;
    const char *checkpoint, *prompt, *prompt_file, *temperature, *top_p;
    int64_t max_tokens, top_k;
    uint64_t seed;
    struct words stop;
    bool no_display_prompt, no_cache, json;
};

struct generation {
    const struct call *call;
    const struct generate *my;
    dt_job_source source;
    struct watch watch;
    dt_job *job;
    dt_str prompt, text; /* prompt: the text to continue; text: the generated text so far */
    int64_t n_tokens;
    dt_generate_request request;
};

/* Reads a number from 0 to `most` into *out. If the option is not given (text NULL), sets
 * `fallback`. */
static dt_status *read_number(const struct generation *g, const char *name, const char *text,
                              double fallback, double most, double *out) {
    *out = fallback;
    if (!text || (dt_parse_double(text, out) && *out >= 0 && *out <= most)) return NULL;
    return usage_error(g->call, "--%s must be a number from 0 to %g, got '%s'", name, most,
                       cut_word(text).text);
}

static dt_status *read_sampling(struct generation *g) {
    dt_generate_request *q = &g->request;
    DT_TRY(read_number(g, "temperature", g->my->temperature, 1, 1000, &q->temperature));
    DT_TRY(read_number(g, "top-p", g->my->top_p, 1, 1, &q->top_p));
    if (q->top_p == 0) return usage_error(g->call, "--top-p must be above 0");
    q->top_k = g->my->top_k;
    q->seed = g->my->seed;
    q->max_tokens = g->my->max_tokens;
    q->without_cache = g->my->no_cache;
    q->checkpoint = g->my->checkpoint;
    q->stop = g->my->stop.at;
    q->n_stop = g->my->stop.n;
    for (int i = 0; i < q->n_stop; i++)
        if (!*q->stop[i]) return usage_error(g->call, "--stop needs a text that is not empty");
    return NULL;
}

/* Replaces CR LF by LF, which training texts have, and removes the line end of the last line: most
 * editors and `echo` end a file with a newline that the user does not mean as part of the
 * prompt. */
static void trim_lines(dt_str *text) {
    size_t to = 0;
    for (size_t i = 0; i < text->size; i++)
        if (text->data[i] != '\r' || text->data[i + 1] != '\n') text->data[to++] = text->data[i];
    text->size = to - (to > 0 && text->data[to - 1] == '\n');
    if (text->data) text->data[text->size] = '\0';
}

/* Reads a stream to its end, because a pipe has no size. Fails if it has more than LARGEST_PROMPT
 * bytes. `name` is for errors. */
static dt_status *read_stream(FILE *f, const char *name, dt_str *out) {
    char piece[1 << 12];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, f)) > 0 && out->size <= LARGEST_PROMPT)
        dt_str_add(out, piece, n);
    if (ferror(f)) return dt_status_create(ERROR_IO, "%s: cannot be read", name);
    if (out->size > LARGEST_PROMPT)
        return dt_status_create(ERROR_TOO_LARGE, "%s: a prompt has at most %zu bytes", name,
                                LARGEST_PROMPT);
    return NULL;
}

static dt_status *read_file(const char *path, dt_str *out) {
    const bool is_input = strcmp(path, "-") == 0;
    FILE *f = is_input ? stdin : fopen(path, "re");
    if (!f) return dt_status_create(ERROR_NO_INPUT, "%s: %s", path, strerror(errno));
    dt_status *s = read_stream(f, is_input ? "<stdin>" : path, out);
    if (!is_input) fclose(f);
    if (!s) trim_lines(out);
    return s;
}

static dt_status *read_prompt(struct generation *g) {
    const struct generate *my = g->my;
    const char *file = my->prompt ? NULL : my->prompt_file;
    if ((my->prompt != NULL) == (my->prompt_file != NULL))
        return usage_error(g->call, "give the text to continue: either --prompt TEXT or "
                                    "--prompt-file FILE");
    if (my->prompt && strcmp(my->prompt, "-") == 0) file = "-";
    if (file && strcmp(file, "-") == 0 && strcmp(g->source.path, "-") == 0)
        return usage_error(g->call, "standard input holds the job or the prompt, not both");
    if (file) DT_TRY(read_file(file, &g->prompt));
    else dt_str_puts(&g->prompt, my->prompt);
    const dt_text_file text = {.path = file ? file : "--prompt",
                               .wanted = "a prompt in UTF-8",
                               .fault = (dt_error)ERROR_DATA_FILE};
    return dt_text_check(&text, dt_str_text(&g->prompt), g->prompt.size, 1);
}

static dt_status *read_call(struct generation *g) {
    DT_TRY(take_job(g->call, &g->my->place, &g->source));
    DT_TRY(read_sampling(g));
    return read_prompt(g);
}

static dt_status *print_token(const dt_generated_token *t, void *user) {
    struct generation *g = user;
    struct json j;
    const bool first = g->n_tokens++ == 0;
    dt_str_puts(&g->text, t->text);
    if (!g->my->json) {
        if (first && !g->my->no_display_prompt) out_text(g->call->out, g->request.prompt);
        out_text(g->call->out, t->text);
        return NULL;
    }
    json_open_event(&j, "token");
    dt_json_int(&j.to, "token", t->token);
    dt_json_string(&j.to, "text", t->text);
    dt_json_double(&j.to, "logprob", t->log_probability);
    json_print(&j, g->call->out);
    return NULL;
}

/* Returns the number of tokens per second, without the first token, whose time includes compiling;
 * 0: there is no other token. */
static double tokens_per_second(const dt_generation *r) {
    return r->other_s > 0 ? (double)(r->tokens - 1) / r->other_s : 0;
}

static void print_end(struct generation *g, const dt_generation *r) {
    struct json j;
    json_open_event(&j, "generated");
    dt_json_string(&j.to, "text", dt_str_text(&g->text));
    dt_json_int(&j.to, "prompt_tokens", r->prompt_tokens);
    dt_json_int(&j.to, "tokens", r->tokens);
    dt_json_int(&j.to, "context", r->context);
    dt_json_string(&j.to, "finish_reason", r->stopped ? "stop" : "length");
    dt_json_bool(&j.to, "cached", r->cached);
    dt_json_double(&j.to, "first_token_s", r->prompt_s);
    dt_json_double(&j.to, "tokens_per_s", tokens_per_second(r));
    json_print(&j, g->call->out);
}

static bool ends_line(const dt_str *text) {
    return text->size > 0 && text->data[text->size - 1] == '\n';
}

static dt_status *generate(struct generation *g) {
    const struct generate *my = g->my;
    dt_generation result;
    const dt_run_options options = {.threads = env_threads(g->call->out, my->compute.threads),
                                    .kernels = (dt_kernels)my->compute.kernels,
                                    .event = watch_event,
                                    .user = &g->watch};
    g->source.purpose = DT_FOR_PREDICT;
    DT_TRY(dt_job_open(&g->job, &g->source));
    g->request.prompt = dt_str_text(&g->prompt);
    g->request.token = print_token;
    g->request.user = g;
    DT_TRY(dt_job_generate(g->job, &g->request, &options, &result));
    if (my->json) print_end(g, &result);
    else if (!ends_line(&g->text)) out_text(g->call->out, "\n");
    if (my->common.verbose)
        out_note(g->call->out, "%lld tokens, %.1f tokens/s, %s", (long long)result.tokens,
                 tokens_per_second(&result), result.cached ? "cached" : "without a cache");
    return NULL;
}

static int run(const struct call *call) {
    struct generation g = {.call = call, .my = call->settings};
    dt_status *s = read_call(&g);
    g.watch = (struct watch){.out = call->out, .json = g.my->json, .path = g.source.path};
    int code = 0;
    if (s) code = out_error(call->out, s);
    else {
        s = generate(&g);
        if (s) code = watch_error(&g.watch, s);
        watch_end(&g.watch, code);
    }
    dt_job_unref(g.job);
    dt_str_release(&g.prompt);
    dt_str_release(&g.text);
    watch_release(&g.watch);
    return code;
}

static const struct option options[] = {
    TEXT(struct generate, prompt, "prompt", "TEXT",
         "the text to continue; - reads it from standard input", .letter = 'p'),
    PATH(struct generate, prompt_file, "prompt-file", "FILE",
         "read the text to continue from FILE; its last newline does not count", .letter = 'f'),
    INTEGER(struct generate, max_tokens, "max-tokens", "N", "generate at most N tokens", .min = 1,
            .max = 1000000000, .fallback = 200),
    TEXT(struct generate, temperature, "temperature", "T",
         "divide the scores by T before sampling (default 1); 0: always the likeliest token"),
    INTEGER(struct generate, top_k, "top-k", "K",
            "sample from the K likeliest tokens only; 0: from all", .min = 0, .max = 1000000000),
    TEXT(struct generate, top_p, "top-p", "P",
         "of these, sample from the fewest likeliest whose probabilities sum to P (default 1)"),
    UNSIGNED(struct generate, seed, "seed", "N",
             "seed of the random numbers (default 0); the same seed gives the same text"),
    LIST(struct generate, stop, "stop", "TEXT", "end before this text, which is not printed"),
    PATH(struct generate, checkpoint, "ckpt", "PATH",
         "the checkpoint; default: the newest in output.dir"),
    FLAG(struct generate, no_display_prompt, "no-display-prompt",
         "print the generated text without the prompt before it"),
    FLAG(struct generate, no_cache, "no-cache",
         "compute the whole context for each token, instead of keeping keys and values"),
    FLAG(struct generate, json, "json",
         "print JSON lines: a `token` event for each token, then `generated`"),
    COMPUTE_OPTIONS(struct generate),
    BACKEND_OPTIONS(struct generate),
    PLACE_OPTIONS(struct generate),
    OPTIONS_END};

const struct verb verb_generate = {
    .name = "generate",
    .group = "Train",
    .line = "continue a text with a language model",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain generate job.yaml --prompt 'ROMEO:'                      200 tokens more, by "
        "the newest checkpoint\n"
        "  dtrain generate job.yaml --prompt 'ROMEO:' --temperature 0      always the likeliest "
        "token\n"
        "  dtrain generate job.yaml --prompt 'ROMEO:' --temperature 0.8 --top-k 40 --top-p 0.95 "
        "--seed 7\n"
        "  dtrain generate job.yaml --prompt 'Q: why?' --stop 'Q:'         up to the next "
        "question\n"
        "  echo 'ROMEO:' | dtrain generate job.yaml --prompt - --json      JSON lines with "
        "tokens and log-probabilities\n",
    .more =
        "The job's data are of format text. They are opened, since they have the vocabulary, but "
        "not trained on.\n"
        "--temperature, --top-k and --top-p apply in this order. The text is printed as it is "
        "generated, after the prompt;\n"
        "with --json only what is new.\n\n"
        "The model looks at as many tokens as its training sequences had (`context` in "
        "--json). When the context is full, its\n"
        "older half is dropped. Keys and values of earlier tokens are kept, so a token costs one "
        "position instead of all. If\n"
        "a layer may combine positions other than by causal attention (LSTM, Conv1D), each token "
        "computes its whole context, with\n"
        "a warning and \"cached\": false. The text is the same.\n\n"
        "\"logprob\" is the natural logarithm of the token's probability under the model, before "
        "--temperature, --top-k and\n"
        "--top-p. \"tokens_per_s\" counts from the second token on; \"first_token_s\" includes "
        "compiling.\n",
    .options = options,
    .runs_jobs = true,
    .size = sizeof(struct generate),
    .run = run,
};
