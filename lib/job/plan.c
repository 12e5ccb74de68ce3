/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain plan: a job's programs, with their costs on the job's slice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "job/plan_check.h"

/*
 * ---- a plan as a trace ----
 *
 * Writes one virtual step as a Trace Event file for Perfetto and chrome://tracing. Each device is a
 * process with tracks for kernels, for links and, where the plan uses them, for the network between
 * slices and the bus to the host. All replicas run the same program, so only the first devices of
 * a large slice are written.
 */

enum { MOST_DEVICES = 64, MOST_EVENTS = 400000 };

static void put_name(dt_json *j, int pid, int tid, const char *what, const char *name) {
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "ph", "M");
    dt_json_string(j, "name", what);
    dt_json_int(j, "pid", pid);
    dt_json_int(j, "tid", tid);
    dt_json_open(j, "args", '{');
    dt_json_string(j, "name", name);
    dt_json_close(j, '}');
    dt_json_close(j, '}');
}

static void put_device(dt_json *j, const dt_job_plan *p, int d) {
    dt_local_str name = {0};
    dt_str_printf(&name, "plan (virtual time): replica %d, logical device %d", d / p->logical,
                  d % p->logical);
    put_name(j, d, 0, "process_name", dt_str_text(&name));
    put_name(j, d, 0, "thread_name", "kernels");
    put_name(j, d, 1, "thread_name", "links");
    if (dt_job_plan_slices(p) > 1) put_name(j, d, 2, "thread_name", "network between slices");
    if (p->plan[0]->offloaded > 0) put_name(j, d, 3, "thread_name", "bus to the host");
}

static const char *stage_name(char kind) {
    return kind == 'F' ? "forward" : kind == 'B' ? "backward" : "update";
}

static void put_event(dt_json *j, const dt_graph *g, const dt_plan_event *e, int pid) {
    const dt_node *n = &g->node[e->node];
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "ph", "X");
    dt_json_string(j, "name", e->stage ? stage_name(e->stage) : n->op->name);
    dt_json_string(j, "cat",
                   e->stage                  ? "stage"
                   : e->unit == DT_UNIT_HOST ? "copy"
                   : e->unit                 ? "collective"
                                             : "kernel");
    dt_json_int(j, "pid", pid);
    dt_json_int(j, "tid", e->unit);
    dt_json_double(j, "ts", e->start * 1e6);
    dt_json_double(j, "dur", (e->end - e->start) * 1e6);
    dt_json_open(j, "args", '{');
    dt_json_string(j, "layer", n->path);
    if (e->stage) {
        dt_json_int(j, "micro_batch", e->micro);
    } else if (e->unit) {
        dt_json_double(j, "bytes", e->bytes);
        dt_json_string(j, "schedule", e->schedule);
    } else {
        dt_json_double(j, "bytes", e->work.bytes);
        dt_json_double(j, "flops", e->work.flops);
        dt_json_double(j, "vector", e->work.vector);
    }
    dt_json_close(j, '}');
    dt_json_close(j, '}');
}

static void print_trace(const dt_job_plan *p, dt_str *out) {
    const dt_plan *plan = p->plan[0];
    dt_json j = {.out = out};
    int devices = p->replicas * p->logical,
        most = plan->n_events > 0 ? MOST_EVENTS / plan->n_events + 1 : 1;
    devices = devices > MOST_DEVICES ? MOST_DEVICES : devices;
    devices = devices > most ? most : devices;
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "displayTimeUnit", "ms");
    dt_json_open(&j, "otherData", '{');
    dt_json_string(&j, "job", p->job->name);
    dt_json_int(&j, "devices_of_slice", p->replicas * p->logical);
    dt_json_int(&j, "devices_written", devices);
    dt_json_close(&j, '}');
    dt_json_open(&j, "traceEvents", '[');
    for (int d = 0; d < devices; d++) {
        put_device(&j, p, d);
        for (int i = 0; i < plan->n_events; i++)
            if (!plan->event[i].stage || plan->event[i].device == d % p->logical)
                put_event(&j, p->program[0]->local, &plan->event[i], d);
    }
    dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

/* ---- a plan as JSON ---- */

/* Writes what `dtrain plan --json` prints for a slice. Sizes are in bytes, times in seconds. */

static void put_bytes(dt_json *j, const dt_plan_bytes *b) {
    dt_json_open(j, "logical_device", '{');
    dt_json_int(j, "weights", b->weights);
    dt_json_int(j, "gradients", b->gradients);
    dt_json_int(j, "slots", b->slots);
    dt_json_int(j, "activations", b->activations);
    dt_json_int(j, "padding", b->padding);
    dt_json_int(j, "total", b->total);
    dt_json_int(j, "usable_hbm", b->usable);
    dt_json_string(j, "peak", b->peak ? b->peak : "");
    dt_json_close(j, '}');
}

static void put_parts(dt_json *j, const dt_plan_parts *p) {
    dt_json_open(j, "parts", '{');
    dt_json_double(j, "matrix", p->matrix);
    dt_json_double(j, "memory", p->memory);
    dt_json_double(j, "vector", p->vector);
    dt_json_double(j, "launch", p->launch);
    dt_json_double(j, "links", p->links);
    dt_json_double(j, "dcn", p->dcn);
    dt_json_double(j, "host", p->host);
    dt_json_double(j, "bubble", p->bubble);
    dt_json_close(j, '}');
}

/* Writes the bytes over the busiest link of each axis and direction. */
static void put_links(dt_json *j, const dt_plan *p) {
    dt_json_open(j, "traffic_bytes_per_link", '{');
    for (int axis = 0; axis < 3; axis++)
        for (int up = 1; up >= 0; up--) {
            const char name[] = {"xyz"[axis], up ? '+' : '-', '\0'};
            dt_json_double(j, name, p->link_bytes[axis][up]);
        }
    dt_json_close(j, '}');
}

static void put_layers(dt_json *j, const dt_plan *p) {
    dt_json_open(j, "layers", '[');
    for (int i = 0; i < p->n_layers; i++) {
        const dt_plan_layer *l = &p->layer[i];
        dt_json_open(j, NULL, '{');
        dt_json_string(j, "layer", l->path);
        dt_json_double(j, "times", l->times);
        dt_json_double(j, "seconds", l->seconds);
        dt_json_double(j, "flops", l->flops);
        dt_json_double(j, "variable_bytes", l->variables);
        dt_json_double(j, "activation_bytes", l->values);
        for (int b = 0; b < DT_BOUNDS; b++)
            dt_json_double(j, dt_plan_bound_name((dt_plan_bound)b), l->by[b]);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}

static void put_warning(void *user, const char *text) { dt_json_string(user, NULL, text); }

static void put_warnings(dt_json *j, const dt_job_plan *p) {
    dt_json_open(j, "warnings", '[');
    dt_job_plan_warn(p, put_warning, j);
    dt_json_close(j, ']');
}

static void put_price(dt_json *j, const dt_job_plan *p) {
    const dt_chip_price price = dt_job_plan_price(p);
    const bool known = price.usd_hour > 0;
    dt_json_double(j, "usd_per_1000_steps", known ? dt_job_plan_dollars(p) : NAN);
    dt_json_double(j, "usd_per_chip_hour", known ? price.usd_hour : NAN);
    if (known) dt_json_string(j, "price_source", price.source);
    else dt_json_null(j, "price_source");
}

static void put_plan(dt_json *j, const dt_job_plan *p) {
    const dt_plan *train = p->plan[0];
    dt_json_string(j, "job", p->job->name);
    dt_json_string(j, "slice", dt_topology_name(dt_job_plan_topology(p)));
    dt_json_int(j, "slices", dt_job_plan_slices(p));
    dt_json_int(j, "replicas", p->replicas);
    dt_json_int(j, "logical_devices", p->logical);
    dt_json_string(j, "rematerialize", p->job->model.rematerialize.name);
    dt_json_string(j, "quantization", dt_quantizations[p->job->compile.quantization]);
    dt_json_int(j, "parameters", (int64_t)p->parameters);
    dt_json_int(j, "parameters_per_device", (int64_t)p->parameters_here);
    put_bytes(j, &train->bytes);
    if (p->host_bytes > 0) dt_json_int(j, "host_arena_bytes", p->host_bytes);
    else dt_json_null(j, "host_arena_bytes");
    dt_json_double(j, "step_time_s", train->seconds);
    put_parts(j, &train->parts);
    put_links(j, train);
    dt_json_double(j, "received_bytes", train->received);
    dt_json_double(j, "flops", train->flops);
    dt_json_double(j, "model_flops", train->model_flops);
    dt_json_double(j, "mfu", dt_plan_mfu(train));
    dt_json_double(j, "infeed_s", p->plan[0]->infeed_s);
    dt_json_double(j, "offloaded_bytes", train->offloaded);
    dt_json_double(j, "examples_per_s", dt_job_plan_examples_per_s(p));
    put_price(j, p);
    dt_json_bool(j, "fits", dt_job_plan_fits(p));
    dt_json_open(j, "programs", '[');
    for (int i = 0; i < p->n; i++) {
        dt_json_open(j, NULL, '{');
        dt_json_string(j, "name", p->step[i].name);
        dt_json_int(j, "rows", p->step[i].rows);
        dt_json_int(j, "bytes", p->plan[i]->bytes.total);
        dt_json_double(j, "seconds", p->plan[i]->seconds);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
    dt_run_estimate_json(&p->o.run, &p->run, j);
    dt_job_plan_errors_json(p, j);
    put_layers(j, train);
    dt_job_plan_fitting_json(p, j);
    put_warnings(j, p);
    if (p->check) dt_plan_check_json(p->check, j);
}

static void print_json(const dt_plan_columns *c, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    put_plan(&j, c->p[0]);
    if (c->n > 1) dt_json_open(&j, "what_if", '[');
    for (int i = 1; i < c->n; i++) {
        dt_json_open(&j, NULL, '{');
        dt_json_string(&j, "if", c->label[i]);
        put_plan(&j, c->p[i]);
        dt_json_close(&j, '}');
    }
    if (c->n > 1) dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

/* ---- making a plan ---- */

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
    DT_TRY(dt_trainer_priced(p->session.trainer, &p->step[i], &p->program[i]));
    p->plan[i] =
        dt_plan_create(&(dt_priced_program){.program = p->program[i],
                                            .topology = dt_job_plan_topology(p),
                                            .assignment = p->session.strategy->assignment});
    return NULL;
}

/* Computes the bytes that `fit` would allocate on this machine, if the caller wants them. Does
 * nothing for mixed precision or several slices. */
static dt_status *ask_host(dt_job_plan *p) {
    const dt_job *j = p->job;
    if (!p->o.host || j->compile.precision != DT_POLICY_FLOAT32 || j->strategy.slices > 1)
        return NULL;
    dt_strategy_set_engine(p->session.strategy, p->o.threads, dt_job_kernels(j, p->o.kernels));
    return dt_trainer_host_bytes(p->session.trainer, j->how.shards, &p->host_bytes);
}

static dt_status *fill(dt_job_plan *p) {
    DT_TRY(check_slice(p->job));
    DT_TRY(dt_session_outline(p->job, 0, &p->session));
    p->replicas = p->session.strategy->replicas;
    p->logical = p->session.strategy->logical;
    p->n = dt_trainer_outlined(p->session.trainer, p->step);
    if (p->o.rows > 0) {
        p->step[0].rows = p->o.rows;
        p->n = 1;
    }
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

/* ---- for other files ---- */

bool dt_job_plan_fits(const dt_job_plan *p) {
    for (int i = 0; i < p->n; i++)
        if (p->plan[i]->bytes.total > p->plan[i]->bytes.usable ||
            (p->o.budget > 0 && p->plan[i]->bytes.total > p->o.budget))
            return false;
    return true;
}

double dt_job_plan_bytes(const dt_job_plan *p) {
    double most = 0;
    for (int i = 0; i < p->n; i++) most = fmax(most, (double)p->plan[i]->bytes.total);
    return most;
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

/* ---- dt_plan_text ---- */

static dt_plan_options options_of(const dt_plan_request *q) {
    return (dt_plan_options){.budget = q->budget,
                             .host = q->form == DT_PLAN_TEXT || q->form == DT_PLAN_JSON,
                             .threads = q->threads,
                             .kernels = q->kernels,
                             .prices = q->prices,
                             .n_prices = q->n_prices,
                             .run = q->run,
                             .source = q->source};
}

static void print(const dt_plan_request *q, const dt_plan_columns *c, dt_str *out) {
    switch (q->form) {
    case DT_PLAN_TEXT:
        dt_job_plans_print(c, out);
        if (c->p[0]->check) dt_plan_check_print(c->p[0]->check, out);
        break;
    case DT_PLAN_JSON: print_json(c, out); break;
    case DT_PLAN_SVG: dt_job_plan_svg(c->p[0], out); break;
    case DT_PLAN_TRACE: print_trace(c->p[0], out); break;
    }
}

static dt_status *hand_over(const dt_plan_request *q, dt_str *out, char **text) {
    dt_status *s = q->file ? dt_file_output(q->file, dt_str_text(out), out->size) : NULL;
    if (q->file) dt_str_clear(out);
    if (!s) *text = dt_str_take(out);
    dt_str_release(out);
    return s;
}

typedef struct made {
    dt_job_plan **p;
    const char **label;
    int n;
    dt_status *bad; /* the errors of the jobs that could not be planned; NULL: there are none */
} made;

/* Plans all jobs, one for each column of the output. A job that cannot be planned has no column,
 * and its error is in `bad`. If it is the first one, the others are not planned. */
static made plan_all(const dt_plan_request *q, const dt_plan_options *o) {
    made m = {.p = dt_alloc(dt_size_mul((size_t)q->n_jobs, sizeof *m.p)),
              .label = dt_alloc(dt_size_mul((size_t)q->n_jobs, sizeof *m.label))};
    for (int i = 0; i < q->n_jobs && (i == 0 || m.n > 0); i++) {
        dt_plan_options of = *o;
        if (i > 0) of.source = NULL; /* the source belongs to the first job */
        dt_status *s = dt_job_plan_create(&m.p[m.n], q->jobs[i], &of);
        if (s) dt_status_append(&m.bad, i ? dt_note(s, "in the column %s", q->labels[i]) : s);
        else m.label[m.n++] = q->labels[i];
    }
    return m;
}

DT_API dt_status *dt_plan_text(const dt_plan_request *request, char **text, bool *fits) {
    dt_local_str out = {0};
    dt_status *s = NULL;
    DT_REQUIRE({request, "request"});
    DT_TRY(dt_want(request->jobs, "dt_plan_text", "jobs"));
    DT_TRY(dt_want(request->labels, "dt_plan_text", "labels"));
    DT_TRY(dt_want(text, "dt_plan_text", "place for the text"));
    DT_TRY(dt_want(request->n_jobs > 0 ? request : NULL, "dt_plan_text", "job"));
    DT_TRY(dt_want_texts(request->labels, request->n_jobs, "dt_plan_text", "label"));
    DT_TRY(dt_want_texts(request->prices, request->n_prices, "dt_plan_text", "price"));
    DT_TRY(dt_prices_check(request->prices, request->n_prices));
    for (int i = 0; i < request->n_jobs; i++) {
        DT_TRY(dt_want(request->jobs[i], "dt_plan_text", "job"));
        DT_TRY(dt_want_live(request->jobs[i], "dt_plan_text", "job"));
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
        return s;
    }
    made m = plan_all(request, &options);
    if (m.n > 0 && request->compiler)
        s = dt_plan_check_create(&m.p[0]->check, m.p[0], request->compiler);
    if (m.n > 0 && !s) {
        const dt_plan_columns c = {(const dt_job_plan *const *)m.p, m.label, m.n, request->verbose};
        print(request, &c, &out);
        if (fits) *fits = dt_job_plan_fits(m.p[0]);
        if (request->run.met)
            *request->run.met = dt_run_meets_deadline(&request->run, &m.p[0]->run) &&
                                dt_run_meets_budget(&request->run, &m.p[0]->run);
        s = hand_over(request, &out, text);
    }
    for (int i = 0; i < m.n; i++) dt_job_plan_destroy(m.p[i]);
    free(m.p);
    free(m.label);
    dt_status_append(&s, m.bad);
    return s;
}
