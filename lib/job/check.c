/* What only several sections together can get wrong. A section that is faulty itself is not asked. */
#include <string.h>

#include "job/job.h"

#define LARGEST_BATCH ((int64_t)1 << 24)

/* ---- strategy and back end ---- */

static dt_status *check_backend(const dt_job *j)
{
    if (!j->has_strategy || !j->backend || strcmp(j->backend, j->strategy.row->backend) == 0)
        return NULL;
    return dt_fail(DT_E_BACKEND, &j->backend_at, "back end '%s' does not go with strategy %s, which is computed by '%s'", j->backend,
                   j->strategy.row->kind.name, j->strategy.row->backend);
}

static dt_status *count_replicas(const dt_job *j, int64_t *replicas)
{
    dt_strategy *s = NULL;
    DT_TRY(dt_strategy_open(&s, &j->strategy));
    *replicas = dt_strategy_replicas(s);
    dt_strategy_unref(s);
    return NULL;
}

/* per_replica_batch_size becomes a global batch only together with the replicas. */
static dt_status *check_batch(const dt_job *j)
{
    int64_t replicas, each = j->dataset.per_replica_batch_size;
    if (!j->has_strategy)
        return NULL;
    DT_TRY(count_replicas(j, &replicas));
    if (!j->has_dataset || each * replicas <= LARGEST_BATCH)
        return NULL;
    return dt_fail(DT_E_BATCH_SIZE, dt_job_place(j->dataset.tree, "per_replica_batch_size"),
                   "per_replica_batch_size %lld on %lld replicas is a global batch of %lld; at most %lld", (long long)each,
                   (long long)replicas, (long long)(each * replicas), (long long)LARGEST_BATCH);
}

/* ---- data, model, compile ---- */

/* The elements are known without a file: what is wrong with them has been told by the data set. */
static void list_elements(dt_job *j)
{
    const dt_dataset_spec *d = &j->dataset;
    const dt_format_request r = {.arena = j->arena, .tree = d->part[DT_PART_TRAIN], .at = &d->at, .args = d->format_args,
                                 .directory = d->directory, .part = DT_PART_TRAIN, .seed = d->seed};
    dt_status_free(d->format->check(&r, &j->elements));
}

static dt_status *check_elements(dt_job *j)
{
    dt_match ignored;
    if (!j->has_dataset)
        return NULL;
    list_elements(j);
    return j->has_model ? dt_match_names(&j->elements, &j->model.input, j->has_compile ? &j->compile : NULL, &ignored) : NULL;
}

/* ---- partition ---- */

/* `split: [1, 2]`, `assign: 1`, `replicate` or `replicate: true`. */
static dt_status *check_annotation(dt_arena *arena, const char *name, const dt_tree *t)
{
    struct annotation {
        dt_ints split;
        int64_t assign;
        bool replicate;
    } x;
    static const dt_field fields[] = {
        DT_INTS(struct annotation, split, .min = 1, .max = DT_MAX_REPLICAS, .help = "parts per dimension"),
        DT_INT(struct annotation, assign, .max = DT_MAX_REPLICAS, .help = "a logical device"),
        DT_FLAG(struct annotation, replicate, .help = "whole on every logical device"),
        DT_END
    };
    if (t->kind == DT_TREE_SCALAR && strcmp(t->text, "replicate") == 0)
        return NULL;
    if (t->kind == DT_TREE_MAP && t->n == 1)
        return dt_fields_read(arena, fields, t, &t->at, name, &x);
    return dt_fail(DT_E_PARTITION, &t->at, "partition of '%.80s' must be replicate, {split: [...]} or {assign: N}", name);
}

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

/* It is without effect while a replica has one logical device, so that changing the strategy alone works; but it must be right. */
static dt_status *check_partition(const dt_job *j)
{
    dt_status *faults = NULL;
    if (!j->partition)
        return NULL;
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
        dt_status_append(&faults, check_annotation(j->arena, e->key, e->value));
    }
    return faults;
}

/* ---- the whole ---- */

dt_status *dt_job_check(dt_job *j)
{
    dt_status *faults = check_backend(j);
    dt_status_append(&faults, check_batch(j));
    dt_status_append(&faults, check_elements(j));
    dt_status_append(&faults, check_partition(j));
    return faults;
}
