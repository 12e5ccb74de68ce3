/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states in which a power failure may leave files, of what the shim recorded of a program that
 * wrote them (FAULT_RECORD).
 *
 *     states list RECORD FOLDER PREFIX LEAST SEED    a line for each different state of FOLDER; random ones too, until there are LEAST
 *     states make RECORD FOLDER STATE TO             one of them, as the new folder TO
 *
 * A state is a moment, which is a number of calls, and what was lost of the calls before it:
 * "118,-97,-104,110@512,112z". What no fsync had made last by that moment may be lost, each call by
 * itself, whatever came after it: a change of names until their directory was synced (a rename as a
 * whole), bytes and lengths until the file was. -N: call N left nothing; N@B: of its bytes only
 * those before byte B of the file, where a sector of 512 begins; Nz: the file is as long as with
 * them, but they are zeros. That a file was synced says nothing of its name. File systems promise
 * more than that.
 *
 * Of each moment are tried: nothing lost; all; all from each call on; each call alone; all but one;
 * all names; all bytes; each write cut and zeroed; all subsets where they are few; and random ones.
 * A line is "LASTING STATE", where LASTING is the last name beginning with PREFIX that something
 * was renamed to and that a sync of its directory made last by then, or "-". Where a folder
 * RECORD.base is, FOLDER began as its copy.
 */
#define _GNU_SOURCE
#include "story.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 6, SECTOR = 512, MOST_MISSES = 5000 };

/* ---- states ---- */

typedef struct state {
    int moment;
    long long *way; /* [moment], by event */
} state;

static tree tree_of(const story *s, const state *x) {
    tree t = tree_copy(&s->before);
    for (int i = 0; i < x->moment; i++) event_apply(&t, &s->event[i], x->way[i]);
    return t;
}

static void print_state(const state *x) {
    printf("%d", x->moment);
    for (int i = 0; i < x->moment; i++) {
        if (x->way[i] == LOST) printf(",-%d", i);
        else if (x->way[i] == ZEROED) printf(",%dz", i);
        else if (x->way[i] > 0) printf(",%d@%lld", i, x->way[i]);
    }
    putchar('\n');
}

static void read_one(const story *s, state *x, char *part) {
    char *end;
    long number = strtol(part, &end, 10);
    long long i = number < 0 || *part == '-' ? -number : number;
    if (i >= x->moment || i >= s->n) errx(64, "%s: no such call before that moment", part);
    x->way[i] = *part == '-' ? LOST : *end == 'z' ? ZEROED : strtoll(end + 1, NULL, 10);
}

static state read_state(const story *s, char *text) {
    char *rest, *part = strtok_r(text, ",", &rest);
    state x = {part ? atoi(part) : 0, tree_memory(calloc((size_t)s->n + 1, sizeof *x.way))};
    if (x.moment > s->n) errx(64, "%s: the record has %d calls", text, s->n);
    while ((part = strtok_r(NULL, ",", &rest))) read_one(s, &x, part);
    return x;
}

/* ---- the list ---- */

typedef struct list {
    const story *s;
    const char *prefix, *lasting;
    state x;
    int *open, n_open; /* events that may be lost at this moment */
    uint64_t *seen;
    int n_seen, cap;
    uint64_t random;
} list;

static uint64_t draw(list *l) {
    l->random ^= l->random << 13;
    l->random ^= l->random >> 7;
    l->random ^= l->random << 17;
    return l->random * 0x2545f4914f6cdd1d >> 33;
}

static bool is_new(list *l, uint64_t hash) {
    for (int i = 0; i < l->n_seen; i++)
        if (l->seen[i] == hash) return false;
    if (l->n_seen == l->cap)
        l->seen =
            tree_memory(realloc(l->seen, (size_t)(l->cap = 2 * l->cap + 1024) * sizeof *l->seen));
    l->seen[l->n_seen++] = hash;
    return true;
}

/* States that look the same are one. */
static void put(list *l) {
    tree t = tree_of(l->s, &l->x);
    uint64_t hash = tree_hash(&t);
    tree_free(&t);
    if (!is_new(l, hash)) return;
    printf("%s ", l->lasting);
    print_state(&l->x);
}

static void set(list *l, int from, int to, long long way) {
    for (int i = from; i < to; i++) l->x.way[l->open[i]] = way;
}

static void put_kind(list *l, bool names) {
    set(l, 0, l->n_open, KEPT);
    for (int i = 0; i < l->n_open; i++)
        if (is_of_names(l->s->event[l->open[i]].kind) == names) set(l, i, i + 1, LOST);
    put(l);
}

/* The ways of a write in part, from the first sector's end in it; 0 ends them. */
static long long next_way(const event *e, long long way) {
    long long cut = way == ZEROED ? e->at / SECTOR * SECTOR + SECTOR : way + SECTOR;
    if (e->kind != WRITE || way == KEPT) return e->kind == WRITE ? ZEROED : KEPT;
    return cut < e->at + (long long)e->n ? cut : KEPT;
}

static void put_each(list *l) {
    for (int i = 0; i < l->n_open; i++) {
        const event *e = &l->s->event[l->open[i]];
        set(l, 0, l->n_open, KEPT);
        set(l, i, i + 1, LOST);
        put(l);
        for (long long way = next_way(e, KEPT); way != KEPT; way = next_way(e, way)) {
            set(l, i, i + 1, way);
            put(l);
        }
        set(l, 0, l->n_open, LOST);
        set(l, i, i + 1, KEPT);
        put(l);
        set(l, 0, i, KEPT); /* all from here on is lost */
        set(l, i, i + 1, LOST);
        put(l);
    }
}

static void put_subsets(list *l) {
    for (unsigned bits = 0; l->n_open <= FEW && bits < 1u << l->n_open; bits++) {
        for (int i = 0; i < l->n_open; i++) set(l, i, i + 1, bits >> i & 1 ? LOST : KEPT);
        put(l);
    }
}

static void put_random(list *l) {
    const uint64_t quarters = 1 + draw(l) % 3;
    for (int i = 0; i < l->n_open; i++) {
        const event *e = &l->s->event[l->open[i]];
        long long way = draw(l) % 4 < quarters ? LOST : KEPT;
        for (uint64_t more = way == KEPT && draw(l) % 4 == 0 ? 1 + draw(l) % 3 : 0; more > 0;
             more--)
            way = next_way(e, way);
        set(l, i, i + 1, way);
    }
    put(l);
}

/* ---- moments ---- */

/* Of a file that was renamed, by a rename that cannot be lost any more. */
static const char *last_name(const list *l, int moment) {
    const char *last = "-";
    for (int i = 0; i < moment; i++) {
        const event *e = &l->s->event[i];
        if (e->path && e->lasts <= moment && strncmp(e->path, l->prefix, strlen(l->prefix)) == 0 &&
            !strstr(e->path, ".tmp"))
            last = e->path;
    }
    return last;
}

static void go_to(list *l, int moment) {
    memset(l->x.way, 0, (size_t)l->s->n * sizeof *l->x.way);
    l->x.moment = moment;
    l->lasting = last_name(l, moment);
    l->n_open = 0;
    for (int i = 0; i < moment; i++)
        if (l->s->event[i].kind != SYNC && l->s->event[i].lasts > moment) l->open[l->n_open++] = i;
}

static void put_moment(list *l, int moment) {
    go_to(l, moment);
    put(l);
    set(l, 0, l->n_open, LOST);
    put(l);
    put_kind(l, true);
    put_kind(l, false);
    put_each(l);
    put_subsets(l);
}

static void put_list(const story *s, const char *prefix, int least, uint64_t seed) {
    list l = {.s = s, .prefix = prefix, .random = seed * 0x9e3779b97f4a7c15 | 1};
    l.x.way = tree_memory(calloc((size_t)s->n + 1, sizeof *l.x.way));
    l.open = tree_memory(calloc((size_t)s->n + 1, sizeof *l.open));
    for (int moment = 0; moment <= s->n; moment++) put_moment(&l, moment);
    for (int misses = 0, before;
         l.n_seen < least && misses<MOST_MISSES; misses = l.n_seen> before ? 0 : misses + 1) {
        before = l.n_seen;
        go_to(&l, (int)(draw(&l) % (uint64_t)(s->n + 1)));
        put_random(&l);
    }
    free(l.x.way);
    free(l.open);
    free(l.seen);
}

int main(int n, char **word) {
    story s;
    if (n == 7 && strcmp(word[1], "list") == 0) {
        story_read(&s, word[2], word[3]);
        put_list(&s, word[4], atoi(word[5]), strtoull(word[6], NULL, 10));
    } else if (n == 6 && strcmp(word[1], "make") == 0) {
        story_read(&s, word[2], word[3]);
        state x = read_state(&s, word[4]);
        tree t = tree_of(&s, &x);
        tree_store(&t, word[5]);
    } else {
        errx(64,
             "states list RECORD FOLDER PREFIX LEAST SEED | states make RECORD FOLDER STATE TO");
    }
    return 0;
}
