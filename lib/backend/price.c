/*
 * What one step of one replica would cost on a TPU core: crude, but from the ops' own cost functions and the chip's table.
 *
 *   time    per op max(flops / peak, bytes / HBM rate); then one all_reduce of everything summed over replicas, by the schedule
 *           of a ring used both ways
 *           (of a step cut over devices: the ops on what a device holds, and bytes received over links at their rate)
 *   memory  variables, what is summed over replicas (gradients), arguments, and every value with a batch dimension, kept to the
 *           end of the step (none is freed early here)
 */
#include <stdlib.h>

#include "backend/backend.h"
#include "coll/coll.h"

typedef struct tally {
    double flops, Bps, link_Bps; /* of a device */
    dt_price *price;
    double summed; /* bytes of all_reduce */
} tally;

static void count_time(tally *t, const dt_graph *g, int i, int64_t rows)
{
    const dt_node *n = &g->node[i];
    dt_view in[DT_MAX_IN];
    dt_node at = *n;
    dt_cost cost = { 0 };

    at.type = dt_type_at(&n->type, rows);
    for (int k = 0; k < n->n_in; k++)
        in[k] = (dt_view){ .type = dt_type_at(&g->node[n->in[k]].type, rows) };
    const dt_call call = { .node = &at, .in = in, .out = { .type = at.type } };
    if (n->op->cost) {
        n->op->cost(&call, &cost);
    } else {
        cost.vector = (double)dt_type_elements(&at.type);
        cost.bytes = (double)dt_type_bytes(&at.type);
        for (int k = 0; k < n->n_in; k++)
            cost.bytes += (double)dt_type_bytes(&in[k].type);
    }
    double arithmetic = cost.flops / t->flops, memory = cost.bytes / t->Bps;
    t->price->compute_s += arithmetic > memory ? arithmetic : memory;
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

/* A program with explicit collectives. */
static void price_device(tally *t, const dt_spmd *s)
{
    int64_t rows = s->batch / s->local->batch_parts;
    dt_spmd_bytes held = dt_spmd_count_bytes(s);

    for (int i = 0; i < s->local->n_nodes; i++) {
        const dt_node *n = &s->local->node[i];
        if (!n->op->across) {
            count_time(t, s->local, i, rows);
            continue;
        }
        dt_type in = dt_type_at(&s->local->node[n->in[0]].type, rows);
        t->price->collective_s += n->op->across->bytes(n->attr, &in) / t->link_Bps;
    }
    t->price->hbm_bytes = held.weights + held.slots + held.values;
    t->price->seconds = t->price->compute_s + t->price->collective_s;
}

void dt_price_step(const dt_compile_request *r, const dt_topology *t, dt_price *out)
{
    const dt_chip *chip = t->slice->chip;
    const int cores = dt_topology_device_cores(t);
    struct tally sums = { .flops = cores * chip->core_flops, .Bps = cores * chip->core_hbm_Bps, .link_Bps = chip->link_Bps, .price = out };

    *out = (dt_price){ .hbm_usable = cores * chip->core_hbm_usable };
    if (r->on_device) {
        price_device(&sums, r->on_device);
        return;
    }
    for (int i = 0; i < r->step->n_nodes; i++) {
        count_time(&sums, r->step, i, r->replica_rows);
        count_memory(&sums, r->step, i, r->replica_rows);
    }
    out->collective_s = all_reduce_seconds(t, sums.summed, r->replicas);
    out->seconds = out->compute_s + out->collective_s;
}
