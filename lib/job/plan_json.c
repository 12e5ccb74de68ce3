/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for programs: dtrain plan --json. Bytes and seconds. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cost/expected_error.h"
#include "job/plan_check.h"

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
    dt_json_double(j, "bubble", p->bubble);
    dt_json_close(j, '}');
}

/* Bytes over the busiest link of each direction. */
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
        for (int b = 0; b < DT_BOUNDS; b++)
            dt_json_double(j, dt_plan_bound_name((dt_plan_bound)b), l->by[b]);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}

/* Of published rows on the chips of the plan; null: none was compared. */
static void put_error(dt_json *j, const char *key, const char *kind, const dt_chip *chip) {
    const dt_expected_error *e = dt_expected_error_of(kind, chip->generation);
    if (!e) {
        dt_json_null(j, key);
        return;
    }
    dt_json_open(j, key, '{');
    dt_json_string(j, "kind", kind);
    dt_json_int(j, "rows", e->rows);
    dt_json_double(j, "median", e->median);
    dt_json_double(j, "worst", e->worst);
    dt_json_bool(j, "calibrated_on_them",
                 chip->kernel.calibrated && strcmp(chip->kernel.calibrated, kind) == 0);
    dt_json_close(j, '}');
}

static void put_errors(dt_json *j, const dt_job_plan *p) {
    const dt_chip *chip = p->plan[0]->chip;
    dt_json_open(j, "expected_error", '{');
    put_error(j, "train-step", dt_family_of(p->program[0]->whole), chip);
    put_error(j, "compiler-estimate", "compiler-estimate", chip);
    dt_json_close(j, '}');
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
    put_errors(j, p);
    put_layers(j, train);
    put_warnings(j, p);
    if (p->check) dt_plan_check_json(p->check, j);
}

void dt_job_plans_json(const dt_plan_columns *c, dt_str *out) {
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
