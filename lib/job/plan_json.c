/* A plan for programs: dtrain plan --json. Bytes and seconds. */
#include "base/json.h"
#include "job/plan_check.h"

static void put_bytes(dt_json *j, const dt_plan_bytes *b)
{
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

static void put_parts(dt_json *j, const dt_plan_parts *p)
{
    dt_json_open(j, "parts", '{');
    dt_json_double(j, "matrix", p->matrix);
    dt_json_double(j, "memory", p->memory);
    dt_json_double(j, "vector", p->vector);
    dt_json_double(j, "launch", p->launch);
    dt_json_double(j, "links", p->links);
    dt_json_double(j, "dcn", p->dcn);
    dt_json_close(j, '}');
}

static void put_programs(dt_json *j, const dt_job_plan *p)
{
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
}

void dt_job_plan_json(const dt_job_plan *p, dt_str *out)
{
    dt_json j = { .out = out };
    const dt_plan *train = p->plan[0];
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "job", p->job->name);
    dt_json_string(&j, "slice", dt_topology_name(p->job->strategy.resolver->topology));
    dt_json_int(&j, "replicas", p->replicas);
    dt_json_int(&j, "logical_devices", p->logical);
    dt_json_double(&j, "parameters", p->parameters);
    put_bytes(&j, &train->bytes);
    dt_json_double(&j, "step_time_s", train->seconds);
    put_parts(&j, &train->parts);
    dt_json_double(&j, "received_bytes", train->received);
    dt_json_double(&j, "mfu", dt_plan_mfu(train));
    dt_json_bool(&j, "fits", dt_job_plan_fits(p));
    put_programs(&j, p);
    if (p->check)
        dt_plan_check_json(p->check, &j);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}
