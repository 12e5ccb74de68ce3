/* SPDX-License-Identifier: Apache-2.0 */
/* History: metrics of epochs, validations and evaluations under Keras' keys. In memory, and for
 * training also as lines of history.jsonl. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/events.h"
#include "base/json_load.h"
#include "train/train.h"

typedef struct row {
    int n;
    char **name;
    double *value;
} row;

struct dt_history {
    int refs, n, cap;
    row *row;
};

dt_history *dt_history_create(void) {
    dt_history *h = dt_alloc(sizeof *h);
    h->refs = 1;
    return h;
}

void dt_history_unref(dt_history *h) {
    if (!DT_LAST(h)) return;
    for (int i = 0; i < h->n; i++) {
        for (int k = 0; k < h->row[i].n; k++) free(h->row[i].name[k]);
        free(h->row[i].name);
        free(h->row[i].value);
    }
    free(h->row);
    DT_RETIRE(h);
}

void dt_history_add(dt_history *h, const dt_metric *metrics, int n) {
    DT_GROW(h->row, h->cap, h->n + 1);
    row *r = &h->row[h->n++];
    *r = (row){.n = n,
               .name = dt_alloc((size_t)(n + 1) * sizeof *r->name),
               .value = dt_alloc((size_t)(n + 1) * sizeof *r->value)};
    for (int k = 0; k < n; k++) {
        r->name[k] = dt_strdup(metrics[k].name);
        r->value[k] = metrics[k].value;
    }
}

int dt_history_epochs(const dt_history *h) { return DT_LIVE(h) ? h->n : 0; }

double dt_history_at(const dt_history *h, const char *key, int epoch) {
    DT_LIVE(h);
    if (!h || !key || epoch < 0 || epoch >= h->n) return NAN;
    for (int k = 0; k < h->row[epoch].n; k++)
        if (strcmp(h->row[epoch].name[k], key) == 0) return h->row[epoch].value[k];
    return NAN;
}

double dt_history_last(const dt_history *h, const char *key) {
    DT_LIVE(h);
    return dt_history_at(h, key, dt_history_epochs(h) - 1);
}

void dt_history_line(int64_t epoch, int64_t step, const dt_metric *metrics, int n, dt_str *out) {
    dt_json j = {.out = out};

    dt_json_open(&j, NULL, '{');
    dt_json_members(&j, dt_history_members,
                    &(dt_event){.epoch = epoch, .step = step, .metrics = metrics, .n_metrics = n});
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

static int read_metrics(json_t *line, dt_arena *arena, dt_metric *metrics, int most) {
    const char *key;
    json_t *value;
    int n = 0;

    json_object_foreach(line, key, value) {
        if (json_is_number(value) && dt_history_is_metric(key) && n < most)
            metrics[n++] =
                (dt_metric){.name = dt_arena_strdup(arena, key), .value = json_number_value(value)};
    }
    return n;
}

int dt_history_last_line(const char *path, dt_arena *arena, dt_metric *metrics, int most) {
    dt_local_str text = {0};
    dt_status *s = dt_file_read(path, DT_HISTORY_LARGEST, &text);
    int n = 0;

    if (!s && text.size > 1) {
        const char *end = text.data + text.size - 1, *start = end;
        while (start > text.data && start[-1] != '\n') start--;
        json_t *line = dt_json_load(start, (size_t)(end - start), 0, NULL);
        if (line) n = read_metrics(line, arena, metrics, most);
        json_decref(line);
    }
    dt_status_free(s); /* A history that cannot be read has no line. */
    return n;
}
