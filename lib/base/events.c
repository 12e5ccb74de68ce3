/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what events.h declares. */
#include "base/events.h"

/* How the output of --json rounds numbers: most durations to a microsecond, since digits beyond are
 * noise, and parts of a duration to a hundredth of a percent. record.jsonl has all digits. */
#define MICROSECONDS .ticks = 1e6, .per = 1e6
#define MILLISECONDS .ticks = 1e6, .per = 1e3
#define PART .ticks = 1e4, .per = 1e4

static void put_metrics(dt_json *j, const void *event) {
    const dt_event *e = event;
    for (int i = 0; i < e->n_metrics; i++)
        dt_json_double(j, e->metrics[i].name, e->metrics[i].value);
}

static void put_metrics_object(dt_json *j, const void *event) {
    dt_json_open(j, "metrics", '{');
    put_metrics(j, event);
    dt_json_close(j, '}');
}

static void put_resumed(dt_json *j, const void *event) {
    const dt_event *e = event;
    if (!e->resumed) return;
    dt_json_int(j, "resumed_step", e->step);
    dt_json_string(j, "checkpoint", e->checkpoint);
}

static void put_more(dt_json *j, const void *line) {
    const dt_event_line *l = line;
    if (l->more) l->more(j, l);
}

/* ---- with --json ---- */

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
static const dt_json_member end[] = {
    DT_JSON(dt_event_line, exit),
    DT_JSON(dt_event, weights_sha256),
    DT_JSON(dt_event, checkpoint),
    DT_JSON(dt_event, virtual_s, .if_set = true),
    {0},
};
/* The members of an event about workers, which record.jsonl has as well. */
static const dt_json_member workers[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, workers),
    DT_JSON_AS("lost", dt_event, workers_lost),
    DT_JSON_AS("again", dt_event, batches_again),
    DT_JSON_AS("dropped", dt_event, pushes_dropped),
    DT_JSON(dt_event, staleness, .count = offsetof(dt_event, n_staleness),
            .most = DT_STALENESS_BINS),
    {0},
};

/* ---- in record.jsonl ---- */

static const dt_json_member start_record[] = {
    DT_JSON(dt_event_line, v),
    DT_JSON(dt_event_line, time, .if_set = true),
    DT_JSON(dt_event_line, dtrain),
    DT_JSON_AS("name", dt_event, job),
    DT_JSON(dt_event, job_sha256),
    DT_JSON(dt_event, seed, .quoted = true),
    DT_JSON(dt_event_line, generation),
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, steps),
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, epochs),
    DT_JSON(dt_event, steps_per_epoch),
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
    DT_JSON(dt_event, last_batch),
    DT_JSON(dt_event, resumed),
    DT_JSON(dt_event, checkpoint),
    DT_JSON(dt_event_line, strategy),
    DT_JSON(dt_event, backend),
    DT_JSON(dt_event, device),
    DT_JSON(dt_event_line, kernels),
    DT_JSON(dt_event, replicas),
    DT_JSON(dt_event, logical_devices),
    DT_JSON(dt_event, threads),
    DT_JSON(dt_event_line, hosts),
    DT_JSON_MORE(put_more, "the slice, the direction and class of each metric, and the host"),
    DT_JSON_AS("job", dt_event_line, job_text),
    DT_JSON(dt_event_line, config),
    {0},
};
static const dt_json_member steps_record[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event_line, n),
    DT_JSON(dt_event, examples),
    DT_JSON(dt_event_line, loss),
    DT_JSON(dt_event_line, loss_min),
    DT_JSON(dt_event_line, loss_max),
    DT_JSON(dt_event_line, learning_rate),
    DT_JSON(dt_event_line, seconds),
    DT_JSON(dt_event, waited_s),
    DT_JSON(dt_event, virtual_s),
    {0},
};
static const dt_json_member epoch_record[] = {
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, epoch_step),
    DT_JSON(dt_event, examples),
    DT_JSON(dt_event, wall_s),
    DT_JSON(dt_event, examples_per_s),
    DT_JSON(dt_event, virtual_s),
    DT_JSON(dt_event, idle),
    DT_JSON(dt_event, idle_reading),
    DT_JSON(dt_event, idle_decoding),
    DT_JSON(dt_event, idle_map),
    DT_JSON(dt_event, waited_s),
    DT_JSON(dt_event_line, peak_rss_bytes),
    DT_JSON(dt_event_line, device_peak_bytes, .if_set = true),
    DT_JSON_MORE(put_metrics_object, "`metrics`"),
    {0},
};
static const dt_json_member eval_record[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, examples),
    DT_JSON_MORE(put_metrics_object, "`metrics`"),
    {0},
};
static const dt_json_member checkpoint_record[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, checkpoint),
    DT_JSON(dt_event, weights_sha256),
    {0},
};
static const dt_json_member text_record[] = {
    DT_JSON(dt_event, step, .if_set = true),
    DT_JSON(dt_event, epoch, .if_set = true),
    DT_JSON(dt_event, callback, .if_set = true),
    DT_JSON(dt_event, text),
    {0},
};
static const dt_json_member data_record[] = {
    DT_JSON_AS("part", dt_event, split),
    DT_JSON(dt_event, files),
    DT_JSON(dt_event, bytes),
    DT_JSON(dt_event, hashed),
    DT_JSON_AS("sha256", dt_event, data_sha256),
    DT_JSON_MORE(put_more, "the first files"),
    {0},
};
static const dt_json_member unread_record[] = {
    DT_JSON_AS("part", dt_event, split),
    DT_JSON(dt_event_line, error),
    {0},
};
static const dt_json_member end_record[] = {
    DT_JSON(dt_event_line, time, .if_set = true),
    DT_JSON(dt_event, step),
    DT_JSON(dt_event_line, exit),
    DT_JSON(dt_event_line, error),
    DT_JSON(dt_event_line, finished),
    DT_JSON(dt_event_line, stopped_early),
    DT_JSON(dt_event, weights_sha256),
    DT_JSON(dt_event, checkpoint),
    DT_JSON(dt_event, virtual_s),
    DT_JSON(dt_event_line, peak_rss_bytes),
    DT_JSON(dt_event_line, device_peak_bytes, .if_set = true),
    {0},
};

/* ---- the events ---- */

const dt_event_row dt_event_rows[DT_LINES] = {
    [DT_EVENT_START] = {"start", start, start_record},
    [DT_EVENT_STEP] = {"step", step, NULL},
    [DT_LINE_STEPS] = {"steps", NULL, steps_record},
    [DT_EVENT_EPOCH] = {"epoch", epoch, epoch_record},
    [DT_EVENT_EVAL] = {"eval", eval, eval_record},
    [DT_EVENT_CHECKPOINT] = {"checkpoint", checkpoint, checkpoint_record},
    [DT_EVENT_WARNING] = {"warning", warning, text_record},
    [DT_EVENT_TEXT] = {"text", text, text_record},
    [DT_EVENT_FAULT] = {"fault", fault, text_record},
    [DT_EVENT_CALLBACK] = {"callback", callback, text_record},
    [DT_EVENT_REPORT] = {"report", report, NULL},
    [DT_EVENT_DATA] = {"data", data, data_record},
    [DT_LINE_UNREAD] = {"data", NULL, unread_record},
    [DT_EVENT_EVALUATING] = {"evaluating", NULL, NULL},
    [DT_EVENT_WORKERS] = {"workers", workers, workers},
    [DT_EVENT_WAITING] = {"waiting", warning, NULL},
    [DT_EVENT_END] = {"end", end, end_record},
};

const dt_json_member dt_record_tail[] = {
    DT_JSON(dt_event_line, t),
    {0},
};

const dt_json_member dt_history_members[] = {
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, step),
    DT_JSON_MORE(put_metrics, "the metrics, each under its name"),
    {0},
};
