/* SPDX-License-Identifier: Apache-2.0 */
/* Training: settings that have no effect, the run of this process, and the report after it. */
#define _GNU_SOURCE /* for memfd_create */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "job/session.h"

/* Returns the first layer whose results in training depend on how the batch is divided among
 * replicas; NULL: no layer does, or there is one replica. */
static const dt_layer_spec *find_divided(const dt_job *j) {
    for (int i = 0; j->replicas > 1 && i < j->model.n_layers; i++) {
        const dt_layer_spec *l = &j->model.layer[i];
        if (l->row->by_replica && l->row->by_replica(l->args)) return l;
    }
    return NULL;
}

/* the most warnings: those of limits_of and those of idle_keys.c */
enum { MOST_LIMITS = 6 + DT_MOST_IDLE_KEYS };

/* Returns warnings about settings of the job, such as those that have less effect than a user may
 * expect. */
static dt_texts limits_of(const dt_job *j, const dt_run_options *o) {
    bool several =
        j->strategy.assignment && dt_device_assignment_logical_devices(j->strategy.assignment) > 1;
    dt_texts t = {.v = dt_arena_array(j->arena, const char *, MOST_LIMITS)};
    if (several && !j->partition)
        t.v[t.n++] = "a replica has several logical devices, but the job has no partition: the "
                     "first one computes";
    else if (several && j->how.shards > 0)
        t.v[t.n++] =
            "reproducible: the logical devices of a replica compute as one; partition is checked";
    else if (!several && j->partition && j->how.over_replicas == DT_OVER_NONE)
        t.v[t.n++] = "partition is without effect: each replica has one logical device";
    if (j->strategy.verify_replicas && !j->strategy.launch.workers)
        t.v[t.n++] = "verify_replicas is without effect: replicas of one process share one copy of "
                     "the weights";
    if (o->threads > 1 && j->strategy.servers.fingerprint && !j->strategy.servers.program &&
        !j->strategy.launch.workers)
        t.v[t.n++] = dt_arena_printf(j->arena,
                                     "%d threads are without effect: workers of a parameter server "
                                     "that are forked have one, and so has their coordinator",
                                     o->threads);
    if (j->strategy.resolver && j->strategy.resolver->why) t.v[t.n++] = j->strategy.resolver->why;
    const dt_layer_spec *divided = find_divided(j);
    if (divided)
        t.v[t.n++] = dt_arena_printf(j->arena,
                                     "%s uses the statistics of each replica's part of the batch, "
                                     "so results depend on the number of "
                                     "replicas; set synchronized: true to avoid that",
                                     divided->row->kind.name);
    return t;
}

static dt_status *fit(dt_job *j, const dt_run_options *o, const dt_session *s, dt_texts printed,
                      int64_t called_ns) {
    DT_LOCAL char *directory = dt_job_output(j);
    char *resume = j->checkpoint.resume_path
                       ? dt_path_join(j->work_directory, j->checkpoint.resume_path)
                       : NULL;
    dt_checkpoint_spec checkpoint = j->checkpoint;
    checkpoint.resume_path = resume;
    const dt_init_from begin = dt_job_first_weights(j);
    DT_LOCAL char *config = NULL;
    dt_status *bad = dt_job_config_text(j, true, &config);
    if (!bad)
        bad = dt_fit(&(dt_fit_request){.init_from = begin.path ? &begin : NULL,
                                       .trainer = s->trainer,
                                       .fit = &j->fit,
                                       .checkpoint = &checkpoint,
                                       .directory = directory,
                                       .name = j->name,
                                       .job = j->json,
                                       .job_sha256 = j->sha256.hex,
                                       .difference = dt_job_saved_difference,
                                       .difference_of = j,
                                       .config = config,
                                       .n_hidden = j->n_variables,
                                       .hidden = j->variable,
                                       .printed = printed,
                                       .seed = j->seed,
                                       .run = o,
                                       .called_ns = called_ns,
                                       .faults = s->faults,
                                       .trace = j->trace});
    free(resume);
    return bad;
}

/* Whether to write a report: the job asks for one, this is the first worker and not a dry run, and
 * training succeeded, diverged or was stopped. A run that failed otherwise may have found its
 * directory in use by another run. */
static bool is_worth_a_report(const dt_job *j, const dt_run_options *o, const dt_status *s) {
    int number = dt_status_number(s);
    return j->report && j->strategy.launch.rank == 0 && j->strategy.launch.task == DT_TASK_WORKER &&
           !o->dry_run && (!s || number == DT_E_STOPPED || number == DT_E_DIVERGED);
}

static dt_status *write_report(const dt_job *j, const dt_run_options *o) {
    char *directory = dt_job_output(j), *path = NULL;
    dt_status *s = dt_run_report(
        &(dt_run_report_request){.runs = (const char *const[]){directory}, .n_runs = 1}, &path);
    if (!s && o->event) o->event(&(dt_event){.kind = DT_EVENT_REPORT, .text = path}, o->user);
    free(path);
    free(directory);
    return s;
}

/* Refuses to train without a worker number if the job lists the addresses of its workers, because
 * one worker alone cannot train the job. */
static dt_status *check_is_numbered(const dt_job *j) {
    const dt_launch *l = &j->strategy.launch;
    if (l->addresses && !l->workers)
        return dt_suggest(
            dt_fail(DT_E_LAUNCH, &j->strategy.at,
                    "cluster_resolver lists %d workers, but the number of this one is not set",
                    l->addresses),
            "start each with its number, --rank 0 to --rank %d", l->addresses - 1);
    return dt_job_check_rank(j);
}

/* Refuses to train in a process that a coordinator started, if the job has been edited since and no
 * longer has workers. */
static dt_status *check_is_no_worker(const dt_job *j) {
    dt_inherited x;
    if (j->strategy.servers.workers) return NULL;
    DT_TRY(dt_inherited_read(&x));
    return x.workers ? dt_fail(DT_E_WORKERS_DISAGREE, &j->strategy.at,
                               "the coordinator trains this job with a parameter server, which it "
                               "no longer has")
                     : NULL;
}

DT_API int dt_job_worker(const dt_job *j) { return DT_LIVE(j) ? j->strategy.launch.rank : 0; }

/* Writes the job's text to a file in memory. *out: its descriptor, also after an error; -1: the
 * file could not be created. */
static dt_status *write_input(const dt_source *text, int *out) {
    *out = memfd_create("job", MFD_CLOEXEC);
    if (*out < 0) return dt_fail_errno(DT_E_IO, "the job for workers");
    for (size_t done = 0; done < text->size;) {
        const ssize_t n = write(*out, text->text + done, text->size - done);
        if (n < 0) return dt_fail_errno(DT_E_IO, "the job for workers");
        done += (size_t)n;
    }
    return NULL;
}

/* Sets *out to the standard input of the workers that this process starts. If the job was read from
 * standard input, this is the job's text. If standard input is a file, which the job may name as
 * /dev/stdin, each worker reads it from the beginning. Otherwise *out is -1. */
static dt_status *open_input(const dt_job *j, int *out) {
    struct stat of;
    *out = -1;
    if (j->input) return write_input(j->input, out);
    if (fstat(STDIN_FILENO, &of) == 0 && S_ISREG(of.st_mode))
        *out = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
    return NULL;
}

/* Connects the processes that will compute together. If a coordinator leads them, they connect
 * later, when they can compute. With a parameter server, also sets what its workers need to check
 * that they train the same job, and the program and input that a coordinator starts them with. */
static dt_status *prepare_to_meet(dt_job *j, const dt_run_options *o) {
    dt_servers_spec *q = &j->strategy.servers;
    if (!dt_job_meets_coordinator(j)) DT_TRY(dt_job_open_workers(j, o));
    if (!q->workers) return NULL;
    q->fingerprint = dt_arena_printf(j->arena, "dtrain %s, job %s", dt_version(), j->sha256.hex);
    q->program = o->program;
    return q->program ? open_input(j, &q->input) : NULL;
}

static void close_input(dt_job *j) {
    dt_servers_spec *q = &j->strategy.servers;
    if (q->program && q->input >= 0) close(q->input);
    q->program = NULL;
    q->input = -1;
}

static dt_status *fit_here(dt_job *j, const dt_run_options *options, int64_t called_ns) {
    dt_session s = {0};
    dt_texts printed = limits_of(j, options);
    const dt_texts idle = dt_job_idle_keys(j, j->arena);
    for (int i = 0; i < idle.n; i++) printed.v[printed.n++] = idle.v[i];
    for (int i = 0; i < printed.n; i++) dt_job_warn(options, printed.v[i]);
    dt_status *bad =
        dt_cluster_agree(j->cluster, "prepare its training", dt_session_open(j, options, true, &s));
    if (!bad) bad = fit(j, options, &s, printed, called_ns);
    dt_session_close(&s);
    dt_job_close_workers(j, bad);
    return bad;
}

DT_API dt_status *dt_job_fit(dt_job *j, const dt_run_options *options) {
    const int64_t called_ns = dt_now_ns();
    DT_REQUIRE({DT_LIVE(j), "job"});
    DT_TRY(check_is_no_worker(j));
    DT_TRY(check_is_numbered(j));
    options = dt_options_or_none(options);
    dt_status *bad = prepare_to_meet(j, options);
    if (!bad) bad = fit_here(j, options, called_ns);
    close_input(j);
    dt_status *unwritten = is_worth_a_report(j, options, bad) ? write_report(j, options) : NULL;
    if (!bad) return unwritten;
    /* an error of writing the report is dropped if training has failed, since only one error can be
     * returned */
    dt_status_free(unwritten);
    return bad;
}
