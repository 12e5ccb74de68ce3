/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain plan: a job's programs, each priced on the job's slice. */
#include "job/plan_check.h"
#include "job/plan_host.h"

#include <stdlib.h>

#include "base/file.h"

static dt_status *check_slice(const dt_job *j) {
    if (dt_strategy_spec_topology(&j->strategy)) return NULL;
    return dt_suggest(
        dt_fail(DT_E_NO_SLICE, &j->strategy.at,
                "strategy %s has no slice to be planned for; only tpu has: --tpu names one",
                j->strategy.row->kind.name),
        "strategy: {type: multi_worker_mirrored, cluster: ...} describes other machines");
}

const dt_topology *dt_job_plan_topology(const dt_job_plan *p) {
    return dt_strategy_spec_topology(&p->job->strategy);
}

static dt_status *price(dt_job_plan *p, int i) {
    int64_t slices = dt_job_plan_slices(p);
    const dt_outlined of_a_slice = {p->step[i].name, (p->step[i].rows + slices - 1) / slices,
                                    p->step[i].steps};
    dt_arena *arena = dt_arena_create();
    dt_priced_program priced = {.topology = dt_job_plan_topology(p),
                                .assignment = p->session.strategy->assignment,
                                .slices = (int)slices};
    dt_status *s = dt_trainer_priced(p->session.trainer, &of_a_slice, &p->program[i]);
    priced.program = p->program[i];
    if (!s && p->job->compile.precision != DT_POLICY_FLOAT32)
        priced.dtype = dt_mixed_dtypes(priced.program, DT_FLOAT16, arena);
    if (!s) p->plan[i] = dt_plan_create(&priced);
    dt_arena_destroy(arena);
    return s;
}

/* ---- what only the whole job tells ---- */

/* What can be planned alone is not run here. */
static dt_status *ask_host(dt_job_plan *p) {
    const dt_job *j = p->job;
    if (!p->o.host || j->compile.precision != DT_POLICY_FLOAT32 || j->strategy.slices > 1)
        return NULL;
    dt_strategy_set_engine(p->session.strategy, p->o.threads,
                           j->strict ? DT_KERNELS_OWN : p->o.kernels);
    return dt_trainer_host_bytes(p->session.trainer, j->how.shards, &p->host_bytes);
}

static dt_status *fill(dt_job_plan *p) {
    DT_TRY(check_slice(p->job));
    DT_TRY(dt_session_outline(p->job, 0, &p->session));
    p->replicas = p->session.strategy->replicas;
    p->logical = p->session.strategy->logical;
    p->n = dt_trainer_outlined(p->session.trainer, p->step);
    for (int i = 0; i < p->n; i++) DT_TRY(price(p, i));
    const dt_variables *v = &p->session.model->trainable;
    const dt_spmd *s = p->program[0];
    for (int i = 0; i < v->n; i++) p->parameters += (double)dt_type_elements(&v->v[i]->type);
    for (int i = 0; i < s->local->n_states; i++) {
        const dt_variable *held = s->local->state[i].variable;
        if (held->trainable && !held->slot)
            p->parameters_here += (double)dt_type_elements(&held->type);
    }
    if (p->o.run.examples > 0 || p->o.run.tokens > 0) DT_TRY(dt_job_plan_run(p, &p->run));
    return ask_host(p);
}

dt_status *dt_job_plan_create(dt_job_plan **out, dt_job *j, const dt_plan_options *o) {
    dt_job_plan *p = dt_alloc(sizeof *p);
    p->job = j;
    p->o = o ? *o : (dt_plan_options){0};
    dt_status *s = fill(p);
    if (s) {
        dt_job_plan_destroy(p);
        return s;
    }
    *out = p;
    return NULL;
}

void dt_job_plan_destroy(dt_job_plan *p) {
    if (!p) return;
    for (int i = 0; i < p->n; i++) dt_plan_destroy(p->plan[i]);
    dt_plan_check_destroy(p->check);
    dt_session_close(&p->session);
    free(p);
}

/* ---- answers ---- */

bool dt_job_plan_fits(const dt_job_plan *p) {
    for (int i = 0; i < p->n; i++)
        if (p->plan[i]->bytes.total > p->plan[i]->bytes.usable ||
            (p->o.budget > 0 && p->plan[i]->bytes.total > p->o.budget))
            return false;
    return true;
}

double dt_job_plan_examples_per_s(const dt_job_plan *p) {
    double seconds = p->plan[0]->seconds, infeed = p->plan[0]->infeed_s;
    return (double)p->step[0].rows / (infeed > seconds ? infeed : seconds);
}

int dt_job_plan_slices(const dt_job_plan *p) {
    return p->job->strategy.slices > 1 ? (int)p->job->strategy.slices : 1;
}

void dt_put_seconds(dt_str *s, double seconds) {
    if (seconds == 0) dt_str_puts(s, "0");
    else if (seconds >= 1) dt_str_printf(s, "%.3g s", seconds);
    else if (seconds >= 1e-3) dt_str_printf(s, "%.3g ms", seconds * 1e3);
    else dt_str_printf(s, "%.3g us", seconds * 1e6);
}

/* ---- the public face ---- */

static dt_plan_options options_of(const dt_plan_request *q) {
    return (dt_plan_options){.budget = q->budget,
                             .host = q->form == DT_PLAN_TEXT || q->form == DT_PLAN_JSON,
                             .threads = q->threads,
                             .kernels = q->kernels,
                             .prices = q->prices,
                             .n_prices = q->n_prices,
                             .run = q->run};
}

static void print(const dt_plan_request *q, const dt_plan_columns *c, dt_str *out) {
    switch (q->form) {
    case DT_PLAN_TEXT:
        dt_job_plans_print(c, out);
        if (c->p[0]->check) dt_plan_check_print(c->p[0]->check, out);
        break;
    case DT_PLAN_JSON: dt_job_plans_json(c, out); break;
    case DT_PLAN_SVG: dt_job_plan_svg(c->p[0], out); break;
    case DT_PLAN_TRACE: dt_job_plan_trace(c->p[0], out); break;
    }
}

static dt_status *hand_over(const dt_plan_request *q, dt_str *out, char **text) {
    dt_status *s = q->file ? dt_file_output(q->file, dt_str_text(out), out->size) : NULL;
    if (q->file) dt_str_clear(out);
    if (!s) *text = dt_str_take(out);
    dt_str_release(out);
    return s;
}

DT_API dt_status *dt_plan_text(const dt_plan_request *request, char **text, bool *fits) {
    dt_str out = {0};
    dt_status *s = NULL;
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(request, "dt_plan_text", "request"));
    DT_TRY(dt_want(request->jobs, "dt_plan_text", "jobs"));
    DT_TRY(dt_want(request->labels, "dt_plan_text", "labels"));
    DT_TRY(dt_want(text, "dt_plan_text", "place for the text"));
    DT_TRY(dt_want(request->n_jobs > 0 ? request : NULL, "dt_plan_text", "job"));
    DT_TRY(dt_want_texts(request->labels, request->n_jobs, "dt_plan_text", "label"));
    DT_TRY(dt_want_texts(request->prices, request->n_prices, "dt_plan_text", "price"));
    DT_TRY(dt_prices_check(request->prices, request->n_prices));
    for (int i = 0; i < request->n_jobs; i++) {
        DT_TRY(dt_want(request->jobs[i], "dt_plan_text", "job"));
    }
    const dt_plan_options options = options_of(request);
    const bool of_gpu = request->compiler && request->target;
    if (of_gpu || dt_plan_is_of_host(request)) {
        if (request->run.examples > 0 || request->run.tokens > 0)
            return dt_suggest(
                dt_fail(DT_E_USAGE, NULL,
                        "a whole run is planned on a slice or a cluster, and this job "
                        "has neither"),
                "--tpu names a slice");
        s = of_gpu ? dt_plan_of_gpu(request, &out, fits)
                   : dt_plan_of_host(request, &options, &out, fits);
        if (!s) return hand_over(request, &out, text);
        dt_str_release(&out);
        return s;
    }
    dt_job_plan **p = dt_alloc(dt_size_mul((size_t)request->n_jobs, sizeof *p));
    for (int i = 0; !s && i < request->n_jobs; i++)
        s = dt_job_plan_create(&p[i], request->jobs[i], &options);
    if (!s && request->compiler) s = dt_plan_check_create(&p[0]->check, p[0], request->compiler);
    if (!s) {
        const dt_plan_columns c = {(const dt_job_plan *const *)p, request->labels, request->n_jobs,
                                   request->verbose};
        print(request, &c, &out);
        if (fits) *fits = dt_job_plan_fits(p[0]);
        if (request->run.met)
            *request->run.met = dt_run_meets_deadline(&request->run, &p[0]->run) &&
                                dt_run_meets_budget(&request->run, &p[0]->run);
        s = hand_over(request, &out, text);
    }
    for (int i = 0; i < request->n_jobs; i++) dt_job_plan_destroy(p[i]);
    free(p);
    return s;
}
