/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run for people: what it is in a few lines, then one line an epoch. On a terminal the line of
 * the running epoch is drawn again and again, with a bar; elsewhere finished epochs are printed,
 * and steps where nothing else was for 30 s, so that a log stays a log.
 */
#include <inttypes.h>
#include <string.h>

#include "stop.h"
#include "text.h"
#include "watch.h"

#define STEP_SECONDS 0.1
#define LOG_SECONDS 30.0     /* without a line of the training */
#define LEAST_IDLE 0.01      /* of a simulated slice's time */
#define LEAST_IDLE_HERE 0.05 /* of this machine's, */
#define LEAST_WAIT 0.5       /* and so many seconds */
enum { BAR_WIDTH = 24, LEAST_BAR = 6, SHORT_HASH = 12 };

/* ---- the start ---- */

static void tell_job(const struct watch *w, const dt_event *e) {
    out_field(w->out, "job", "%s  sha %.*s%s  seed %" PRIu64, w->path, SHORT_HASH,
              e->job_sha256 ? e->job_sha256 : "", out_ellipsis(w->out), e->seed);
}

static void tell_devices(const struct watch *w, const dt_event *e) {
    out_field(w->out, "devices", "%s, %d replica%s x %d logical device%s, %d thread%s",
              e->device ? e->device : e->backend, e->replicas, e->replicas == 1 ? "" : "s",
              e->logical_devices, e->logical_devices == 1 ? "" : "s", e->threads,
              e->threads == 1 ? "" : "s");
}

/* "128 per replica (last step 76)" where batches divide evenly, else the global numbers. */
static void put_batch(FILE *to, const dt_event *e) {
    int64_t replicas = e->replicas > 0 ? e->replicas : 1;
    bool even = e->global_batch % replicas == 0 && e->last_batch % replicas == 0;
    int64_t part = even ? replicas : 1;
    fprintf(to, ", ");
    put_grouped(to, e->global_batch / part);
    if (even) fputs(" per replica", to);
    else fprintf(to, " over %" PRId64 " replicas", replicas);
    if (e->last_batch && e->last_batch != e->global_batch) {
        fprintf(to, " (last step ");
        put_grouped(to, e->last_batch / part);
        fputc(')', to);
    }
}

static void tell_data(const struct watch *w, const dt_event *e) {
    struct text t;
    text_open(&t);
    put_grouped(t.to, e->train_examples);
    if (e->validation_examples) {
        fprintf(t.to, " + ");
        put_grouped(t.to, e->validation_examples);
    }
    fprintf(t.to, " examples, ");
    put_grouped(t.to, e->steps_per_epoch);
    fprintf(t.to, " step%s/epoch", e->steps_per_epoch == 1 ? "" : "s");
    put_batch(t.to, e);
    if (e->sharding) fprintf(t.to, ", %s", e->sharding);
    out_field(w->out, "data", "%s", text_bytes(&t));
    text_close(&t);
}

static void tell_memory(const struct watch *w, const dt_event *e) {
    struct text t;
    text_open(&t);
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
    put_bytes(t.to, (double)e->memory_bytes);
    for (size_t i = 0, n = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].bytes > 0) {
            fprintf(t.to, "%s%s ", n++ ? ", " : ": ", parts[i].of);
            put_bytes(t.to, (double)parts[i].bytes);
        }
    fputs("; ", t.to);
    put_grouped(t.to, e->parameters);
    out_field(w->out, "memory", "%s parameters", text_bytes(&t));
    text_close(&t);
}

static void tell_start(const struct watch *w, const dt_event *e) {
    if (w->out->quiet) return;
    tell_job(w, e);
    tell_devices(w, e);
    tell_data(w, e);
    tell_memory(w, e);
    if (e->resumed)
        out_field(w->out, "resumed", "%s, after step %" PRId64, e->checkpoint ? e->checkpoint : "",
                  e->step);
}

/* ---- epochs ---- */

static void put_epoch(FILE *to, const dt_event *e) {
    fprintf(to, "epoch %" PRId64, e->epoch);
    if (e->epochs) fprintf(to, "/%" PRId64, e->epochs);
}

static void put_step(FILE *to, const dt_event *e) {
    fputs("step ", to);
    put_grouped(to, e->step);
    fputc('/', to);
    put_grouped(to, e->steps);
}

static void put_metrics(FILE *to, const dt_metric *metrics, int n) {
    for (int i = 0; i < n; i++) {
        fprintf(to, metrics[i].class_name ? "  %s (%s) " : "  %s ", metrics[i].name,
                metrics[i].class_name);
        put_value(to, metrics[i].value);
    }
}

static void put_bar(FILE *to, int64_t done, int64_t all, int width) {
    int filled = all > 0 ? (int)((double)width * (double)done / (double)all) : 0;
    fputs("  [", to);
    for (int i = 0; i < width; i++) fputc(i < filled ? '=' : i == filled ? '>' : ' ', to);
    fprintf(to, "] %" PRId64 "/%" PRId64, done, all);
}

/* Seconds to the end of the epoch at the pace of its steps so far; less than 0: not known yet. */
static double time_left(const struct watch *w, const dt_event *e) {
    struct timespec now;
    int64_t done = e->epoch_step - w->epoch_first;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (done <= 0) return -1;
    return seconds_between(w->epoch_began, now) / (double)done *
           (double)(w->epoch_steps - e->epoch_step);
}

/* Draws the line with a bar of so many characters (none: no bar); returns by how many characters it
 * is too long. */
static int try_step(const struct watch *w, const dt_event *e, struct text *t, int bar, bool extra) {
    text_open(t);
    put_epoch(t->to, e);
    if (bar >= LEAST_BAR) put_bar(t->to, e->epoch_step, w->epoch_steps, bar);
    put_metrics(t->to, e->metrics, e->n_metrics);
    fputs("  ETA ", t->to);
    put_time(t->to, time_left(w, e));
    if (e->virtual_s > 0 && extra) fprintf(t->to, "  virtual %.3g ms/step", 1e3 * e->virtual_s);
    return (int)text_columns(text_bytes(t)) - out_bar_width();
}

/* On a narrow terminal the virtual time goes first, then the bar becomes shorter. */
static void draw_step(const struct watch *w, const dt_event *e) {
    struct text t;
    int over = try_step(w, e, &t, BAR_WIDTH, true);
    if (over > 0) {
        text_close(&t);
        over = try_step(w, e, &t, BAR_WIDTH, false);
    }
    if (over > 0) {
        text_close(&t);
        try_step(w, e, &t, BAR_WIDTH - over, false);
    }
    out_bar(w->out, text_bytes(&t));
    text_close(&t);
}

/* At the pace of all steps so far, validations between them included. */
static void tell_progress(struct watch *w, const dt_event *e) {
    const double pace = watch_seconds_since(w->began) / (double)(e->step - w->step_before);
    struct text t;
    text_open(&t);
    put_step(t.to, e);
    put_metrics(t.to, e->metrics, e->n_metrics);
    fprintf(t.to, "  %.3g steps/s  ETA ", 1 / pace);
    put_time(t.to, pace * (double)(e->steps - e->step));
    out_log(w->out, "%s", text_bytes(&t));
    text_close(&t);
    clock_gettime(CLOCK_MONOTONIC, &w->told_line);
}

static void tell_step(struct watch *w, const dt_event *e) {
    if (w->epoch_first == 0) {
        w->epoch_first = e->epoch_step;
        clock_gettime(CLOCK_MONOTONIC, &w->epoch_began);
    }
    if (w->out->quiet) return;
    if (w->out->redraws && watch_is_due(w, STEP_SECONDS)) draw_step(w, e);
    if (e->step < e->steps && watch_seconds_since(w->told_line) >= LOG_SECONDS) tell_progress(w, e);
}

/* The part that is evaluated, in fit or evaluate: its own bar, and in a log a line where nothing
 * else was for as long. */
static void tell_evaluating(struct watch *w, const dt_event *e) {
    struct text t;
    if (w->out->quiet) return;
    text_open(&t);
    fprintf(t.to, "%s  ", e->split);
    put_grouped(t.to, e->examples);
    fputc('/', t.to);
    put_grouped(t.to, e->validation_examples);
    fputs(" examples", t.to);
    if (w->out->redraws && watch_is_due(w, STEP_SECONDS)) out_bar(w->out, text_bytes(&t));
    if (e->examples < e->validation_examples && watch_seconds_since(w->told_line) >= LOG_SECONDS) {
        out_log(w->out, "%s", text_bytes(&t));
        clock_gettime(CLOCK_MONOTONIC, &w->told_line);
    }
    text_close(&t);
}

/* What the waiting consisted of, the largest part first; nothing that rounds to nothing. */
static void put_reasons(FILE *to, const dt_event *e) {
    struct {
        const char *name;
        double part;
    } x[3] = {{"reading", e->idle_reading}, {"decoding", e->idle_decoding}, {"map", e->idle_map}};
    const char *before = " (";
    for (int left = 3; left > 0; left--) {
        int most = 0;
        for (int i = 1; i < 3; i++) most = x[i].part > x[most].part ? i : most;
        if (x[most].part >= 0.005) {
            fprintf(to, "%s%s %.0f %%", before, x[most].name, 100 * x[most].part);
            before = ", ";
        }
        x[most].part = -1;
    }
    if (*before == ',') fputc(')', to);
}

/* For simulated devices, prints how long they would wait. On this machine, only waits that are long
 * enough to notice are printed. */
static void put_idle(FILE *to, const dt_event *e) {
    if (e->virtual_s > 0 && e->idle >= LEAST_IDLE)
        fprintf(to, "  idle %.0f %% waiting for data (as prepared here)", 100 * e->idle);
    if (e->virtual_s > 0 || e->idle < LEAST_IDLE_HERE || e->waited_s < LEAST_WAIT) return;
    fprintf(to, "  idle %.0f %% waiting for data", 100 * e->idle);
    put_reasons(to, e);
}

static void tell_epoch(struct watch *w, const dt_event *e) {
    w->epoch_first = 0;
    if (w->out->quiet) return;
    struct text t;
    text_open(&t);
    put_epoch(t.to, e);
    put_metrics(t.to, e->metrics, e->n_metrics);
    if (w->out->verbose) {
        fputs("  ", t.to);
        put_grouped(t.to, (int64_t)e->examples_per_s);
        fputs(" examples/s", t.to);
    }
    put_idle(t.to, e);
    out_line(w->out, "%s", text_bytes(&t));
    text_close(&t);
}

static void tell_part(const struct watch *w, const dt_event *e) {
    struct text t;
    text_open(&t);
    put_metrics(t.to, e->metrics, e->n_metrics);
    fputs("  (", t.to);
    put_grouped(t.to, e->examples);
    out_line(w->out, "%s%s examples)", e->split, text_bytes(&t));
    text_close(&t);
}

/* Validation by steps, between the ends of epochs. */
static void tell_validation(const struct watch *w, const dt_event *e) {
    struct text t;
    text_open(&t);
    put_step(t.to, e);
    put_metrics(t.to, e->training, e->n_training);
    put_metrics(t.to, e->metrics, e->n_metrics);
    out_line(w->out, "%s", text_bytes(&t));
    text_close(&t);
}

/* What fit validates at an epoch's end stands in the epoch's line. */
static void tell_eval(const struct watch *w, const dt_event *e) {
    if (w->out->quiet) return;
    if (e->split) tell_part(w, e);
    else if (e->n_training) tell_validation(w, e);
}

static void tell_callback(const struct watch *w, const dt_event *e) {
    if (w->out->quiet) return;
    if (e->epoch_step) out_line(w->out, "step %" PRId64 ": %s", e->step, e->text);
    else out_line(w->out, "epoch %" PRId64 ": %s", e->epoch, e->text);
}

/* Every line of it is indented, so that it is not taken for one of ours. */
static void tell_text(const struct watch *w, const dt_event *e) {
    if (w->out->quiet) return;
    out_field(w->out, "text", "after step %" PRId64, e->step);
    for (const char *at = e->text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        out_line(w->out, "         %.*s", (int)strcspn(at, "\n"), at);
}

/* ---- checkpoints ---- */

static void tell_result(struct watch *w, const char *label) {
    if (w->out->quiet || w->told || !w->checkpoint) return;
    w->told = true;
    if (*w->weights)
        out_field(w->out, label, "%s   weights sha %.*s%s", w->checkpoint, SHORT_HASH, w->weights,
                  out_ellipsis(w->out));
    else out_field(w->out, label, "%s", w->checkpoint);
}

/* Those of every epoch are silent; one that was asked for is a change that must be told. */
static void tell_checkpoint(struct watch *w) {
    if (stop_save_asked() || w->stopping || w->out->verbose) tell_result(w, "saved");
}

/* How old gradients were when they changed the weights. */
static void tell_workers(const struct watch *w) {
    if (w->out->quiet || w->workers.updates == 0) return;
    out_field(w->out, "workers", "staleness %.1f on average, %" PRId64 " at most%s",
              (double)w->workers.sum / (double)w->workers.updates, w->workers.most,
              w->workers.lost ? "" : "; none was lost");
    if (w->workers.lost)
        out_line(w->out, "         %" PRId64 " lost, %" PRId64 " batch%s computed again",
                 w->workers.lost, w->workers.again, w->workers.again == 1 ? "" : "es");
}

static void tell_end(struct watch *w) {
    tell_workers(w);
    if (w->training && !w->trained && !w->out->quiet)
        out_field(w->out, "done",
                  "nothing is left to train: raise fit.epochs, or start again with --fresh");
    tell_result(w, w->training ? "saved" : "of");
}

void watch_text(struct watch *w, const dt_event *e) {
    switch (e->kind) {
    case DT_EVENT_START: tell_start(w, e); break;
    case DT_EVENT_STEP: tell_step(w, e); break;
    case DT_EVENT_EVALUATING: tell_evaluating(w, e); break;
    case DT_EVENT_EPOCH: tell_epoch(w, e); break;
    case DT_EVENT_EVAL: tell_eval(w, e); break;
    case DT_EVENT_CHECKPOINT: tell_checkpoint(w); break;
    case DT_EVENT_END: tell_end(w); break;
    case DT_EVENT_TEXT: tell_text(w, e); break;
    case DT_EVENT_CALLBACK: tell_callback(w, e); break;
    case DT_EVENT_FAULT:
        out_note(w->out, "injected in step %" PRId64 ": %s", e->step, e->text);
        break;
    case DT_EVENT_REPORT:
        if (!w->out->quiet) out_field(w->out, "report", "%s", e->text);
        break;
    case DT_EVENT_WARNING:
    case DT_EVENT_WAITING:
    case DT_EVENT_DATA:
    case DT_EVENT_WORKERS: /* for programs, and the report */ break;
    }
}
