/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of events: which members a line about an event has, in the output of --json and in a
 * run's record.jsonl. Lines are written and read by these tables, and scripts/reference writes
 * docs/reference/events.md from them. dt_event in dtrain/job.h says what each member means.
 */
#ifndef DT_BASE_EVENTS_H
#define DT_BASE_EVENTS_H

#include "base/json.h"
#include "dtrain.h"

/* The values of one line of output: an event, and values that are not part of an event. A table of
 * members that needs only the event also works on a dt_event. */
typedef struct dt_event_line {
    /* The event comes first, so that members of a dt_event have the same offsets in a
     * dt_event_line. */
    dt_event event;
    /* The following members are for record.jsonl; `exit` is also for --json. */
    double t; /* in all lines: seconds since this process began to train (an attempt of the run) */
    const char *time; /* in start and end lines: the time in UTC, "2026-11-22T11:03:10Z" */
    /* In start lines: the version of the line format, and of dtrain; the job as JSON text, and as
     * text for people to read. */
    int v;
    const char *dtrain, *job_text, *config;
    /* in start lines: the name of the strategy, and the names of the kernels that compute */
    const char *strategy, *kernels;
    int hosts;          /* in start lines: number of hosts */
    int64_t generation; /* in start lines: the run's generation (dt_state_file) */
    /* In steps lines, each of which sums up training steps: n: how many; their mean, smallest and
     * largest loss; the learning rate; the seconds that the steps took. */
    int64_t n;
    double loss, loss_min, loss_max, learning_rate, seconds;
    int exit; /* in end lines: the exit code of the error, or 0 */
    /* in end lines, and in data lines without a hash: the error; NULL: there was no error */
    const char *error;
    /* in end lines: whether the training is complete (also if a callback has stopped it), and
     * whether a callback has stopped it */
    bool finished, stopped_early;
    /* In epoch and end lines: the most memory that the process has used, and that of a device which
     * has memory of its own and reports it (otherwise 0). */
    int64_t peak_rss_bytes, device_peak_bytes;
    /* In start and data lines: writes further members, which no table lists and which are not read
     * back. NULL: the line has none. */
    void (*more)(dt_json *j, const struct dt_event_line *l);
    const void *of; /* the argument `of` of the function `more` */
} dt_event_line;

/* The kinds of lines of record.jsonl that are not about an event. DT_LINES: number of all kinds. */
enum { DT_LINE_STEPS = DT_EVENT_WAITING + 1, DT_LINE_UNREAD, DT_LINES };

typedef struct dt_event_row {
    const char *name;
    const dt_json_member *shown; /* the members in a line of --json; NULL: the event is not shown */
    /* the members in a line of record.jsonl; NULL: the event is not recorded */
    const dt_json_member *record;
} dt_event_row;
extern const dt_event_row dt_event_rows[DT_LINES];
/* The members that end each line of record.jsonl. */
extern const dt_json_member dt_record_tail[];

/* The members of a line of history.jsonl that are written from a dt_event. A checksum follows them
 * in the line (format/format.h). */
extern const dt_json_member dt_history_members[];

#endif
