/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules as drawings: a row for each round, a column for each rank, in it one number for each chunk: of how many ranks it holds the
 * values; "." is nothing yet. all_reduce by the ring:
 *
 *     all_reduce by ring: 3 ranks, 3 chunks, 4 rounds
 *               0       1       2
 *     start     1 1 1   1 1 1   1 1 1
 *     round 1   1 1 2   2 1 1   1 2 1    2->1:0 1->0:2 0->2:1
 *     round 2   3 1 2   2 3 1   1 2 3    2->1:1 1->0:0 0->2:2      rank 0 has the sum of chunk 0, rank 1 of 1, ...
 *     round 3   3 1 3   3 3 1   1 3 3    2->0:2 0->1:0 1->2:1      and hands it on
 *     round 4   3 3 3   3 3 3   3 3 3    2->0:1 0->1:2 1->2:0
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coll/coll.h"

/* How many ranks' values each chunk of each rank holds. */
typedef struct board {
    const dt_schedule *s;
    int *now, *then; /* [ranks][chunks]; then: before the round */
    int digits;
    dt_str *out;
} board;

static size_t cells(const dt_schedule *s)
{
    return (size_t)s->ranks * (size_t)s->chunks;
}

static int *cell(const board *b, int *of, int rank, int chunk)
{
    return &of[(size_t)rank * (size_t)b->s->chunks + (size_t)chunk];
}

static void set_start(board *b)
{
    for (int r = 0; r < b->s->ranks; r++)
        for (int c = 0; c < b->s->chunks; c++)
            *cell(b, b->now, r, c) = b->s->collective != DT_ALL_GATHER || b->s->owner[c] == r;
}

static void play(board *b, const dt_move *m)
{
    for (int c = m->first; c < m->first + m->chunks; c++) {
        int here = m->add ? *cell(b, b->now, m->to, c) : 0;
        *cell(b, b->now, m->to, c) = here + *cell(b, b->then, m->from, c);
    }
}

static void print_row(board *b, const char *label, const dt_move *move, int n)
{
    size_t from = b->out->size;
    dt_str_puts(b->out, label);
    dt_str_pad(b->out, from, 10);
    for (int r = 0; r < b->s->ranks; r++) {
        for (int c = 0; c < b->s->chunks; c++) {
            int held = *cell(b, b->now, r, c);
            if (held)
                dt_str_printf(b->out, "%*d ", b->digits, held);
            else
                dt_str_printf(b->out, "%*s ", b->digits, ".");
        }
        dt_str_puts(b->out, "  ");
    }
    for (int i = 0; i < n; i++) {
        dt_str_printf(b->out, " %d->%d:%d", move[i].from, move[i].to, move[i].first);
        if (move[i].chunks > 1)
            dt_str_printf(b->out, "-%d", move[i].first + move[i].chunks - 1);
    }
    while (b->out->size > from && b->out->data[b->out->size - 1] == ' ')
        b->out->data[--b->out->size] = '\0';
    dt_str_putc(b->out, '\n');
}

static void print_heads(board *b)
{
    const int width = b->s->chunks * (b->digits + 1) + 2;
    size_t from = b->out->size;
    for (int r = 0; r < b->s->ranks; r++) {
        dt_str_pad(b->out, from, 10 + r * width + b->digits - 1);
        dt_str_printf(b->out, "%d", r);
    }
    dt_str_putc(b->out, '\n');
}

static void print_rounds(board *b)
{
    const dt_schedule *s = b->s;
    for (int first = 0, end; first < s->moves; first = end) {
        char label[32];
        memcpy(b->then, b->now, cells(s) * sizeof *b->now);
        for (end = first; end < s->moves && s->move[end].round == s->move[first].round; end++)
            play(b, &s->move[end]);
        snprintf(label, sizeof label, "round %d", s->move[first].round + 1);
        print_row(b, label, &s->move[first], end - first);
    }
}

void dt_schedule_print(const dt_schedule *s, dt_str *out)
{
    board b = {.s = s, .out = out, .digits = s->ranks > 99 ? 3 : s->ranks > 9 ? 2 : 1};
    b.now = dt_alloc(cells(s) * sizeof *b.now);
    b.then = dt_alloc(cells(s) * sizeof *b.then);
    dt_str_printf(out, "%s by %s: %d rank%s, %d chunk%s, %d round%s\n", dt_collective_name(s->collective), s->name, s->ranks,
                  s->ranks == 1 ? "" : "s", s->chunks, s->chunks == 1 ? "" : "s", s->rounds, s->rounds == 1 ? "" : "s");
    set_start(&b);
    print_heads(&b);
    print_row(&b, "start", NULL, 0);
    print_rounds(&b);
    free(b.now);
    free(b.then);
}
