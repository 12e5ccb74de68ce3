/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a job's workers, and creates its strategy, model, optimizer and trainer: with memory for
 * computing, or as an outline for planning. */
#include "job/session.h"

#include <string.h>

#include "job/job.h"
#include "job/partition.h"

/* ---- workers ---- */

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

/* ---- the start of training ---- */

/* The start of training: finds the run's directory, and the weights that `init_from` names. These
 * matter only if training does not resume from a checkpoint. */

char *dt_job_output(const dt_job *j) { return dt_path_join(j->work_directory, j->run_dir); }

dt_init_from dt_job_first_weights(const dt_job *j) {
    dt_init_from from = j->model.init_from;
    if (!from.path) return from;
    DT_LOCAL char *path = dt_path_join(j->work_directory, from.path);
    from.path = dt_arena_strdup(j->arena, path);
    return from;
}

static bool goes_on(const dt_job *j) {
    int64_t generation = -1;
    if (dt_job_resume(j) == DT_RESUME_NEVER) return false;
    DT_LOCAL char *directory = dt_job_output(j);
    /* an error is dropped, since training reports it again */
    dt_status_free(dt_checkpoints_generation(directory, &generation));
    return generation >= 0 || dt_job_resume(j) == DT_RESUME_PATH;
}

dt_status *dt_job_check_first_weights(const dt_job *j) {
    const dt_init_from from = dt_job_first_weights(j);
    dt_model *m = NULL;
    if (!from.path || goes_on(j)) return NULL;
    dt_status *s = dt_model_outline(&m, &j->model, NULL);
    if (!s) s = dt_init_check(m, &from);
    dt_model_unref(m);
    return s;
}

/* ---- sessions ---- */

static dt_status *check_sections(const dt_job *j, bool training) {
    if (!j->has_compile)
        return dt_fail(DT_E_MISSING_KEY, &j->at, "required key 'compile' is missing");
    if (training && !j->has_fit)
        return dt_fail(DT_E_MISSING_KEY, &j->at, "required key 'fit' is missing");
    return NULL;
}

static dt_status *read_faults(dt_job *j, const dt_run_options *o, dt_session *s) {
    DT_TRY(dt_want_texts(o->inject, o->n_inject, "dt_run_options", "text of a fault"));
    DT_TRY(dt_faults_read(j->arena, o->inject, o->n_inject, &s->faults));
    DT_TRY(dt_faults_check(&s->faults, dt_resolver_slice(s->strategy->resolver)));
    dt_strategy_set_hbm(s->strategy, dt_faults_hbm(&s->faults));
    return NULL;
}

/* reproducible.strict takes precedence over --kernels, since only dtrain's own kernels give the
 * same bits everywhere. Without --kernels, libraries are used if the job sets it to false; if the
 * job does not set it, the precision decides. */
dt_kernels dt_job_kernels(const dt_job *j, dt_kernels asked) {
    if (j->strict) return DT_KERNELS_OWN;
    if (asked != DT_KERNELS_AUTO) return asked;
    if (j->chooses_strict) return DT_KERNELS_LIBRARIES;
    return j->compile.precision == DT_POLICY_MIXED_BFLOAT16 ? DT_KERNELS_BFLOAT16 : DT_KERNELS_AUTO;
}

static dt_status *choose_engine(const dt_job *j, const dt_run_options *o, dt_session *s) {
    const int threads = dt_servers_threads(&s->strategy->servers, o->threads);
    if (j->strict && o->kernels != DT_KERNELS_AUTO && o->kernels != DT_KERNELS_OWN)
        return dt_fail(DT_E_USAGE, NULL,
                       "--kernels: the job says reproducible: {strict: true}, which only dtrain's "
                       "own kernels can; leave --kernels out");
    dt_strategy_set_engine(s->strategy, threads, dt_job_kernels(j, o->kernels));
    return NULL;
}

dt_status *dt_session_open_model(dt_job *j, const dt_run_options *o, dt_session *s) {
    if (j->strategy.launch.workers && !j->cluster && !j->strategy.servers.fingerprint)
        return dt_suggest(dt_fail(DT_E_NOT_YET, &j->strategy.at,
                                  "%s says that this is one of %d processes; only fit, evaluate "
                                  "and predict share their work among them",
                                  j->strategy.launch.by, j->strategy.launch.workers),
                          "run this command without %s", j->strategy.launch.launcher);
    DT_TRY(dt_strategy_open(&s->strategy, &j->strategy));
    s->strategy->cluster = j->cluster;
    DT_TRY(choose_engine(j, o, s));
    DT_TRY(read_faults(j, o, s));
    DT_TRY(dt_job_find_documents(j));
    DT_TRY(dt_model_make(&s->model, &j->model, s->strategy, j->seed));
    s->model->precision = j->compile.precision;
    return dt_job_annotate_model(j, s->model);
}

/* Returns the name of the layer that is the only output; NULL: there are several outputs. */
static const char *output_of(const dt_model_spec *m) {
    return m->n_outputs == 1 ? m->output[0].name : NULL;
}

/* Returns the settings that determine how steps are computed and estimated. */
static dt_compute_spec how_of(const dt_job *j) {
    dt_compute_spec how = j->how;
    how.mixed = j->compile.precision != DT_POLICY_FLOAT32;
    how.quantization = j->compile.quantization;
    how.output = output_of(&j->model);
    how.scanned = j->model.scan_layers ? &j->model : NULL;
    how.pieces = j->model.vocabulary_tiling;
    how.collective_products = j->partition && j->partition->collective_products;
    how.slices = (int)j->strategy.slices;
    return how;
}

static void describe_trainer(const dt_job *j, dt_session *s) {
    s->made_of = (dt_trainer_options){.strategy = s->strategy,
                                      .model = s->model,
                                      .compile = &j->compile,
                                      .optimizer = s->optimizer,
                                      .data = j->data,
                                      .fit = j->has_fit ? &j->fit : NULL,
                                      .how = how_of(j)};
}

/* For models with this many parameters or more, the memory of the slice and of this machine is
 * checked before weights are allocated. */
enum { LARGE_WEIGHTS = 1 << 26 };

/* Whether weights are large, and this process computes the whole step. */
static bool is_large_here(const dt_job *j) {
    return j->model.parameters >= LARGE_WEIGHTS && !j->strategy.launch.workers &&
           !j->strategy.servers.workers;
}

static dt_status *outline_fits(dt_job *j, const dt_run_options *o, dt_session *s) {
    DT_TRY(dt_session_outline(j, 0, s));
    DT_TRY(choose_engine(j, o, s));
    DT_TRY(read_faults(j, o, s));
    if (j->model.parameters >= LARGE_WEIGHTS && dt_resolver_slice(j->strategy.resolver))
        DT_TRY(dt_trainer_check_fits(s->trainer));
    /* the memory of this machine is not checked if a plug-in's device, with its own memory,
     * computes */
    if (!is_large_here(j) || strcmp(dt_strategy_backend(s->strategy), s->strategy->row->backend))
        return NULL;
    s->model->precision = j->compile.precision;
    return dt_trainer_check_memory(s->trainer, j->how.shards);
}

static dt_status *check_outline(dt_job *j, const dt_run_options *o) {
    dt_session s = {0};
    if (!dt_resolver_slice(j->strategy.resolver) && !is_large_here(j)) return NULL;
    dt_status *bad = outline_fits(j, o, &s);
    dt_session_close(&s);
    return bad;
}

dt_status *dt_session_open(dt_job *j, const dt_run_options *o, bool training, dt_session *s) {
    DT_TRY(check_sections(j, training));
    DT_TRY(dt_job_check_fold(j));
    DT_TRY(dt_job_open_data(j));
    if (training) DT_TRY(check_outline(j, o));
    DT_TRY(dt_session_open_model(j, o, s));
    if (training) s->optimizer = dt_optimizer_compiled(&j->compile);
    describe_trainer(j, s);
    return dt_trainer_create(&s->trainer, &s->made_of);
}

dt_status *dt_session_outline(dt_job *j, int shards, dt_session *s) {
    DT_TRY(check_sections(j, false));
    DT_TRY(dt_job_open_data(j));
    DT_TRY(dt_strategy_open(&s->strategy, &j->strategy));
    DT_TRY(dt_model_outline(&s->model, &j->model, s->strategy));
    s->model->seed = j->seed; /* random numbers of steps are drawn from this seed */
    DT_TRY(dt_job_annotate_model(j, s->model));
    s->optimizer = dt_optimizer_compiled(&j->compile);
    describe_trainer(j, s);
    s->made_of.how.shards = shards;
    return dt_trainer_outline(&s->trainer, &s->made_of);
}

void dt_session_close(dt_session *s) {
    dt_trainer_destroy(s->trainer);
    dt_optimizer_unref(s->optimizer);
    dt_model_unref(s->model);
    dt_strategy_unref(s->strategy);
}
