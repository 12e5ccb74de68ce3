/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was said while a run trained: warnings, what callbacks did, faults that were rehearsed, texts that were made. A run may say the same half a
 * million times: of each sort the first and the last ones are kept, and how many there were; of a long text its beginning.
 */
#ifndef DT_REPORT_SAID_H
#define DT_REPORT_SAID_H

#include <stddef.h>
#include <stdint.h>

enum { DT_SAID_KINDS = 4, DT_SAID_ENDS = 50 };

typedef struct dt_said_line {
    const char *who, *text;   /* who: a callback; NULL: the run */
    size_t n_who, n_text;
    int kind;
    int64_t step, epoch;      /* 0: not known */
    int64_t order;            /* among all */
    int64_t left_out;         /* letters of the text that are not here */
} dt_said_line;

typedef struct dt_said {
    int64_t n;                /* of all kinds */
    int64_t of[DT_SAID_KINDS];
    dt_said_line *line[DT_SAID_KINDS]; /* [2 * DT_SAID_ENDS] each; NULL: none of that kind */
} dt_said;
/* A copy is kept, terminated; line->order and left_out are not looked at. */
void dt_said_add(dt_said *s, const dt_said_line *line);
/* Those that are kept in their order, into all[DT_SAID_KINDS * 2 * DT_SAID_ENDS]; returns how many. */
int dt_said_list(const dt_said *s, const dt_said_line **all);
/* Of a kind: its word, "warning", "callback", "fault", "text", and how many are not kept. */
const char *dt_said_kind(int kind);
int64_t dt_said_left_out(const dt_said *s, int kind);
void dt_said_clear(dt_said *s);

#endif
