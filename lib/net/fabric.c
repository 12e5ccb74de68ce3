/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that work the same on every fabric. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/fabric.h"
#include "net/rendezvous.h"
#include "op/workers.h"

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

/* Collects values that are divided among workers by rows. Each worker packs its rows of all
 * values into one message and sends it to every other worker. */

static size_t bytes_of(const dt_rows_item *x, int ranks, int rank) {
    return (size_t)(dt_worker_rows_begin(x->rows, ranks, rank + 1) -
                    dt_worker_rows_begin(x->rows, ranks, rank)) *
           x->row_bytes;
}

static size_t bytes_of_rank(const dt_rows_item *item, int n, int ranks, int rank) {
    size_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += bytes_of(&item[i], ranks, rank);
    return bytes;
}

static void unpack(const dt_rows_item *item, int n, int ranks, int rank, const char *from) {
    for (int i = 0; i < n; i++) {
        const size_t bytes = bytes_of(&item[i], ranks, rank);
        memcpy((char *)item[i].whole +
                   (size_t)dt_worker_rows_begin(item[i].rows, ranks, rank) * item[i].row_bytes,
               from, bytes);
        from += bytes;
    }
}

/* Collects the rows of all ranks. m->room holds this rank's packed rows, followed by the packed
 * rows of each other rank. */
dt_status *dt_rows_all_gather(dt_member *m, const dt_rows_item *item, int n) {
    const int ranks = m->group->ranks;
    size_t all = 0;
    for (int r = 0; r < ranks; r++) all += bytes_of_rank(item, n, ranks, r);
    DT_TRY(dt_member_room(m, all));
    const size_t own = bytes_of_rank(item, n, ranks, m->rank);
    dt_tag tag = {.number = ++m->number,
                  .collective = DT_ALL_GATHER,
                  .dtype = DT_UINT8,
                  .elements = (int64_t)all,
                  .step = m->step};
    snprintf(tag.of, sizeof tag.of, "%s", m->of ? m->of : "");
    char *to = m->room;
    for (int i = 0; i < n; i++) {
        memcpy(to, item[i].own, bytes_of(&item[i], ranks, m->rank));
        to += bytes_of(&item[i], ranks, m->rank);
    }
    for (int r = 0; r < ranks; r++)
        if (r != m->rank) DT_TRY(dt_member_send(m, r, &tag, m->room, own));
    unpack(item, n, ranks, m->rank, m->room);
    for (int r = 0; r < ranks; r++) {
        const size_t bytes = bytes_of_rank(item, n, ranks, r);
        if (r == m->rank) continue;
        DT_TRY(dt_member_recv(m, r, &tag, to, bytes));
        unpack(item, n, ranks, r, to);
        to += bytes;
    }
    return dt_member_settle(m);
}

/* Compares the tags of messages. Makes the errors for messages that are missing, or other than
 * expected. */

bool dt_tag_same(const dt_tag *a, const dt_tag *b) {
    return a->number == b->number && a->collective == b->collective && a->round == b->round &&
           a->dtype == b->dtype && a->elements == b->elements && a->step == b->step &&
           strncmp(a->of, b->of, sizeof a->of) == 0;
}

/* Appends a description: "all_reduce 7, round 3, of 1000 float32 (4000 bytes) for dense/kernel in
 * step 12". */
static void describe(const dt_tag *tag, size_t n, dt_str *out) {
    dt_str_printf(out, "%s %u, round %d, of %lld %s (%zu bytes)",
                  dt_collective_name(tag->collective), tag->number, tag->round + 1,
                  (long long)tag->elements, dt_dtype_name(tag->dtype), n);
    if (tag->of[0]) dt_str_printf(out, " for %.*s", (int)sizeof tag->of, tag->of);
    if (tag->step > 0) dt_str_printf(out, " in step %lld", (long long)tag->step);
}

dt_status *dt_tags_differ(const dt_member *m, int from, const dt_tag *awaited, size_t n,
                          const dt_tag *came, size_t bytes) {
    dt_local_str here = {0}, there = {0};
    describe(awaited, n, &here);
    describe(came, bytes, &there);
    return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "rank %d is in %s, rank %d in %s", m->rank,
                   dt_str_text(&here), from, dt_str_text(&there));
}

dt_status *dt_message_missing(const dt_member *m, int from, const dt_tag *awaited, size_t n,
                              bool late) {
    dt_local_str what = {0};
    describe(awaited, n, &what);
    return late ? dt_fail(DT_E_WORKER_LATE, NULL, "rank %d is late: rank %d waited %g s for %s",
                          from, m->rank, m->patience_s, dt_str_text(&what))
                : dt_fail(DT_E_WORKER_GONE, NULL, "rank %d left while rank %d waited for %s", from,
                          m->rank, dt_str_text(&what));
}
