/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a run for people: a few lines about it, then one line for each epoch. On a terminal the
 * line of the current epoch is redrawn, with a progress bar. In a log, the progress of steps and
 * evaluations is printed only if no line about steps, epochs or evaluations was printed for 30 s.
 */
#include <inttypes.h>
#include <string.h>

#include "watch.h"
#include "stop.h"
#include "print.h"

#define STEP_SECONDS 0.1
/* a log gets a line about progress if it had none about steps, epochs or evaluations for so many
 * seconds */
#define LOG_SECONDS 30.0
/* a simulated slice's idle time is reported from this fraction of the time on */
#define LEAST_IDLE 0.01
/* this machine's idle time is reported from this fraction on, if it is also at least LEAST_WAIT */
#define LEAST_IDLE_HERE 0.05
#define LEAST_WAIT 0.5 /* in seconds */
enum { BAR_WIDTH = 24, LEAST_BAR = 6, SHORT_HASH = 12 };

static void report_job(const struct watch *w, const dt_event *e) {
    out_field(w->out, "job", "%s  sha %.*s%s  seed %" PRIu64, w->path, SHORT_HASH,
              e->job_sha256 ? e->job_sha256 : "", out_ellipsis(w->out), e->seed);
}

static void report_devices(const struct watch *w, const dt_event *e) {
    out_field(w->out, "devices", "%s, %d replica%s x %d logical device%s, %d thread%s",
              e->device ? e->device : e->backend, e->replicas, e->replicas == 1 ? "" : "s",
              e->logical_devices, e->logical_devices == 1 ? "" : "s", e->threads,
              e->threads == 1 ? "" : "s");
}

/* Writes ", 128 per replica (last step 76)" if the global batch and the last batch can be divided
 * evenly among the replicas, else the whole batches, ", 128 over 3 replicas (last step 76)". The
 * last step is left out if it is not smaller. */
static void put_batch(dt_str *to, const dt_event *e) {
    int64_t replicas = e->replicas > 0 ? e->replicas : 1;
    bool even = e->global_batch % replicas == 0 && e->last_batch % replicas == 0;
    int64_t part = even ? replicas : 1;
    dt_str_printf(to, ", ");
    dt_str_grouped(to, e->global_batch / part);
    if (even) dt_str_puts(to, " per replica");
    else dt_str_printf(to, " over %" PRId64 " replicas", replicas);
    if (e->last_batch && e->last_batch != e->global_batch) {
        dt_str_printf(to, " (last step ");
        dt_str_grouped(to, e->last_batch / part);
        dt_str_putc(to, ')');
    }
}

static void report_data(const struct watch *w, const dt_event *e) {
    dt_local_str t = {0};
    dt_str_grouped(&t, e->train_examples);
    if (e->validation_examples) {
        dt_str_printf(&t, " + ");
        dt_str_grouped(&t, e->validation_examples);
    }
    dt_str_printf(&t, " examples, ");
    dt_str_grouped(&t, e->steps_per_epoch);
    dt_str_printf(&t, " step%s/epoch", e->steps_per_epoch == 1 ? "" : "s");
    put_batch(&t, e);
    if (e->sharding) dt_str_printf(&t, ", %s", e->sharding);
    out_field(w->out, "data", "%s", dt_str_text(&t));
}

/* Writes a size such as 1.6 MiB or 212 bytes. */
static void put_bytes(dt_str *to, int64_t bytes) {
    if (bytes < 1024) dt_str_printf(to, "%d bytes", (int)bytes);
    else dt_str_bytes(to, (double)bytes);
}

static void report_memory(const struct watch *w, const dt_event *e) {
    dt_local_str t = {0};
    const struct {
        const char *of;
        int64_t bytes;
    } parts[] = {
        {"steps", e->step_bytes},
        {"evaluation", e->evaluation_bytes},
        {"weights and optimizer", e->state_bytes},
        {"data", e->data_bytes},
        {"program", e->program_bytes},
    };
    put_bytes(&t, e->memory_bytes);
    for (size_t i = 0, n = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].bytes > 0) {
            dt_str_printf(&t, "%s%s ", n++ ? ", " : ": ", parts[i].of);
            put_bytes(&t, parts[i].bytes);
        }
    dt_str_puts(&t, "; ");
    dt_str_grouped(&t, e->parameters);
    out_field(w->out, "memory", "%s parameters", dt_str_text(&t));
}

static void report_start(const struct watch *w, const dt_event *e) {
    if (w->out->quiet) return;
    report_job(w, e);
    report_devices(w, e);
    report_data(w, e);
    report_memory(w, e);
    if (e->resumed)
        out_field(w->out, "resumed", "%s, after step %" PRId64, e->checkpoint ? e->checkpoint : "",
                  e->step);
}

static void put_epoch(dt_str *to, const dt_event *e) {
    dt_str_printf(to, "epoch %" PRId64, e->epoch);
    if (e->epochs) dt_str_printf(to, "/%" PRId64, e->epochs);
}

static void put_step(dt_str *to, const dt_event *e) {
    dt_str_puts(to, "step ");
    dt_str_grouped(to, e->step);
    dt_str_putc(to, '/');
    dt_str_grouped(to, e->steps);
}

static void put_metrics(dt_str *to, const dt_metric *metrics, int n) {
    for (int i = 0; i < n; i++) {
        dt_str_printf(to, metrics[i].class_name ? "  %s (%s) " : "  %s ", metrics[i].name,
                      metrics[i].class_name);
        put_value(to, metrics[i].value);
    }
}

static void put_bar(dt_str *to, int64_t done, int64_t all, int width) {
    int filled = all > 0 ? (int)((double)width * (double)done / (double)all) : 0;
    dt_str_puts(to, "  [");
    for (int i = 0; i < width; i++) dt_str_putc(to, i < filled ? '=' : i == filled ? '>' : ' ');
    dt_str_printf(to, "] %" PRId64 "/%" PRId64, done, all);
}

/* Returns the seconds until the end of the epoch at the rate of its steps after the first reported
 * one; -1: this is the first one, so the rate is unknown. */
static double time_left(const struct watch *w, const dt_event *e) {
    struct timespec now;
    int64_t done = e->epoch_step - w->epoch_first;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (done <= 0) return -1;
    return seconds_between(w->epoch_began, now) / (double)done *
           (double)(w->epoch_steps - e->epoch_step);
}

/* Appends the line of a step with a bar of `bar` characters; without a bar if that is less than
 * LEAST_BAR. extra: whether to add a simulated slice's time. Returns by how many characters the
 * line is too long; 0 or less: it fits. */
static int try_step(const struct watch *w, const dt_event *e, dt_str *t, int bar, bool extra) {
    put_epoch(t, e);
    if (bar >= LEAST_BAR) put_bar(t, e->epoch_step, w->epoch_steps, bar);
    put_metrics(t, e->metrics, e->n_metrics);
    dt_str_puts(t, "  ETA ");
    put_time(t, time_left(w, e));
    if (e->virtual_s > 0 && extra) dt_str_printf(t, "  virtual %.3g ms/step", 1e3 * e->virtual_s);
    return text_columns(dt_str_text(t)) - out_bar_width();
}

/* Draws the line of a step. On a narrow terminal first the virtual time is left out, then the bar
 * becomes shorter or is left out. */
static void draw_step(const struct watch *w, const dt_event *e) {
    dt_str t = {0};
    int over = try_step(w, e, &t, BAR_WIDTH, true);
    if (over > 0) {
        dt_str_release(&t);
        over = try_step(w, e, &t, BAR_WIDTH, false);
    }
    if (over > 0) {
        dt_str_release(&t);
        try_step(w, e, &t, BAR_WIDTH - over, false);
    }
    out_bar(w->out, dt_str_text(&t));
    dt_str_release(&t);
}

/* Reports progress with the rate of all steps since the run was started or resumed, including the
 * validations between them. */
static void report_progress(struct watch *w, const dt_event *e) {
    const double pace = watch_seconds_since(w->began) / (double)(e->step - w->step_before);
    dt_local_str t = {0};
    put_step(&t, e);
    put_metrics(&t, e->metrics, e->n_metrics);
    dt_str_printf(&t, "  %.3g steps/s  ETA ", 1 / pace);
    put_time(&t, pace * (double)(e->steps - e->step));
    out_log(w->out, "%s", dt_str_text(&t));
    clock_gettime(CLOCK_MONOTONIC, &w->printed_line);
}

static void report_step(struct watch *w, const dt_event *e) {
    if (w->epoch_first == 0) {
        w->epoch_first = e->epoch_step;
        clock_gettime(CLOCK_MONOTONIC, &w->epoch_began);
    }
    if (w->out->quiet) return;
    if (w->out->redraws && watch_is_due(w, STEP_SECONDS)) draw_step(w, e);
    if (e->step < e->steps && watch_seconds_since(w->printed_line) >= LOG_SECONDS)
        report_progress(w, e);
}

/* Reports the progress of an evaluation, in fit or evaluate: on a terminal in the line of the
 * progress bar, in a log with a line if none about steps, epochs or evaluations was printed for
 * LOG_SECONDS. */
static void report_evaluating(struct watch *w, const dt_event *e) {
    dt_local_str t = {0};
    if (w->out->quiet) return;
    dt_str_printf(&t, "%s  ", e->split);
    dt_str_grouped(&t, e->examples);
    dt_str_putc(&t, '/');
    dt_str_grouped(&t, e->validation_examples);
    dt_str_puts(&t, " examples");
    if (w->out->redraws && watch_is_due(w, STEP_SECONDS)) out_bar(w->out, dt_str_text(&t));
    if (e->examples < e->validation_examples &&
        watch_seconds_since(w->printed_line) >= LOG_SECONDS) {
        out_log(w->out, "%s", dt_str_text(&t));
        clock_gettime(CLOCK_MONOTONIC, &w->printed_line);
    }
}

/* Writes the causes of waiting, largest first, without those that round to 0. */
static void put_reasons(dt_str *to, const dt_event *e) {
    struct {
        const char *name;
        double part;
    } x[3] = {{"reading", e->idle_reading}, {"decoding", e->idle_decoding}, {"map", e->idle_map}};
    const char *before = " (";
    for (int left = 3; left > 0; left--) {
        int most = 0;
        for (int i = 1; i < 3; i++) most = x[i].part > x[most].part ? i : most;
        if (x[most].part >= 0.005) {
            dt_str_printf(to, "%s%s %.0f %%", before, x[most].name, 100 * x[most].part);
            before = ", ";
        }
        x[most].part = -1;
    }
    if (*before == ',') dt_str_putc(to, ')');
}

/* For simulated devices, prints how long they would wait. On this machine, only waits that are long
 * enough to notice are printed. */
static void put_idle(dt_str *to, const dt_event *e) {
    if (e->virtual_s > 0 && e->idle >= LEAST_IDLE)
        dt_str_printf(to, "  idle %.0f %% waiting for data (as prepared here)", 100 * e->idle);
    if (e->virtual_s > 0 || e->idle < LEAST_IDLE_HERE || e->waited_s < LEAST_WAIT) return;
    dt_str_printf(to, "  idle %.0f %% waiting for data", 100 * e->idle);
    put_reasons(to, e);
}

static void report_epoch(struct watch *w, const dt_event *e) {
    w->epoch_first = 0;
    if (w->out->quiet) return;
    dt_local_str t = {0};
    put_epoch(&t, e);
    put_metrics(&t, e->metrics, e->n_metrics);
    if (w->out->verbose) {
        dt_str_puts(&t, "  ");
        dt_str_grouped(&t, (int64_t)e->examples_per_s);
        dt_str_puts(&t, " examples/s");
    }
    put_idle(&t, e);
    out_line(w->out, "%s", dt_str_text(&t));
}

static void report_part(const struct watch *w, const dt_event *e) {
    dt_local_str t = {0};
    put_metrics(&t, e->metrics, e->n_metrics);
    dt_str_puts(&t, "  (");
    dt_str_grouped(&t, e->examples);
    out_line(w->out, "%s%s examples)", e->split, dt_str_text(&t));
}

/* Reports a validation by steps, which comes within an epoch. */
static void report_validation(const struct watch *w, const dt_event *e) {
    dt_local_str t = {0};
    put_step(&t, e);
    put_metrics(&t, e->training, e->n_training);
    put_metrics(&t, e->metrics, e->n_metrics);
    out_line(w->out, "%s", dt_str_text(&t));
}

static void report_explained(const struct watch *w, const dt_event *e) {
    dt_local_str t = {0};
    explained_put(&t, e->evaluation, false);
    dt_str_putc(&t, '\n');
    out_text(w->out, dt_str_text(&t));
}

/* Reports an evaluation, except the validation at the end of an epoch, which is part of the epoch's
 * line. */
static void report_eval(const struct watch *w, const dt_event *e) {
    if (w->out->quiet) return;
    if (e->split) report_part(w, e);
    else if (e->n_training) report_validation(w, e);
    if (e->evaluation) report_explained(w, e);
}

static void report_callback(const struct watch *w, const dt_event *e) {
    if (w->out->quiet) return;
    if (e->epoch_step) out_line(w->out, "step %" PRId64 ": %s", e->step, e->text);
    else out_line(w->out, "epoch %" PRId64 ": %s", e->epoch, e->text);
}

/* Reports a generated text. All its lines are indented, so that they are not mistaken for lines of
 * dtrain. */
static void report_text(const struct watch *w, const dt_event *e) {
    if (w->out->quiet) return;
    out_field(w->out, "text", "after step %" PRId64, e->step);
    for (const char *at = e->text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        out_line(w->out, "         %.*s", (int)strcspn(at, "\n"), at);
}

static void report_result(struct watch *w, const char *label) {
    if (w->out->quiet || w->reported || !w->checkpoint) return;
    w->reported = true;
    if (*w->weights)
        out_field(w->out, label, "%s   weights sha %.*s%s", w->checkpoint, SHORT_HASH, w->weights,
                  out_ellipsis(w->out));
    else out_field(w->out, label, "%s", w->checkpoint);
}

/* Reports a checkpoint if the user asked for it, by SIGUSR1 or by stopping, or with --verbose.
 * Those of each epoch are otherwise not reported. */
static void report_checkpoint(struct watch *w) {
    if (stop_save_asked() || w->stopping || w->out->verbose) report_result(w, "saved");
}

/* Reports the staleness of gradients: by how many updates the weights had changed between the
 * computation of a gradient and its use. Prints nothing without a parameter server. */
static void report_workers(const struct watch *w) {
    if (w->out->quiet || w->workers.updates == 0) return;
    out_field(w->out, "workers", "staleness %.1f on average, %" PRId64 " at most%s",
              (double)w->workers.sum / (double)w->workers.updates, w->workers.most,
              w->workers.lost ? "" : "; none was lost");
    if (w->workers.lost)
        out_line(w->out, "         %" PRId64 " lost, %" PRId64 " batch%s computed again",
                 w->workers.lost, w->workers.again, w->workers.again == 1 ? "" : "es");
}

static void report_end(struct watch *w) {
    report_workers(w);
    if (w->training && !w->trained && !w->out->quiet)
        out_field(w->out, "done",
                  "nothing is left to train: raise fit.epochs, or start again with --fresh");
    report_result(w, w->training ? "saved" : "of");
}

void watch_text(struct watch *w, const dt_event *e) {
    switch (e->kind) {
    case DT_EVENT_START: report_start(w, e); break;
    case DT_EVENT_STEP: report_step(w, e); break;
    case DT_EVENT_EVALUATING: report_evaluating(w, e); break;
    case DT_EVENT_EPOCH: report_epoch(w, e); break;
    case DT_EVENT_EVAL: report_eval(w, e); break;
    case DT_EVENT_CHECKPOINT: report_checkpoint(w); break;
    case DT_EVENT_END: report_end(w); break;
    case DT_EVENT_TEXT: report_text(w, e); break;
    case DT_EVENT_CALLBACK: report_callback(w, e); break;
    case DT_EVENT_FAULT:
        out_note(w->out, "injected in step %" PRId64 ": %s", e->step, e->text);
        break;
    case DT_EVENT_REPORT:
        if (!w->out->quiet) out_field(w->out, "report", "%s", e->text);
        break;
    case DT_EVENT_WARNING:
    case DT_EVENT_WAITING:
    case DT_EVENT_DATA:
    case DT_EVENT_WORKERS: /* not printed here; JSON output and reports have it */ break;
    }
}
