/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines, an object an example: {"logits": [0.5, -1.25]}, of the shape that the output has; of the largest only {"logits": [{"class": 0, "score":
 * 0.5}, ...]}. What is not finite is null. */
#include "base/json.h"
#include "format/rows/rows.h"

static dt_status *begin(dt_row_writer *w, const dt_predicted_rows *p)
{
    (void)w;
    (void)p;
    return NULL;
}

static void put_number(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, int64_t i)
{
    dt_row_print(p, o, row, i, "null", &w->text);
}

/* The values below dimension d; *at counts them. Recursion is bounded by the rank. */
static void put_values(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, int d, int64_t *at)
{
    const dt_type *t = &p->values[o]->type;
    if (d == t->rank) {
        put_number(w, p, o, row, (*at)++);
        return;
    }
    dt_str_putc(&w->text, '[');
    for (int64_t i = 0; i < t->dim[d]; i++) {
        dt_str_puts(&w->text, i ? ", " : "");
        put_values(w, p, o, row, d + 1, at);
    }
    dt_str_putc(&w->text, ']');
}

static void put_ranked(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row)
{
    int n = dt_row_rank(w, p, o, row);
    dt_str_putc(&w->text, '[');
    for (int i = 0; i < n; i++) {
        dt_str_printf(&w->text, "%s{\"class\": %lld, \"score\": ", i ? ", " : "", (long long)w->ranked[i].index);
        put_number(w, p, o, row, w->ranked[i].index);
        dt_str_putc(&w->text, '}');
    }
    dt_str_putc(&w->text, ']');
}

static void put_row(dt_row_writer *w, const dt_predicted_rows *p, int64_t row)
{
    int64_t at;
    dt_str_putc(&w->text, '{');
    for (int o = 0; o < p->n_outputs; o++) {
        dt_str_puts(&w->text, o ? ", " : "");
        dt_json_string(&(dt_json){.out = &w->text}, NULL, p->names[o]);
        dt_str_puts(&w->text, ": ");
        at = 0;
        if (w->options.top > 0)
            put_ranked(w, p, o, row);
        else
            put_values(w, p, o, row, 1, &at);
    }
    dt_str_puts(&w->text, "}\n");
}

const dt_row_kind dt_row_jsonl = {.name = "jsonl", .suffix = ".jsonl", .begin = begin, .row = put_row};
