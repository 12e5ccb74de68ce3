/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an algorithm's all-gather to the schedule of a collective. Backwards in time an all-gather
 * is a reduce-scatter: where a chunk went from a to b, b's part of the sum now goes to a.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "schedules.h"

void dt_draft_add(dt_draft *d, dt_schedule_move move) {
    DT_GROW(d->move, d->cap, d->moves + 1);
    d->move[d->moves++] = move;
}

/* Orders moves by round; those of a round stay in the order in which they were added. */
static void sort_moves(dt_draft *d) {
    int rounds = 0;
    for (int i = 0; i < d->moves; i++)
        rounds = d->move[i].round >= rounds ? d->move[i].round + 1 : rounds;
    int *next = dt_alloc(((size_t)rounds + 1) * sizeof *next);
    dt_schedule_move *sorted = dt_alloc(((size_t)d->moves + 1) * sizeof *sorted);
    for (int i = 0; i < d->moves; i++) next[d->move[i].round + 1]++;
    for (int r = 0; r < rounds; r++) next[r + 1] += next[r];
    for (int i = 0; i < d->moves; i++) sorted[next[d->move[i].round]++] = d->move[i];
    free(d->move);
    free(next);
    d->move = sorted;
}

static void add_gather(dt_schedule *s, const dt_draft *gather, int rounds) {
    for (int i = 0; i < gather->moves; i++) {
        dt_schedule_move *m = &s->move[s->moves++];
        *m = gather->move[i];
        m->round += s->rounds;
    }
    s->rounds += rounds;
}

static void add_backwards(dt_schedule *s, const dt_draft *gather, int rounds) {
    for (int i = gather->moves - 1; i >= 0; i--) {
        dt_schedule_move *m = &s->move[s->moves++];
        *m = gather->move[i];
        m->round = s->rounds + rounds - 1 - m->round;
        m->from = gather->move[i].to;
        m->to = gather->move[i].from;
        m->add = true;
        m->phase = -1 - m->phase;
    }
    s->rounds += rounds;
}

dt_schedule *dt_schedule_of_draft(dt_draft *d) {
    dt_schedule *s = dt_alloc(sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", d->name);
    s->collective = d->collective;
    s->direct = d->direct;
    s->ranks = d->ranks;
    s->chunks = d->chunks;
    s->colors = d->colors ? d->colors : 1;
    s->owner = d->owner;
    sort_moves(d);
    const int rounds = d->moves ? d->move[d->moves - 1].round + 1 : 0;
    s->move = dt_alloc(2 * (size_t)d->moves * sizeof *s->move);
    if (s->collective == DT_REDUCE_SCATTER || s->collective == DT_ALL_REDUCE)
        add_backwards(s, d, rounds);
    if (s->collective != DT_REDUCE_SCATTER) add_gather(s, d, rounds);
    free(d->move);
    return s;
}

dt_schedule *dt_schedule_create(const dt_schedule_spec *spec) {
    const dt_algorithm *a = dt_algorithm_find(spec->algorithm);
    const int *order = spec->order;
    dt_draft d = {.name = a->name,
                  .collective = spec->collective,
                  .ranks = spec->ranks,
                  .chunks = spec->ranks * a->chunks};
    d.owner = dt_alloc((size_t)d.chunks * sizeof *d.owner);
    for (int c = 0; c < d.chunks; c++) d.owner[c] = order ? order[c / a->chunks] : c / a->chunks;
    dt_moves moves = {0};
    a->gather(spec->ranks, &moves);
    for (int i = 0; i < moves.n; i++) {
        const dt_move *m = &moves.at[i];
        dt_draft_add(&d, (dt_schedule_move){.round = m->round,
                                            .from = order ? order[m->from] : m->from,
                                            .to = order ? order[m->to] : m->to,
                                            .first = m->first,
                                            .chunks = m->chunks});
    }
    free(moves.at);
    return dt_schedule_of_draft(&d);
}

void dt_schedule_destroy(dt_schedule *s) {
    if (!s) return;
    free(s->owner);
    free(s->move);
    free(s);
}

int64_t dt_chunk_begin(const dt_schedule *s, int64_t n, int c) {
    int64_t each = n / s->chunks, rest = n % s->chunks;
    return each * c + (c < rest ? c : rest);
}
