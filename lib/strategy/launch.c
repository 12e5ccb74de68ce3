/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launchers start several processes for one job and describe each in its environment: how many there are, and which one this is. What MPI's mpirun says
 * counts before what stands around it (a batch system's variables are those of mpirun's own processes); TF_CONFIG and torchrun's RANK must say the same
 * where they are there, too.
 *
 * A strategy that does not span processes is refused in one of several, each of which would train the whole job.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "strategy/cluster.h"
#include "strategy/strategy.h"

static const struct launcher {
    const char *size, *rank, *name;
    const dt_fabric *fabric;
    bool sure; /* sure: nobody else sets these variables */
} launchers[] = {
    { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun of Open MPI", &dt_fabric_mpi, true },
    { "PMI_SIZE", "PMI_RANK", "mpirun of MPICH", &dt_fabric_mpi, true },
    { "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", &dt_fabric_mpi, true },
    { "WORLD_SIZE", "RANK", "torchrun", NULL, false },
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers, MOST = 1 << 16 };

static bool read_count(const char *name, int64_t *out)
{
    const char *text = getenv(name);
    return text && dt_parse_int64(text, out);
}

/* workers 0: it has started none, or one. */
static dt_status *read_launcher(const struct launcher *l, dt_launch *out)
{
    int64_t size = 0, rank = 0;
    *out = (dt_launch){ .by = l->size, .launcher = l->name, .fabric = l->fabric };
    if (!getenv(l->size) || (!l->sure && !getenv(l->rank)) || !read_count(l->size, &size) || size < 2)
        return NULL;
    if (size > MOST)
        return dt_fail(DT_E_LAUNCH, NULL, "%s=%lld: more than %d workers", l->size, (long long)size, MOST);
    if (!read_count(l->rank, &rank) || rank < 0 || rank >= size)
        return dt_fail(DT_E_LAUNCH, NULL, "%s=%.40s: with %s=%lld it must be 0 to %lld", l->rank, getenv(l->rank) ? getenv(l->rank) : "", l->size,
                       (long long)size, (long long)size - 1);
    out->workers = (int)size;
    out->rank = (int)rank;
    return NULL;
}

/* ---- TF_CONFIG ---- */

static int64_t tasks_of(const json_t *cluster, const char *job)
{
    const json_t *list = json_object_get(cluster, job);
    return (int64_t)(json_is_object(list) ? json_object_size(list) : json_array_size(list));
}

static dt_status *unknown_task(const char *type)
{
    dt_status *s = dt_fail(DT_E_NOT_YET, NULL, "TF_CONFIG: tasks of type '%.40s' are not implemented yet; chief and worker are", type);
    return dt_suggest(s, "parameter servers and evaluators have no part in strategy: {type: multi_worker_mirrored}");
}

static dt_status *take_task(const json_t *whole, dt_launch *out)
{
    const json_t *cluster = json_object_get(whole, "cluster"), *task = json_object_get(whole, "task");
    const int64_t chiefs = tasks_of(cluster, "chief"), workers = tasks_of(cluster, "worker");
    const char *type = json_string_value(json_object_get(task, "type"));
    const json_t *index = json_object_get(task, "index");
    if (chiefs + workers + tasks_of(cluster, "ps") + tasks_of(cluster, "evaluator") < 2)
        return NULL;
    if (chiefs > 1 || chiefs + workers > MOST)
        return dt_fail(DT_E_LAUNCH, NULL, "TF_CONFIG: %lld chiefs and %lld workers; there is one chief at most", (long long)chiefs, (long long)workers);
    if (!type || !json_is_integer(index))
        return dt_fail(DT_E_LAUNCH, NULL, "TF_CONFIG describes %lld workers, but not which one this is: \"task\": {\"type\": \"worker\", \"index\": 0}",
                       (long long)(chiefs + workers));
    const bool chief = strcmp(type, "chief") == 0;
    if (!chief && strcmp(type, "worker") != 0)
        return unknown_task(type);
    const int64_t at = json_integer_value(index), last = chief ? chiefs : workers;
    if (at < 0 || at >= last)
        return dt_fail(DT_E_LAUNCH, NULL, "TF_CONFIG: %s %lld is not in the cluster, which has %lld of them, from 0 on", type, (long long)at, (long long)last);
    out->workers = (int)(chiefs + workers);
    out->rank = (int)(at + (chief ? 0 : chiefs));
    return NULL;
}

static dt_status *read_tf_config(dt_launch *out)
{
    const char *text = getenv("TF_CONFIG");
    *out = (dt_launch){ .by = "TF_CONFIG", .launcher = "TF_CONFIG" };
    if (!text || !*text)
        return NULL;
    json_t *whole = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    dt_status *s = json_is_object(whole) ? take_task(whole, out) : dt_fail(DT_E_LAUNCH, NULL, "TF_CONFIG is not a JSON object: %.60s", text);
    json_decref(whole);
    return s;
}

/* ---- fit --workers ---- */

/* "RANK FD FD ...": a word for each worker behind the first. What the words are is the fabric's affair. */
static dt_status *read_own(dt_launch *out)
{
    const char *text = getenv(DT_SOCKETS_VARIABLE);
    *out = (dt_launch){ .by = DT_SOCKETS_VARIABLE, .launcher = "'dtrain fit --workers'", .fabric = &dt_fabric_sockets };
    if (!text || !*text)
        return NULL;
    int64_t rank = -1;
    char first[24] = "";
    snprintf(first, sizeof first, "%.*s", (int)strcspn(text, " "), text);
    for (const char *c = text; *c; c++)
        out->workers += *c == ' ';
    if (out->workers < 2 || !dt_parse_int64(first, &rank) || rank < 0 || rank >= out->workers)
        return dt_fail(DT_E_LAUNCH, NULL, DT_SOCKETS_VARIABLE "=%.60s: 'dtrain fit --workers' sets it for the processes that it starts; unset it", text);
    out->rank = (int)rank;
    return NULL;
}

/* ---- all of them ---- */

static dt_status *same(const dt_launch *a, const dt_launch *b)
{
    if (a->workers == b->workers && a->rank == b->rank)
        return NULL;
    return dt_suggest(dt_fail(DT_E_LAUNCH, NULL, "%s says that this is worker %d of %d, but %s says worker %d of %d", a->by, a->rank, a->workers, b->by, b->rank,
                              b->workers), "unset %s, or start the job without %s", b->by, a->launcher);
}

dt_status *dt_launch_find(dt_launch *out)
{
    dt_launch each[LAUNCHERS + 1];
    DT_TRY(read_own(out));
    for (int i = 0; i <= LAUNCHERS; i++) {
        DT_TRY(i < LAUNCHERS ? read_launcher(&launchers[i], &each[i]) : read_tf_config(&each[i]));
        const bool around = out->fabric && each[i].fabric; /* of a batch system, around mpirun */
        if (each[i].workers && !out->workers)
            *out = each[i];
        else if (each[i].workers && !around)
            DT_TRY(same(out, &each[i]));
    }
    return NULL;
}

dt_status *dt_launched_alone(void)
{
    dt_launch l;
    DT_TRY(dt_launch_find(&l));
    if (l.workers == 0)
        return NULL;
    return dt_suggest(dt_fail(DT_E_NOT_YET, NULL, "%s says that this is one of %d processes; each would do all of the job's work, because only "
                              "strategy: {type: multi_worker_mirrored} shares it", l.by, l.workers),
                      "to work in this process alone, unset %s; to share the work, write that strategy into the job", l.by);
}
