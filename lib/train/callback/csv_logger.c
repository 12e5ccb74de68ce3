/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSVLogger: writes one line for each epoch, byte for byte as Keras does. The columns are `epoch`,
 * counted from 0, and the keys of the logs in alphabetical order. If the first epoch has no
 * validation, the columns val_KEY are added for all keys. Numbers are printed as Python prints
 * them, a missing value is NA, and lines end in CR LF. A run that validates by steps has a line for
 * each validation too, and a column `step` to tell them apart.
 */
#include <stdlib.h>
#include <string.h>

#include "file/csv.h"
#include "train/python_text.h"
#include "train/run_log.h"

struct csv_logger {
    const char *filename, *separator;
    bool append;
};

static const dt_field fields[] = {
    DT_TEXT(struct csv_logger, filename, .min = 1, .max = 1000, .required = true,
            .help = "path, below output.dir"),
    DT_TEXT(struct csv_logger, separator, .min = 1, .max = 1, .preset = ",",
            .help = "character between columns"),
    DT_FLAG(struct csv_logger, append,
            .help = "append to an existing file instead of replacing it"),
    DT_END};

typedef struct csv {
    const struct csv_logger *x;
    dt_run_log log;
    bool has_keys;
    dt_texts keys;
} csv;

static dt_status *check(const dt_callback_job *job, const dt_named *named) {
    const struct csv_logger *x = named->args;
    (void)job;
    return dt_callback_check_path(named, "filename", x->filename);
}

static dt_status *open_csv(run *r, dt_hook *h) {
    csv *v = dt_arena_new(r->arena, csv);
    *v = (csv){.x = h->named->args};
    h->state = v;
    return NULL;
}

static dt_status *begin(run *r, dt_hook *h) {
    csv *v = h->state;
    DT_TRY(dt_callback_path(r, h, v->x->filename, &v->log.path));
    return dt_run_log_open(r, &v->log, v->x->append);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void choose_columns(run *r, csv *v, const dt_logs *logs) {
    bool validated = false;
    dt_texts *k = &v->keys;
    *k = (dt_texts){.v = dt_arena_array(r->arena, const char *, 2 * logs->n)};
    for (int i = 0; i < logs->n; i++) {
        k->v[k->n++] = dt_arena_strdup(r->arena, logs->metric[i].name);
        validated |= strncmp(logs->metric[i].name, "val_", 4) == 0;
    }
    qsort(k->v, (size_t)k->n, sizeof *k->v, by_name);
    for (int i = 0; !validated && i < logs->n; i++)
        k->v[k->n++] = dt_arena_printf(r->arena, "val_%s", k->v[i]);
    v->has_keys = true;
}

static void put_header(const run *r, const csv *v, dt_str *out) {
    dt_str_printf(out, "epoch%s%s", dt_run_validates_by_steps(r) ? v->x->separator : "",
                  dt_run_validates_by_steps(r) ? "step" : "");
    for (int i = 0; i < v->keys.n; i++) {
        dt_str_puts(out, v->x->separator);
        dt_csv_put(out, v->keys.v[i], *v->x->separator, false);
    }
    dt_str_puts(out, "\r\n");
}

static dt_status *put_line(run *r, dt_hook *h, const dt_logs *logs, bool provisional) {
    csv *v = h->state;
    dt_local_str line = {0};
    if (!v->has_keys) choose_columns(r, v, logs);
    if (v->log.end == 0) put_header(r, v, &line);
    dt_str_printf(&line, "%lld", (long long)r->at.epoch);
    if (dt_run_validates_by_steps(r))
        dt_str_printf(&line, "%s%lld", v->x->separator, (long long)r->at.step);
    for (int i = 0; i < v->keys.n; i++) {
        const double *value = dt_logs_find(logs, v->keys.v[i]);
        dt_str_puts(&line, v->x->separator);
        if (value) dt_python_float(&line, *value);
        else dt_str_puts(&line, "NA");
    }
    dt_str_puts(&line, "\r\n");
    return dt_run_log_put(&v->log, line.data, line.size, provisional);
}

/* Logs an epoch, finished or not, or with logs->between a validation by steps. If such a validation
 * has just been logged at the last step, the epoch gets no line of its own. */
static dt_status *log_epoch(run *r, dt_hook *h, dt_logs *logs) {
    if (!logs->between && dt_run_is_validated_between(r)) return NULL;
    return put_line(r, h, logs, !logs->between && dt_epoch_is_provisional(r));
}

static dt_status *save(run *r, dt_hook *h, dt_json *j) {
    csv *v = h->state;
    (void)r;
    DT_TRY(dt_run_log_save(&v->log, j));
    dt_json_strings(j, "keys", v->keys.v, v->keys.n);
    return NULL;
}

static void restore(run *r, dt_hook *h, const json_t *kept) {
    csv *v = h->state;
    const json_t *keys = json_object_get(kept, "keys");
    size_t n = json_array_size(keys);
    dt_run_log_restore(&v->log, kept);
    v->keys = (dt_texts){.v = dt_arena_array(r->arena, const char *, n)};
    for (size_t i = 0; i < n; i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        if (key) v->keys.v[v->keys.n++] = dt_arena_strdup(r->arena, key);
    }
    v->has_keys = v->keys.n > 0;
}

static dt_status *saved(run *r, dt_hook *h) {
    csv *v = h->state;
    (void)r;
    return dt_run_log_saved(&v->log);
}

static void close_csv(run *r, dt_hook *h) {
    (void)r;
    csv *v = h->state;
    if (v) dt_run_log_close(&v->log);
}

const dt_hook_row dt_callback_csv_logger = {
    .kind = {"CSVLogger", "writes metrics to a CSV file, a line an epoch", fields,
             sizeof(struct csv_logger), NULL},
    .check = check,
    .open = open_csv,
    .save = save,
    .restore = restore,
    .begin = begin,
    .epoch_end = log_epoch,
    .saved = saved,
    .close = close_csv,
};
