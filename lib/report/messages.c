/* SPDX-License-Identifier: Apache-2.0 */
/* See messages.h. */
#include "report/messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

enum { KEPT = 2 * DT_MESSAGE_ENDS, LONGEST = 2000 };

static const char *const kinds[DT_MESSAGE_KINDS] = {"warning", "callback", "fault", "text"};

const char *dt_message_kind(int kind) { return kinds[kind]; }

int64_t dt_messages_left_out(const dt_messages *s, int kind) {
    return s->of[kind] > KEPT ? s->of[kind] - KEPT : 0;
}

static void forget(dt_message_line *l) {
    free((char *)(uintptr_t)l->who);
    free((char *)(uintptr_t)l->text);
    *l = (dt_message_line){0};
}

/* Returns a copy of the beginning of the text, cut at a boundary of UTF-8 characters. */
static char *copy(const char *text) {
    size_t n = strlen(text);
    if (n > LONGEST)
        for (n = LONGEST; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;) n--;
    return memcpy(dt_alloc(n + 1), text, n);
}

static void store_line(dt_message_line *to, const dt_message_line *from, int64_t order) {
    forget(to);
    *to = *from;
    to->who = from->who ? copy(from->who) : NULL;
    to->text = copy(from->text);
    to->left_out = (int64_t)(strlen(from->text) - strlen(to->text));
    to->order = order;
}

/* Returns where message number i of a kind is stored. The first messages are kept; the last ones
 * share a ring after them. */
static int64_t ring_index(int64_t i) {
    return i < KEPT ? i : DT_MESSAGE_ENDS + (i - DT_MESSAGE_ENDS) % DT_MESSAGE_ENDS;
}

void dt_messages_add(dt_messages *s, const dt_message_line *line) {
    const int k = line->kind;
    if (!s->line[k]) s->line[k] = dt_alloc(KEPT * sizeof *s->line[k]);
    store_line(&s->line[k][ring_index(s->of[k]++)], line, s->n++);
}

static int by_order(const void *a, const void *b) {
    const dt_message_line *x = *(const dt_message_line *const *)a,
                          *y = *(const dt_message_line *const *)b;
    return (x->order > y->order) - (x->order < y->order);
}

int dt_messages_list(const dt_messages *s, const dt_message_line **all) {
    int n = 0;
    for (int k = 0; k < DT_MESSAGE_KINDS; k++)
        for (int i = 0; i < KEPT && i < s->of[k]; i++) all[n++] = &s->line[k][i];
    qsort(all, (size_t)n, sizeof *all, by_order);
    return n;
}

void dt_messages_clear(dt_messages *s) {
    for (int k = 0; k < DT_MESSAGE_KINDS; k++) {
        for (int i = 0; s->line[k] && i < KEPT; i++) forget(&s->line[k][i]);
        free(s->line[k]);
    }
    *s = (dt_messages){0};
}
