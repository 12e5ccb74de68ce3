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

/* The values of one line: an event, and values that are not part of an event. A table that needs
 * only the event also works on a dt_event. */
typedef struct dt_event_line {
    dt_event event; /* first: members of a dt_event have the same offsets in a dt_event_line */
    /* all other members are for record.jsonl, except `exit`, the program's exit code */
    double t;         /* in all lines: seconds since the attempt began */
    const char *time; /* start, end: UTC, "2026-11-22T11:03:10Z" */
    /* start: the version of the line format, and dtrain's; the job's text and the path of its
     * file */
    int v;
    const char *dtrain, *job_text, *config;
    const char *strategy, *kernels; /* in start lines */
    int hosts;                      /* in start lines */
    int64_t generation;             /* in start lines, that of the run: see dt_state_file */
    /* steps: the number of steps, their mean, smallest and largest loss, and their time */
    int64_t n;
    double loss, loss_min, loss_max, learning_rate, seconds;
    int exit;          /* in end lines */
    const char *error; /* end, and data whose hash could not be computed: the error; NULL: none */
    bool finished, stopped_early; /* end lines */
    /* epoch, end: the most memory of the process, and of a device that has memory of its own and
     * reports it (otherwise 0) */
    int64_t peak_rss_bytes, device_peak_bytes;
    /* start, data: a function that writes the members that are lists and objects; NULL: none. They
     * are not read back. */
    void (*more)(dt_json *j, const struct dt_event_line *l);
    const void *of; /* the argument of `more` */
} dt_event_line;

/* Lines of record.jsonl that are not about an event. */
enum { DT_LINE_STEPS = DT_EVENT_WAITING + 1, DT_LINE_UNREAD, DT_LINES };

typedef struct dt_event_row {
    const char *name;
    const dt_json_member *shown;  /* members with --json; NULL: not shown */
    const dt_json_member *record; /* members in record.jsonl; NULL: not recorded */
} dt_event_row;
extern const dt_event_row dt_event_rows[DT_LINES];
/* The members that end each line of record.jsonl. */
extern const dt_json_member dt_record_tail[];

/* The members of a line of history.jsonl that are written from a dt_event. A checksum follows them
 * in the line (format/format.h). */
extern const dt_json_member dt_history_members[];

#endif
