/* SPDX-License-Identifier: Apache-2.0 */
/* The workers of a job, if a launcher started several. They connect, check that they run the same
 * job, and disconnect in the end. */
#include "job/session.h"

/* A number among workers that the job does not have. */
dt_status *dt_job_check_rank(const dt_job *j) {
    if (!dt_launch_has_rank(&j->rank) || j->strategy.launch.workers) return NULL;
    return dt_launch_bad_rank(
        &j->strategy.at, &j->rank,
        "the job has no strategy.cluster_resolver that says where workers meet");
}

static dt_status *check_what_they_share(const dt_job *j) {
    if (j->how.over_replicas == DT_OVER_WEIGHTS && dt_backend_takes_plugin(j->backend))
        return dt_suggest(dt_fail(DT_E_NOT_YET, &j->strategy.at,
                                  "partition: {over_replicas: weights} is not implemented yet for "
                                  "workers with a plug-in's devices"),
                          "over_replicas: optimizer divides the optimizer's state among them");
    return NULL;
}

static void report_waiting(void *user, const char *line) {
    const dt_run_options *o = user;
    if (o && o->event) o->event(&(dt_event){.kind = DT_EVENT_WAITING, .text = line}, o->user);
}

static void report_unsafe(void *user, const char *text) {
    const dt_run_options *o = user;
    if (o && o->event) o->event(&(dt_event){.kind = DT_EVENT_WARNING, .text = text}, o->user);
}

dt_status *dt_job_open_workers(dt_job *j, const dt_run_options *o) {
    if (!j->strategy.launch.workers) return dt_launched_alone();
    if (j->strategy.servers.workers)
        return dt_suggest(dt_fail(DT_E_NOT_YET, &j->strategy.at,
                                  "%s says that this is one of %d processes; with a parameter "
                                  "server only fit shares its work among them",
                                  j->strategy.launch.by, j->strategy.launch.workers),
                          "run this command without %s", j->strategy.launch.launcher);
    DT_TRY(check_what_they_share(j));
    DT_TRY(dt_cluster_open(&j->cluster, &j->strategy.launch,
                           &(dt_cluster_spec){.start_s = j->strategy.start_timeout,
                                              .message_s = j->strategy.launch_timeout,
                                              .say = report_waiting,
                                              .warn = report_unsafe,
                                              .user = (void *)o}));
    dt_status *s = dt_cluster_compare(j->cluster, "dtrain's version", dt_version());
    if (!s) s = dt_cluster_compare(j->cluster, "the SHA-256 of the job", j->sha256.hex);
    if (s) dt_job_close_workers(j, s);
    return s;
}

void dt_job_close_workers(dt_job *j, const dt_status *s) {
    dt_cluster_close(j->cluster, s && dt_status_number(s) != DT_E_STOPPED);
    j->cluster = NULL;
}

dt_status *dt_job_compare_workers(const dt_job *j, const dt_session *s, const dt_saved *c) {
    dt_digest weights;
    dt_device *device = NULL;
    if (!j->cluster) return NULL;
    DT_TRY(dt_weights_digest(s->model, &weights));
    DT_TRY(dt_strategy_device_of(s->strategy, &device));
    DT_TRY(dt_cluster_compare(j->cluster, "the checkpoint", c->path));
    DT_TRY(dt_cluster_compare(j->cluster, "the SHA-256 of the weights", weights.hex));
    return dt_cluster_compare(j->cluster, "kernels", dt_device_facts_of(device).kernels);
}
