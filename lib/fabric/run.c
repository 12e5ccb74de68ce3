/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a schedule (coll/coll.h) on arrays. A rank walks its own list of actions. The schedule, not
 * this file, decides which element gets which sum in which order. */
#include <assert.h>
#include <string.h>

#include "fabric/transfer.h"

typedef struct run {
    dt_transfer x;
    const dt_schedule *s;
    bool *summed; /* by chunk: its elements are in the items' sums; before, in their parts */
} run;

static dt_stretch stretch_of(const run *r, const dt_action *a) {
    return (dt_stretch){dt_chunk_begin(r->s, r->x.n, a->first),
                        dt_chunk_begin(r->s, r->x.n, a->first + a->chunks)};
}

/* Chunks that travel together have been added together. */
static dt_status *move(run *r, const dt_action *a) {
    const dt_stretch stretch = stretch_of(r, a);
    switch (a->kind) {
    case DT_ACTION_SEND: return dt_transfer_send(&r->x, a->peer, stretch, r->summed[a->first]);
    case DT_ACTION_REDUCE: return dt_transfer_add(&r->x, a->peer, stretch, r->summed[a->first]);
    default: return dt_transfer_receive(&r->x, a->peer, stretch);
    }
}

static dt_status *act(run *r, const dt_action *a) {
    const dt_stretch stretch = stretch_of(r, a);
    dt_member *m = r->x.m;
    if (r->x.tag.round != a->round)
        DT_TRY(dt_member_settle(m)); /* a later round may write over what this one sends */
    r->x.tag.round = a->round;
    if (stretch.begin == stretch.end) /* says that this rank is there */
        return a->kind == DT_ACTION_SEND ? dt_member_send(m, a->peer, &r->x.tag, NULL, 0)
                                         : dt_member_recv(m, a->peer, &r->x.tag, NULL, 0);
    DT_TRY(move(r, a));
    for (int c = a->first; a->kind != DT_ACTION_SEND && c < a->first + a->chunks; c++)
        r->summed[c] = true;
    return NULL;
}

static int64_t largest_sum(const run *r) {
    int64_t most = 0;
    for (int i = r->s->begin[r->x.m->rank]; i < r->s->begin[r->x.m->rank + 1]; i++) {
        const dt_stretch stretch = stretch_of(r, &r->s->action[i]);
        if (r->s->action[i].kind == DT_ACTION_REDUCE && stretch.end - stretch.begin > most)
            most = stretch.end - stretch.begin;
    }
    return most;
}

dt_status *dt_schedule_run(const dt_schedule *s, dt_member *m, dt_dtype dtype,
                           const dt_tree_item *item, int n) {
    assert(s->ranks == m->team->ranks);
    run r = {.x = {.m = m, .dtype = dtype, .item = item, .items = n}, .s = s};
    DT_TRY(dt_transfer_begin(&r.x, s->collective, s->collective != DT_ALL_GATHER));
    const size_t room = dt_transfer_room(&r.x, largest_sum(&r));
    DT_TRY(dt_member_room(m, room + (size_t)s->chunks));
    dt_transfer_use_room(&r.x, m->room);
    r.summed = memset((char *)m->room + room, 0, (size_t)s->chunks);
    for (int i = s->begin[m->rank]; i < s->begin[m->rank + 1]; i++) DT_TRY(act(&r, &s->action[i]));
    return dt_member_settle(m);
}
