/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects launchers, which start several processes for one job and describe each in its environment. No strategy
 * spans processes yet, so every process would train the whole job by itself without anybody noticing. Such a
 * process is therefore refused.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/strategy.h"

/* A variable that says how many processes there are, and one that only the launcher sets beside it, where the first is anybody's word. */
static const struct launcher {
    const char *size, *with;
} launchers[] = {
    { "OMPI_COMM_WORLD_SIZE", NULL }, /* Open MPI's mpirun */
    { "PMI_SIZE", NULL },             /* MPICH, Intel MPI */
    { "SLURM_STEP_NUM_TASKS", NULL }, /* srun */
    { "WORLD_SIZE", "RANK" },         /* torchrun and its like */
};

/* Tasks of a TF_CONFIG's cluster, {"cluster": {"worker": ["a:1", "b:2"]}}: one where there is no cluster, 0 where it is no such text. */
static size_t tasks_of(const char *config)
{
    const char *name;
    json_t *whole = json_loads(config, 0, NULL), *cluster = json_object_get(whole, "cluster"), *job;
    size_t tasks = whole && !cluster;
    json_object_foreach(cluster, name, job)
        tasks += json_is_object(job) ? json_object_size(job) : json_array_size(job);
    json_decref(whole);
    return tasks;
}

static const char *launched_by(char count[static 32])
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *value = getenv(launchers[i].size);
        int64_t n;
        if (!value || (launchers[i].with && !getenv(launchers[i].with)))
            continue;
        if (dt_parse_int64(value, &n) && n > 1) {
            snprintf(count, 32, "%lld", (long long)n);
            return launchers[i].size;
        }
    }
    const char *config = getenv("TF_CONFIG");
    size_t tasks = config ? tasks_of(config) : 1;
    if (!config || !*config || tasks == 1)
        return NULL;
    snprintf(count, 32, tasks ? "%zu" : "several", tasks);
    return "TF_CONFIG";
}

dt_status *dt_launched_alone(void)
{
    char count[32];
    const char *by = launched_by(count);
    if (!by)
        return NULL;
    return dt_suggest(dt_fail(DT_E_NOT_YET, NULL, "%s says that this is one of %s processes; each would train the whole job, because workers in "
                              "separate processes are not implemented yet", by, count),
                      "to train in this process alone, unset %s; 'strategy: {type: multi_worker_mirrored, workers: 2}' simulates workers in one "
                      "process", by);
}
