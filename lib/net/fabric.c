/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that work the same on every fabric. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/fabric.h"
#include "net/rendezvous.h"

dt_status *dt_process_group_open(dt_process_group **out, const dt_fabric *f, int ranks) {
    DT_TRY(f->open(out, ranks, NULL));
    (*out)->fabric = f;
    return NULL;
}

dt_status *dt_process_group_meet(dt_process_group **out, const dt_fabric *f,
                                 const dt_rendezvous *rendezvous) {
    DT_TRY(f->open(out, rendezvous->ranks, rendezvous));
    (*out)->fabric = f;
    return NULL;
}

void dt_process_group_close(dt_process_group *t) {
    if (t) t->fabric->close(t);
}

dt_status *dt_process_group_join(dt_process_group *t, int rank, double patience_s,
                                 dt_member **out) {
    if (rank < 0 || rank >= t->ranks)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "rank %d joined a group of %d ranks", rank,
                       t->ranks);
    DT_TRY(t->fabric->join(out, t, rank, patience_s));
    (*out)->group = t;
    (*out)->rank = rank;
    (*out)->patience_s = patience_s;
    return NULL;
}

dt_status *dt_member_make(dt_member **out, dt_process_group *t, int rank, double patience_s,
                          size_t bytes) {
    if (rank != t->own)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "rank %d joined as rank %d", t->own, rank);
    if (t->joined) return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "rank %d joined twice", rank);
    t->joined = true;
    *out = dt_alloc(bytes);
    **out = (dt_member){.group = t, .rank = rank, .patience_s = patience_s};
    return NULL;
}

void dt_member_leave(dt_member *m) {
    if (!m) return;
    free(m->room);
    dt_tree_plans_release(m);
    m->group->fabric->leave(m);
}

dt_status *dt_member_send(dt_member *m, int to, const dt_tag *tag, const void *bytes, size_t n) {
    assert(to >= 0 && to < m->group->ranks && to != m->rank);
    return m->group->fabric->send(m, to, tag, bytes, n);
}

dt_status *dt_member_recv(dt_member *m, int from, const dt_tag *tag, void *bytes, size_t n) {
    assert(from >= 0 && from < m->group->ranks && from != m->rank);
    return m->group->fabric->recv(m, from, tag, bytes, n);
}

dt_status *dt_member_settle(dt_member *m) {
    return m->group->fabric->settle ? m->group->fabric->settle(m) : NULL;
}

dt_status *dt_member_room(dt_member *m, size_t bytes) {
    if (bytes <= m->room_bytes) return NULL;
    free(m->room);
    m->room = dt_try_alloc(bytes);
    m->room_bytes = m->room ? bytes : 0;
    return m->room ? NULL
                   : dt_fail(DT_E_NO_MEMORY, NULL, "no memory for %zu bytes that workers exchange",
                             bytes);
}

dt_status *dt_member_collect(dt_member *m, const void *own, const size_t *n, void *all) {
    dt_tag tag = {
        .number = ++m->number, .collective = DT_ALL_GATHER, .dtype = DT_UINT8, .step = m->step};
    snprintf(tag.of, sizeof tag.of, "%s", m->of ? m->of : "");
    for (int r = 0; r < m->group->ranks; r++) tag.elements += (int64_t)n[r];
    if (m->rank > 0) {
        DT_TRY(dt_member_send(m, 0, &tag, own, n[m->rank]));
        return dt_member_settle(m);
    }
    memcpy(all, own, n[0]);
    char *at = (char *)all + n[0];
    for (int r = 1; r < m->group->ranks; at += n[r++]) DT_TRY(dt_member_recv(m, r, &tag, at, n[r]));
    return NULL;
}

dt_status *dt_member_spread(dt_member *m, const void *own, const size_t *n, void *all) {
    dt_tag tag = {
        .number = ++m->number, .collective = DT_ALL_GATHER, .dtype = DT_UINT8, .step = m->step};
    snprintf(tag.of, sizeof tag.of, "%s", m->of ? m->of : "");
    for (int r = 0; r < m->group->ranks; r++) tag.elements += (int64_t)n[r];
    for (int r = 0; r < m->group->ranks; r++)
        if (r != m->rank) DT_TRY(dt_member_send(m, r, &tag, own, n[m->rank]));
    char *at = all;
    for (int r = 0; r < m->group->ranks; at += n[r++])
        if (r != m->rank) DT_TRY(dt_member_recv(m, r, &tag, at, n[r]));
        else if (n[r]) memcpy(at, own, n[r]);
    return dt_member_settle(m);
}

dt_status *dt_member_gather(dt_member *m, const void *own, size_t n, void *all) {
    const int ranks = m->group->ranks;
    dt_tag tag = {.number = ++m->number,
                  .collective = DT_ALL_GATHER,
                  .dtype = DT_UINT8,
                  .elements = (int64_t)n,
                  .step = m->step};
    snprintf(tag.of, sizeof tag.of, "%s", m->of ? m->of : "");
    for (int r = 0; r < ranks; r++)
        if (r != m->rank) DT_TRY(dt_member_send(m, r, &tag, own, n));
    memcpy((char *)all + (size_t)m->rank * n, own, n);
    for (int r = 0; r < ranks; r++)
        if (r != m->rank) DT_TRY(dt_member_recv(m, r, &tag, (char *)all + (size_t)r * n, n));
    return dt_member_settle(m);
}
