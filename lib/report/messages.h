/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a run: warnings, actions of callbacks, injected faults, generated texts. A run
 * may repeat a message half a million times, so of each kind the first and the last ones are kept,
 * with the count, and of a long text its beginning.
 */
#ifndef DT_REPORT_MESSAGES_H
#define DT_REPORT_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

enum { DT_MESSAGE_KINDS = 4, DT_MESSAGE_ENDS = 50 };

typedef struct dt_message_line {
    const char *who, *text; /* who: a callback; NULL: the run */
    int kind;
    int64_t step, epoch; /* 0: unknown */
    int64_t order;       /* number among all messages */
    int64_t left_out;    /* characters of the text that were left out */
} dt_message_line;

typedef struct dt_messages {
    int64_t n; /* number of messages of all kinds */
    int64_t of[DT_MESSAGE_KINDS];
    /* [2 * DT_MESSAGE_ENDS] each; NULL: none of that kind */
    dt_message_line *line[DT_MESSAGE_KINDS];
} dt_messages;
/* Adds a copy. line->order and left_out are ignored. */
void dt_messages_add(dt_messages *s, const dt_message_line *line);
/* Writes the kept messages to all[DT_MESSAGE_KINDS * 2 * DT_MESSAGE_ENDS], in their order.
 * Returns their number. */
int dt_messages_list(const dt_messages *s, const dt_message_line **all);
/* The word of a kind ("warning", "callback", "fault", "text"), and how many of its messages were
 * left out. */
const char *dt_message_kind(int kind);
int64_t dt_messages_left_out(const dt_messages *s, int kind);
void dt_messages_clear(dt_messages *s);

#endif
