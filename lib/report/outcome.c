/* SPDX-License-Identifier: Apache-2.0 */
/* How a run ended: the last attempt says, and where nothing was recorded its newest checkpoint. */
#include <string.h>

#include "report/html.h"
#include "report/run.h"

enum { DIVERGED = 79, STOPPED = 75 };

static bool is_finished(const dt_report_run *r)
{
    for (int i = r->checkpoints.n - 1; i >= 0; i--)
        if (!r->checkpoints.item[i].damage)
            return r->checkpoints.item[i].state.finished;
    return false;
}

dt_outcome dt_report_outcome(const dt_report_run *r)
{
    const dt_attempt *a = r->n_attempts > 0 ? &r->attempt[r->n_attempts - 1] : NULL;
    if (r->running)
        return (dt_outcome){"running", "fair"};
    if (!a)
        return is_finished(r) ? (dt_outcome){"completed", "good"} : (dt_outcome){"not recorded", "plain"};
    if (!a->ended)
        return (dt_outcome){"interrupted", "bad"};
    if (a->exit == DIVERGED)
        return (dt_outcome){"diverged", "bad"};
    if (a->exit == STOPPED)
        return (dt_outcome){"stopped", "fair"};
    if (a->exit != 0)
        return (dt_outcome){"failed", "bad"};
    return a->stopped_early ? (dt_outcome){"stopped early", "good"} : (dt_outcome){"completed", "good"};
}

int dt_report_resumed(const dt_report_run *r)
{
    int n = 0;
    for (int i = 0; i < r->n_attempts; i++)
        n += r->attempt[i].resumed && r->attempt[i].to > r->attempt[i].from;
    return n;
}

static void put_steps(const char *before, int64_t n, dt_str *out)
{
    dt_str_puts(out, before);
    dt_str_grouped(out, n);
}

/* What is not yet written is not known: the record lags behind by a second or two, and by the steps that make one line of it. */
static void explain_running(const dt_report_run *r, const dt_attempt *a, dt_str *out)
{
    int64_t steps = r->start ? dt_report_int(r->start, "steps") : 0;
    dt_str_puts(out, "still training");
    if (r->as_of_s > 0) {
        dt_str_puts(out, " as of ");
        dt_html_moment(out, r->as_of_s);
    }
    if (a && steps > 0)
        put_steps(": step ", a->to, out);
    if (a && steps > 0)
        put_steps(" of ", steps, out);
}

static void explain_killed(const dt_attempt *a, dt_str *out)
{
    put_steps("killed, or the machine stopped, after step ", a->to, out);
    dt_str_puts(out, "; run the same command again to resume from the newest checkpoint");
}

void dt_report_explain(const dt_report_run *r, dt_str *out)
{
    const dt_attempt *a = r->n_attempts > 0 ? &r->attempt[r->n_attempts - 1] : NULL;
    int resumed = dt_report_resumed(r);
    if (a && a->error && !r->running)
        dt_str_puts(out, a->error);
    else if (r->running)
        explain_running(r, a, out);
    else if (a && !a->ended)
        explain_killed(a, out);
    else if (a && a->stopped_early)
        put_steps("stopped by a callback after step ", a->to, out);
    if (resumed > 0)
        dt_str_printf(out, "%sresumed %d time%s", out->size ? "; " : "", resumed, resumed == 1 ? "" : "s");
}
