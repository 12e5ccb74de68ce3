/* `dtrain report` from C: reads the runs, writes the page. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/report.h"

/* Runs of one name are told apart by their directories. */
static void tell_apart(dt_report_run *all, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (k != i && strcmp(all[i].label, all[k].label) == 0) {
                for (int m = 0; m < n; m++)
                    all[m].label = all[m].path;
                return;
            }
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
        dt_report_page(&(dt_report_pages){n, run}, out);
    }
    for (int i = 0; i < n; i++)
        dt_report_run_release(&run[i]);
    free(run);
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
    dt_status *s = make(request, &out);
    char *path = request->output ? dt_strdup(request->output) : dt_path_join(request->runs[0], "report.html");
    bool to_text = strcmp(path, "-") == 0;
    if (!s && !to_text)
        s = dt_file_commit(path, dt_str_text(&out), out.size);
    if (s || !to_text)
        dt_str_release(&out);
    if (!s)
        *text = to_text ? dt_str_take(&out) : path;
    if (s || to_text)
        free(path);
    return s;
}
