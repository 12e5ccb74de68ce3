/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as JSON Lines: one object an event, with the schema version `v` first. `end` comes last
 * whatever happens; `step` comes about twice a second, or for every step with --every-step.
 */
#include "base/json_table.h"
#include "print.h"
#include "verb.h"
#include "watch.h"

#define STEP_SECONDS 0.5

/* Clocks tell no more than microseconds; without this every duration would be 17 digits of
 * noise. Parts of one are told to a hundredth of a percent. */
#define MICROSECONDS .ticks = 1e6, .per = 1e6
#define MILLISECONDS .ticks = 1e6, .per = 1e3
#define PART .ticks = 1e4, .per = 1e4

static void put_metrics(dt_json *j, const void *event) {
    const dt_event *e = event;
    for (int i = 0; i < e->n_metrics; i++)
        dt_json_double(j, e->metrics[i].name, e->metrics[i].value);
}

static void put_resumed(dt_json *j, const void *event) {
    const dt_event *e = event;
    if (!e->resumed) return;
    dt_json_int(j, "resumed_step", e->step);
    dt_json_string(j, "checkpoint", e->checkpoint);
}

/* ---- the events: what they have, in order; scripts/reference reads these tables ---- */

static const dt_json_member start[] = {
    DT_JSON(dt_event, job),
    DT_JSON(dt_event, job_sha256),
    DT_JSON(dt_event, seed),
    DT_JSON(dt_event, backend),
    DT_JSON(dt_event, device),
    DT_JSON(dt_event, replicas),
    DT_JSON(dt_event, logical_devices),
    DT_JSON(dt_event, threads),
    DT_JSON(dt_event, steps_per_epoch),
    DT_JSON(dt_event, epochs),
    DT_JSON(dt_event, steps),
    DT_JSON(dt_event, parameters),
    DT_JSON(dt_event, peak_bytes),
    DT_JSON(dt_event, memory_bytes),
    DT_JSON_AS("steps_bytes", dt_event, step_bytes),
    DT_JSON(dt_event, evaluation_bytes),
    DT_JSON(dt_event, state_bytes),
    DT_JSON(dt_event, data_bytes),
    DT_JSON(dt_event, program_bytes),
    DT_JSON(dt_event, train_examples),
    DT_JSON(dt_event, validation_examples),
    DT_JSON(dt_event, global_batch),
    DT_JSON(dt_event, sharding),
    DT_JSON_MORE(put_resumed, "`resumed_step` and `checkpoint` of a run that resumes"),
    {0},
};
static const dt_json_member step[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, epoch),
    DT_JSON_MORE(put_metrics, "the metrics, each under its name"),
    DT_JSON(dt_event, examples),
    DT_JSON_AS("wall_ms", dt_event, wall_s, MILLISECONDS),
    DT_JSON_AS("virtual_ms", dt_event, virtual_s, .if_set = true, MILLISECONDS),
    {0},
};
static const dt_json_member epoch[] = {
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, step),
    DT_JSON_AS("steps", dt_event, epoch_step),
    DT_JSON(dt_event, examples),
    DT_JSON(dt_event, wall_s, MICROSECONDS),
    DT_JSON(dt_event, examples_per_s, .ticks = 10, .per = 10),
    DT_JSON_MORE(put_metrics, "the metrics, each under its name"),
    DT_JSON(dt_event, waited_s, MICROSECONDS),
    DT_JSON(dt_event, idle_reading, PART),
    DT_JSON(dt_event, idle_decoding, PART),
    DT_JSON(dt_event, idle_map, PART),
    DT_JSON(dt_event, idle, PART),
    {0},
};
static const dt_json_member eval[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, split, .if_set = true),
    DT_JSON_MORE(put_metrics, "the metrics, each under its name"),
    DT_JSON(dt_event, examples),
    {0},
};
static const dt_json_member checkpoint[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, checkpoint),
    DT_JSON(dt_event, weights_sha256, .if_set = true),
    {0},
};
static const dt_json_member warning[] = {
    DT_JSON_AS("message", dt_event, text),
    {0},
};
static const dt_json_member fault[] = {
    DT_JSON(dt_event, step),
    DT_JSON_AS("fault", dt_event, text),
    {0},
};
static const dt_json_member callback[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, callback),
    DT_JSON(dt_event, text),
    {0},
};
static const dt_json_member text[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, text),
    {0},
};
static const dt_json_member report[] = {
    DT_JSON_AS("report", dt_event, text),
    {0},
};
static const dt_json_member data[] = {
    DT_JSON_AS("part", dt_event, split),
    DT_JSON(dt_event, files),
    DT_JSON(dt_event, bytes),
    DT_JSON_AS("sha256", dt_event, data_sha256),
    DT_JSON(dt_event, hashed),
    {0},
};
static const dt_json_member workers[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, workers),
    DT_JSON_AS("lost", dt_event, workers_lost),
    DT_JSON_AS("again", dt_event, batches_again),
    DT_JSON_AS("dropped", dt_event, pushes_dropped),
    DT_JSON(dt_event, staleness, .count = offsetof(dt_event, n_staleness)),
    {0},
};

/* DT_EVENT_END has no row: `end` is printed when the exit code is known. */
static const struct {
    const char *name;
    const dt_json_member *members;
} rows[] = {
    [DT_EVENT_START] = {"start", start},
    [DT_EVENT_STEP] = {"step", step},
    [DT_EVENT_EPOCH] = {"epoch", epoch},
    [DT_EVENT_EVAL] = {"eval", eval},
    [DT_EVENT_CHECKPOINT] = {"checkpoint", checkpoint},
    [DT_EVENT_WARNING] = {"warning", warning},
    [DT_EVENT_TEXT] = {"text", text},
    [DT_EVENT_FAULT] = {"fault", fault},
    [DT_EVENT_CALLBACK] = {"callback", callback},
    [DT_EVENT_REPORT] = {"report", report},
    [DT_EVENT_DATA] = {"data", data},
    [DT_EVENT_WORKERS] = {"workers", workers},
    [DT_EVENT_WAITING] = {"waiting", warning},
};

void watch_json(struct watch *w, const dt_event *e) {
    struct json j;
    if ((size_t)e->kind >= sizeof rows / sizeof *rows || !rows[e->kind].members) return;
    if (e->kind == DT_EVENT_STEP && !w->every_step && !watch_is_due(w, STEP_SECONDS)) return;
    json_open_event(&j, rows[e->kind].name);
    dt_json_members(&j.to, rows[e->kind].members, e);
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
