/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a run: warnings, actions of callbacks, injected faults, generated texts. A run
 * may repeat a message half a million times, so only the first and the last messages of each kind
 * are kept, with their number. Long texts are cut.
 */
#ifndef DT_REPORT_MESSAGES_H
#define DT_REPORT_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

enum { DT_MESSAGE_KINDS = 4, DT_MESSAGE_ENDS = 50 };

typedef struct dt_message_line {
    const char *who, *text; /* `who` is the callback that reported the message; NULL: the run did */
    int kind;
    int64_t step, epoch; /* 0: the step or epoch is unknown */
    int64_t order;       /* number of this message among those of all kinds */
    int64_t left_out;    /* number of characters at the end of the text that were left out */
} dt_message_line;

typedef struct dt_messages {
    int64_t n; /* number of messages of all kinds */
    int64_t of[DT_MESSAGE_KINDS];
    /* [2 * DT_MESSAGE_ENDS] messages of each kind; NULL: there are none */
    dt_message_line *line[DT_MESSAGE_KINDS];
} dt_messages;
/* Adds a copy of the message. Its members order and left_out are ignored. */
void dt_messages_add(dt_messages *s, const dt_message_line *line);
/* Writes the kept messages to all[DT_MESSAGE_KINDS * 2 * DT_MESSAGE_ENDS], in their order.
 * Returns their number. */
int dt_messages_list(const dt_messages *s, const dt_message_line **all);
/* Returns the word for a kind: "warning", "callback", "fault", "text". The next function returns
 * how many messages of a kind were left out. */
const char *dt_message_kind(int kind);
int64_t dt_messages_left_out(const dt_messages *s, int kind);
void dt_messages_clear(dt_messages *s);

#endif
