/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences of calls of the public API: a byte or two say which function, those behind it which
 * arguments. What functions make goes into slots, from which later calls take it, also after it was
 * released. Values and traces are those of steps that are recorded in between.
 */
#include <stdio.h>
#include <unistd.h>

#include "../support/api.h"
#include "fuzz.h"

enum { MOST_CALLS = 64 };

typedef struct input {
    const uint8_t *data;
    size_t size, at;
} input;

static int next(input *in) { return in->at < in->size ? in->data[in->at++] : 0; }

static int choose(api *s, int argument, int n) {
    (void)argument;
    return next(s->user) % n;
}

/* These print, take standard input, or write where they are told to; readers of files have targets
 * of their own. */
static bool is_left_out(const api_call *c) {
    static const char *const names[] = {"dt_report",
                                        "dt_data_synth",
                                        "dt_job_",
                                        "dt_model_save",
                                        "dt_model_load",
                                        "dt_tensor_save",
                                        "dt_row_writer",
                                        "dt_run_",
                                        "dt_checkpoint_save",
                                        "dt_checkpoint_list",
                                        "dt_checkpoint_inspect",
                                        "dt_checkpoint_verify",
                                        "dt_checkpoint_diff",
                                        "dt_checkpoint_convert",
                                        "dt_plan_",
                                        "dt_data_",
                                        "dt_bench_",
                                        "dt_devices_text",
                                        "dt_doctor_text",
                                        "dt_topology_text",
                                        "dt_dataset_list_files",
                                        "dt_dataset_tfrecord",
                                        "dt_dataset_text_lines",
                                        "dt_dataset_read_files",
                                        "dt_dataset_open"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(c->name, names[i], strlen(names[i])) == 0) return true;
    return false;
}

static const api_call *next_call(input *in) {
    int first = next(in), i = (first << 8 | next(in)) % API_CALLS;
    while (is_left_out(&api_calls[i])) i = (i + 1) % API_CALLS;
    return &api_calls[i];
}

/* As many calls of steps as follow each other. */
static void make_in_step(dt_trace *t, void *user) {
    api *s = user;
    s->trace = t;
    for (int n = 1 + next(s->user) % 8; n > 0; n--) {
        const api_call *c = next_call(s->user);
        if (api_is_of_steps(c)) api_make(s, c);
    }
    if (!s->stale.trace) s->stale = dt_constant(t, 1);
    s->trace = NULL;
}

static void run_step(api *s) {
    dt_strategy *strategy = dt_live(s->strategy[0].handle);
    dt_function *f = NULL;
    dt_status *made = dt_function_create(&f, make_in_step, s);
    fuzz_done(made ? made
                   : dt_strategy_run(strategy ? strategy : dt_get_strategy(), f, NULL, NULL));
    dt_function_unref(f);
}

FUZZ_TARGET(api) {
    input in = {data, size, 0};
    api s = {.choose = choose, .user = &in};
    for (int i = 0; i < MOST_CALLS && in.at < in.size; i++) {
        const api_call *c = next_call(&in);
        if (api_is_of_steps(c)) run_step(&s);
        else api_make(&s, c);
        dt_status_free(dt_set_strategy(NULL));
    }
    api_release_all(&s);
    dt_status_free(dt_set_strategy(NULL));
    return 0;
}
