/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dtrain says. Results go to standard output, everything else to standard error, and whole
 * lines also to --log-file.
 *
 * All lines pass through here, so that three things hold everywhere: control characters of names
 * and paths never reach a terminal, the line that is redrawn (the bar) never mixes with others, and
 * a failed write to standard output or to the log is remembered rather than fatal: the run
 * continues, and ends with exit code 74. A reader that goes away is no failure: verbs end quietly,
 * as filters do; training continues without it.
 */
#ifndef CMD_OUT_H
#define CMD_OUT_H

#include "dtrain.h"

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct common;

struct out {
    const char *log_file; /* NULL: none */
    int log;              /* its descriptor */
    int log_error;        /* as `error`, of the log */
    bool quiet, verbose;
    bool redraws; /* standard output is a terminal that can redraw a line */
    bool color, color_errors;
    bool utf8;
    /* a reader of standard output that goes away ends nothing: the verb has more to do than to
     * print */
    bool outlives_readers;
    bool bar;          /* stands on the terminal */
    int error;         /* errno of the first failed write to standard output; 0: none */
    struct told *told; /* errors that workers of this machine have printed; NULL: there are none */
};

/* For rows that the library writes to standard output: a reader that goes away ends the process, as
 * it ends filters. */
void out_end_with_readers(void);
/* Looks at terminal, locale and environment, opens the log file. */
dt_status *out_open(struct out *out, const struct common *common);
/* The exit code to end with: `code`, or 74 where that is 0 and standard output or the log could not
 * be written. */
int out_close(struct out *out, int code);

/* Standard output: a line; "label    line" with the label bold in colour; text of many lines, as it
 * is; bytes that the caller made fit. */
void out_line(struct out *out, const char *format, ...) DT_FORMAT(2, 3);
void out_field(struct out *out, const char *label, const char *format, ...) DT_FORMAT(3, 4);
void out_text(struct out *out, const char *text);
/* out_text for pages to read: lines are broken to fit COLUMNS or the terminal, else 80 columns. */
void out_page(struct out *out, const char *text);
/* A line for those who read later: to the log file, and to standard output unless a bar is drawn
 * there. */
void out_log(struct out *out, const char *format, ...) DT_FORMAT(2, 3);
/* Draws the line that is redrawn; out_bar_width characters have room. */
void out_bar(struct out *out, const char *line);
int out_bar_width(void);
/* Columns of the terminal that standard output is; 0: it is none. */
int out_columns(void);

/* Standard error. out_error frees s and returns its exit code (0 for NULL). */
void out_note(struct out *out, const char *format, ...) DT_FORMAT(2, 3);
void out_warn(struct out *out, const char *format, ...) DT_FORMAT(2, 3);
int out_error(struct out *out, dt_status *s);
/* From now on, processes that are forked print an error that several of them have once. */
void out_share_errors(struct out *out);
/* How a verb that makes a text ends: s NULL: the text goes to standard output; else the error, text
 * is not looked at. Frees both, returns the exit code. */
int out_result(struct out *out, dt_status *s, char *text);
void out_show_error(struct out *out, const dt_status *s);

/* "…" or "..." */
const char *out_ellipsis(const struct out *out);

#endif
