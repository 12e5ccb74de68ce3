/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a sweep: the leaderboard, the best trial's job, and a report about the best
 * trials. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/handle.h"
#include "job/sweep.h"

static const char *const states[] = {"waiting", "running", "completed", "failed", "interrupted"};

static int number_of(const dt_sweep *s, const dt_sweep_entry *t) { return (int)(t - s->trial) + 1; }

/* ---- the table ---- */

enum { MOST_COLUMNS = 5 + DT_SWEEP_MOST_PARAMETERS, CELL = 64 };

typedef struct board {
    const dt_sweep *s;
    const dt_sweep_entry **order;
    int columns, rows;  /* the first row has the titles, and each further row a trial */
    char (*cell)[CELL]; /* [rows * columns] the text of each cell of the leaderboard */
} board;

/* Writes a cell; a text that is too long is cut between two characters. */
static void put_cell(const board *b, int row, int column, const char *text) {
    size_t n = strlen(text);
    if (n >= CELL)
        for (n = CELL - 1; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;) n--;
    snprintf(b->cell[row * b->columns + column], CELL, "%.*s", (int)n, text);
}

static void put_score(const board *b, int row, int column, double x) {
    char text[CELL] = "";
    const double size = fabs(x);
    if (isfinite(x))
        snprintf(text, sizeof text, size > 0 && (size < 1e-3 || size >= 1e6) ? "%.4g" : "%.4f", x);
    put_cell(b, row, column, text);
}

/* Writes the first row: rank, trial, the name of the metric, outcome, rung if the sweep has
 * several, and the names of the swept settings. These are the parts before '=' in the first trial's
 * settings, a text such as "learning_rate=0.1 width=64". */
static void put_titles(const board *b) {
    const char *const titles[] = {"rank", "trial", b->s->metric, "outcome"};
    const char *at = b->s->trial[0].settings;
    int column = 0;
    for (; column < 4; column++) put_cell(b, 0, column, titles[column]);
    if (b->s->rungs > 1) put_cell(b, 0, column++, "rung");
    for (int k = 0; k < b->s->space.n; k++) {
        char name[CELL];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "="), at);
        put_cell(b, 0, column++, name);
        at += strcspn(at, "=") + 1 + strlen(b->s->trial[0].value[k]);
        at += *at == ' ';
    }
}

static void put_row(const board *b, int i, int ranked) {
    const dt_sweep_entry *t = b->order[i];
    const int rung = dt_trial_scored(b->s, t), row = i + 1;
    char text[CELL];
    int column = 4;
    snprintf(text, sizeof text, "%d", i + 1);
    put_cell(b, row, 0, i < ranked ? text : "");
    snprintf(text, sizeof text, "%d", number_of(b->s, t));
    put_cell(b, row, 1, text);
    put_score(b, row, 2, rung < 0 ? (double)NAN : t->score[rung]);
    snprintf(text, sizeof text, "failed (%d)", t->exit_code);
    put_cell(b, row, 3, t->state == DT_TRIAL_FAILED ? text : states[t->state]);
    snprintf(text, sizeof text, "%d", (rung < 0 ? t->rung : rung) + 1);
    if (b->s->rungs > 1) put_cell(b, row, column++, text);
    for (int k = 0; k < b->s->space.n; k++) put_cell(b, row, column++, t->value[k]);
}

static int width_of(const board *b, int column) {
    size_t width = 0;
    for (int row = 0; row < b->rows; row++) {
        const char *text = b->cell[row * b->columns + column];
        const size_t n = dt_utf8_count(text, strlen(text));
        width = n > width ? n : width;
    }
    return (int)width;
}

static void print_table(const board *b, dt_str *out) {
    int width[MOST_COLUMNS];
    for (int c = 0; c < b->columns; c++) width[c] = width_of(b, c);
    for (int row = 0; row < b->rows; row++) {
        for (int c = 0; c < b->columns; c++) {
            const size_t from = out->size;
            dt_str_puts(out, b->cell[row * b->columns + c]);
            if (c + 1 < b->columns) dt_str_pad(out, from, width[c] + 2);
        }
        dt_str_putc(out, '\n');
    }
}

/* Prints the errors of failed trials below the table. */
static void print_errors(const board *b, dt_str *out) {
    for (int i = 0; i < b->s->n; i++) {
        const dt_sweep_entry *t = b->order[i];
        if (t->state == DT_TRIAL_FAILED)
            dt_str_printf(out, "trial %d failed, exit code %d: %s\n", number_of(b->s, t),
                          t->exit_code, t->error ? t->error : "no reason was given");
    }
}

static void put_text(const dt_sweep *s, const dt_sweep_entry **order, int ranked, dt_str *out) {
    board b = {
        .s = s, .order = order, .columns = 4 + (s->rungs > 1) + s->space.n, .rows = s->n + 1};
    b.cell = dt_alloc(dt_size_mul((size_t)b.rows * (size_t)b.columns, sizeof *b.cell));
    put_titles(&b);
    for (int i = 0; i < s->n; i++) put_row(&b, i, ranked);
    print_table(&b, out);
    print_errors(&b, out);
    free(b.cell);
}

/* ---- JSON, and dt_sweep_text ---- */

static void put_trial(const dt_sweep *s, const dt_sweep_entry *t, int rank, dt_json *j) {
    const int rung = dt_trial_scored(s, t);
    dt_json_open(j, NULL, '{');
    dt_json_int(j, "trial", number_of(s, t));
    if (rank > 0) dt_json_int(j, "rank", rank);
    else dt_json_null(j, "rank");
    dt_json_string(j, "state", states[t->state]);
    dt_json_double(j, "score", rung < 0 ? (double)NAN : t->score[rung]);
    if (s->rungs > 1) dt_json_int(j, "rung", (rung < 0 ? t->rung : rung) + 1);
    dt_json_open(j, "settings", '{');
    for (int k = 0; k < s->space.n; k++) dt_json_string(j, s->space.range[k].key, t->value[k]);
    dt_json_close(j, '}');
    dt_json_string(j, "directory", t->directory);
    dt_json_string(j, "weights_sha256", t->sha256);
    dt_json_int(j, "exit", t->exit_code);
    dt_json_string(j, "error", t->error);
    dt_json_close(j, '}');
}

static void put_json(const dt_sweep *s, const dt_sweep_entry **order, int ranked, dt_str *out) {
    dt_json j = {.out = out, .compact = true};
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "event", "leaderboard");
    dt_json_string(&j, "metric", s->metric);
    dt_json_string(&j, "mode", s->less ? "min" : "max");
    dt_json_string(&j, "method", s->random ? "random" : "grid");
    dt_json_unsigned(&j, "seed", s->seed);
    dt_json_string(&j, "directory", s->directory);
    if (ranked > 0) dt_json_int(&j, "best", number_of(s, order[0]));
    else dt_json_null(&j, "best");
    dt_json_open(&j, "trials", '[');
    for (int i = 0; i < s->n; i++) put_trial(s, order[i], i < ranked ? i + 1 : 0, &j);
    dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

DT_API dt_status *dt_sweep_text(const dt_sweep *s, bool json, char **text) {
    dt_str out = {0};
    DT_REQUIRE({DT_LIVE(s), "sweep"}, {text, "place for the text"});
    const dt_sweep_entry **order = dt_alloc((size_t)s->n * sizeof *order);
    const int ranked = dt_sweep_rank(s, order);
    (json ? put_json : put_text)(s, order, ranked, &out);
    free((void *)(uintptr_t)order);
    *text = dt_str_take(&out);
    return NULL;
}

/* ---- best.yaml ---- */

/* Returns the relative path from one existing folder to another, such as "../../data". The caller
 * frees it. */
static char *way_between(const char *from, const char *to) {
    char *a = realpath(*from ? from : ".", NULL), *b = realpath(*to ? to : ".", NULL);
    dt_str way = {0};
    size_t same = 0;
    for (size_t i = 0; a && b; i++) {
        const bool ends = (!a[i] || a[i] == '/') && (!b[i] || b[i] == '/');
        same = ends ? i : same;
        if (!a[i] || a[i] != b[i]) break;
    }
    for (size_t i = same; a && b && a[i]; i++)
        if (a[i] == '/' && a[i + 1]) dt_str_puts(&way, way.size ? "/.." : "..");
    if (b && b[same] && b[same + (b[same] == '/')])
        dt_str_printf(&way, "%s%s", way.size ? "/" : "", b + same + (b[same] == '/'));
    free(a);
    free(b);
    return dt_str_take(&way);
}

/* Returns the text of a trial's job. The job is read again, because the leaderboard does not keep
 * the jobs of trials. Relative paths of data files begin at the sweep's folder. */
static dt_status *job_text(const dt_sweep *s, const dt_sweep_entry *t, char **text) {
    dt_job_source source = s->source;
    dt_job *job = NULL;
    source.overrides = t->overrides;
    source.n_overrides = s->n_overrides;
    source.purpose = DT_FOR_TOPOLOGY;
    DT_TRY(dt_job_open(&job, &source));
    DT_LOCAL char *way = way_between(s->directory, job->data_directory);
    if (way && *way) dt_job_prefix_paths(job, way);
    dt_status *bad = dt_job_config_text(job, false, text);
    dt_job_unref(job);
    return bad;
}

static dt_status *write_best(const dt_sweep *s, const dt_sweep_entry *t, char **path) {
    dt_local_str out = {0};
    char *text = NULL;
    DT_TRY(job_text(s, t, &text));
    dt_str_printf(&out, "# Written by dtrain sweep: trial %d is the best of %d, %s ",
                  number_of(s, t), s->n, s->metric);
    dt_str_double(&out, t->score[dt_trial_scored(s, t)]);
    dt_str_printf(&out, ".\n%s", text);
    *path = dt_path_join(s->directory, "best.yaml");
    dt_status *bad = dt_file_commit(*path, out.data, out.size);
    free(text);
    return bad;
}

/* ---- the report ---- */

enum { MOST_RUNS = 20 };

static dt_status *write_report(const dt_sweep *s, const dt_sweep_entry **order, int ranked,
                               char **path) {
    const char *runs[MOST_RUNS];
    int n = 0;
    for (int i = 0; i < ranked && n < MOST_RUNS; i++)
        if (access(order[i]->directory, F_OK) == 0) runs[n++] = order[i]->directory;
    if (n == 0) return NULL;
    DT_LOCAL char *file = dt_path_join(s->directory, "sweep.html");
    return dt_run_report(&(dt_run_report_request){.runs = runs,
                                                  .n_runs = n,
                                                  .output = file,
                                                  .metric = s->metric,
                                                  .better = s->less ? -1 : 1},
                         path);
}

DT_API dt_status *dt_sweep_write(const dt_sweep *s, char **job, char **report) {
    DT_REQUIRE({DT_LIVE(s), "sweep"}, {job, "place for the job's path"},
               {report, "place for the report's path"});
    const dt_sweep_entry **order = dt_alloc((size_t)s->n * sizeof *order);
    const int ranked = s->dry_run ? 0 : dt_sweep_rank(s, order);
    char *best = NULL, *page = NULL;
    dt_status *bad = ranked > 0 ? write_best(s, order[0], &best) : NULL;
    if (!bad && ranked > 0) bad = write_report(s, order, ranked, &page);
    free((void *)(uintptr_t)order);
    if (bad) {
        free(best);
        free(page);
        return bad;
    }
    *job = best;
    *report = page;
    return NULL;
}
