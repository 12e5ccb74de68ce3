/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launchers start several processes for one job and describe each in its environment: how many
 * processes there are, and which one this is. Variables of MPI's mpirun take precedence over those
 * of a batch system, which may describe mpirun itself. TF_CONFIG and torchrun's variables must
 * agree with those of mpirun, if it has started several processes. Without mpirun, they also give
 * the address at which workers meet.
 *
 * A strategy that cannot share work between processes is refused if there are several, because each
 * would do all of the job's work.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/environment.h"
#include "net/address.h"
#include "net/fabric.h"
#include "net/rendezvous.h"
#include "strategy/cluster.h"
#include "strategy/strategy.h"

static const struct launcher {
    const char *size, *rank, *name;
    const dt_fabric *fabric;
    bool sure, yields;
    const char *start;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun of Open MPI", &dt_fabric_mpi, true,
     false, NULL},
    {"PMI_SIZE", "PMI_RANK", "mpirun of MPICH", &dt_fabric_mpi, true, false, NULL},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", &dt_fabric_mpi, true, true, NULL},
    {"WORLD_SIZE", "RANK", "torchrun", &dt_fabric_zmq, false, false, "RANK="},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

/*
 * Variables that launchers set besides the number of processes and the rank. If only these are set,
 * those were lost, for example in a shell, a container or ssh. Variables that other programs set as
 * well are not listed: SLURM_LOCALID (batch scripts) and MASTER_PORT (Kubernetes, for a service
 * called master).
 */
static const struct trace {
    const char *name, *launcher, *lacks;
} traces[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "mpirun of Open MPI",
     "OMPI_COMM_WORLD_SIZE and OMPI_COMM_WORLD_RANK"},
    {"PMIX_RANK", "mpirun and 'srun --mpi=pmix'",
     "the launcher's number of processes (OMPI_COMM_WORLD_SIZE or SLURM_STEP_NUM_TASKS)"},
    {"MPI_LOCALRANKID", "mpirun of MPICH", "PMI_SIZE and PMI_RANK"},
    {"LOCAL_RANK", "torchrun", "WORLD_SIZE and RANK"},
    {"LOCAL_WORLD_SIZE", "torchrun", "WORLD_SIZE and RANK"},
    {"GROUP_RANK", "torchrun", "WORLD_SIZE and RANK"},
    {"MASTER_ADDR", "torchrun", "WORLD_SIZE and RANK"},
};

static bool read_count(const char *name, int64_t *out) {
    const char *text = dt_environment(name);
    return text && dt_parse_int64(text, out);
}

/* ---- addresses and launchers ---- */

void dt_launch_release(dt_launch *l) {
    for (int i = 0; i < l->addresses; i++) free((char *)l->address[i]);
    for (int i = 0; l->ps_address && i < l->ps; i++) free((char *)l->ps_address[i]);
    free(l->ps_address);
    l->ps_address = NULL;
    free(l->address);
    l->address = NULL;
    l->addresses = 0;
}

static void add_address(dt_launch *out, const char *text) {
    out->address = dt_realloc(out->address, (size_t)(out->addresses + 1) * sizeof *out->address);
    out->address[out->addresses++] = dt_strdup(text);
}

dt_status *dt_launch_check_addresses(const dt_launch *l, const dt_location *at, const char *of) {
    for (int i = 0; i < l->addresses; i++) {
        dt_address a;
        dt_status *s = dt_address_read(&a, l->address[i]);
        if (s || a.port == 0) {
            dt_status_free(s);
            return dt_suggest(
                dt_fail(DT_E_LAUNCH, at, "%s: '%.100s' is not the address of worker %d", of,
                        l->address[i], i),
                "write HOST:PORT, or [ADDRESS]:PORT for IPv6, with a port from 1 to 65535");
        }
    }
    /* A job with more addresses than DT_RENDEZVOUS_RANKS is refused later. */
    for (int i = 0; l->addresses <= DT_RENDEZVOUS_RANKS && i < l->addresses; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(l->address[i], l->address[k]) == 0)
                return dt_fail(DT_E_LAUNCH, at,
                               "%s: workers %d and %d have the same address, %.100s", of, k, i,
                               l->address[i]);
    return NULL;
}

dt_status *dt_launch_no_address(const dt_launch *l, const char *what, const char *whose) {
    const bool host = dt_environment("MASTER_ADDR"), port = dt_environment("MASTER_PORT");
    dt_status *s = dt_fail(DT_E_LAUNCH, NULL, "%s describes %d %s, but not where they can meet%s",
                           l->by, l->workers, what,
                           host == port ? ""
                           : host       ? ": MASTER_PORT is not set"
                                        : ": MASTER_ADDR is not set");
    if (host == port)
        return dt_suggest(s, "set MASTER_ADDR and MASTER_PORT to a name and a port of %s's machine",
                          whose);
    return host ? dt_suggest(s, "set it to a free port of %s's machine", whose)
                : dt_suggest(s, "set it to the name or the address of %s's machine", whose);
}

/* Reads the address of worker 0. If torchrun's agent listens on MASTER_PORT itself, it says so by a
 * variable, and worker 0 uses the next port. */
static dt_status *read_master(dt_launch *out) {
    const char *host = dt_environment("MASTER_ADDR"), *number = dt_environment("MASTER_PORT");
    const char *agent = dt_environment("TORCHELASTIC_USE_AGENT_STORE");
    int64_t port = 0;
    /* A missing address is not an error yet, since not all workers need it
     * (dt_launch_no_address). */
    if (!host || !number) return NULL;
    if (!read_count("MASTER_PORT", &port) || port < 1 || port > 65534)
        return dt_fail(DT_E_LAUNCH, NULL, "MASTER_PORT=%.40s: it must be 1 to 65534", number);
    dt_local_str text = {0};
    dt_address address;
    const char *colon = host[0] == '[' ? NULL : strchr(host, ':');
    const bool six = colon && strchr(colon + 1, ':');
    dt_str_printf(&text, "%s%s%s:%lld", six ? "[" : "", host, six ? "]" : "",
                  (long long)port + (agent && strcmp(agent, "True") == 0));
    dt_status *s = dt_address_read(&address, dt_str_text(&text));
    if (s) {
        dt_status_free(s);
        s = dt_fail(DT_E_LAUNCH, NULL,
                    "MASTER_ADDR=%.100s: it must be the name or the address of worker 0's machine, "
                    "without a port",
                    host);
    } else {
        add_address(out, dt_str_text(&text));
    }
    return s;
}

/* Returns an error if the rank is set without the number of processes. The batch script of a
 * Slurm job is an exception: it has rank 0, but srun has not started it. */
static dt_status *size_missing(const struct launcher *l) {
    int64_t rank = 0;
    if (!dt_environment(l->rank) || (l->yields && read_count(l->rank, &rank) && rank == 0))
        return NULL;
    return dt_suggest(
        dt_fail(DT_E_LAUNCH, NULL,
                "%s=%.40s numbers this process, but %s, the number of processes, is not set",
                l->rank, dt_environment(l->rank), l->size),
        "set %s, or unset %s to run the job in this process alone", l->size, l->rank);
}

static dt_status *rank_missing(const struct launcher *l, int64_t size) {
    return dt_suggest(dt_fail(DT_E_LAUNCH, NULL,
                              "%s=%lld, but %s, the number of this process, is not set", l->size,
                              (long long)size, l->rank),
                      "set %s to 0 to %lld, another in each process, or unset %s to run the job in "
                      "this process alone",
                      l->rank, (long long)size - 1, l->size);
}

/* Reads the variables of one launcher. out->workers is 0 if it has started no process, or only
 * one. */
static dt_status *read_launcher(const struct launcher *l, dt_launch *out) {
    int64_t size = 0, rank = 0;
    *out = (dt_launch){.by = l->size,
                       .launcher = l->name,
                       .fabric = l->fabric,
                       .sure = l->sure,
                       .yields = l->yields,
                       .start = l->start};
    if (!dt_environment(l->size)) return size_missing(l);
    if (!read_count(l->size, &size) || size < 1 || size > DT_LAUNCH_MOST)
        return dt_fail(DT_E_LAUNCH, NULL, "%s=%.40s: it must be the number of processes, 1 to %d",
                       l->size, dt_environment(l->size), DT_LAUNCH_MOST);
    if (!dt_environment(l->rank) && size > 1) return rank_missing(l, size);
    if (dt_environment(l->rank) && (!read_count(l->rank, &rank) || rank < 0 || rank >= size))
        return dt_fail(DT_E_LAUNCH, NULL, "%s=%.40s: with %s=%lld it must be 0 to %lld", l->rank,
                       dt_environment(l->rank), l->size, (long long)size, (long long)size - 1);
    out->stated = (int)size;
    out->workers = size > 1 ? (int)size : 0;
    out->rank = (int)rank;
    return l->start && out->workers ? read_master(out) : NULL;
}

/* ---- fit --workers ---- */

/* Reads "RANK FD FD ...": the rank of this worker, then a word for each worker, which the fabric
 * interprets. Without the variable, *out describes no processes. */
static dt_status *read_own(dt_launch *out) {
    const char *text = dt_environment(DT_SOCKETS_VARIABLE);
    *out = (dt_launch){
        .by = "--workers", .launcher = "--workers", .fabric = &dt_fabric_sockets, .sure = true};
    if (!text) return NULL;
    int64_t rank = -1;
    char first[24] = "";
    snprintf(first, sizeof first, "%.*s", (int)strcspn(text, " "), text);
    for (const char *c = text; *c; c++) out->workers += *c == ' ';
    if (out->workers < 2 || !dt_parse_int64(first, &rank) || rank < 0 || rank >= out->workers)
        return dt_fail(
            DT_E_LAUNCH, NULL,
            DT_SOCKETS_VARIABLE
            "=%.60s: 'dtrain fit --workers' sets it for the processes that it starts; unset it",
            text);
    out->rank = (int)rank;
    out->stated = out->workers;
    return NULL;
}

/* ---- combining launchers ---- */

static dt_status *same(const dt_launch *a, const dt_launch *b) {
    if (a->stated == b->stated && a->rank == b->rank) return NULL;
    return dt_suggest(dt_fail(DT_E_LAUNCH, NULL,
                              "%s says that this is worker %d of %d, but %s says worker %d of %d",
                              a->by, a->rank, a->stated, b->by, b->rank, b->stated),
                      "%s %s, or start the job without %s", *b->by == '-' ? "leave out" : "unset",
                      b->by, a->launcher);
}

/* Combines two launchers that were found: *out and `other`. Takes ownership of `other`. */
static dt_status *join_launches(dt_launch *out, dt_launch *other) {
    /* whether mpirun runs within a batch system, whose variables describe mpirun itself */
    const bool around = out->sure && other->sure;
    /* whether a launcher has started a single process, which may have started the others itself */
    const bool one = out->sure && out->stated == 1;
    dt_status *s = out->stated && other->stated && !around && !one ? same(out, other) : NULL;
    if (!s && other->stated && !out->workers) {
        *out = *other;
        return NULL;
    }
    if (!s && out->yields && other->workers && other->address) {
        dt_launch_release(out);
        *out = *other;
        return NULL;
    }
    dt_launch_release(other);
    return s;
}

/* Returns an error if only some variables of a launcher are set, without the number of processes.
 * If a rank is given, the job itself describes the workers. */
static dt_status *check_traces(const dt_rank_option *own) {
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        const struct trace *t = &traces[i];
        const char *text = dt_environment(t->name);
        if (text && !dt_launch_has_rank(own))
            return dt_suggest(dt_fail(DT_E_LAUNCH, NULL, "%s=%.40s is set, as %s would, but not %s",
                                      t->name, text, t->launcher, t->lacks),
                              "set what is missing, or unset %s to run the job in this process "
                              "alone",
                              t->name);
    }
    return NULL;
}

dt_status *dt_launch_find(dt_launch *out, const dt_rank_option *own) {
    DT_TRY(read_own(out));
    dt_status *s = NULL;
    for (int i = 0; i <= LAUNCHERS && !s; i++) {
        dt_launch each;
        s = i < LAUNCHERS ? read_launcher(&launchers[i], &each) : dt_launch_read_tf_config(&each);
        if (!s) s = join_launches(out, &each);
        else dt_launch_release(&each);
    }
    if (!s && !out->stated) s = check_traces(own);
    if (s) dt_launch_release(out);
    return s;
}

/* ---- a job's cluster_resolver, and processes alone ---- */

bool dt_launch_has_rank(const dt_rank_option *own) {
    return own->given || dt_environment(DT_RANK_VARIABLE);
}

static const char *rank_by(const dt_rank_option *own) {
    return own->given ? "--rank" : DT_RANK_VARIABLE;
}

dt_status *dt_launch_bad_rank(const dt_location *at, const dt_rank_option *own, const char *format,
                              ...) {
    const char *by = rank_by(own);
    dt_local_str text = {0}, rank = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&text, format, args);
    va_end(args);
    if (own->given) dt_str_printf(&rank, "%d", own->value);
    else dt_str_puts(&rank, dt_environment(DT_RANK_VARIABLE));
    return dt_fail(DT_E_LAUNCH, at, "%s%c%.40s: %s", by, own->given ? ' ' : '=', dt_str_text(&rank),
                   dt_str_text(&text));
}

/* Reads the rank. Sets *rank to -1 if it is not given. Returns false if it is given, but is not a
 * number of at least 0. */
static bool read_rank(const dt_rank_option *own, int64_t *rank) {
    const char *text = dt_environment(DT_RANK_VARIABLE);
    *rank = own->given ? own->value : -1;
    if (own->given) return *rank >= 0;
    return !text || (dt_parse_int64(text, rank) && *rank >= 0);
}

static dt_status *counts_differ(const dt_launch *l, const dt_location *at, int n) {
    return dt_fail(DT_E_LAUNCH, at, "cluster_resolver has %d workers, but %s says %d", n, l->by,
                   l->stated);
}

dt_status *dt_launch_resolve(dt_launch *out, const dt_location *at, const dt_texts *addresses,
                             const dt_rank_option *option) {
    const int n = addresses->n;
    int64_t rank = -1;
    if (!read_rank(option, &rank) || rank >= n)
        return dt_launch_bad_rank(
            at, option, "with %d workers in cluster_resolver it must be 0 to %d", n, n - 1);
    const dt_launch own = {.workers = n,
                           .stated = n,
                           .rank = (int)rank,
                           .by = rank_by(option),
                           .launcher = "cluster_resolver",
                           .fabric = &dt_fabric_zmq,
                           .start = "--rank "};
    const bool counts = out->workers || (out->stated && !out->sure);
    if (counts && out->stated != n) return counts_differ(out, at, n);
    if (counts && rank >= 0) DT_TRY(same(out, &own));
    /* This launcher connects the workers, so their addresses are not needed. */
    if (out->sure && !out->yields && out->workers) return NULL;
    const int known = rank >= 0 ? (int)rank : out->workers ? out->rank : -1;
    dt_launch_release(out);
    *out = own;
    out->rank = known < 0 ? 0 : known;
    out->workers = known < 0 ? 0 : n;
    for (int i = 0; i < n; i++) add_address(out, addresses->v[i]);
    return dt_launch_check_addresses(out, at, "cluster_resolver");
}

const char *dt_launch_without_srun(const struct dt_strategy *strategy, dt_arena *arena) {
    int64_t tasks = 0;
    dt_launch l;
    if (strategy->cluster || !strategy->row->is_launched) return NULL;
    dt_status *s = dt_launch_find(&l, &(dt_rank_option){0});
    const bool alone = !s && l.stated == 0;
    dt_status_free(s);
    if (!s) dt_launch_release(&l);
    if (!alone || !read_count("SLURM_NTASKS", &tasks) || tasks < 2) return NULL;
    return dt_arena_printf(
        arena,
        "Slurm gave this job %lld tasks (SLURM_NTASKS), but srun has not started "
        "this process, which trains alone: write 'srun dtrain fit ...'",
        (long long)tasks);
}

dt_status *dt_launched_alone(void) {
    dt_launch l;
    DT_TRY(dt_launch_find(&l, &(dt_rank_option){0}));
    dt_launch_release(&l);
    if (l.workers == 0) return NULL;
    if (l.fabric == &dt_fabric_sockets)
        return dt_fail(DT_E_NOT_YET, NULL,
                       "--workers shares the work of multi_worker_mirrored jobs; add "
                       "'strategy={type: multi_worker_mirrored}'");
    return dt_suggest(dt_fail(DT_E_NOT_YET, NULL,
                              "%s says that this is one of %d processes; each would do all of the "
                              "job's work, because only "
                              "strategy: {type: multi_worker_mirrored} shares it",
                              l.by, l.workers),
                      "to work in this process alone, unset %s; to share the work, write that "
                      "strategy into the job",
                      l.by);
}
