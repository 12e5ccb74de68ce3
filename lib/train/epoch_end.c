/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of an epoch, and validation every few steps within an epoch. Metrics are collected,
 * passed to callbacks, and written as a line of the history.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/hook.h"
#include "train/recording.h"

static bool has_validation(const run *r) {
    return dt_dataset_count(r->data, DT_PART_VALIDATION) > 0;
}

bool dt_run_validates_by_steps(const run *r) {
    return dt_fit_validates_by_steps(r->q->fit) && has_validation(r);
}

bool dt_run_is_validated_between(const run *r) {
    return r->at.epoch_step > 0 && !dt_epoch_is_whole(r) && dt_run_validates_by_steps(r) &&
           r->at.step % r->q->fit->validation_freq == 0;
}

/* Whether validation is due at the end of this epoch. validation_freq counts epochs or steps. */
static bool validation_has_its_turn(const run *r) {
    int64_t every = r->q->fit->validation_freq > 0 ? r->q->fit->validation_freq : 1;
    return has_validation(r) &&
           (dt_run_validates_by_steps(r) ? r->at.step : r->at.epoch + 1) % every == 0;
}

/* Warns if the first metric, which is the loss, is not finite. This is no error, because the data
 * has been checked and training may recover. */
static void warn_not_finite(const run *r, const dt_metric *metrics, int n) {
    char text[200];
    if (n == 0 || isfinite(metrics[0].value)) return;
    snprintf(text, sizeof text,
             "step %lld: %s is not finite, although the validation data is: the model computes NaN "
             "or infinity",
             (long long)r->at.step, metrics[0].name);
    dt_run_warn(r, text);
}

static dt_status *evaluate(const run *r, dt_sums *sums) {
    dt_status *s = dt_trainer_evaluate(r->q->trainer, DT_PART_VALIDATION,
                                       r->q->fit->validation_steps, r->q->run, sums);
    return s && r->out.checkpoint ? dt_note(s, "last checkpoint: %s", r->out.checkpoint) : s;
}

/* Evaluates the validation data and writes its metrics to out[DT_MAX_KEYS]. training: the training
 * metrics to report with them; NULL: they will be reported with the epoch. */
static dt_status *validate(run *r, const dt_logs *training, dt_metric *out, int *n) {
    dt_sums *sums = &r->validation;

    DT_TRY(dt_hooks_test_begin(r));
    int64_t since = dt_recording_since(r);
    DT_TRY(evaluate(r, sums));
    dt_recording_span(r, r->recording.mark[DT_RECORDED_VALIDATION], since);
    *n = dt_trainer_metrics(r->q->trainer, sums, true, out);
    warn_not_finite(r, out, *n);
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_EVAL,
                               .step = r->at.step,
                               .steps = r->size.steps,
                               .epoch = r->at.epoch + 1,
                               .examples = (int64_t)sums->examples,
                               .metrics = out,
                               .n_metrics = *n,
                               .training = training ? training->metric : NULL,
                               .n_training = training ? training->n : 0});
    return dt_hooks_test_end(r, sums);
}

dt_status *dt_run_validate_again(run *r) {
    dt_metric metrics[DT_MAX_KEYS];

    if (!has_validation(r)) return NULL;
    DT_TRY(evaluate(r, &r->validation));
    const int n = dt_trainer_metrics(r->q->trainer, &r->validation, true, metrics);
    for (int i = 0, k; i < n; i++) {
        for (k = 0; k < r->n_last && strcmp(r->last[k].name, metrics[i].name) != 0;) k++;
        r->last[k] = metrics[i];
        r->n_last += k == r->n_last;
    }
    return NULL;
}

dt_status *dt_run_validate_late(run *r) {
    for (int k = 0; k < r->n_last; k++)
        if (strncmp(r->last[k].name, "val_", 4) == 0) return NULL;
    return dt_run_validate_again(r);
}

static dt_status *write_history(run *r) {
    dt_local_str line = {0};

    if (r->q->history) dt_history_add(r->q->history, r->last, r->n_last);
    if (!r->out.writes) return NULL;
    int64_t since = dt_recording_since(r);
    dt_history_line(r->at.epoch + 1, r->at.step, r->last, r->n_last, &line);
    dt_history_seal(&r->out.history_lines, &line);
    dt_status *s = dt_writer_put(&r->out.history, line.data, line.size);
    dt_recording_span(r, r->recording.mark[DT_RECORDED_HISTORY], since);
    return s;
}

static void add_logs(dt_logs *logs, const dt_metric *metrics, int n) {
    memcpy(logs->metric + logs->n, metrics, (size_t)n * sizeof *metrics);
    logs->n += n;
}

static dt_logs training_logs(run *r) {
    return (dt_logs){.metric = r->last,
                     .n = dt_trainer_metrics(r->q->trainer, &r->at.sums, false, r->last)};
}

/* After the run's last step the event of the validation has no training metrics: those are in the
 * event of the epoch, which follows. */
dt_status *dt_run_validate_between(run *r) {
    dt_metric metrics[DT_MAX_KEYS];
    int n;

    if (!dt_run_is_validated_between(r)) return NULL;
    dt_logs logs = training_logs(r);
    DT_TRY(validate(r, r->at.step < r->size.steps ? &logs : NULL, metrics, &n));
    add_logs(&logs, metrics, n);
    logs.between = true;
    DT_TRY(dt_hooks_epoch_end(r, &logs));
    r->n_last = logs.n;
    return write_history(r);
}

/* Collects the epoch's logs in r->last. If a validation by steps followed the last step, they are
 * there already. The epoch that ends with the last step of the job is always validated if there is
 * validation data, but callbacks see the results only if validation_freq asks for them, so that
 * they decide as in a longer training. */
static dt_status *collect_logs(run *r) {
    dt_metric metrics[DT_MAX_KEYS];
    const bool between = dt_run_is_validated_between(r),
               turn = !between && validation_has_its_turn(r);
    int n = 0;

    if (turn || (!between && has_validation(r) && r->at.step == r->size.all_steps))
        DT_TRY(validate(r, NULL, metrics, &n));
    dt_logs logs = between ? (dt_logs){.metric = r->last, .n = r->n_last} : training_logs(r);
    add_logs(&logs, metrics, turn ? n : 0);
    DT_TRY(dt_hooks_epoch_end(r, &logs));
    add_logs(&logs, metrics, turn ? 0 : n);
    r->n_last = logs.n;
    return NULL;
}

dt_status *dt_run_end_epoch(run *r) {
    DT_TRY(collect_logs(r));
    dt_event e = {.kind = DT_EVENT_EPOCH,
                  .epoch = r->at.epoch + 1,
                  .epochs = r->size.epochs,
                  .step = r->at.step,
                  .steps = r->size.steps,
                  .epoch_step = r->at.epoch_step,
                  .steps_per_epoch = r->size.steps_per_epoch,
                  .examples = (int64_t)r->at.sums.examples,
                  .wall_s = r->at.wall_s,
                  .examples_per_s = r->at.wall_s > 0 ? r->at.sums.examples / r->at.wall_s : 0,
                  .virtual_s = dt_virtual_step_s(r, 0),
                  .metrics = r->last,
                  .n_metrics = r->n_last};
    dt_run_report_waiting(r, &e);
    dt_run_emit(r, &e);
    dt_callbacks_emit(r);
    if (!dt_run_is_validated_between(r)) DT_TRY(write_history(r));
    if (r->at.epoch_step < r->size.steps_per_epoch)
        return NULL; /* The run ends within this epoch, which a longer run continues. */
    r->at.epoch++;
    r->at.epoch_step = 0;
    r->at.wall_s = 0;
    dt_trainer_clear(r->q->trainer, &r->at.sums);
    return NULL;
}
