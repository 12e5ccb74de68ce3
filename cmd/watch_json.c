/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as JSON Lines: one object an event, with the schema version `v` first. `end` comes last
 * whatever happens; `step` comes about twice a second, or for every step with --every-step.
 */
#include <math.h>

#include "print.h"
#include "verb.h"
#include "watch.h"

#define STEP_SECONDS 0.5

/* Clocks tell no more than microseconds; without this every duration would be 17 digits of
 * noise. */
static double micro(double seconds) { return round(seconds * 1e6) / 1e6; }

/* Parts of one, to a hundredth of a percent. */
static double part(double x) { return round(x * 1e4) / 1e4; }

static double milliseconds(double seconds) { return round(seconds * 1e6) / 1e3; }

static void put_metrics(dt_json *j, const dt_event *e) {
    for (int i = 0; i < e->n_metrics; i++)
        dt_json_double(j, e->metrics[i].name, e->metrics[i].value);
}

static void put_start(dt_json *j, const dt_event *e) {
    dt_json_string(j, "job", e->job);
    dt_json_string(j, "job_sha256", e->job_sha256);
    dt_json_unsigned(j, "seed", e->seed);
    dt_json_string(j, "backend", e->backend);
    dt_json_string(j, "device", e->device);
    dt_json_int(j, "replicas", e->replicas);
    dt_json_int(j, "logical_devices", e->logical_devices);
    dt_json_int(j, "threads", e->threads);
    dt_json_int(j, "steps_per_epoch", e->steps_per_epoch);
    dt_json_int(j, "epochs", e->epochs);
    dt_json_int(j, "steps", e->steps);
    dt_json_int(j, "parameters", e->parameters);
    dt_json_int(j, "peak_bytes", e->peak_bytes);
    dt_json_int(j, "memory_bytes", e->memory_bytes);
    dt_json_int(j, "steps_bytes", e->step_bytes);
    dt_json_int(j, "evaluation_bytes", e->evaluation_bytes);
    dt_json_int(j, "state_bytes", e->state_bytes);
    dt_json_int(j, "data_bytes", e->data_bytes);
    dt_json_int(j, "program_bytes", e->program_bytes);
    dt_json_int(j, "train_examples", e->train_examples);
    dt_json_int(j, "validation_examples", e->validation_examples);
    dt_json_int(j, "global_batch", e->global_batch);
    dt_json_string(j, "sharding", e->sharding);
    if (e->resumed) {
        dt_json_int(j, "resumed_step", e->step);
        dt_json_string(j, "checkpoint", e->checkpoint);
    }
}

static void put_step(dt_json *j, const dt_event *e) {
    dt_json_int(j, "step", e->step);
    dt_json_int(j, "epoch", e->epoch);
    put_metrics(j, e);
    dt_json_int(j, "examples", e->examples);
    dt_json_double(j, "wall_ms", milliseconds(e->wall_s));
    if (e->virtual_s > 0) dt_json_double(j, "virtual_ms", milliseconds(e->virtual_s));
}

static void put_epoch(dt_json *j, const dt_event *e) {
    dt_json_int(j, "epoch", e->epoch);
    dt_json_int(j, "step", e->step);
    dt_json_int(j, "steps", e->epoch_step);
    dt_json_int(j, "examples", e->examples);
    dt_json_double(j, "wall_s", micro(e->wall_s));
    dt_json_double(j, "examples_per_s", round(e->examples_per_s * 10) / 10);
    put_metrics(j, e);
    dt_json_double(j, "waited_s", micro(e->waited_s));
    dt_json_double(j, "idle_reading", part(e->idle_reading));
    dt_json_double(j, "idle_decoding", part(e->idle_decoding));
    dt_json_double(j, "idle_map", part(e->idle_map));
    dt_json_double(j, "idle", part(e->idle));
}

static void put_eval(dt_json *j, const dt_event *e) {
    dt_json_int(j, "step", e->step);
    if (e->split) dt_json_string(j, "split", e->split);
    put_metrics(j, e);
    dt_json_int(j, "examples", e->examples);
}

static void put_checkpoint(dt_json *j, const dt_event *e) {
    dt_json_int(j, "step", e->step);
    dt_json_string(j, "checkpoint", e->checkpoint);
    if (e->weights_sha256) dt_json_string(j, "weights_sha256", e->weights_sha256);
}

static void put_warning(dt_json *j, const dt_event *e) { dt_json_string(j, "message", e->text); }

static void put_fault(dt_json *j, const dt_event *e) {
    dt_json_int(j, "step", e->step);
    dt_json_string(j, "fault", e->text);
}

static void put_callback(dt_json *j, const dt_event *e) {
    dt_json_int(j, "step", e->step);
    dt_json_int(j, "epoch", e->epoch);
    dt_json_string(j, "callback", e->callback);
    dt_json_string(j, "text", e->text);
}

static void put_text(dt_json *j, const dt_event *e) {
    dt_json_int(j, "step", e->step);
    dt_json_string(j, "text", e->text);
}

static void put_report(dt_json *j, const dt_event *e) { dt_json_string(j, "report", e->text); }

static void put_data(dt_json *j, const dt_event *e) {
    dt_json_string(j, "part", e->split);
    dt_json_int(j, "files", e->files);
    dt_json_int(j, "bytes", e->bytes);
    dt_json_string(j, "sha256", e->data_sha256);
    dt_json_string(j, "hashed", e->hashed);
}

static void put_workers(dt_json *j, const dt_event *e) {
    dt_json_int(j, "step", e->step);
    dt_json_int(j, "workers", e->workers);
    dt_json_int(j, "lost", e->workers_lost);
    dt_json_int(j, "again", e->batches_again);
    dt_json_int(j, "dropped", e->pushes_dropped);
    dt_json_open(j, "staleness", '[');
    for (int i = 0; i < e->n_staleness; i++) dt_json_int(j, NULL, e->staleness[i]);
    dt_json_close(j, ']');
}

/* DT_EVENT_END has no row: `end` is printed when the exit code is known. */
static const struct {
    const char *name;
    void (*put)(dt_json *j, const dt_event *e);
} rows[] = {
    [DT_EVENT_START] = {"start", put_start},
    [DT_EVENT_STEP] = {"step", put_step},
    [DT_EVENT_EPOCH] = {"epoch", put_epoch},
    [DT_EVENT_EVAL] = {"eval", put_eval},
    [DT_EVENT_CHECKPOINT] = {"checkpoint", put_checkpoint},
    [DT_EVENT_WARNING] = {"warning", put_warning},
    [DT_EVENT_TEXT] = {"text", put_text},
    [DT_EVENT_FAULT] = {"fault", put_fault},
    [DT_EVENT_CALLBACK] = {"callback", put_callback},
    [DT_EVENT_REPORT] = {"report", put_report},
    [DT_EVENT_DATA] = {"data", put_data},
    [DT_EVENT_WORKERS] = {"workers", put_workers},
    [DT_EVENT_WAITING] = {"waiting", put_warning},
};

void watch_json(struct watch *w, const dt_event *e) {
    struct json j;
    if ((size_t)e->kind >= sizeof rows / sizeof *rows || !rows[e->kind].put) return;
    if (e->kind == DT_EVENT_STEP && !w->every_step && !watch_is_due(w, STEP_SECONDS)) return;
    json_open_event(&j, rows[e->kind].name);
    rows[e->kind].put(&j.to, e);
    json_print(&j, w->out);
}

void watch_json_error(const struct watch *w, const dt_status *s) {
    for (; s; s = dt_status_next(s)) {
        struct json j;
        json_open_event(&j, "error");
        json_error(&j.to, s);
        json_print(&j, w->out);
    }
}

/* A run that failed has no result to name; one that was stopped, or whose expectation is not met,
 * has. */
void watch_json_end(const struct watch *w, int code) {
    bool result = w->ended || (code == EXIT_STOPPED && w->checkpoint);
    struct json j;
    json_open_event(&j, "end");
    dt_json_int(&j.to, "exit", code);
    dt_json_string(&j.to, "weights_sha256", result && *w->weights ? w->weights : NULL);
    dt_json_string(&j.to, "checkpoint", result ? w->checkpoint : NULL);
    if (w->virtual_s > 0) dt_json_double(&j.to, "virtual_s", w->virtual_s);
    json_print(&j, w->out);
}
