/* SPDX-License-Identifier: Apache-2.0 */
/* output.trace: records what each thread does during some steps of a run, from the beginning of
 * the first step to the end of the last one, with validation, callbacks and checkpoints. The file
 * is written right after the last of these steps, so that a run that is killed later has it. */
#include "train/recording.h"

#include <stdio.h>
#include <unistd.h>

#include "train/hook.h"
#include "train/trainer.h"

static const char *const names[DT_RECORDED] = {
    [DT_RECORDED_STEP] = "step",
    [DT_RECORDED_VALIDATION] = "validation",
    [DT_RECORDED_CHECKPOINT] = "save checkpoint",
    [DT_RECORDED_HISTORY] = "write history",
};
enum { MAIN_ROOM = 1 << 12 };

/* Warns if the run ends before the steps to record. If --steps or --until-epoch ends it before the
 * job's last step, there is no warning, because a later run may reach them. */
static void warn_of_steps_beyond(const run *r) {
    dt_local_str text = {0};

    dt_str_printf(&text,
                  "output.trace: step %lld is beyond the run's %lld steps; nothing is recorded",
                  (long long)r->q->trace.first, (long long)r->size.steps);
    if (r->q->trace.first > r->size.steps && r->size.steps == r->size.all_steps)
        dt_run_warn(r, dt_str_text(&text));
}

static dt_status *open_recording(run *r, dt_hook *h) {
    recording *x = &r->recording;
    dt_device *device = NULL;
    (void)h;

    if (r->q->trace.last < 1 || !r->out.writes) return NULL;
    warn_of_steps_beyond(r);
    DT_TRY(dt_strategy_device_of(r->strategy, &device));
    x->recorder = dt_recorder_create();
    x->device = device;
    dt_device_record(x->device, x->recorder);
    dt_trainer_record(r->q->trainer, x->recorder);
    x->main = dt_recorder_track(x->recorder, "main", MAIN_ROOM);
    for (int i = 0; i < DT_RECORDED; i++)
        x->mark[i] = dt_recorder_mark(
            x->recorder, &(dt_mark){.name = names[i], .kind = "fit", .number = {"step"}});
    return NULL;
}

/* Closes the recording, after the threads that read data have ended, because they use it. */
static void close_recording(run *r, dt_hook *h) {
    (void)h;
    if (!r->recording.recorder) return;
    dt_device_record(r->recording.device, NULL);
    dt_trainer_record(r->q->trainer, NULL);
    dt_recorder_destroy(r->recording.recorder);
    r->recording = (recording){0};
}

int dt_recording_callback(run *r, const char *name) {
    return dt_recorder_mark(r->recording.recorder,
                            &(dt_mark){.name = name, .kind = "callback", .number = {"step"}});
}

static bool is_wanted(const run *r, int64_t step) {
    return step >= r->q->trace.first && step <= r->q->trace.last;
}

/* Returns the number of resident bytes of this process; 0: unknown. */
static double resident_bytes(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;

    if (f && fscanf(f, "%ld %ld", &all, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void warn_of_lost_spans(const run *r, int64_t lost) {
    dt_local_str text = {0};

    dt_str_printf(&text, "output.trace: %lld of the oldest spans had no room; record fewer steps",
                  (long long)lost);
    if (lost > 0) dt_run_warn(r, dt_str_text(&text));
}

/* Writes the file once, if a step was recorded. */
static dt_status *save(run *r) {
    recording *x = &r->recording;
    int64_t lost = 0;

    if (!x->last || x->saved) return NULL;
    dt_recorder_switch(x->recorder, false);
    x->saved = true;
    DT_LOCAL char *path = dt_path_join(r->q->directory, DT_RECORDING_FILE);
    dt_status *s = dt_recording_write(
        path, &(dt_recording){x->recorder, r->q->name, x->first, x->last}, &lost);
    if (!s) warn_of_lost_spans(r, lost);
    return s;
}

static void end_span(run *r) {
    recording *x = &r->recording;
    if (!x->since) return;
    dt_span_end(x->main, x->mark[DT_RECORDED_STEP], x->since, (dt_numbers){{r->at.step}});
    x->since = 0;
    if (!is_wanted(r, r->at.step + 1)) dt_recorder_switch(x->recorder, false);
}

/* Ends the span of the previous step, which includes its checkpoint. Writes the file after the last
 * step to record. Starts the span of the next step if it is to be recorded. */
static dt_status *step_begin(run *r, dt_hook *h) {
    recording *x = &r->recording;
    const int64_t step = r->at.step + 1;
    (void)h;

    end_span(r);
    if (x->last >= r->q->trace.last) DT_TRY(save(r));
    if (!x->recorder || !is_wanted(r, step)) return NULL;
    if (!x->first) x->first = step;
    dt_recorder_switch(x->recorder, true);
    x->since = dt_span_begin(x->main);
    return NULL;
}

static dt_status *settled(run *r, dt_hook *h) {
    recording *x = &r->recording;
    (void)h;
    if (!x->since) return NULL;
    x->last = r->at.step;
    dt_recorder_sample(x->recorder, "memory", "MiB", resident_bytes() / 0x1p20);
    if (r->batches)
        dt_recorder_sample(x->recorder, "batches ready", "batches", dt_batches_ready(r->batches));
    return NULL;
}

static dt_status *train_end(run *r, dt_hook *h) {
    (void)h;
    end_span(r);
    return save(r);
}

const dt_hook_row dt_hook_recording = {.open = open_recording,
                                       .step_begin = step_begin,
                                       .settled = settled,
                                       .train_end = train_end,
                                       .close = close_recording};
