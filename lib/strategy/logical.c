/*
 * split, replicate and assign: how a value lies on the logical devices of a replica. The calls check what they are told and leave a note in the
 * graph (op/sharding.c); the value itself does not change.
 *
 *     split [1, 2, 2]   of (16, 4, 6) over 4 devices: tile (16, 2, 3) on each, device 1 begins at (0, 0, 3)
 */
#include "strategy/strategy.h"

#include <string.h>

/* ---- checks ---- */

/* A value of a step of that strategy. Outside of steps the error waits for the next call; in one, a value of a failed call has told its own. */
static bool is_usable(const dt_strategy *s, dt_value x)
{
    dt_status *bad = NULL;

    if (!x.trace && dt_context_now() == DT_OUTSIDE)
        dt_status_keep(dt_fail(DT_E_TRACE_VALUE, NULL, "values are split, replicated and assigned in step functions only: outside there is no "
                               "graph to annotate"));
    if (!x.trace)
        return false;
    if (!s)
        bad = dt_fail(DT_E_LOGICAL_DEVICE, NULL, "there is no strategy on whose logical devices the value could lie");
    else if (!s->assignment)
        bad = dt_fail(DT_E_LOGICAL_DEVICE, NULL, "a %s strategy has no logical devices; only tpu has", s->row->kind.name);
    else
        bad = dt_scope_fits(s);
    if (bad)
        dt_trace_fail(x.trace, bad);
    return !bad;
}

static void print_list(dt_str *out, const int64_t *v, int n)
{
    dt_str_putc(out, '[');
    for (int i = 0; i < n && i < 16; i++)
        dt_str_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
    dt_str_puts(out, n > 16 ? ",...]" : "]");
}

static dt_status *check_rank(const dt_type *t, const dt_str *parts, int n)
{
    dt_str shape = { 0 };

    if (n == t->rank)
        return NULL;
    dt_shape_print(t, &shape);
    dt_status *s = dt_fail(DT_E_SPLIT, NULL, "partition_dimensions %s has %d number%s, but a value of shape %s has %d dimension%s",
                           dt_str_text(parts), n, n == 1 ? "" : "s", dt_str_text(&shape), t->rank, t->rank == 1 ? "" : "s");
    dt_str_release(&shape);
    return s;
}

static dt_status *check_sizes(const dt_type *t, const int64_t *parts)
{
    for (int d = 0; d < t->rank; d++) {
        if (parts[d] < 1)
            return dt_fail(DT_E_SPLIT, NULL, "partition_dimensions[%d] must be at least 1, got %lld", d, (long long)parts[d]);
        if (t->dim[d] >= 0 && t->dim[d] % parts[d] != 0)
            return dt_fail(DT_E_SPLIT, NULL, "partition_dimensions[%d] is %lld: dimension %d, of size %lld, cannot be cut into as many equal parts",
                           d, (long long)parts[d], d, (long long)t->dim[d]);
    }
    return NULL;
}

static dt_status *check_product(const dt_strategy *s, const int64_t *parts, int n, const dt_str *text)
{
    int64_t product = 1;

    for (int d = 0; d < n; d++)
        if (!dt_mul_fits(product, parts[d], &product))
            return dt_fail(DT_E_SPLIT, NULL, "partition_dimensions %s make more parts than can be counted; a replica has %d logical devices",
                           dt_str_text(text), s->logical);
    if (product == s->logical)
        return NULL;
    return dt_fail(DT_E_SPLIT, NULL, "partition_dimensions %s over %d dimensions make %lld parts, but a replica has %d logical devices",
                   dt_str_text(text), n, (long long)product, s->logical);
}

static dt_status *check_split(const dt_strategy *s, const dt_type *t, const int64_t *parts, int n)
{
    dt_str text = { 0 };

    if (n < 0 || (!parts && n > 0))
        return dt_fail(DT_E_SPLIT, NULL, "partition_dimensions must be given, %d numbers of at least 1", t->rank);
    print_list(&text, parts, n);
    dt_status *bad = check_rank(t, &text, n);
    if (!bad)
        bad = check_sizes(t, parts);
    if (!bad)
        bad = check_product(s, parts, n, &text);
    dt_str_release(&text);
    return bad;
}

/* ---- annotating ---- */

static dt_value failed(dt_value x, dt_status *s)
{
    dt_trace_fail(x.trace, s);
    return (dt_value){ 0 };
}

dt_value dt_strategy_split_to_logical_devices(dt_strategy *s, dt_value x, const int64_t *partition_dimensions, int n)
{
    dt_sharding_attr attr = { .kind = DT_SHARDING_OTHER, .rank = n };

    if (!is_usable(s, x))
        return (dt_value){ 0 };
    dt_type type = dt_type_of_value(x);
    dt_status *bad = check_split(s, &type, partition_dimensions, n);
    if (bad)
        return failed(x, bad);
    if (n > 0)
        memcpy(attr.parts, partition_dimensions, (size_t)n * sizeof *attr.parts);
    return dt_annotate(x, &attr);
}

dt_value dt_strategy_replicate_to_logical_devices(dt_strategy *s, dt_value x)
{
    if (!is_usable(s, x))
        return (dt_value){ 0 };
    return dt_annotate(x, &(dt_sharding_attr){ .kind = DT_SHARDING_REPLICATED });
}

dt_value dt_strategy_assign_to_logical_device(dt_strategy *s, dt_value x, int logical_device_id)
{
    if (!is_usable(s, x))
        return (dt_value){ 0 };
    if (s->spmd)
        return failed(x, dt_fail(DT_E_LOGICAL_DEVICE, NULL, "with SPMD partitioning no value is assigned to a single logical device; split or "
                                 "replicate it"));
    if (logical_device_id < 0 || logical_device_id >= s->logical)
        return failed(x, dt_fail(DT_E_LOGICAL_DEVICE, NULL, "there is no logical device %d to assign a value to: a replica has %d",
                                 logical_device_id, s->logical));
    return dt_annotate(x, &(dt_sharding_attr){ .kind = DT_SHARDING_MAXIMAL, .device = logical_device_id });
}

/* ---- what was recorded ---- */

static const dt_sharding_attr *attr_of(dt_value x)
{
    const dt_node *n = dt_node_of(x);
    return n && n->op == &dt_op_sharding ? n->attr : NULL;
}

bool dt_sharding_of(dt_value x, dt_sharding *out)
{
    const dt_sharding_attr *a = attr_of(x);

    if (!out)
        return a != NULL;
    *out = (dt_sharding){ .kind = a ? (dt_sharding_kind)a->kind : DT_SHARDING_NONE };
    if (out->kind == DT_SHARDING_OTHER) {
        out->rank = a->rank;
        memcpy(out->tile_dimensions, a->parts, sizeof a->parts);
        out->n_devices = 1;
        for (int d = 0; d < a->rank; d++)
            out->n_devices *= (int)a->parts[d]; /* as many as logical devices */
    } else if (out->kind == DT_SHARDING_MAXIMAL) {
        out->rank = out->n_devices = 1;
        out->tile_dimensions[0] = 1;
        out->first_device = (int)a->device;
    }
    return a != NULL;
}

static void whole_tile(const dt_type *t, int64_t begin[8], int64_t size[8])
{
    for (int d = 0; d < t->rank; d++) {
        begin[d] = 0;
        size[d] = t->dim[d] < 0 ? -1 : t->dim[d];
    }
}

bool dt_tile_of(dt_value x, int logical_device, int64_t begin[8], int64_t size[8])
{
    dt_sharding s;
    dt_type t = dt_type_of_value(x);

    if (!dt_sharding_of(x, &s) || logical_device < 0 || !begin || !size)
        return false;
    whole_tile(&t, begin, size);
    if (s.kind == DT_SHARDING_REPLICATED)
        return true;
    if (logical_device < s.first_device || logical_device >= s.first_device + s.n_devices)
        return false;
    for (int d = t.rank - 1; s.kind == DT_SHARDING_OTHER && d >= 0; d--) {
        int64_t tile = logical_device % s.tile_dimensions[d];
        logical_device /= (int)s.tile_dimensions[d];
        size[d] = size[d] < 0 ? -1 : size[d] / s.tile_dimensions[d];
        begin[d] = size[d] < 0 && s.tile_dimensions[d] > 1 ? -1 : size[d] < 0 ? 0 : tile * size[d];
    }
    return true;
}
