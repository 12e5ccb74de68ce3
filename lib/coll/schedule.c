/*
 * From an algorithm's all-gather to the schedule of a collective. Backwards in time an all-gather is a reduce-scatter: where a
 * chunk went from a to b, b's part of the sum now goes to a.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coll/moves.h"

static const dt_algorithm *const algorithms[] = {
#define DT_ALGORITHM(name) &dt_algorithm_##name,
#include "coll/algorithms.h"
};

const dt_algorithm *const *dt_algorithms(int *n)
{
    *n = sizeof algorithms / sizeof *algorithms;
    return algorithms;
}

const dt_algorithm *dt_algorithm_find(const char *name)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (strcmp(algorithms[i]->name, name) == 0)
            return algorithms[i];
    return NULL;
}

const char *dt_collective_name(dt_collective c)
{
    static const char *const names[] = {
        [DT_ALL_GATHER] = "all_gather", [DT_REDUCE_SCATTER] = "reduce_scatter", [DT_ALL_REDUCE] = "all_reduce",
        [DT_ALL_TO_ALL] = "all_to_all", [DT_COLLECTIVE_PERMUTE] = "collective_permute", [DT_COLLECTIVE_BROADCAST] = "collective_broadcast",
    };
    return names[c];
}

void dt_moves_add(dt_moves *m, dt_move move)
{
    assert(m->n == 0 || m->at[m->n - 1].round <= move.round);
    DT_GROW(m->at, m->cap, m->n + 1);
    m->at[m->n++] = move;
}

/* ---- moves ---- */

static void add_gather(dt_schedule *s, const dt_moves *gather, int rounds)
{
    for (int i = 0; i < gather->n; i++) {
        dt_move *m = &s->move[s->moves++];
        *m = gather->at[i];
        m->round += s->rounds;
    }
    s->rounds += rounds;
}

static void add_backwards(dt_schedule *s, const dt_moves *gather, int rounds)
{
    for (int i = gather->n - 1; i >= 0; i--) {
        dt_move *m = &s->move[s->moves++];
        *m = gather->at[i];
        m->round = s->rounds + rounds - 1 - m->round;
        m->from = gather->at[i].to;
        m->to = gather->at[i].from;
        m->add = true;
    }
    s->rounds += rounds;
}

static void write_moves(dt_schedule *s, const dt_algorithm *algorithm, const int *order)
{
    dt_moves gather = {0};
    algorithm->gather(s->ranks, &gather);
    const int rounds = gather.n ? gather.at[gather.n - 1].round + 1 : 0;
    s->move = dt_alloc(2 * (size_t)gather.n * sizeof *s->move);
    if (s->collective != DT_ALL_GATHER)
        add_backwards(s, &gather, rounds);
    if (s->collective != DT_REDUCE_SCATTER)
        add_gather(s, &gather, rounds);
    free(gather.at);
    for (int i = 0; order && i < s->moves; i++) {
        s->move[i].from = order[s->move[i].from];
        s->move[i].to = order[s->move[i].to];
    }
    s->owner = dt_alloc((size_t)s->chunks * sizeof *s->owner);
    for (int c = 0; c < s->chunks; c++)
        s->owner[c] = order ? order[c / algorithm->chunks] : c / algorithm->chunks;
}

/* ---- actions ---- */

static void count_actions(dt_schedule *s)
{
    s->begin = dt_alloc(((size_t)s->ranks + 1) * sizeof *s->begin);
    for (int i = 0; i < s->moves; i++) {
        s->begin[s->move[i].from + 1]++;
        s->begin[s->move[i].to + 1]++;
    }
    for (int r = 0; r < s->ranks; r++)
        s->begin[r + 1] += s->begin[r];
}

/* Puts the sides of the moves first .. end - 1, which are of one round: all sends, then all receives. */
static void write_round(dt_schedule *s, int first, int end, int *next)
{
    for (int i = first; i < end; i++) {
        const dt_move *m = &s->move[i];
        s->action[next[m->from]++] = (dt_action){DT_ACTION_SEND, m->round, m->to, m->first, m->chunks};
    }
    for (int i = first; i < end; i++) {
        const dt_move *m = &s->move[i];
        s->action[next[m->to]++] = (dt_action){m->add ? DT_ACTION_REDUCE : DT_ACTION_RECV, m->round, m->from, m->first, m->chunks};
    }
}

static void write_actions(dt_schedule *s)
{
    count_actions(s);
    s->action = dt_alloc(2 * (size_t)s->moves * sizeof *s->action);
    int *next = dt_alloc((size_t)s->ranks * sizeof *next);
    memcpy(next, s->begin, (size_t)s->ranks * sizeof *next);
    for (int first = 0, end; first < s->moves; first = end) {
        for (end = first; end < s->moves && s->move[end].round == s->move[first].round;)
            end++;
        write_round(s, first, end, next);
    }
    free(next);
}

dt_status *dt_schedule_create(dt_schedule **out, const dt_schedule_spec *spec)
{
    if (spec->ranks < 1 || spec->ranks > DT_SCHEDULE_RANKS)
        return dt_fail(DT_E_SCHEDULE, NULL, "a schedule has 1 to %d ranks, got %d", DT_SCHEDULE_RANKS, spec->ranks);
    if (spec->algorithm->powers_of_two_only && (spec->ranks & (spec->ranks - 1)))
        return dt_fail(DT_E_SCHEDULE, NULL, "%s needs a power of two, got %d ranks", spec->algorithm->name, spec->ranks);
    dt_schedule *s = dt_alloc(sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", spec->algorithm->name);
    s->collective = spec->collective;
    s->ranks = spec->ranks;
    s->chunks = spec->ranks * spec->algorithm->chunks;
    write_moves(s, spec->algorithm, spec->order);
    write_actions(s);
    *out = s;
    return NULL;
}

void dt_schedule_destroy(dt_schedule *s)
{
    if (!s)
        return;
    free(s->owner);
    free(s->move);
    free(s->action);
    free(s->begin);
    free(s);
}

int64_t dt_chunk_begin(const dt_schedule *s, int64_t n, int c)
{
    int64_t each = n / s->chunks, rest = n % s->chunks;
    return each * c + (c < rest ? c : rest);
}
