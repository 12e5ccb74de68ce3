/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of record.jsonl or history.jsonl as the report wants it: which event it is, its numbers and texts, the numbers of its "metrics". Most
 * lines of a long run have nothing else: these are read in one pass that takes no memory, a number when somebody asks for it. What has anything
 * else in it (escapes, lists, letters beyond ASCII, a key that is there twice, numbers that 64 bits do not hold) goes through jansson, so that
 * what is a line is its to say.
 */
#ifndef DT_REPORT_LINE_H
#define DT_REPORT_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dt_figure {
    const char *key;   /* lent by the line, not terminated */
    int n_key;
    bool is_number, is_integer, is_text;
    const char *text;  /* of a text, or of a number, [n_text]; NULL: the number is `value` */
    int n_text;
    double value;
} dt_figure;

typedef struct dt_figures {
    int n, cap;
    dt_figure *v;
} dt_figures;

typedef struct dt_line {
    const char *name, *text; /* the file's; [n], lent */
    size_t n;
    const char *event; /* lent, [n_event]; NULL: none */
    size_t n_event;
    dt_figures own, metrics;
    json_t *json;      /* NULL: it went without */
} dt_line;
/* Of n bytes, which must stay; the line's memory is used again. False: it is no JSON object. */
bool dt_line_read(dt_line *l, const char *name, const char *text, size_t n);
/* The same line by jansson, whatever stands there. */
bool dt_line_read_slowly(dt_line *l);
void dt_line_release(dt_line *l);

bool dt_line_is(const dt_line *l, const char *event);
bool dt_figure_is(const dt_figure *f, const char *key);
/* Not a number: none of that key, or it is none. */
double dt_figure_number(const dt_figure *f);
double dt_figures_number(const dt_figures *f, const char *key);
/* Counts: 0 for what is none, or negative, at most 2^53. */
int64_t dt_figures_int(const dt_figures *f, const char *key);
const char *dt_figures_text(const dt_figures *f, const char *key, size_t *n); /* lent, not terminated; NULL: none */
bool dt_figures_has_int(const dt_figures *f, const char *key);

#endif
