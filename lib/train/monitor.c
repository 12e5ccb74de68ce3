/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what monitor.h declares. */
#include "train/monitor.h"

#include <math.h>
#include <string.h>

const char *const dt_monitor_modes[] = {"auto", "min", "max", NULL};
enum { AUTO, LESS, MORE };

/* Removes the prefix "val_": returns "loss" for "val_loss". */
static const char *without_val(const char *name) {
    return strncmp(name, "val_", 4) == 0 ? name + 4 : name;
}

/* Returns the metric whose key in the history this is. Returns NULL if the key is a loss, or
 * unknown. */
static const dt_metric_use *find_metric(const dt_compile_spec *c, const char *name) {
    for (int i = 0; i < c->n_metrics; i++)
        for (int k = 0; k < c->metric[i].n; k++)
            if (strcmp(c->metric[i].keys[k], without_val(name)) == 0) return &c->metric[i];
    return NULL;
}

/* Whether the key is the total loss or the loss of an output. */
static bool is_loss(const dt_compile_spec *c, const char *name) {
    bool is = strcmp(without_val(name), "loss") == 0;
    for (int i = 0; i < c->n_outputs; i++)
        is |= c->output[i].loss_key && strcmp(without_val(name), c->output[i].loss_key) == 0;
    return is;
}

static bool has_validation(const dt_dataset_spec *data) {
    return data->part[DT_PART_VALIDATION] || dt_validation_splits(&data->split);
}

/* Sets key[] to the keys of losses and metrics that an epoch's logs may have. Their texts are in
 * `texts`. Returns their number. */
static int list_keys(dt_str *texts, const dt_callback_job *job, const char *key[2 * DT_MAX_KEYS]) {
    const char *known[DT_MAX_KEYS];
    size_t start[2 * DT_MAX_KEYS];
    int n_known = dt_compile_keys(job->compile, known), n = 0;
    for (int v = 0; v <= has_validation(job->data); v++)
        for (int i = 0; i < n_known; i++) {
            start[n++] = texts->size;
            dt_str_printf(texts, "%s%s", v ? "val_" : "", known[i]);
            dt_str_putc(texts, '\0');
        }
    for (int i = 0; i < n; i++) key[i] = texts->data + start[i];
    return n;
}

static dt_status *unknown_metric(const dt_callback_job *job, const dt_named *named,
                                 const char *name) {
    const char *key[2 * DT_MAX_KEYS];
    dt_local_str texts = {0};
    int n = list_keys(&texts, job, key);
    dt_status *s = dt_fail(DT_E_UNKNOWN_NAME, dt_callback_place(named, "monitor"),
                           "%s: the job has no metric '%.80s' to monitor", named->kind->name, name);
    return dt_suggest_names(s, dt_nearest(name, key, n), key, n, "it has");
}

static dt_status *no_validation(const dt_named *named, const char *name) {
    const dt_location *at = dt_callback_place(named, "monitor");
    dt_status *s =
        dt_fail(DT_E_CALLBACK, at, "%s: cannot monitor '%.80s': the job has no validation data",
                named->kind->name, name);
    return dt_suggest(s, "write monitor: %.80s, or give dataset.validation or validation_split",
                      without_val(name));
}

dt_better dt_metric_better(const dt_compile_spec *c, const char *key) {
    const dt_metric_use *m = find_metric(c, key);
    return is_loss(c, key) ? DT_BETTER_LESS : m ? m->row->better : DT_BETTER_UNKNOWN;
}

bool dt_monitor_has(const dt_callback_job *job, const char *name) {
    bool known = is_loss(job->compile, name) || find_metric(job->compile, name);
    return strcmp(name, "learning_rate") == 0 ||
           (known && (without_val(name) == name || has_validation(job->data)));
}

dt_status *dt_monitor_check(const dt_callback_job *job, const dt_named *named) {
    const dt_monitor_head *head = named->args;
    const char *name = head->monitor;
    if (!job->compile) return NULL;
    if (!dt_monitor_has(job, name) && dt_monitor_has(job, without_val(name)))
        return no_validation(named, name);
    if (!dt_monitor_has(job, name)) return unknown_metric(job, named, name);
    if (head->mode != AUTO || dt_metric_better(job->compile, name) != DT_BETTER_UNKNOWN)
        return NULL;
    return dt_suggest(dt_fail(DT_E_CALLBACK, dt_callback_place(named, "monitor"),
                              "%s: cannot tell whether '%.80s' should grow or shrink",
                              named->kind->name, name),
                      "write mode: min, or mode: max");
}

dt_monitor dt_monitor_open(const run *r, const dt_monitor_head *head) {
    const dt_better better =
        dt_metric_better(dt_trainer_compiled_with(r->q->trainer), head->monitor);
    bool more = head->mode == MORE || (head->mode == AUTO && better == DT_BETTER_MORE);
    return (dt_monitor){.name = head->monitor, .more = more, .min_delta = fabs(head->min_delta)};
}

bool dt_monitor_exceeds(const dt_monitor *m, double value, double reference) {
    float changed = (float)(m->more ? value - m->min_delta : value + m->min_delta);
    return m->more ? changed > (float)reference : changed < (float)reference;
}

bool dt_monitor_improves(dt_monitor *m, double value) {
    if (m->has_best && !dt_monitor_exceeds(m, value, m->best)) return false;
    m->has_best = true;
    m->best = value;
    return true;
}

bool dt_monitor_is_of_validation(const dt_monitor *m) { return without_val(m->name) != m->name; }

bool dt_monitor_is_due(const run *r, const dt_monitor *m, const dt_logs *logs) {
    return logs->between ? dt_monitor_is_of_validation(m) : dt_epoch_is_whole(r);
}

void dt_monitor_save(const dt_monitor *m, dt_json *j) {
    dt_json_string(j, "monitor", m->name);
    if (m->has_best) dt_keep_number(j, "best", m->best);
}

/* Restores the best value from a checkpoint, if it was saved for the same metric. */
void dt_monitor_restore(dt_monitor *m, const json_t *kept) {
    const char *name = json_string_value(json_object_get(kept, "monitor"));
    if (name && strcmp(name, m->name) == 0) m->has_best |= dt_kept_number(kept, "best", &m->best);
}
