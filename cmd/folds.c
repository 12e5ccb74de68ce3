/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what folds.h declares. A fold's metrics are those of the weights that its run kept at
 * the end: the last ones, or the best ones that EarlyStopping restored. */
#include "folds.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "print.h"
#include "stop.h"
#include "table.h"

struct metric {
    const char *name;
    /* mean and standard deviation over the folds; the deviation divides by the number of folds */
    double mean, deviation;
    double *value; /* [folds] the value of the metric in each fold */
};

struct summary {
    int folds, n;
    struct metric *metric; /* [n] the metrics that all folds report */
};

static char *folder_of(const struct folds *f, int fold) {
    dt_str path = {0};
    dt_str_printf(&path, "%s/fold-%d", dt_sweep_directory(f->trials.sweep), fold);
    return dt_str_take(&path);
}

static dt_status *read_values(const struct folds *f, struct metric *m, int folds) {
    double squares = 0;
    m->value = dt_alloc((size_t)folds * sizeof *m->value);
    for (int i = 0; i < folds; i++) {
        DT_LOCAL char *run = folder_of(f, i + 1);
        dt_status *s = dt_run_metric(run, m->name, &m->value[i]);
        if (s) return s;
        m->mean += m->value[i] / folds;
    }
    for (int i = 0; i < folds; i++) squares += (m->value[i] - m->mean) * (m->value[i] - m->mean);
    m->deviation = sqrt(squares / folds);
    return NULL;
}

static dt_status *summarize(const struct folds *f, struct summary *x) {
    x->folds = dt_job_folds(f->job);
    while (dt_job_metric(f->job, x->n)) x->n++;
    x->metric = dt_alloc((size_t)x->n * sizeof *x->metric);
    for (int i = 0; i < x->n; i++) {
        x->metric[i].name = dt_job_metric(f->job, i);
        DT_TRY(read_values(f, &x->metric[i], x->folds));
    }
    return NULL;
}

static void release(struct summary *x) {
    for (int i = 0; i < x->n; i++) free(x->metric[i].value);
    free(x->metric);
}

static void put_table(const struct summary *x, dt_str *to) {
    struct table t = {.columns = 5};
    static const char *const titles[] = {"metric", "mean", "std", "min", "max"};
    for (int i = 0; i < t.columns; i++) table_text(&t, titles[i]);
    for (int i = 0; i < x->n; i++) {
        const struct metric *m = &x->metric[i];
        double least = m->value[0], most = m->value[0];
        for (int k = 1; k < x->folds; k++) {
            least = fmin(least, m->value[k]);
            most = fmax(most, m->value[k]);
        }
        table_text(&t, m->name);
        table_value(&t, m->mean);
        table_value(&t, m->deviation);
        table_value(&t, least);
        table_value(&t, most);
    }
    table_put(to, &t, false);
}

static void put_metrics(const struct summary *x, dt_json *j) {
    dt_json_int(j, "folds", x->folds);
    dt_json_open(j, "metrics", '{');
    for (int i = 0; i < x->n; i++) {
        const struct metric *m = &x->metric[i];
        dt_json_open(j, m->name, '{');
        dt_json_double(j, "mean", m->mean);
        dt_json_double(j, "std", m->deviation);
        dt_json_doubles(j, "values", m->value, x->folds);
        dt_json_close(j, '}');
    }
    dt_json_close(j, '}');
}

static dt_status *write_json(const struct folds *f, const struct summary *x) {
    dt_local_str text = {0}, path = {0};
    dt_json j = {.out = &text};
    dt_json_open(&j, NULL, '{');
    put_metrics(x, &j);
    dt_json_close(&j, '}');
    dt_str_putc(&text, '\n');
    dt_str_printf(&path, "%s/folds.json", dt_sweep_directory(f->trials.sweep));
    return dt_file_output(dt_str_text(&path), dt_str_text(&text), text.size);
}

/* Writes one report page with the runs of all folds, or of the first 20. */
static dt_status *write_page(const struct folds *f, int folds, char **page) {
    enum { MOST_RUNS = 20 };
    char *run[MOST_RUNS];
    dt_local_str path = {0};
    const int n = folds < MOST_RUNS ? folds : MOST_RUNS;
    for (int i = 0; i < n; i++) run[i] = folder_of(f, i + 1);
    dt_str_printf(&path, "%s/folds.html", dt_sweep_directory(f->trials.sweep));
    dt_status *s = dt_run_report(&(dt_run_report_request){.runs = (const char *const *)run,
                                                          .n_runs = n,
                                                          .output = dt_str_text(&path)},
                                 page);
    for (int i = 0; i < n; i++) free(run[i]);
    return s;
}

static void print(const struct folds *f, const struct summary *x, const char *page) {
    struct out *out = f->trials.call->out;
    dt_local_str text = {0};
    dt_json j = {.out = &text, .compact = true};
    if (f->trials.json) {
        dt_json_open(&j, NULL, '{');
        dt_json_int(&j, "v", 1);
        dt_json_string(&j, "event", "folds");
        put_metrics(x, &j);
        dt_json_close(&j, '}');
        out_line(out, "%s", dt_str_text(&text));
    } else if (!out->quiet) {
        put_table(x, &text);
        out_text(out, dt_str_text(&text));
        out_field(out, "report", "%s", page);
    }
}

/* Checks --expect against the means, and writes the result files with them. Returns the exit
 * code. */
static int judge_means(const struct folds *f, const struct summary *x) {
    struct watch w = {.out = f->trials.call->out, .json = f->trials.json, .path = f->path};
    w.last = dt_alloc((size_t)x->n * sizeof *w.last);
    for (; w.n_last < x->n; w.n_last++)
        w.last[w.n_last] = (struct last_value){.name = dt_strdup(x->metric[w.n_last].name),
                                               .value = x->metric[w.n_last].mean};
    const int code = expect_judge(f->expect, &w);
    const int written = result_files_write(f->files, &w, f->expect, code);
    watch_release(&w);
    return written;
}

static int report(const struct folds *f) {
    struct summary x = {0};
    DT_LOCAL char *page = NULL;
    dt_status *s = summarize(f, &x);
    if (!s) s = write_json(f, &x);
    if (!s) s = write_page(f, x.folds, &page);
    int code = out_error(f->trials.call->out, s);
    if (!code) {
        print(f, &x, page);
        code = judge_means(f, &x);
    }
    release(&x);
    return code;
}

/* Reports the folds' results. Means are reported only if all folds are complete. Returns the exit
 * code. */
static int judge(const struct folds *f) {
    const dt_sweep_counts c = dt_sweep_count(f->trials.sweep);
    struct out *out = f->trials.call->out;
    const int left = c.interrupted + c.waiting;
    if (c.completed == c.trials) return report(f);
    out_note(out, "%d of %d folds are not completed", c.trials - c.completed, c.trials);
    if (c.failed) {
        out_note(out, "the exit code is that of the first fold that failed");
        return c.failed_code;
    }
    if (left || c.halted_code) trials_suggest_resume(&f->trials);
    if (c.halted_code) return c.halted_code;
    return *stop_flag() == 2 ? stop_exit_code() : EXIT_STOPPED;
}

static dt_status *train(struct folds *f) {
    struct trials *w = &f->trials;
    DT_TRY(dt_sweep_open(&w->sweep, &(dt_sweep_options){.source = &w->source, .fresh = f->fresh}));
    if (!w->json && !w->call->out->quiet) {
        out_field(w->call->out, "folds", "%s", dt_sweep_title(w->sweep));
        out_field(w->call->out, "folder", "%s", dt_sweep_directory(w->sweep));
    }
    if (f->seconds > 0) alarm((unsigned)ceil(f->seconds));
    dt_status *s = trials_train(w);
    alarm(0);
    return s;
}

int folds_fit(struct folds *f) {
    struct trials *w = &f->trials;
    int code = out_error(w->call->out, train(f));
    if (w->sweep) {
        const int its = judge(f);
        code = code ? code : its;
    }
    if (w->json) out_line(w->call->out, "{\"v\":1,\"event\":\"end\",\"exit\":%d}", code);
    dt_sweep_unref(w->sweep);
    return code;
}
