/*
 * `partition`: how values lie on the logical devices of a replica. Elements of the data and layers are named; what is said of one becomes a note
 * on its value in the graph of a step, as dt_strategy_split_to_logical_devices and its like leave it.
 *
 *     partition:
 *       image:  {split: [1, 2, 4, 1]}
 *       label:  replicate
 *
 * It is without effect while a replica has one logical device, so that changing the strategy alone works; but it must be right.
 */
#include <string.h>

#include "job/job.h"

typedef struct annotation {
    dt_ints split;
    int64_t assign;
    bool replicate, has_assign;
} annotation;

static int logical_devices(const dt_job *j)
{
    return j->has_strategy && j->strategy.assignment ? dt_device_assignment_logical_devices(j->strategy.assignment) : 1;
}

/* ---- reading ---- */

/* `split: [1, 2]`, `assign: 1`, `replicate` or `replicate: true`. */
static dt_status *read_annotation(dt_arena *arena, const char *name, const dt_tree *t, annotation *out)
{
    static const dt_field fields[] = {
        DT_INTS(annotation, split, .min = 1, .max = DT_MAX_REPLICAS, .help = "parts per dimension"),
        DT_INT(annotation, assign, .max = DT_MAX_REPLICAS, .set = 1 + offsetof(annotation, has_assign), .help = "a logical device"),
        DT_FLAG(annotation, replicate, .help = "whole on every logical device"),
        DT_END
    };
    *out = (annotation){.replicate = true};
    if (t->kind == DT_TREE_SCALAR && strcmp(t->text, "replicate") == 0)
        return NULL;
    if (t->kind == DT_TREE_MAP && t->n == 1)
        return dt_fields_read(arena, fields, t, &t->at, name, out);
    return dt_fail(DT_E_PARTITION, &t->at, "partition of '%.80s' must be replicate, {split: [...]} or {assign: N}", name);
}

/* Against the devices of a replica, where there are several. Sizes are looked at when the step is traced. */
static dt_status *check_devices(const dt_job *j, const dt_tree *t, const annotation *a)
{
    int devices = logical_devices(j);
    int64_t product = 1;

    for (int d = 0; d < a->split.n; d++)
        if (!dt_mul_fits(product, a->split.v[d], &product))
            product = INT64_MAX;
    if (devices == 1)
        return NULL;
    if (a->split.n > 0 && product != devices)
        return dt_fail(DT_E_SPLIT, dt_job_place(t, "split"), "split makes %lld parts, but a replica has %d logical devices", (long long)product,
                       devices);
    if (a->has_assign && j->strategy.spmd)
        return dt_fail(DT_E_LOGICAL_DEVICE, dt_job_place(t, "assign"), "with spmd_partitioning no value is assigned to a single logical device; "
                       "split or replicate it");
    if (a->has_assign && a->assign >= devices)
        return dt_fail(DT_E_LOGICAL_DEVICE, dt_job_place(t, "assign"), "there is no logical device %lld: a replica has %d", (long long)a->assign,
                       devices);
    return NULL;
}

static dt_status *check_annotation(const dt_job *j, const char *name, const dt_tree *t)
{
    annotation a;
    DT_TRY(read_annotation(j->arena, name, t, &a));
    return check_devices(j, t, &a);
}

/* ---- names ---- */

static bool is_reserved(const char *name)
{
    return strcmp(name, "weights") == 0 || strcmp(name, "over_replicas") == 0 || strcmp(name, "micro_batches") == 0;
}

/* What can be annotated: elements of the data and layers; a value within a layer by its path. */
static int list_names(const dt_job *j, const char **names)
{
    int n = 0;
    for (int i = 0; i < j->elements.n; i++)
        names[n++] = j->elements.v[i];
    for (int i = 0; i < j->model.n_layers; i++)
        names[n++] = j->model.layer[i].name;
    return n;
}

static dt_status *check_partition_name(const dt_entry *e, const char *const *names, int n)
{
    size_t length = strcspn(e->key, "/");
    for (int i = 0; i < n; i++)
        if (strlen(names[i]) == length && strncmp(names[i], e->key, length) == 0)
            return NULL;
    dt_status *s = dt_fail(DT_E_UNKNOWN_KEY, &e->key_at, "partition names '%.80s', which is no element of the data and no layer", e->key);
    const char *nearest = dt_nearest(e->key, names, n);
    return nearest ? dt_suggest(s, "did you mean '%.80s'?", nearest) : s;
}

/* ---- checking ---- */

/* The SPMD mode wants to know of every input where it lies. */
static dt_status *check_inputs(const dt_job *j)
{
    dt_status *faults = NULL;
    const dt_place *at = j->partition ? &j->partition->at : &j->strategy.at;
    if (!j->has_dataset || !j->has_strategy || !j->strategy.spmd || logical_devices(j) == 1)
        return NULL;
    for (int i = 0; i < j->elements.n; i++)
        if (!dt_tree_get(j->partition, j->elements.v[i]))
            dt_status_append(&faults, dt_suggest(dt_fail(DT_E_NOT_PARTITIONED, at, "input '%s' is neither split nor replicated", j->elements.v[i]),
                                                 "add '%s: replicate'", j->elements.v[i]));
    return faults;
}

dt_status *dt_job_check_partition(const dt_job *j)
{
    dt_status *faults = check_inputs(j);
    if (!j->partition)
        return faults;
    const char **names = dt_arena_array(j->arena, const char *, j->elements.n + j->model.n_layers);
    int n = list_names(j, names);
    for (int i = 0; i < j->partition->n; i++) {
        const dt_entry *e = &j->partition->entry[i];
        if (is_reserved(e->key)) {
            dt_status_append(&faults, dt_fail(DT_E_NOT_YET, &e->key_at, "partition.%s is not implemented yet", e->key));
            continue;
        }
        if (j->has_model && j->has_dataset)
            dt_status_append(&faults, check_partition_name(e, names, n));
        dt_status_append(&faults, check_annotation(j, e->key, e->value));
    }
    return faults;
}

/* ---- annotating ---- */

dt_value dt_job_annotate(const void *job, const char *name, dt_value x)
{
    const dt_job *j = job;
    const dt_tree *t = dt_tree_get(j->partition, name);
    dt_strategy *s = j->annotates;
    annotation a;
    if (!t || !x.trace)
        return x;
    dt_status *bad = read_annotation(j->arena, name, t, &a);
    dt_trace_fail(x.trace, bad); /* checked before */
    dt_value y = a.split.n > 0 ? dt_strategy_split_to_logical_devices(s, x, a.split.v, a.split.n)
               : a.has_assign  ? dt_strategy_assign_to_logical_device(s, x, (int)a.assign)
                               : dt_strategy_replicate_to_logical_devices(s, x);
    return y;
}
