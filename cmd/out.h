/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of dtrain. Results and the progress bar go to standard output, errors, warnings and
 * notes to standard error, and whole lines also to --log-file.
 *
 * Most lines pass through here. Others write those of signal handlers (stop.c) and of completion,
 * the usage screen, the rows of `predict`, errors before a verb starts, and those of worker
 * processes and their launcher. Of lines that pass through here, three things hold: control
 * characters of names and paths do not reach a terminal, the progress bar does not mix with them,
 * and a failed write to standard output or to the log does not end the run: it continues, and ends
 * with exit code 74 instead of 0. A reader that goes away is not a failure:
 * verbs end quietly, as filters do; training continues without it.
 */
#ifndef CMD_OUT_H
#define CMD_OUT_H

#include "dtrain.h"

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct common;

struct out {
    const char *log_file; /* path of the log; NULL: there is no log */
    int log;              /* file descriptor of the log */
    int log_error;        /* errno of the first failed write or close of the log; 0: none failed */
    bool quiet, verbose;
    bool redraws; /* whether standard output is a terminal on which a line can be drawn again */
    bool color, color_errors;
    bool utf8;
    /* the process continues after the reader of standard output has gone, because the verb does
     * more than print */
    bool outlives_readers;
    bool bar;  /* whether the terminal shows a progress bar at the moment */
    int error; /* errno of the first failed write to standard output; 0: no write failed */
    /* errors that workers on this machine have printed, in shared memory; NULL: errors are not
     * shared */
    struct reported *reported;
};

/* For output that the library writes itself: ends the process when the reader of standard output
 * goes away, as filters do. */
void out_end_with_readers(void);
/* Examines terminal, locale and environment, and opens the log file. */
dt_status *out_open(struct out *out, const struct common *common);
/* Closes the output. Returns the exit code to end with: `code`, or 74 if `code` is 0 and standard
 * output or the log could not be written. A reader of standard output that has gone (EPIPE) is no
 * failure. */
int out_close(struct out *out, int code);

/* Print to standard output. out_line: a line. out_field: a line "label line", with a bold label if
 * colours are on. out_text: a text of several lines, which is not broken. */
void out_line(struct out *out, const char *format, ...) DT_FORMAT(2, 3);
void out_field(struct out *out, const char *label, const char *format, ...) DT_FORMAT(3, 4);
void out_text(struct out *out, const char *text);
/* Like out_text, for long texts: lines are broken at the width of COLUMNS or the terminal, else at
 * 80 columns. */
void out_page(struct out *out, const char *text);
/* Prints a line to the log file, and to standard output unless that is a terminal that shows
 * progress bars (`redraws`). */
void out_log(struct out *out, const char *format, ...) DT_FORMAT(2, 3);
/* Draws a progress bar of at most out_bar_width characters over the previous one. */
void out_bar(struct out *out, const char *line);
int out_bar_width(void);
/* Returns the largest width of a line on the terminal; 0: standard output is not a terminal. */
int out_columns(void);

/* Print to standard error. out_error also frees s and returns its exit code; after out_share_errors
 * it does not print an error that a process has printed already. s NULL: prints nothing and returns
 * 0. */
void out_note(struct out *out, const char *format, ...) DT_FORMAT(2, 3);
void out_warn(struct out *out, const char *format, ...) DT_FORMAT(2, 3);
int out_error(struct out *out, dt_status *s);
/* From now on, of up to 64 errors that several forked processes report, each is printed once. */
void out_share_errors(struct out *out);
/* Ends a verb whose result is a text: prints the text if s is NULL, else reports the error. Frees
 * both and returns the exit code. */
int out_result(struct out *out, dt_status *s, char *text);
void out_show_error(struct out *out, const dt_status *s);

/* Returns "…" or, without UTF-8, "...". */
const char *out_ellipsis(const struct out *out);

#endif
