/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One virtual step as a Trace Event file, which Perfetto and chrome://tracing read: a process for
 * each device, with a track for kernels and one for collectives. All devices do the same, each on
 * its own part; of large slices the first ones are written.
 */
#include "base/json.h"
#include "job/plan.h"

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
    dt_str name = {0};
    dt_str_printf(&name, "plan (virtual time): replica %d, logical device %d", d / p->logical,
                  d % p->logical);
    put_name(j, d, 0, "process_name", dt_str_text(&name));
    put_name(j, d, 0, "thread_name", "kernels");
    put_name(j, d, 1, "thread_name", "links");
    if (dt_job_plan_slices(p) > 1) put_name(j, d, 2, "thread_name", "network between slices");
    dt_str_release(&name);
}

static const char *stage_name(char kind) {
    return kind == 'F' ? "forward" : kind == 'B' ? "backward" : "update";
}

static void put_event(dt_json *j, const dt_graph *g, const dt_plan_event *e, int pid) {
    const dt_node *n = &g->node[e->node];
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "ph", "X");
    dt_json_string(j, "name", e->stage ? stage_name(e->stage) : n->op->name);
    dt_json_string(j, "cat", e->stage ? "stage" : e->unit ? "collective" : "kernel");
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

void dt_job_plan_trace(const dt_job_plan *p, dt_str *out) {
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
