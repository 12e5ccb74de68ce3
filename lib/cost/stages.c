/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates programs whose ops are placed on devices. Each device does different work, so that the
 * devices form a pipeline (pass/spmd/stages.c), and the time of a step is that of the pipeline's
 * timeline. Forward and backward work is done for each micro-batch, and updates are done once. The
 * figures of parts and layers are means over all devices. Time in which a device waits for others
 * or for transfers counts as bubble.
 */
#include "cost/cost_impl.h"

typedef struct prices {
    const dt_priced_program *r;
    const dt_launches *k;
    dt_links *links;
} prices;

bool dt_plan_has_places(const dt_spmd *s) {
    for (int i = 0; i < s->local->n_nodes; i++)
        if (s->layout[i].on) return true;
    return false;
}

/* Returns the time of a node: the time of its kernel if the kernel is named after it, else 0. */
static double price_node(const void *user, const dt_spmd *s, int i) {
    const prices *x = user;
    (void)s;
    const dt_kernel_launch *k = x->k->of[i] >= 0 ? &x->k->kernel[x->k->of[i]] : NULL;
    return k && k->head == i ? k->price.seconds * k->times : 0;
}

static double price_link(const void *user, const dt_spmd *s, int i) {
    const prices *x = user;
    dt_type in = dt_priced_type(x->r, s->local->node[i].in[0]);
    return dt_spmd_received(s, i) > 0 && x->k->of[i] < 0
               ? dt_links_price(x->links, i, (double)dt_type_bytes(&in)).seconds
               : 0;
}

static dt_pipeline pipeline_of(const prices *x, dt_arena *arena) {
    return dt_spmd_stages(x->r->program,
                          &(dt_stage_prices){.node = price_node, .link = price_link, .user = x},
                          arena);
}

/* Returns the number of runs of a node's task in a step: 1 for updates, else the number of
 * micro-batches. Nodes without inputs, such as constants and counters, have no task; for them it is
 * 0. */
static int runs_of(const dt_pipeline *line, int node) {
    int task = line->of[node];
    return task < 0 ? 0 : line->task[task].kind == 'U' ? 1 : line->micro;
}

static void share_kernels(const dt_pipeline *line, dt_launches *k) {
    for (int i = 0; i < k->n; i++)
        k->kernel[i].share = (double)runs_of(line, k->kernel[i].head) / line->devices;
}

/* Adds the collectives, within stages and between them, to the plan: `received`, the mean over
 * devices of the bytes that they receive; the seconds of links; and the bytes on them. */
static void count_links(const prices *x, const dt_pipeline *line, dt_plan *p) {
    const dt_spmd *s = x->r->program;
    for (int i = 0; i < s->local->n_nodes; i++) {
        if (s->bucket[i] < 0 || x->k->of[i] >= 0 || dt_spmd_received(s, i) <= 0) continue;
        dt_type in = dt_priced_type(x->r, s->local->node[i].in[0]);
        dt_link_price price = dt_links_price(x->links, i, (double)dt_type_bytes(&in));
        int runs = runs_of(line, i);
        p->received += dt_spmd_received(s, i) * runs / line->devices;
        p->link_busy += price.seconds * runs;
        for (int axis = 0; axis < 3; axis++)
            for (int up = 0; up < 2; up++) p->link_bytes[axis][up] += price.way[axis][up] * runs;
    }
}

/* Returns the node that represents a task in events: its first node with a path or, if none has
 * one, its last node; 0 if it has no node. */
static int first_node(const dt_spmd *s, const dt_pipeline *line, int task) {
    int first = 0;
    for (int i = s->local->n_nodes - 1; i >= 0; i--)
        if (line->of[i] == task && (first == 0 || *s->local->node[i].path)) first = i;
    return first;
}

static void put_runs(const dt_spmd *s, const dt_pipeline *line, const dt_timeline *t, dt_plan *p) {
    p->event = dt_arena_array(p->arena, dt_plan_event, t->n + 1);
    for (int i = 0; i < t->n; i++) {
        const dt_run *run = &t->run[i];
        const dt_stage_task *task = &line->task[run->task];
        if (run->end <= run->start) continue;
        p->event[p->n_events++] = (dt_plan_event){.start = run->start,
                                                  .end = run->end,
                                                  .unit = DT_UNIT_CHIP,
                                                  .node = first_node(s, line, run->task),
                                                  .stage = task->kind,
                                                  .device = task->device,
                                                  .micro = run->micro};
    }
}

/* Returns the mean time in which a device is busy, but not with kernels: that of collectives inside
 * a stage. */
static double other_work(const dt_launches *k, const dt_timeline *t) {
    double busy = t->seconds * (1 - t->bubble);
    for (int i = 0; i < k->n; i++)
        busy -= k->kernel[i].price.seconds * k->kernel[i].times * k->kernel[i].share;
    return busy > 1e-9 * t->seconds ? busy : 0;
}

void dt_plan_run_stages(const dt_priced_program *r, dt_launches *k, dt_plan *p) {
    dt_local_arena arena = dt_arena_create();
    const prices x = {.r = r, .k = k, .links = dt_links_create(r, arena)};
    const dt_pipeline line = pipeline_of(&x, arena);
    const dt_timeline t = dt_timeline_create(&line, arena);
    share_kernels(&line, k);
    count_links(&x, &line, p);
    put_runs(r->program, &line, &t, p);
    p->seconds = t.seconds;
    p->parts.bubble = t.seconds * t.bubble;
    p->parts.links = other_work(k, &t);
    dt_links_destroy(x.links);
}

void dt_plan_print_stages(const dt_priced_program *program, dt_str *out) {
    static const char *const names[] = {[DT_1F1B] = "1F1B", [DT_GPIPE] = "GPipe"};
    dt_local_arena arena = dt_arena_create();
    const dt_priced_program prepared = dt_priced_prepared(program, arena), *r = &prepared;
    dt_launches k = dt_launches_create(r, arena);
    const prices x = {.r = r, .k = &k, .links = dt_links_create(r, arena)};
    dt_pipeline p = pipeline_of(&x, arena);
    for (p.order = DT_1F1B; dt_plan_has_places(r->program) && p.order <= DT_GPIPE; p.order++) {
        dt_timeline line = dt_timeline_create(&p, arena);
        dt_str_printf(out,
                      "pipeline by %s, %d micro-batch%s: %.3g us a step, %.1f %% of it bubble\n",
                      names[p.order], p.micro, p.micro == 1 ? "" : "es", line.seconds * 1e6,
                      line.bubble * 100);
        dt_timeline_print(&p, &line, out);
    }
    dt_links_destroy(x.links);
}
