/* SPDX-License-Identifier: Apache-2.0 */
/* What only several sections together can get wrong. A section that is faulty itself is not
 * asked. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "job/job.h"

#define LARGEST_BATCH ((int64_t)1 << 24)

/* ---- strategy and back end ---- */

/* Of an option there is none. */
static const dt_location *place_of_backend(const dt_job *j) {
    return j->backend_at.source ? &j->backend_at : NULL;
}

static dt_status *check_backend(const dt_job *j) {
    if (!j->has_strategy || !j->backend) return NULL;
    const bool pjrt = dt_backend_takes_plugin(j->backend);
    if (pjrt && (j->how.shards > 0 || j->strict))
        return dt_fail(DT_E_BACKEND, place_of_backend(j),
                       "reproducible: the bits of results are the plug-in's with back end pjrt; "
                       "use cpu, or leave out reproducible");
    if (strcmp(j->backend, j->strategy.row->backend) == 0 || pjrt || !place_of_backend(j))
        /* --backend cpu: nothing but this machine's cores, behind a simulated slice, too */
        return NULL;
    return dt_fail(DT_E_BACKEND, place_of_backend(j),
                   "back end '%s' does not go with strategy %s, which is computed by '%s'",
                   j->backend, j->strategy.row->kind.name, j->strategy.row->backend);
}

/* A path of the job that is not on this machine, which has been told with all of its paths. */
static bool is_refused(const dt_job *j) {
    const dt_tree *said = dt_tree_get(dt_tree_get(j->tree, "backend"), "plugin");
    char *local = NULL;
    dt_status *s = said && said->kind == DT_TREE_SCALAR && strcmp(said->text, j->plugin) == 0
                       ? dt_path_local(j->plugin, &local)
                       : NULL;
    const bool refused = s != NULL;
    dt_status_free(s);
    free(local);
    return refused;
}

/* Of a plug-in that stays closed it can still be said that its file is missing. A name without a
 * slash is looked for where libraries are. */
static dt_status *check_plugin_is_there(const dt_job *j) {
    struct stat st;
    if (!j->sealed || j->purpose != DT_FOR_FIT || !j->plugin || !strchr(j->plugin, '/') ||
        !dt_backend_takes_plugin(j->backend) || is_refused(j))
        return NULL;
    DT_TRY(dt_path_check(j->plugin));
    if (stat(j->plugin, &st) != 0)
        return dt_fail(DT_E_PLUGIN, place_of_backend(j),
                       "cannot open the plug-in: %s: no such file", j->plugin);
    return S_ISREG(st.st_mode) ? NULL
                               : dt_fail(DT_E_PLUGIN, place_of_backend(j),
                                         "cannot open the plug-in: %s is not a file", j->plugin);
}

static dt_status *count_replicas(dt_job *j) {
    dt_strategy *s = NULL;
    DT_TRY(dt_strategy_open(&s, &j->strategy));
    j->replicas = dt_strategy_replicas(s);
    j->workers = dt_strategy_input_workers(s);
    j->uncounted = s->uncounted;
    dt_strategy_unref(s);
    return NULL;
}

/* per_replica_batch_size becomes a global batch only together with the replicas. */
static dt_status *check_batch(const dt_job *j) {
    int64_t each = j->dataset.per_replica_batch_size, replicas = j->replicas;
    if (!j->has_dataset || each * replicas <= LARGEST_BATCH) return NULL;
    return dt_fail(
        DT_E_BATCH_SIZE, dt_tree_value_at(j->dataset.tree, "per_replica_batch_size"),
        "per_replica_batch_size %lld on %lld replicas is a global batch of %lld; at most %lld",
        (long long)each, (long long)replicas, (long long)(each * replicas),
        (long long)LARGEST_BATCH);
}

/* ---- data, model, compile ---- */

static dt_status *check_elements(dt_job *j) {
    dt_match ignored;
    if (!j->has_dataset) return NULL;
    /* The elements are known without a file: what is wrong with them has been told by the data
     * set. */
    const dt_format_request r = dt_dataset_request(&j->dataset, DT_PART_TRAIN, j->arena);
    dt_status_free(j->dataset.format->check(&r, &j->elements));
    return j->has_model ? dt_match_names(&j->elements, &j->model,
                                         j->has_compile ? &j->compile : NULL, &ignored)
                        : NULL;
}

/* ---- what can be planned, not run ---- */

static dt_status *check_accumulation(const dt_job *j) {
    const dt_optimizer_head *head = j->has_compile ? j->compile.optimizer.args : NULL;
    if (!j->has_fit || !head || j->fit.gradient_accumulation_steps <= 1 ||
        !head->gradient_accumulation_steps)
        return NULL;
    return dt_fail(DT_E_RANGE, &j->fit.accumulation_at,
                   "gradients are accumulated by the optimizer's gradient_accumulation_steps and "
                   "by fit's: only one can be set");
}

static dt_status *check_runs(const dt_job *j) {
    dt_status *faults = NULL;
    bool runs =
        j->purpose == DT_FOR_FIT || j->purpose == DT_FOR_EVALUATE || j->purpose == DT_FOR_PREDICT;
    if (runs && j->has_strategy && j->strategy.slices > 1)
        dt_status_append(&faults, dt_fail(DT_E_NOT_YET, &j->strategy.at,
                                          "%lld slices can be planned, not run yet; one can",
                                          (long long)j->strategy.slices));
    return faults;
}

/* ---- the whole ---- */

dt_status *dt_job_check(dt_job *j) {
    dt_status *faults = check_backend(j), *uncountable = j->has_strategy ? count_replicas(j) : NULL;
    dt_status_append(&faults, uncountable ? uncountable : check_batch(j));
    dt_status_append(&faults, check_plugin_is_there(j));
    dt_status_append(&faults, check_elements(j));
    dt_status_append(&faults, check_runs(j));
    dt_status_append(&faults, check_accumulation(j));
    if (j->has_fit && j->has_model && j->has_dataset)
        dt_status_append(
            &faults, dt_callbacks_check(&j->fit.callbacks,
                                        &(dt_callback_job){&j->model, &j->dataset,
                                                           j->has_compile ? &j->compile : NULL,
                                                           dt_fit_validates_by_steps(&j->fit)}));
    dt_status_append(&faults, dt_job_check_partition(j));
    return faults;
}
