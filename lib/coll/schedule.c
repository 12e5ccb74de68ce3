/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an algorithm's all-gather to the schedule of a collective. Backwards in time an all-gather
 * is a reduce-scatter: where a chunk went from a to b, b's part of the sum now goes to a.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coll/moves.h"

static const dt_algorithm *const algorithms[] = {
#define DT_ALGORITHM(name) &dt_algorithm_##name,
#include "coll/algorithms.h"
};

const dt_algorithm *const *dt_algorithms(int *n) {
    *n = sizeof algorithms / sizeof *algorithms;
    return algorithms;
}

const dt_algorithm *dt_algorithm_find(const char *name) {
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (strcmp(algorithms[i]->name, name) == 0) return algorithms[i];
    return NULL;
}

const char *dt_collective_name(dt_collective c) {
    static const char *const names[] = {
        [DT_ALL_GATHER] = "all_gather",
        [DT_REDUCE_SCATTER] = "reduce_scatter",
        [DT_ALL_REDUCE] = "all_reduce",
        [DT_ALL_TO_ALL] = "all_to_all",
        [DT_COLLECTIVE_PERMUTE] = "collective_permute",
        [DT_COLLECTIVE_BROADCAST] = "collective_broadcast",
    };
    return names[c];
}

void dt_moves_add(dt_moves *m, dt_move move) {
    DT_GROW(m->at, m->cap, m->n + 1);
    m->at[m->n++] = move;
}

void dt_moves_sort(dt_moves *m) {
    int rounds = 0;
    for (int i = 0; i < m->n; i++) rounds = m->at[i].round >= rounds ? m->at[i].round + 1 : rounds;
    int *next = dt_alloc(((size_t)rounds + 1) * sizeof *next);
    dt_move *sorted = dt_alloc(((size_t)m->n + 1) * sizeof *sorted);
    for (int i = 0; i < m->n; i++) next[m->at[i].round + 1]++;
    for (int r = 0; r < rounds; r++) next[r + 1] += next[r];
    for (int i = 0; i < m->n; i++) sorted[next[m->at[i].round]++] = m->at[i];
    free(m->at);
    free(next);
    m->at = sorted;
    m->cap = m->n + 1;
}

/* ---- moves ---- */

static void add_gather(dt_schedule *s, const dt_moves *gather, int rounds) {
    for (int i = 0; i < gather->n; i++) {
        dt_move *m = &s->move[s->moves++];
        *m = gather->at[i];
        m->round += s->rounds;
    }
    s->rounds += rounds;
}

static void add_backwards(dt_schedule *s, const dt_moves *gather, int rounds) {
    for (int i = gather->n - 1; i >= 0; i--) {
        dt_move *m = &s->move[s->moves++];
        *m = gather->at[i];
        m->round = s->rounds + rounds - 1 - m->round;
        m->from = gather->at[i].to;
        m->to = gather->at[i].from;
        m->add = true;
        m->phase = -1 - m->phase;
    }
    s->rounds += rounds;
}

static bool is_gather(dt_collective c) {
    return c == DT_ALL_GATHER || c == DT_REDUCE_SCATTER || c == DT_ALL_REDUCE;
}

static void write_moves(dt_schedule *s, const dt_moves *m) {
    const int rounds = m->n ? m->at[m->n - 1].round + 1 : 0;
    s->move = dt_alloc(2 * (size_t)m->n * sizeof *s->move);
    if (is_gather(s->collective) && s->collective != DT_ALL_GATHER) add_backwards(s, m, rounds);
    if (s->collective != DT_REDUCE_SCATTER) add_gather(s, m, rounds);
}

/* ---- actions ---- */

dt_schedule *dt_schedule_of_draft(dt_draft *d) {
    dt_schedule *s = dt_alloc(sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", d->name);
    s->collective = d->collective;
    s->direct = d->direct;
    s->ranks = d->ranks;
    s->chunks = d->chunks;
    s->colors = d->colors ? d->colors : 1;
    s->owner = d->owner;
    write_moves(s, &d->moves);
    s->begin = dt_alloc(((size_t)s->ranks + 1) * sizeof *s->begin);
    for (int i = 0; i < s->moves; i++) {
        s->begin[s->move[i].from + 1]++;
        s->begin[s->move[i].to + 1]++;
    }
    for (int r = 0; r < s->ranks; r++) s->begin[r + 1] += s->begin[r];
    s->action = dt_alloc(2 * (size_t)s->moves * sizeof *s->action);
    int *next = dt_alloc((size_t)s->ranks * sizeof *next);
    memcpy(next, s->begin, (size_t)s->ranks * sizeof *next);
    for (int first = 0, end; first < s->moves; first = end) {
        for (end = first; end < s->moves && s->move[end].round == s->move[first].round;) end++;
        /* Puts the sides of the moves first .. end - 1, which are of one round: all sends, then all
         * receives. */
        for (int i = first; i < end; i++) {
            const dt_move *m = &s->move[i];
            s->action[next[m->from]++] =
                (dt_action){DT_ACTION_SEND, m->round, m->to, m->first, m->chunks};
        }
        for (int i = first; i < end; i++) {
            const dt_move *m = &s->move[i];
            s->action[next[m->to]++] = (dt_action){m->add ? DT_ACTION_REDUCE : DT_ACTION_RECV,
                                                   m->round, m->from, m->first, m->chunks};
        }
    }
    free(next);
    free(d->moves.at);
    return s;
}

dt_status *dt_schedule_ranks_given(int ranks) {
    if (ranks < 1 || ranks > DT_SCHEDULE_RANKS)
        return dt_fail(DT_E_SCHEDULE, NULL, "a schedule has 1 to %d ranks, got %d",
                       DT_SCHEDULE_RANKS, ranks);
    return NULL;
}

dt_status *dt_schedule_create(dt_schedule **out, const dt_schedule_spec *spec) {
    const dt_algorithm *a = spec->algorithm;
    const int *order = spec->order;
    DT_TRY(dt_schedule_ranks_given(spec->ranks));
    if (a->powers_of_two_only && (spec->ranks & (spec->ranks - 1)))
        return dt_fail(DT_E_SCHEDULE, NULL, "%s needs a power of two, got %d ranks", a->name,
                       spec->ranks);
    dt_draft d = {.name = a->name,
                  .collective = spec->collective,
                  .ranks = spec->ranks,
                  .chunks = spec->ranks * a->chunks};
    d.owner = dt_alloc((size_t)d.chunks * sizeof *d.owner);
    for (int c = 0; c < d.chunks; c++) d.owner[c] = order ? order[c / a->chunks] : c / a->chunks;
    a->gather(spec->ranks, &d.moves);
    for (int i = 0; order && i < d.moves.n; i++) {
        d.moves.at[i].from = order[d.moves.at[i].from];
        d.moves.at[i].to = order[d.moves.at[i].to];
    }
    *out = dt_schedule_of_draft(&d);
    return NULL;
}

void dt_schedule_destroy(dt_schedule *s) {
    if (!s) return;
    free(s->owner);
    free(s->move);
    free(s->action);
    free(s->begin);
    free(s);
}

int64_t dt_chunk_begin(const dt_schedule *s, int64_t n, int c) {
    int64_t each = n / s->chunks, rest = n % s->chunks;
    return each * c + (c < rest ? c : rest);
}
