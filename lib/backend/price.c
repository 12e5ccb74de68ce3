/*
 * What one step of one replica would cost on a TPU core: crude, but from the ops' own cost functions and the chip's table.
 *
 *   time    per op max(flops / peak, bytes / HBM rate); then one all_reduce of everything summed over replicas, by the schedule
 *           of a ring used both ways
 *           (of a step cut over devices: the ops on what a device holds, and bytes received over links at their rate; of a pipeline
 *           of stages on different devices: its timeline, where waiting counts as communication)
 *   memory  variables, what is summed over replicas (gradients), arguments, and every value with a batch dimension, kept to the
 *           end of the step (none is freed early here)
 */
#include <stdlib.h>

#include "backend/backend.h"
#include "coll/coll.h"

typedef struct tally {
    double flops, Bps, link_Bps, hop_s; /* of a device */
    dt_price *price;
    double summed; /* bytes of all_reduce */
} tally;

static double node_seconds(const tally *t, const dt_graph *g, int i, int64_t rows)
{
    const dt_node *n = &g->node[i];
    dt_view in[DT_MAX_IN];
    dt_node at = *n;

    at.type = dt_type_at(&n->type, rows);
    for (int k = 0; k < n->n_in; k++)
        in[k] = (dt_view){ .type = dt_type_at(&g->node[n->in[k]].type, rows) };
    const dt_call call = { .node = &at, .in = in, .out = { .type = at.type } };
    dt_cost cost = dt_cost_of(&call);
    double arithmetic = cost.flops / t->flops, memory = cost.bytes / t->Bps;
    return arithmetic > memory ? arithmetic : memory;
}

static void count_memory(tally *t, const dt_graph *g, int i, int64_t rows)
{
    const dt_node *n = &g->node[i];
    dt_type type = dt_type_at(&n->type, rows);

    if (n->op == &dt_op_constant || n->op == &dt_op_sharding)
        return;
    if (dt_type_has_batch(&n->type) || n->op == &dt_op_variable || n->op->collective)
        t->price->hbm_bytes += dt_type_bytes(&type);
    if (n->op->collective)
        t->summed += (double)dt_type_bytes(&type);
}

/* The sum over replicas along the shortest ring through their cores. No schedule for so many ranks: bandwidth alone, 2 V / W. */
static double all_reduce_seconds(const dt_topology *t, double bytes, int replicas)
{
    dt_assignment *a = dt_assignment_each_core(t);
    int *order = dt_alloc(dt_size_mul((size_t)a->replicas, sizeof *order));
    dt_schedule_spec spec = { .collective = DT_ALL_REDUCE, .algorithm = dt_algorithm_find("two_way_ring"), .ranks = replicas, .order = order };
    double seconds = bytes / t->slice->chip->link_Bps;
    dt_schedule *schedule = NULL;

    dt_assignment_ring(a, t, order);
    if (replicas == a->replicas && replicas > 1)
        dt_status_free(dt_schedule_create(&schedule, &spec)); /* none: the price by bandwidth stands */
    if (schedule) {
        const dt_wires wires = dt_wires_of(t, dt_assignment_at(a, 0, 0));
        seconds = dt_schedule_cost(schedule, bytes, &wires).seconds;
        dt_schedule_destroy(schedule);
    }
    free(order);
    dt_device_assignment_unref(a);
    return replicas > 1 && bytes > 0 ? seconds : 0;
}

/* ---- pipelines ---- */

static double price_node(const void *user, const dt_spmd *s, int i)
{
    return node_seconds(user, s->local, i, s->batch / s->local->batch_parts);
}

static double price_link(const void *user, const dt_spmd *s, int i)
{
    const tally *t = user;
    double bytes = dt_spmd_received(s, i);
    return bytes > 0 ? bytes / t->link_Bps + t->hop_s : 0;
}

static bool has_places(const dt_spmd *s)
{
    for (int i = 0; i < s->local->n_nodes; i++)
        if (s->layout[i].on)
            return true;
    return false;
}

static dt_pipeline stages_of(const tally *t, const dt_spmd *s, dt_arena *arena)
{
    return dt_spmd_stages(s, &(dt_stage_prices){ .node = price_node, .link = price_link, .user = t }, arena);
}

static void price_stages(const tally *t, const dt_spmd *s)
{
    dt_arena *arena = dt_arena_create();
    dt_pipeline p = stages_of(t, s, arena);
    dt_timeline line = dt_timeline_create(&p, arena);
    t->price->seconds = line.seconds;
    t->price->collective_s = line.seconds * line.bubble;
    t->price->compute_s = line.seconds - t->price->collective_s;
    dt_arena_destroy(arena);
}

/* A program with explicit collectives. */
static void price_device(tally *t, const dt_spmd *s)
{
    int64_t rows = s->batch / s->local->batch_parts;
    dt_spmd_bytes held = dt_spmd_count_bytes(s);

    for (int i = 0; i < s->local->n_nodes; i++) {
        const dt_node *n = &s->local->node[i];
        if (!n->op->across) {
            t->price->compute_s += node_seconds(t, s->local, i, rows);
            continue;
        }
        dt_type in = dt_type_at(&s->local->node[n->in[0]].type, rows);
        t->price->collective_s += n->op->across->bytes(n->attr, &in) / t->link_Bps;
    }
    t->price->hbm_bytes = held.weights + held.slots + held.values;
    t->price->seconds = t->price->compute_s + t->price->collective_s;
    if (has_places(s))
        price_stages(t, s);
}

static tally tally_of(const dt_topology *t, dt_price *out)
{
    const dt_chip *chip = t->slice->chip;
    const int cores = dt_topology_device_cores(t);
    return (tally){ .flops = cores * chip->core_flops, .Bps = cores * chip->core_hbm_Bps, .link_Bps = chip->link_Bps, .hop_s = chip->hop_s, .price = out };
}

void dt_price_print_stages(const dt_spmd *s, const dt_topology *topology, dt_str *out)
{
    static const char *const names[] = { [DT_1F1B] = "1F1B", [DT_GPIPE] = "GPipe" };
    tally t = tally_of(topology, NULL);
    dt_arena *arena = dt_arena_create();
    dt_pipeline p = stages_of(&t, s, arena);
    for (p.order = DT_1F1B; has_places(s) && p.order <= DT_GPIPE; p.order++) {
        dt_timeline line = dt_timeline_create(&p, arena);
        dt_str_printf(out, "pipeline by %s, %d micro-batch%s: %.3g us a step, %.1f %% of it bubble\n", names[p.order], p.micro, p.micro == 1 ? "" : "es",
                      line.seconds * 1e6, line.bubble * 100);
        dt_timeline_print(&p, &line, out);
    }
    dt_arena_destroy(arena);
}

void dt_price_step(const dt_compile_request *r, const dt_topology *t, dt_price *out)
{
    tally sums = tally_of(t, out);

    *out = (dt_price){ .hbm_usable = dt_topology_device_cores(t) * t->slice->chip->core_hbm_usable };
    if (r->on_device) {
        price_device(&sums, r->on_device);
        return;
    }
    for (int i = 0; i < r->step->n_nodes; i++) {
        out->compute_s += node_seconds(&sums, r->step, i, r->replica_rows);
        count_memory(&sums, r->step, i, r->replica_rows);
    }
    out->collective_s = all_reduce_seconds(t, sums.summed, r->replicas);
    out->seconds = out->compute_s + out->collective_s;
}
