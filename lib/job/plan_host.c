/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain plan of a job without a slice: the memory and time that it needs on this machine. Memory
 * comes from a dry run of `fit`. Time is measured: batches are trained for about a second, and as
 * many rows of the validation data are evaluated as fit into one evaluation. The time of the whole
 * run is estimated from these. Nothing is written.
 */
#include "job/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "job/plan.h"
#include "train/trainer.h"

enum { MOST_STEPS = 20 };
static const double most_seconds = 1, patience = 10;

typedef struct host_plan {
    const char *label;
    /* the run's start event; its texts are no longer valid, except the copy in `device` */
    dt_event start;
    char device[128];
    dt_memory_limit limit;
    bool fits;
    /* the error with which the job does not fit into memory; NULL: it fits, though perhaps not into
     * the budget */
    dt_status *why;
    int timed;                   /* number of steps of which step_s is the median */
    double step_s, validation_s; /* seconds of a step and of a validation; 0: not measured */
    double validations; /* number of validations in the whole run, which may be a fraction */
} host_plan;

static void listen(const dt_event *e, void *user) {
    host_plan *p = user;
    if (e->kind != DT_EVENT_START) return;
    p->start = *e;
    snprintf(p->device, sizeof p->device, "%s", e->device ? e->device : "");
}

/* ---- time ---- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Trains steps for about a second, at least 3 of them if that takes less than 10 s, and at most 21,
 * and sets p->step_s to the median of their times. The first step also allocates memory, so it
 * counts only if it is the only one. p->step_s is 0 if there is no full batch. */
static dt_status *train_some(host_plan *p, dt_trainer *t, dt_iterator *batches, dt_sums *sums) {
    double seconds[MOST_STEPS + 1], spent = 0, loss;
    int n = 0;
    for (; n <= MOST_STEPS && (spent < most_seconds || (n < 3 && spent < patience)); n++) {
        dt_example batch;
        DT_TRY(dt_iterator_next_batch(batches, &batch));
        /* an incomplete batch, or the end of the data, ends the measurement */
        if (batch.rows < p->start.global_batch) break;
        const int64_t since = dt_now_ns();
        DT_TRY(dt_trainer_step(t, &batch, true, sums, &loss));
        seconds[n] = dt_seconds_since(since);
        spent += seconds[n];
    }
    const int first = n > 1;
    p->timed = n - first;
    qsort(seconds + first, (size_t)p->timed, sizeof *seconds, by_size);
    p->step_s = n ? seconds[first + p->timed / 2] : 0;
    return NULL;
}

static dt_status *time_training(host_plan *p, const dt_job *j, const dt_session *s, dt_sums *sums) {
    dt_iterator *batches = NULL;
    DT_TRY(dt_iterator_open_batches(&batches, j->data,
                                    &(dt_batch_options){.part = DT_PART_TRAIN,
                                                        .epochs = 1,
                                                        .batch = p->start.global_batch,
                                                        .last = j->dataset.last_batch,
                                                        .shuffle = j->dataset.shuffle}));
    dt_status *bad = train_some(p, s->trainer, batches, sums);
    dt_iterator_close(batches);
    return bad;
}

/* Evaluates as many rows of the validation data as the trainer evaluates at once, or all of them if
 * there are fewer, and derives the time of a whole validation from the second of two such passes,
 * since the first one allocates memory. */
static dt_status *time_validation(host_plan *p, const dt_job *j, const dt_session *s,
                                  dt_sums *sums) {
    const int64_t all = dt_dataset_count(j->data, DT_PART_VALIDATION),
                  batch = p->start.global_batch;
    const double part = j->fit.validation_steps > 0 && j->fit.validation_steps * batch < all
                            ? (double)(j->fit.validation_steps * batch)
                            : (double)all;
    if (all == 0) return NULL;
    const int64_t batches = (s->trainer->evaluation_rows + batch - 1) / batch;
    DT_TRY(dt_trainer_evaluate(s->trainer, DT_PART_VALIDATION, batches, NULL, sums));
    const int64_t since = dt_now_ns();
    DT_TRY(dt_trainer_evaluate(s->trainer, DT_PART_VALIDATION, batches, NULL, sums));
    p->validation_s = dt_seconds_since(since) * part / sums->examples;
    const double every = j->fit.validation_freq > 0 ? (double)j->fit.validation_freq : 1;
    p->validations = dt_fit_validates_by_steps(&j->fit) ? (double)p->start.steps / every
                                                        : (double)p->start.epochs / every;
    return NULL;
}

static dt_status *time_it(host_plan *p, const dt_job *j, const dt_session *s) {
    dt_sums sums = {0};
    dt_trainer_clear(s->trainer, &sums);
    dt_status *bad = time_training(p, j, s, &sums);
    if (!bad) bad = time_validation(p, j, s, &sums);
    dt_sums_release(&sums);
    return bad;
}

/* ---- the plan ---- */

static dt_status *measure(host_plan *p, dt_job *j, const dt_plan_options *o, const dt_session *s) {
    const dt_run_options dry = {.dry_run = true,
                                .event = listen,
                                .user = p,
                                .threads = o->threads,
                                .kernels = o->kernels,
                                .resume = DT_RESUME_NEVER};
    dt_status *bad = dt_fit(&(dt_fit_request){.trainer = s->trainer,
                                              .fit = &j->fit,
                                              .name = j->name,
                                              .job = j->json,
                                              .job_sha256 = j->sha256.hex,
                                              .seed = j->seed,
                                              .run = &dry});
    if (bad && dt_status_number(bad) != DT_E_DOES_NOT_FIT) return bad;
    p->why = bad;
    if (!dt_memory_limit_find(&p->limit)) p->limit.bytes = INT64_MAX;
    p->fits = !bad && (o->budget == 0 || p->start.memory_bytes <= o->budget);
    return bad ? NULL : time_it(p, j, s);
}

static dt_status *fill(host_plan *p, dt_job *j, const dt_plan_options *o) {
    dt_session s = {0};
    const dt_run_options run = {.threads = o->threads, .kernels = o->kernels};
    dt_status *bad = dt_session_open(j, &run, true, &s);
    if (!bad) bad = measure(p, j, o, &s);
    dt_session_close(&s);
    return bad;
}

/* ---- the report ---- */

static double run_seconds(const host_plan *p) {
    return (double)p->start.steps * p->step_s + p->validations * p->validation_s;
}

static void put_row(dt_str *out, const char *name, int64_t bytes, const char *how) {
    dt_str_printf(out, *how ? "  %-24s%-18s%s\n" : "  %-24s%s\n", name,
                  dt_text_of_bytes((double)bytes).s, how);
}

static void put_time(dt_str *out, const char *name, double seconds, const char *how) {
    dt_local_str text = {0};
    dt_put_seconds(&text, seconds);
    dt_str_printf(out, "  %-24s%-18s%s\n", name, dt_str_text(&text), how);
}

static void print(const host_plan *p, const char *name, bool several, dt_str *out) {
    const dt_event *e = &p->start;
    if (several) dt_str_printf(out, "%s\n", p->label);
    dt_str_printf(out, "%s on %s   %d replica%s   %d thread%s   ", name, p->device, e->replicas,
                  e->replicas == 1 ? "" : "s", e->threads, e->threads == 1 ? "" : "s");
    dt_str_grouped(out, e->parameters);
    dt_str_puts(out, " parameters\n\n");
    dt_local_str limit = {0};
    dt_str_puts(out, "memory\n");
    put_row(out, "steps", p->start.step_bytes, "exact");
    put_row(out, "evaluation", p->start.evaluation_bytes, "exact");
    put_row(out, "weights and optimizer", p->start.state_bytes, "exact");
    put_row(out, "data", p->start.data_bytes, "exact");
    put_row(out, "program", p->start.program_bytes, "estimate");
    put_row(out, "total", p->start.memory_bytes, "");
    dt_memory_limit_print(&p->limit, &limit);
    dt_str_printf(out, "  %-24s%s%s\n", "fits", p->fits ? "yes, of " : "NO, of ",
                  dt_str_text(&limit));
    if (p->why) {
        DT_LOCAL char *text = dt_status_format(p->why);
        dt_str_printf(out, "%s\n", text);
    }
    if (!(p->step_s > 0)) return;
    dt_str_printf(out, "time\n");
    put_time(out, "step", p->step_s, "measured here");
    put_time(out, "epoch", p->step_s * (double)e->steps_per_epoch,
             "estimate; waiting for data is not counted");
    if (p->validation_s > 0) put_time(out, "validation", p->validation_s, "estimate");
    put_time(out, "run", run_seconds(p), "estimate");
    dt_str_printf(out, "steps                     %lld in an epoch, %lld in all; %d timed\n",
                  (long long)e->steps_per_epoch, (long long)e->steps, p->timed);
}

static void put_json(const host_plan *p, const char *name, dt_json *j) {
    const dt_event *e = &p->start;
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {
        {"replicas", e->replicas},
        {"threads", e->threads},
        {"parameters", e->parameters},
        {"global_batch", e->global_batch},
        {"steps_per_epoch", e->steps_per_epoch},
        {"steps", e->steps},
        {"memory_bytes", e->memory_bytes},
        {"steps_bytes", e->step_bytes},
        {"evaluation_bytes", e->evaluation_bytes},
        {"state_bytes", e->state_bytes},
        {"data_bytes", e->data_bytes},
        {"program_bytes", e->program_bytes},
        {"limit_bytes", p->limit.bytes},
    };
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "label", p->label);
    dt_json_string(j, "name", name);
    dt_json_string(j, "device", p->device);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        dt_json_int(j, counts[i].key, counts[i].value);
    dt_json_bool(j, "fits", p->fits);
    const bool timed = p->step_s > 0;
    dt_json_double(j, "step_s", timed ? p->step_s : (double)NAN);
    dt_json_double(j, "validation_s", timed ? p->validation_s : (double)NAN);
    dt_json_double(j, "run_s", timed ? run_seconds(p) : (double)NAN);
    dt_json_close(j, '}');
}

bool dt_plan_is_of_host(const dt_plan_request *q) {
    for (int i = 0; i < q->n_jobs; i++)
        if (dt_strategy_spec_topology(&q->jobs[i]->strategy)) return false;
    return !q->compiler && (q->form == DT_PLAN_TEXT || q->form == DT_PLAN_JSON);
}

dt_status *dt_plan_of_host(const dt_plan_request *q, const dt_plan_options *o, dt_str *out,
                           bool *fits) {
    dt_json list = {.out = out};
    const bool json = q->form == DT_PLAN_JSON;
    const int64_t before = dt_memory_resident();
    dt_status *s = NULL;
    if (json) dt_json_open(&list, NULL, '[');
    for (int i = 0; !s && i < q->n_jobs; i++) {
        host_plan p = {.label = q->labels[i]};
        /* memory that earlier jobs of this process still hold is not counted */
        const int64_t of_others = dt_memory_resident() - before;
        s = fill(&p, q->jobs[i], o);
        if (i > 0 && of_others > 0 && of_others < p.start.program_bytes) {
            p.start.program_bytes -= of_others;
            p.start.memory_bytes -= of_others;
        }
        if (!s && json) put_json(&p, q->jobs[i]->name, &list);
        else if (!s) print(&p, q->jobs[i]->name, q->n_jobs > 1, out);
        if (i == 0 && fits) *fits = p.fits;
        dt_status_free(p.why);
    }
    if (json) {
        dt_json_close(&list, ']');
        dt_str_putc(out, '\n');
    }
    return s;
}
