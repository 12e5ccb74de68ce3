/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What travels between coordinator and workers: the model's weights, one after the other; on the way back, in the same places, gradients, and of what
 * is not trained the difference. So state that every step moves (means and variances of BatchNormalization, counters) is moved by all workers.
 */
#include <string.h>

#include "fabric/fabric.h"
#include "strategy/variable.h"
#include "train/coordinator.h"

enum { ALIGN = 64 };

/* ---- slices ---- */

static int64_t rows_of(const dt_type *t)
{
    return t->rank > 0 && t->dim[0] > 0 ? t->dim[0] : 1;
}

/* Every shard of every variable: to one server after the other. */
static int count_shards(const dt_shipment *s, const dt_partitioner *p, const dt_model *m)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        const int64_t rows = rows_of(&m->weight[i]->type);
        n += (int)dt_partitioner_shards(p, rows, s->bytes[i] / rows);
    }
    return n;
}

static void deal(dt_shipment *s, dt_arena *arena, const dt_servers_spec *spec, const dt_model *m)
{
    const int all = count_shards(s, &spec->partitioner, m), servers = spec->servers;
    int *n = dt_arena_array(arena, int, servers), next = 0;
    dt_extent **slice = dt_arena_array(arena, dt_extent *, servers);

    for (int k = 0; k < servers; k++)
        slice[k] = dt_arena_array(arena, dt_extent, all / servers + 1);
    for (int i = 0; i < s->n; i++) {
        const int64_t rows = rows_of(&m->weight[i]->type), row = s->bytes[i] / rows, shards = dt_partitioner_shards(&spec->partitioner, rows, row);
        int32_t *first = dt_arena_array(arena, int32_t, shards + 1);
        dt_cut_rows(rows, rows, (int)shards, first);
        for (int64_t k = 0; k < shards; k++, next++)
            slice[next % servers][n[next % servers]++] = (dt_extent){ s->offset[i] + first[k] * row, (first[k + 1] - first[k]) * row };
    }
    s->slices.servers = servers;
    s->slices.n = n;
    s->slices.slice = (const dt_extent *const *)slice;
}

/* ---- which is which ---- */

static bool can_move(dt_dtype dtype)
{
    return dtype == DT_FLOAT32 || dtype == DT_FLOAT64 || dtype == DT_INT32 || dtype == DT_INT64 || dtype == DT_UINT32;
}

static bool is_trained(const dt_model *m, const dt_variable *v)
{
    for (int i = 0; i < m->trainable.n; i++)
        if (m->trainable.v[i] == v)
            return true;
    return false;
}

static int place_of(const dt_named_node *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    return -1;
}

static dt_status *match(dt_shipment *s, dt_arena *arena, const dt_trainer *t, int i)
{
    const dt_variable *v = t->o.model->weight[i];
    const dt_graph *gradients = dt_compiled_step(t->train), *update = dt_compiled_step(t->update);
    const char *name = dt_gradient_name(arena, v);

    s->trained[i] = is_trained(t->o.model, v);
    s->result[i] = s->trained[i] ? place_of(gradients->result, gradients->n_results, name) : -1;
    s->argument[i] = s->trained[i] ? place_of(update->arg, update->n_args, name) : -1;
    if (!s->trained[i] && !can_move(v->type.dtype))
        return dt_fail(DT_E_NOT_YET, NULL, "a parameter server cannot add up changes of '%s', which is %s", v->path, dt_dtype_name(v->type.dtype));
    if (s->result[i] >= 0 && !dt_type_equal(&gradients->node[gradients->result[s->result[i]].node].type, &v->type))
        return dt_fail(DT_E_NOT_YET, NULL, "a parameter server cannot take gradients of '%s' that have another dtype than it", v->path);
    return NULL;
}

dt_status *dt_shipment_make(dt_shipment *s, dt_arena *arena, const dt_trainer *t)
{
    const dt_model *m = t->o.model;
    *s = (dt_shipment){ .n = m->n_weights };
    s->offset = dt_arena_array(arena, int64_t, s->n + 1);
    s->bytes = dt_arena_array(arena, int64_t, s->n + 1);
    s->result = dt_arena_array(arena, int, s->n + 1);
    s->argument = dt_arena_array(arena, int, s->n + 1);
    s->trained = dt_arena_array(arena, bool, s->n + 1);
    for (int i = 0; i < s->n; i++) {
        s->offset[i] = s->slices.bytes;
        s->bytes[i] = dt_type_bytes(&m->weight[i]->type);
        s->slices.bytes += (s->bytes[i] + ALIGN - 1) / ALIGN * ALIGN;
        DT_TRY(match(s, arena, t, i));
    }
    deal(s, arena, &t->o.strategy->servers, m);
    return NULL;
}

/* ---- packing ---- */

dt_status *dt_shipment_pack(const dt_shipment *s, const dt_model *m, char *into)
{
    DT_TRY(dt_variables_fetch(m->weight, m->n_weights));
    for (int i = 0; i < s->n; i++)
        memcpy(into + s->offset[i], dt_host_data(m->weight[i]), (size_t)s->bytes[i]);
    return NULL;
}

void dt_shipment_unpack(const dt_shipment *s, const dt_model *m, const char *from)
{
    for (int i = 0; i < s->n; i++)
        memcpy(dt_host_edit(m->weight[i]), from + s->offset[i], (size_t)s->bytes[i]);
}

#define SUBTRACT(type)                                     \
    for (int64_t i = 0; i < n; i++)                        \
        ((type *)into)[i] = ((const type *)after)[i] - ((const type *)before)[i];

/* Counters wrap. */
static void subtract(dt_dtype dtype, void *into, const void *after, const void *before, int64_t n)
{
    if (dtype == DT_FLOAT32)
        SUBTRACT(float)
    else if (dtype == DT_FLOAT64)
        SUBTRACT(double)
    else if (dtype == DT_INT64)
        SUBTRACT(uint64_t)
    else
        SUBTRACT(uint32_t)
}

dt_status *dt_shipment_pack_step(const dt_shipment *s, const dt_model *m, const dt_view *result, const char *before, char *into)
{
    DT_TRY(dt_variables_fetch(m->weight, m->n_weights));
    for (int i = 0; i < s->n; i++) {
        const dt_type *t = &m->weight[i]->type;
        if (s->result[i] >= 0)
            memcpy(into + s->offset[i], result[s->result[i]].data, (size_t)s->bytes[i]);
        else if (!s->trained[i])
            subtract(t->dtype, into + s->offset[i], dt_host_data(m->weight[i]), before + s->offset[i], dt_type_elements(t));
    }
    return NULL;
}

dt_status *dt_shipment_move_state(const dt_shipment *s, const dt_model *m, const char *from)
{
    for (int i = 0; i < s->n; i++) {
        const dt_type *t = &m->weight[i]->type;
        if (s->trained[i])
            continue;
        DT_TRY(dt_variable_edit(m->weight[i]));
        if (!dt_array_add(t->dtype, dt_host_edit(m->weight[i]), from + s->offset[i], dt_type_elements(t)))
            return dt_fail(DT_E_INTERNAL, NULL, "'%s' cannot be added to", m->weight[i]->path);
    }
    return NULL;
}
