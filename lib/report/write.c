/* SPDX-License-Identifier: Apache-2.0 */
/* `dtrain report` from C: reads the runs, writes the page. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "report/report.h"

enum { PAGE_POINTS = 20000 };

/* How much of their paths all runs share: whole directories, and something of each stays. */
static size_t shared(const dt_report_run *all, int n)
{
    size_t end = 0;
    for (size_t i = 0; all[0].path[i]; i++) {
        for (int k = 1; k < n; k++)
            if (all[k].path[i] != all[0].path[i])
                return end;
        end = all[0].path[i] == '/' && all[0].path[i + 1] ? i + 1 : end;
    }
    return end;
}

/* Runs of one name are told apart by their directories. */
static void tell_apart(dt_report_run *all, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (k != i && strcmp(all[i].label, all[k].label) == 0) {
                const size_t same = shared(all, n);
                for (int m = 0; m < n; m++)
                    all[m].label = all[m].path[same] ? all[m].path + same : all[m].path;
                return;
            }
}

static int points_of(const dt_series_list *l)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->v[i].n < DT_CHART_POINTS ? l->v[i].n : DT_CHART_POINTS;
    return n;
}

/* All curves share what a page has room for. */
static int most_points(const dt_report_run *run, int n)
{
    int64_t all = 0;
    for (int i = 0; i < n; i++)
        all += points_of(&run[i].by_epoch) + points_of(&run[i].by_step);
    return all > PAGE_POINTS ? (int)((int64_t)DT_CHART_POINTS * PAGE_POINTS / all) : DT_CHART_POINTS;
}

static dt_status *read_runs(const dt_run_report_request *q, dt_report_run *run, int *n)
{
    for (; *n < q->n_runs; ++*n)
        DT_TRY(dt_report_run_read(&run[*n], q->runs[*n]));
    return NULL;
}

static dt_status *make(const dt_run_report_request *q, dt_str *out)
{
    dt_report_run *run = dt_alloc((size_t)q->n_runs * sizeof *run);
    int n = 0;
    dt_status *s = read_runs(q, run, &n);
    if (!s) {
        tell_apart(run, n);
        dt_report_page(&(dt_report_pages){n, run, most_points(run, n)}, out);
    }
    for (int i = 0; i < n; i++)
        dt_report_run_release(&run[i]);
    free(run);
    return s;
}

/* A page is a file; who names a folder may mean one in it. */
static dt_status *check_output(const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return NULL;
    char *file = dt_path_join(path, "report.html");
    dt_status *s = dt_fail(DT_E_CANT_CREATE, NULL, "%s: is a directory", path);
    s = dt_note(s, "the page is one file, such as %s", file);
    free(file);
    return s;
}

DT_API dt_status *dt_run_report(const dt_run_report_request *request, char **text)
{
    dt_str out = {0};
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(request, "dt_run_report", "request"));
    DT_TRY(dt_want(text, "dt_run_report", "place for the text"));
    if (request->n_runs < 1 || !request->runs)
        return dt_fail(DT_E_MISUSE, NULL, "dt_run_report got no run");
    DT_TRY(dt_want_texts(request->runs, request->n_runs, "dt_run_report", "run"));
    DT_TRY(check_output(request->output));
    dt_status *s = make(request, &out);
    char *path = request->output ? dt_strdup(request->output) : dt_path_join(request->runs[0], "report.html");
    bool to_text = strcmp(path, "-") == 0;
    if (!s && !to_text)
        s = (request->output ? dt_file_output : dt_file_commit)(path, dt_str_text(&out), out.size);
    if (s || !to_text)
        dt_str_release(&out);
    if (!s)
        *text = to_text ? dt_str_take(&out) : path;
    if (s || to_text)
        free(path);
    return s;
}
