/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric `mpi`: ranks are the processes that mpirun or srun has started. MPI places, starts and
 * connects them. This file adds what MPI lacks: deadlines, and errors that name the failed rank.
 * The program does not link MPI. It loads the plug-in for the MPI library that started this process
 * when a job asks for it (plugin/mpi.h).
 *
 *     a message:   header (its tag, its size)   bytes
 *
 * A short message is one transfer. The bytes of a long one are a second transfer, received directly
 * into the caller's memory.
 *
 * A waiting rank polls MPI, and later sleeps between polls. Now and then it checks that the other
 * processes on this machine are alive, so that it reports a killed one long before the deadline.
 * After the first error it sends nothing more and does not call MPI_Finalize, which would wait for
 * the dead rank.
 */
#define _GNU_SOURCE /* makes the headers declare dladdr */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/library.h"
#include "net/peers.h"
#include "net/plugin/mpi.h"

typedef struct header {
    dt_tag tag;
    uint64_t bytes;
} header;

enum { SHORT_BYTES = 8192 };
/* The first transfer of a message: its header, and the bytes if they are few. */
typedef struct head {
    header header;
    char bytes[SHORT_BYTES]; /* the bytes of the message, if it is short */
} head;

static bool is_short(size_t n) { return n <= SHORT_BYTES; }

/* A message that is being sent: its head, then the bytes of a long message. */
typedef struct sending {
    struct sending *next;
    dt_mpi_transfer *part[2];
    int to;
    /* The first transfer. The bytes of a long message are sent from the caller's memory. */
    head head;
} sending;

typedef struct mpi_group {
    dt_process_group base;
    const dt_mpi_plugin *mpi;
    void *library;
} mpi_group;

typedef struct mpi_member {
    dt_member base;
    dt_peers peers;
    sending *first;
    head came;
    int64_t spin_ns;
} mpi_member;

static mpi_group *group_of(const dt_member *m) { return (mpi_group *)m->group; }

/* ---- the plug-in, and groups ---- */

/* Returns the name of the plug-in for the MPI library whose launcher started this process, which
 * the launcher's environment variables show; if they show none, that for Open MPI. */
static const char *file_for_launcher(void) {
    const bool open = dt_environment("OMPI_COMM_WORLD_SIZE") || dt_environment("PMIX_RANK");
    return open || !dt_environment("PMI_RANK") ? "dtrain-fabric-openmpi.so"
                                               : "dtrain-fabric-mpich.so";
}

static void add_folder(dt_str *name, const char *of, const char *below, const char *file) {
    const char *slash = strrchr(of, '/');
    dt_str_printf(name, "%.*s%s%s", slash ? (int)(slash - of) + 1 : 0, of, below, file);
}

/* Loads the plug-in from the directory of the program or of the library, or from where `make
 * install` and packages put it: PREFIX/lib/dtrain, relative to PREFIX/bin, PREFIX/lib and
 * PREFIX/lib/x86_64-linux-gnu. */
static dt_status *load(mpi_group *t) {
    const char *file = file_for_launcher(), *why = NULL;
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    Dl_info here = {0};
    if (!dladdr(&dt_fabric_mpi, &here) || !here.dli_fname) here.dli_fname = program;
    enum { PLACES = 5 };
    dt_str name[PLACES] = {{0}};
    add_folder(&name[0], program, "", file);
    add_folder(&name[1], here.dli_fname, "", file);
    add_folder(&name[2], program, "../lib/dtrain/", file);
    add_folder(&name[3], here.dli_fname, "dtrain/", file);
    add_folder(&name[4], here.dli_fname, "../dtrain/", file);
    dt_status *s = NULL;
    for (int i = 0; !s && !t->library && i < PLACES; i++) {
        const char *path = dt_str_text(&name[i]);
        /* If the file exists but cannot be loaded, the loader's error is reported, because it says
         * what is missing. */
        if (access(path, R_OK) == 0)
            s = dt_library_open(&t->library, (const char *const[]){path, NULL},
                                RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE, &why);
    }
    t->mpi = t->library ? dlsym(t->library, DT_MPI_SYMBOL) : NULL;
    if (!s && !t->library)
        s = why ? dt_suggest(dt_fail(DT_E_KERNELS, NULL, "cannot load the MPI plug-in: %s", why),
                             "install Open MPI 4 or MPICH 4 of this system, "
                             "the one whose mpirun starts dtrain, or start workers without MPI")
                : dt_suggest(dt_fail(DT_E_KERNELS, NULL,
                                     "there is no MPI plug-in: %s is not beside the program", file),
                             "install the package dtrain-openmpi or dtrain-mpich, build dtrain "
                             "where mpicc is installed, or start workers without MPI");
    if (!s && (!t->mpi || t->mpi->abi != DT_MPI_ABI))
        s = dt_fail(DT_E_KERNELS, NULL, "%s belongs to another version of dtrain", file);
    for (int i = 0; i < PLACES; i++) dt_str_release(&name[i]);
    return s;
}

/* Suggests how to start the job. Without PMI, each task of srun is an MPI job of its own. */
static const char *cure(void) {
    if (dt_environment("OMPI_COMM_WORLD_SIZE") || dt_environment("PMI_SIZE") ||
        !dt_environment("SLURM_STEP_NUM_TASKS"))
        return "start dtrain with the mpirun of the MPI library that its plug-in was built with";
    return "start it by 'srun --mpi=pmix' (MPICH: --mpi=pmi2), or without MPI: set MASTER_ADDR to "
           "worker 0's machine, MASTER_PORT, WORLD_SIZE and RANK";
}

static dt_status *open_group(dt_process_group **out, int ranks,
                             const struct dt_rendezvous *rendezvous) {
    (void)rendezvous;
    mpi_group *t = dt_alloc(sizeof *t);
    char words[512] = "";
    dt_status *s = load(t);
    if (!s && t->mpi->start(&t->base.own, &t->base.ranks, words, sizeof words))
        s = dt_fail(DT_E_KERNELS, NULL, "MPI does not start: %s", words);
    if (!s && ranks && ranks != t->base.ranks)
        s = dt_suggest(dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                               "the launcher started %d processes, but %s sees %d", ranks,
                               t->mpi->library(), t->base.ranks),
                       "%s", cure());
    if (s) {
        free(t);
        return s;
    }
    *out = &t->base;
    return NULL;
}

static void close_group(dt_process_group *base) {
    mpi_group *t = (mpi_group *)base;
    /* Other ranks get 0.4 s to notice the error before they notice that this process has ended. */
    if (base->broken) nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
    else t->mpi->stop();
    free(t);
}

/* ---- waiting, and lost ranks ---- */

/* How long to poll, to yield and to sleep. A rank that yields its core to another process gets it
 * back only after milliseconds. So it polls for the time of a usual message if there is a core for
 * each rank. Sleeping takes at least a tenth of a millisecond, so a rank sleeps only when it has
 * already waited for much longer. */
enum {
    SPIN_NS = 500000,
    YIELD_NS = 2000000,
    NAP_NS = 20000,
    LONG_NS = 50000000,
    LONG_NAP_NS = 200000
};
static void pause_after(const mpi_member *m, int64_t waited_ns) {
    if (waited_ns < m->spin_ns) return;
    if (waited_ns < YIELD_NS) sched_yield();
    else nanosleep(&(struct timespec){.tv_nsec = waited_ns < LONG_NS ? NAP_NS : LONG_NAP_NS}, NULL);
}

static dt_status *refused(mpi_member *m, int peer) {
    m->base.group->broken = true;
    return dt_fail(DT_E_WORKER_GONE, NULL, "MPI lost the connection between rank %d and rank %d",
                   m->base.rank, peer);
}

/* Waits for a transfer to end, then sets *t to NULL. LOOKS is the number of polls before the
 * duration of the wait is first looked at. peer, tag, n: what is awaited, for errors. */
enum { LOOKS = 64 };
static dt_status *wait(mpi_member *m, dt_mpi_transfer **t, int peer, const dt_tag *tag, size_t n) {
    const dt_mpi_plugin *mpi = group_of(&m->base)->mpi;
    const int64_t since = dt_now_ns();
    dt_status *s = NULL;
    for (int looks = 0, done = 0; !s; looks += looks < LOOKS) {
        done = *t ? mpi->test(*t) : 1;
        if (done) *t = NULL;
        if (done) return done < 0 ? refused(m, peer) : NULL;
        if (looks < LOOKS) continue;
        const int64_t waited_ns = dt_now_ns() - since;
        pause_after(m, waited_ns);
        if (waited_ns >= YIELD_NS)
            s = dt_peers_wait(&m->peers, &m->base, &(dt_awaited){peer, tag, n, since});
    }
    m->base.group->broken = true;
    return s;
}

static dt_status *is_broken(const dt_member *m) {
    return m->group->broken
               ? dt_fail(DT_E_WORKER_GONE, NULL, "rank %d has already lost another rank", m->rank)
               : NULL;
}

/* ---- messages ---- */

static dt_status *send(dt_member *base, int to, const dt_tag *tag, const void *bytes, size_t n) {
    mpi_member *m = (mpi_member *)base;
    const dt_mpi_plugin *mpi = group_of(base)->mpi;
    DT_TRY(is_broken(base));
    const size_t beside = is_short(n) ? n : 0;
    sending *x = dt_alloc(offsetof(sending, head.bytes) + beside);
    x->to = to;
    x->head.header = (header){.tag = *tag, .bytes = n};
    if (beside) memcpy(x->head.bytes, bytes, beside);
    x->next = m->first;
    m->first = x;
    x->part[0] = mpi->send(to, &x->head, offsetof(head, bytes) + beside);
    x->part[1] = !is_short(n) && x->part[0] ? mpi->send(to, bytes, n) : NULL;
    return !x->part[0] || (!is_short(n) && !x->part[1]) ? refused(m, to) : NULL;
}

static dt_status *finish_sending(dt_member *base) {
    mpi_member *m = (mpi_member *)base;
    while (m->first) {
        sending *x = m->first;
        DT_TRY(is_broken(base));
        for (int i = 0; i < 2; i++)
            DT_TRY(wait(m, &x->part[i], x->to, &x->head.header.tag, (size_t)x->head.header.bytes));
        m->first = x->next;
        free(x);
    }
    return NULL;
}

/* Receives a message. The transfer for a long message's bytes is started before its head has
 * arrived: over TCP the sender would otherwise wait for the head to be read. After an error MPI
 * is not called again, so it does not write to `bytes` any more. */
static dt_status *recv(dt_member *base, int from, const dt_tag *tag, void *bytes, size_t n) {
    mpi_member *m = (mpi_member *)base;
    const dt_mpi_plugin *mpi = group_of(base)->mpi;
    DT_TRY(is_broken(base));
    dt_mpi_transfer *first = mpi->recv(from, &m->came, sizeof m->came),
                    *body = first && !is_short(n) ? mpi->recv(from, bytes, n) : NULL;
    if (!first || (!is_short(n) && !body)) return refused(m, from);
    DT_TRY(wait(m, &first, from, tag, n));
    const header *came = &m->came.header;
    if (came->bytes != n || !dt_tag_same(&came->tag, tag)) {
        base->group->broken = true;
        return dt_tags_differ(base, from, tag, n, &came->tag, (size_t)came->bytes);
    }
    base->flags |= came->tag.flags;
    if (body) return wait(m, &body, from, tag, n);
    if (n) memcpy(bytes, m->came.bytes, n);
    return NULL;
}

/* ---- members, and the fabric ---- */

static void leave(dt_member *base) {
    mpi_member *m = (mpi_member *)base;
    /* Messages are not freed, because transfers that have not ended still read them. */
    if (!m->first) dt_peers_release(&m->peers);
    base->group->broken |= m->first != NULL;
    if (!m->first) free(m);
}

static dt_status *join(dt_member **out, dt_process_group *base, int rank, double patience_s) {
    DT_TRY(dt_member_make(out, base, rank, patience_s, sizeof(mpi_member)));
    mpi_member *m = (mpi_member *)*out;
    DT_TRY(dt_peers_meet(&m->peers, &m->base));
    m->spin_ns = dt_peers_have_cores(&m->peers, &m->base) ? SPIN_NS : 0;
    return NULL;
}

const dt_fabric dt_fabric_mpi = {
    .kind = {.name = "mpi", .about = "ranks are the processes that mpirun or srun started"},
    .open = open_group,
    .close = close_group,
    .join = join,
    .leave = leave,
    .send = send,
    .settle = finish_sending,
    .recv = recv,
};
