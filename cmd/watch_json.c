/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as JSON Lines: one object an event, with the schema version `v` first. `end` comes last
 * whatever happens; `step` comes about twice a second, or for every step with --every-step.
 */
#include <math.h>

#include "json.h"
#include "verb.h"
#include "watch.h"

#define STEP_SECONDS 0.5

/* Clocks tell no more than microseconds; without this every duration would be 17 digits of
 * noise. */
static double micro(double seconds) { return round(seconds * 1e6) / 1e6; }

/* Parts of one, to a hundredth of a percent. */
static double part(double x) { return round(x * 1e4) / 1e4; }

static double milliseconds(double seconds) { return round(seconds * 1e6) / 1e3; }

static void put_metrics(struct json *j, const dt_event *e) {
    for (int i = 0; i < e->n_metrics; i++) json_number(j, e->metrics[i].name, e->metrics[i].value);
}

static void put_start(struct json *j, const dt_event *e) {
    json_string(j, "job", e->job);
    json_string(j, "job_sha256", e->job_sha256);
    json_unsigned(j, "seed", e->seed);
    json_string(j, "backend", e->backend);
    json_string(j, "device", e->device);
    json_integer(j, "replicas", e->replicas);
    json_integer(j, "logical_devices", e->logical_devices);
    json_integer(j, "threads", e->threads);
    json_integer(j, "steps_per_epoch", e->steps_per_epoch);
    json_integer(j, "epochs", e->epochs);
    json_integer(j, "steps", e->steps);
    json_integer(j, "parameters", e->parameters);
    json_integer(j, "peak_bytes", e->peak_bytes);
    json_integer(j, "memory_bytes", e->memory_bytes);
    json_integer(j, "steps_bytes", e->step_bytes);
    json_integer(j, "evaluation_bytes", e->evaluation_bytes);
    json_integer(j, "state_bytes", e->state_bytes);
    json_integer(j, "data_bytes", e->data_bytes);
    json_integer(j, "program_bytes", e->program_bytes);
    json_integer(j, "train_examples", e->train_examples);
    json_integer(j, "validation_examples", e->validation_examples);
    json_integer(j, "global_batch", e->global_batch);
    json_string(j, "sharding", e->sharding);
    if (e->resumed) {
        json_integer(j, "resumed_step", e->step);
        json_string(j, "checkpoint", e->checkpoint);
    }
}

static void put_step(struct json *j, const dt_event *e) {
    json_integer(j, "step", e->step);
    json_integer(j, "epoch", e->epoch);
    put_metrics(j, e);
    json_integer(j, "examples", e->examples);
    json_number(j, "wall_ms", milliseconds(e->wall_s));
    if (e->virtual_s > 0) json_number(j, "virtual_ms", milliseconds(e->virtual_s));
}

static void put_epoch(struct json *j, const dt_event *e) {
    json_integer(j, "epoch", e->epoch);
    json_integer(j, "step", e->step);
    json_integer(j, "steps", e->epoch_step);
    json_integer(j, "examples", e->examples);
    json_number(j, "wall_s", micro(e->wall_s));
    json_number(j, "examples_per_s", round(e->examples_per_s * 10) / 10);
    put_metrics(j, e);
    json_number(j, "waited_s", micro(e->waited_s));
    json_number(j, "idle_reading", part(e->idle_reading));
    json_number(j, "idle_decoding", part(e->idle_decoding));
    json_number(j, "idle_map", part(e->idle_map));
    json_number(j, "idle", part(e->idle));
}

static void put_eval(struct json *j, const dt_event *e) {
    json_integer(j, "step", e->step);
    if (e->split) json_string(j, "split", e->split);
    put_metrics(j, e);
    json_integer(j, "examples", e->examples);
}

static void put_checkpoint(struct json *j, const dt_event *e) {
    json_integer(j, "step", e->step);
    json_string(j, "checkpoint", e->checkpoint);
    if (e->weights_sha256) json_string(j, "weights_sha256", e->weights_sha256);
}

static void put_warning(struct json *j, const dt_event *e) { json_string(j, "message", e->text); }

static void put_fault(struct json *j, const dt_event *e) {
    json_integer(j, "step", e->step);
    json_string(j, "fault", e->text);
}

static void put_callback(struct json *j, const dt_event *e) {
    json_integer(j, "step", e->step);
    json_integer(j, "epoch", e->epoch);
    json_string(j, "callback", e->callback);
    json_string(j, "text", e->text);
}

static void put_text(struct json *j, const dt_event *e) {
    json_integer(j, "step", e->step);
    json_string(j, "text", e->text);
}

static void put_report(struct json *j, const dt_event *e) { json_string(j, "report", e->text); }

static void put_data(struct json *j, const dt_event *e) {
    json_string(j, "part", e->split);
    json_integer(j, "files", e->files);
    json_integer(j, "bytes", e->bytes);
    json_string(j, "sha256", e->data_sha256);
    json_string(j, "hashed", e->hashed);
}

static void put_workers(struct json *j, const dt_event *e) {
    json_integer(j, "step", e->step);
    json_integer(j, "workers", e->workers);
    json_integer(j, "lost", e->workers_lost);
    json_integer(j, "again", e->batches_again);
    json_integer(j, "dropped", e->pushes_dropped);
    json_integers(j, "staleness", e->staleness, e->n_staleness);
}

/* DT_EVENT_END has no row: `end` is printed when the exit code is known. */
static const struct {
    const char *name;
    void (*put)(struct json *j, const dt_event *e);
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
    rows[e->kind].put(&j, e);
    json_print(&j, w->out);
}

void watch_json_error(const struct watch *w, const dt_status *s) {
    for (; s; s = dt_status_next(s)) {
        struct json j;
        json_open_event(&j, "error");
        json_error(&j, s);
        json_print(&j, w->out);
    }
}

/* A run that failed has no result to name; one that was stopped, or whose expectation is not met,
 * has. */
void watch_json_end(const struct watch *w, int code) {
    bool result = w->ended || (code == EXIT_STOPPED && w->checkpoint);
    struct json j;
    json_open_event(&j, "end");
    json_integer(&j, "exit", code);
    json_string(&j, "weights_sha256", result && *w->weights ? w->weights : NULL);
    json_string(&j, "checkpoint", result ? w->checkpoint : NULL);
    if (w->virtual_s > 0) json_number(&j, "virtual_s", w->virtual_s);
    json_print(&j, w->out);
}
