/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole run: days and dollars for so many examples or tokens.
 *
 * A run trains, evaluates as `fit` sets it, writes checkpoints, and loses work when a chip fails.
 * The time between checkpoints is Young's, sqrt(2 C M), where C is the time that a checkpoint takes
 * and M the mean time between failures of all chips together (Young, CACM 17(9), 1974), but at
 * least C. A failure costs half of that time and the restart (Daly, FGCS 22(3), 2006, to first
 * order):
 *
 *     seconds = (training + evaluation) (1 + C / interval) / (1 - (interval / 2 + restart) / M)
 */
#include <math.h>
#include <string.h>

#include "job/plan.h"

/* 419 unexpected interruptions in 54 days of 16,384 H100s ("The Llama 3 Herd of Models", 2024,
 * table 5) are one in 50,677 hours of a chip. For TPUs no such number is published. */
#define CHIP_MTBF_S (54.0 * 86400 * 16384 / 419)
/* Assumptions: all hosts write a checkpoint at the same time, each at this rate in bytes per
 * second; a restart takes this many seconds, because a spare slice is ready. */
#define HOST_WRITE_BPS 1e9
#define RESTART_S 600.0

static double tokens_of_an_example(const dt_job_plan *p) {
    const dt_model_spec *m = &p->session.model->spec;
    for (int i = 0; i < m->n_inputs; i++) {
        const dt_type *t = &m->input[i].type;
        if ((t->dtype == DT_INT32 || t->dtype == DT_INT64) && t->rank == 2)
            return (double)t->dim[1];
    }
    return 0;
}

double dt_job_plan_state_bytes(const dt_job_plan *p) {
    const dt_graph *g = p->program[0]->whole;
    double bytes = 0;
    for (int i = 0; i < g->n_states; i++)
        bytes += (double)dt_type_bytes(&g->state[i].variable->type);
    return bytes;
}

/* Returns the seconds of evaluation for each training example. */
static double evaluation_share(const dt_job_plan *p) {
    double epoch = 0, seconds = 0;
    for (int i = 0; i < p->n; i++) {
        const double steps = (double)p->step[i].steps;
        if (strcmp(p->step[i].name, "train") == 0) epoch += steps * (double)p->step[i].rows;
        else seconds += steps * p->plan[i]->seconds;
    }
    const dt_fit_spec *fit = &p->job->fit;
    const double often = fit->validation_freq > 0 ? (double)fit->validation_freq : 1,
                 between = fit->steps > 0 ? often * (double)p->step[0].rows : often * epoch;
    return between > 0 ? seconds / between : 0;
}

static double seconds_of_a_step(const dt_job_plan *p) {
    return fmax(p->plan[0]->seconds, p->plan[0]->infeed_s);
}

static void add_failures(const dt_job_plan *p, dt_run_estimate *e) {
    const dt_topology *t = dt_job_plan_topology(p);
    const int slices = dt_job_plan_slices(p);
    const double chips = (double)dt_slice_chips(t->slice) * slices,
                 hosts = (double)t->tasks * slices,
                 mtbf = (p->o.run.mtbf_s > 0 ? p->o.run.mtbf_s : CHIP_MTBF_S) / chips,
                 work = e->training_s + e->evaluation_s;
    e->checkpoint_s = dt_job_plan_state_bytes(p) / hosts / HOST_WRITE_BPS;
    e->interval_s = fmax(sqrt(2 * e->checkpoint_s * mtbf), e->checkpoint_s);
    e->checkpoints_s = work * e->checkpoint_s / e->interval_s;
    const double proceeds = 1 - (e->interval_s / 2 + RESTART_S) / mtbf;
    e->seconds = proceeds > 0 ? (work + e->checkpoints_s) / proceeds : INFINITY;
    e->failures = e->seconds / mtbf;
    e->lost_s = e->seconds - work - e->checkpoints_s;
}

dt_status *dt_job_plan_run(const dt_job_plan *p, dt_run_estimate *out) {
    const dt_plan_run *r = &p->o.run;
    const double tokens = tokens_of_an_example(p);
    if (r->tokens > 0 && tokens == 0)
        return dt_suggest(dt_fail(DT_E_USAGE, NULL,
                                  "--tokens: examples of this job have no tokens: no input is a "
                                  "sequence of integers"),
                          "--examples N plans a run of N examples");
    const double examples = r->tokens > 0 ? r->tokens / tokens : r->examples;
    *out = (dt_run_estimate){.examples = examples,
                             .tokens = examples * tokens,
                             .steps = ceil(examples / (double)p->step[0].rows)};
    out->training_s = out->steps * seconds_of_a_step(p);
    out->evaluation_s = examples * evaluation_share(p);
    add_failures(p, out);
    out->usd = dt_job_plan_usd(p, out->seconds);
    return NULL;
}

bool dt_run_meets_deadline(const dt_plan_run *r, const dt_run_estimate *e) {
    return r->deadline_s <= 0 || e->seconds <= r->deadline_s;
}

bool dt_run_meets_budget(const dt_plan_run *r, const dt_run_estimate *e) {
    return r->usd <= 0 || (e->usd > 0 && e->usd <= r->usd);
}

/* ---- printing ---- */

enum { LABEL = 26 };

static void label(dt_str *out, const char *text) {
    const size_t from = out->size;
    dt_str_puts(out, text);
    dt_str_pad(out, from, LABEL);
}

void dt_put_time(dt_str *out, double seconds) {
    static const struct {
        double seconds;
        const char *unit;
    } units[] = {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && seconds < 2 * units[i].seconds) i++;
    dt_str_printf(out, "%.3g %s", seconds / units[i].seconds, units[i].unit);
}

void dt_put_dollars(dt_str *out, double usd) {
    if (usd < 0.005) {
        dt_str_puts(out, "< $ 0.01");
    } else if (usd < 9.995) {
        dt_str_printf(out, "$ %.2f", usd);
    } else {
        dt_str_puts(out, "$ ");
        dt_str_grouped(out, (int64_t)(usd + 0.5));
    }
}

static void put_part(dt_str *out, const char *name, double seconds, const dt_run_estimate *e) {
    label(out, name);
    dt_put_time(out, seconds);
    dt_str_printf(out, ", %.1f %%", 100 * seconds / e->seconds);
}

/* Writes whether a limit is met. times: the time or price of the run as a multiple of the limit; 0
 * or INFINITY: unknown. */
static void put_limit(dt_str *out, const char *name, bool met, double times) {
    label(out, name);
    dt_str_puts(out, met ? "met" : "MISSED");
    if (times > 0 && isfinite(times)) dt_str_printf(out, ", the run takes %.3g times that", times);
    dt_str_putc(out, '\n');
}

static void put_parts(const dt_run_estimate *e, dt_str *out) {
    put_part(out, "  training", e->training_s, e);
    dt_str_putc(out, '\n');
    if (e->evaluation_s > 0) {
        put_part(out, "  evaluation", e->evaluation_s, e);
        dt_str_putc(out, '\n');
    }
    put_part(out, "  checkpoints", e->checkpoints_s, e);
    dt_str_puts(out, ": one takes ");
    dt_put_time(out, e->checkpoint_s);
    dt_str_puts(out, ", every ");
    dt_put_time(out, e->interval_s);
    dt_str_putc(out, '\n');
    put_part(out, "  failures", e->lost_s, e);
    dt_str_printf(out, ": %.3g failures, one in ", e->failures);
    dt_put_time(out, e->seconds / e->failures);
    dt_str_putc(out, '\n');
}

static void put_total(const dt_run_estimate *e, dt_str *out) {
    label(out, "  takes");
    if (!isfinite(e->seconds)) {
        dt_str_puts(out, "forever: chips fail faster than a restart takes\n");
        return;
    }
    dt_put_time(out, e->seconds);
    dt_str_puts(out, e->usd > 0 ? ", " : "; no price known");
    if (e->usd > 0) dt_put_dollars(out, e->usd);
    dt_str_putc(out, '\n');
}

void dt_run_estimate_print(const dt_plan_run *r, const dt_run_estimate *e, dt_str *out) {
    if (e->steps == 0) return;
    label(out, "a whole run");
    dt_str_grouped(out, (int64_t)(r->tokens > 0 ? e->tokens : e->examples));
    dt_str_puts(out, r->tokens > 0 ? " tokens, " : " examples, ");
    dt_str_grouped(out, (int64_t)e->steps);
    dt_str_puts(out, " steps\n");
    if (isfinite(e->seconds)) put_parts(e, out);
    put_total(e, out);
    if (r->deadline_s > 0)
        put_limit(out, "  deadline", dt_run_meets_deadline(r, e), e->seconds / r->deadline_s);
    if (r->usd > 0) put_limit(out, "  budget", dt_run_meets_budget(r, e), e->usd / r->usd);
    if (r->mtbf_s > 0) return;
    label(out, "  assumed");
    dt_str_puts(out, "one failure in 50,677 hours of a chip, as H100s of Llama 3 had;\n");
    label(out, "");
    dt_str_puts(out, "restart 10 min, checkpoints at 1 GB/s a host\n");
}

void dt_run_estimate_json(const dt_plan_run *r, const dt_run_estimate *e, dt_json *j) {
    if (e->steps == 0) return;
    dt_json_open(j, "run", '{');
    const struct {
        const char *key;
        double value;
    } rows[] = {
        {"examples", e->examples},
        {"tokens", e->tokens > 0 ? e->tokens : NAN},
        {"steps", e->steps},
        {"training_s", e->training_s},
        {"evaluation_s", e->evaluation_s},
        {"checkpoint_interval_s", e->interval_s},
        {"checkpoint_s", e->checkpoint_s},
        {"checkpoints_s", e->checkpoints_s},
        {"failures", e->failures},
        {"lost_s", e->lost_s},
        {"goodput", e->training_s / e->seconds},
        {"seconds", e->seconds},
        {"usd", e->usd > 0 ? e->usd : NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        dt_json_double(j, rows[i].key, rows[i].value);
    if (r->deadline_s > 0) dt_json_bool(j, "meets_deadline", dt_run_meets_deadline(r, e));
    if (r->usd > 0) dt_json_bool(j, "meets_budget", dt_run_meets_budget(r, e));
    dt_json_close(j, '}');
}
