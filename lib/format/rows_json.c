/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON lines with an object for each example: {"logits": [0.5, -1.25]}, nested like the
 * output. If the classes have names, it is {"logits": {"circle": 0.9, "ring": 0.1}}; with `top`,
 * {"logits": [{"class": 0, "score": 0.5}, ...]}; with a threshold, {"logits": {"class": 0, "score":
 * 0.5}}. Examples that are files begin with {"file": "a.png", ...}; columns that are kept come
 * next, as they are in the input. If an output has the name of such a column, its key is
 * "logits_output". A row that could not be read has {"error": "..."} in place of its outputs.
 * Values that are not finite are null.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "format/rows.h"

/* Writes w->score[i] with digits that read back as the same value. */
static void put_score(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t i) {
    const double x = w->score[i];
    if (!isfinite(x)) dt_str_puts(&w->out.text, "null");
    else if (p->values[o]->type.dtype == DT_FLOAT32) dt_str_float(&w->out.text, (float)x);
    else dt_str_double(&w->out.text, x);
}

static void put_text(dt_row_writer *w, const char *text) {
    dt_json_string(&(dt_json){.out = &w->out.text}, NULL, text);
}

/* Writes the scores of dimension d and below, nested like the output. *at counts the scores.
 * Recursion is bounded by the rank. */
static void put_scores(dt_row_writer *w, const dt_predicted_rows *p, int o, int d, int64_t *at) {
    const dt_type *t = &p->values[o]->type;
    if (d == t->rank) {
        put_score(w, p, o, (*at)++);
        return;
    }
    dt_str_putc(&w->out.text, '[');
    for (int64_t i = 0; i < t->dim[d]; i++) {
        dt_str_puts(&w->out.text, i ? ", " : "");
        put_scores(w, p, o, d + 1, at);
    }
    dt_str_putc(&w->out.text, ']');
}

static void put_named(dt_row_writer *w, const dt_predicted_rows *p, int o) {
    dt_str_putc(&w->out.text, '{');
    for (int64_t i = 0; i < dt_row_scores(p, o); i++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)i);
        dt_str_puts(&w->out.text, i ? ", " : "");
        put_text(w, dt_row_class(p, o, i) ? dt_row_class(p, o, i) : number);
        dt_str_puts(&w->out.text, ": ");
        put_score(w, p, o, i);
    }
    dt_str_putc(&w->out.text, '}');
}

/* Writes the scores of both classes of a single label, which has only one value. */
static void put_both(dt_row_writer *w, const dt_predicted_rows *p, int o) {
    dt_str_putc(&w->out.text, '[');
    put_score(w, p, o, 0);
    dt_str_puts(&w->out.text, ", ");
    put_score(w, p, o, 1);
    dt_str_putc(&w->out.text, ']');
}

static void put_all(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row) {
    int64_t at = 0;
    dt_row_score(w, p, o, row);
    if (dt_row_class(p, o, 0)) put_named(w, p, o);
    else if (dt_row_scores(p, o) > dt_row_values(p, o)) put_both(w, p, o);
    else put_scores(w, p, o, 1, &at);
}

static void put_largest(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row) {
    const int n = dt_row_rank(w, p, o, row);
    const bool alone = dt_row_is_decided(w, p, o);
    dt_str_puts(&w->out.text, alone ? "" : "[");
    for (int i = 0; i < n; i++) {
        const int64_t class = w->ranked[i].index;
        dt_str_puts(&w->out.text, i ? ", {\"class\": " : "{\"class\": ");
        if (dt_row_class(p, o, class)) put_text(w, dt_row_class(p, o, class));
        else dt_str_printf(&w->out.text, "%lld", (long long)class);
        dt_str_puts(&w->out.text, ", \"score\": ");
        put_score(w, p, o, class);
        dt_str_putc(&w->out.text, '}');
    }
    dt_str_puts(&w->out.text, alone ? "" : "]");
}

/* Writes the columns that are kept. Returns whether there are any. */
static bool put_kept(dt_row_writer *w, const dt_predicted_rows *p, int64_t row) {
    for (int i = 0; i < p->n_kept; i++) {
        const dt_copied_value *k = &p->kept[row * p->n_kept + i];
        dt_str_puts(&w->out.text, i || p->files ? ", " : "");
        put_text(w, p->kept_names[i]);
        dt_str_puts(&w->out.text, ": ");
        if (k->json) dt_str_puts(&w->out.text, k->text);
        else put_text(w, k->text);
    }
    return p->n_kept > 0;
}

static void put_output_name(dt_row_writer *w, const dt_predicted_rows *p, int o) {
    bool taken = false;
    for (int i = 0; i < p->n_kept; i++) taken = taken || strcmp(p->kept_names[i], p->names[o]) == 0;
    dt_local_str name = {0};
    dt_str_printf(&name, "%s%s", p->names[o], taken ? "_output" : "");
    put_text(w, dt_str_text(&name));
}

void dt_row_json(dt_row_writer *w, const dt_predicted_rows *p, int64_t row) {
    dt_str_putc(&w->out.text, '{');
    if (p->files) {
        dt_str_puts(&w->out.text, "\"file\": ");
        put_text(w, p->files[row]);
    }
    const bool begun = put_kept(w, p, row) || p->files;
    const char *error = p->errors ? p->errors[row] : NULL;
    if (error) {
        dt_str_puts(&w->out.text, begun ? ", \"error\": " : "\"error\": ");
        put_text(w, error);
    }
    for (int o = 0; o < p->n_outputs && !error; o++) {
        dt_str_puts(&w->out.text, o || begun ? ", " : "");
        put_output_name(w, p, o);
        dt_str_puts(&w->out.text, ": ");
        (dt_row_top(w, p, o) > 0 ? put_largest : put_all)(w, p, o, row);
    }
    dt_str_puts(&w->out.text, "}\n");
}
