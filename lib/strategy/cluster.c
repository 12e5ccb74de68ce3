/* SPDX-License-Identifier: Apache-2.0 */
/* See cluster.h: connecting workers in separate processes, and exchanges between them. */
#include "strategy/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/environment.h"
#include "net/fabric.h"
#include "net/rendezvous.h"
#include "op/workers.h"

dt_status *dt_launch_secret(const dt_launch *l, dt_run_key *key, bool *has_key, bool *open) {
    const char *variable = dt_environment(DT_SECRET_VARIABLE),
               *path = variable ? variable : l->secret_file;
    *open = path && strcmp(path, "none") == 0;
    *has_key = path && !*open;
    dt_status *s = *has_key ? dt_run_key_read(key, path) : NULL;
    return s ? dt_note(s, "which is the run's secret (%s)",
                       path == l->secret_file ? "cluster_resolver.secret_file" : DT_SECRET_VARIABLE)
             : NULL;
}

const char *dt_launch_interface(void) { return dt_environment(DT_INTERFACE_VARIABLE); }

static dt_status *meet(dt_process_group **out, const dt_launch *l, const dt_cluster_spec *spec) {
    dt_run_key key;
    bool has_key = false, open = false;
    if (!l->address) return dt_launch_no_address(l, "workers", "worker 0");
    DT_TRY(dt_launch_secret(l, &key, &has_key, &open));
    return dt_process_group_meet(out, l->fabric,
                                 &(dt_rendezvous){.ranks = l->workers,
                                                  .own = l->rank,
                                                  .address = l->address,
                                                  .addresses = l->addresses,
                                                  .interface = dt_launch_interface(),
                                                  .key = has_key ? &key : NULL,
                                                  .open = open,
                                                  .patience_s = spec->start_s,
                                                  .silence_s = 2 * spec->message_s,
                                                  .start = l->start,
                                                  .first = l->first,
                                                  .say = spec->say,
                                                  .warn = spec->warn,
                                                  .user = spec->user});
}

dt_status *dt_cluster_open(dt_cluster **out, const dt_launch *launch, const dt_cluster_spec *spec) {
    dt_cluster *c = dt_alloc(sizeof *c);
    dt_status *s = launch->start
                       ? meet(&c->group, launch, spec)
                       : dt_process_group_open(&c->group, launch->fabric, launch->workers);
    if (!s && launch->rank != c->group->own)
        s = dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                    "%s says that this is worker %d, but %s calls it %d", launch->by, launch->rank,
                    launch->fabric->kind.name, c->group->own);
    if (!s) s = dt_process_group_join(c->group, c->group->own, spec->message_s, &c->member);
    if (s) {
        dt_cluster_close(c, true);
        return s;
    }
    c->member->say = spec->say;
    c->member->user = spec->user;
    c->workers = c->group->ranks;
    c->rank = c->group->own;
    *out = c;
    return NULL;
}

void dt_cluster_close(dt_cluster *c, bool failed) {
    if (!c) return;
    if (c->group && failed) c->group->broken = true;
    dt_member_leave(c->member);
    if (c->group) dt_process_group_close(c->group);
    free(c);
}

void dt_cluster_begin_step(dt_cluster *c, int64_t step, uint32_t flags) {
    if (!c) return;
    c->member->step = step;
    c->member->flags = flags;
    c->sums = c->member->flag_sums;
}

dt_status *dt_cluster_end_step(dt_cluster *c, const char *of, uint32_t *flags) {
    if (!c) return NULL;
    *flags |= c->member->flags;
    if (c->member->flag_sums > c->sums) return NULL;
    DT_LOCAL uint32_t *all = dt_alloc((size_t)c->workers * sizeof *all);
    dt_status *s = dt_cluster_gather(c, of, flags, sizeof *flags, all);
    for (int i = 0; !s && i < c->workers; i++) *flags |= all[i];
    return s;
}

/* Returns the first row of shard i, as dt_cut_rows divides rows. */
static int64_t begin_of_shard(int64_t rows, int64_t shards, int64_t i) {
    const int64_t more = rows % shards;
    return i * (rows / shards) + (i < more ? i : more);
}

void dt_cluster_rows(const dt_cluster *c, int shards, int64_t rows, int64_t *from, int64_t *to) {
    const dt_shard_range own = dt_shards_of_worker(shards, c->workers, c->rank);
    *from = begin_of_shard(rows, shards, own.first);
    *to = begin_of_shard(rows, shards, (int64_t)own.first + own.count);
}

dt_status *dt_cluster_gather(dt_cluster *c, const char *of, const void *own, size_t n, void *all) {
    c->member->of = of;
    dt_status *s = dt_member_gather(c->member, own, n, all);
    c->member->of = NULL;
    return s;
}

dt_status *dt_cluster_collect(dt_cluster *c, const char *of, const void *own, const size_t *n,
                              void *all) {
    c->member->of = of;
    dt_status *s = dt_member_collect(c->member, own, n, all);
    c->member->of = NULL;
    return s;
}

dt_status *dt_cluster_spread(dt_cluster *c, const char *of, const void *own, const size_t *n,
                             void *all) {
    c->member->of = of;
    dt_status *s = dt_member_spread(c->member, own, n, all);
    c->member->of = NULL;
    return s;
}

void dt_cluster_own_batch(const void *cluster, int64_t batch, int64_t rows, int64_t *from,
                          int64_t *to) {
    const dt_cluster *c = cluster;
    *from = 0;
    *to = batch % c->workers == c->rank ? rows : 0;
}

dt_status *dt_cluster_max(dt_cluster *c, const char *of, int64_t *number, int n) {
    if (!c) return NULL;
    DT_LOCAL int64_t *all = dt_alloc((size_t)(c->workers * n) * sizeof *all);
    dt_status *s = dt_cluster_gather(c, of, number, (size_t)n * sizeof *all, all);
    for (int i = 0; !s && i < c->workers * n; i++)
        number[i % n] = all[i] > number[i % n] ? all[i] : number[i % n];
    return s;
}

dt_status *dt_cluster_compare(dt_cluster *c, const char *of, const char *own) {
    enum { LINE = 256 };
    if (!c) return NULL;
    char line[LINE] = "", *all = dt_alloc((size_t)c->workers * LINE);
    snprintf(line, sizeof line, "%s", own);
    dt_status *s = dt_cluster_gather(c, of, line, LINE, all);
    for (int r = 1; !s && r < c->workers; r++)
        if (memcmp(all, all + (size_t)r * LINE, LINE) != 0)
            s = dt_fail(DT_E_WORKERS_DISAGREE, NULL, "%s: worker 0 has %.*s, worker %d has %.*s",
                        of, LINE - 1, all, r, LINE - 1, all + (size_t)r * LINE);
    free(all);
    return s;
}

dt_status *dt_cluster_agree(dt_cluster *c, const char *of, dt_status *own) {
    if (!c) return own;
    int64_t *all = dt_alloc((size_t)c->workers * sizeof *all), code = own ? dt_status_code(own) : 0;
    dt_status *s = dt_cluster_gather(c, of, &code, sizeof code, all);
    for (int r = 0; !s && !own && r < c->workers; r++)
        if (all[r])
            s = dt_fail(DT_E_WORKER_GONE, NULL,
                        "worker %d could not %s; its own message says why (exit code %lld)", r, of,
                        (long long)all[r]);
    free(all);
    if (own) dt_status_free(s);
    return own ? own : s;
}
