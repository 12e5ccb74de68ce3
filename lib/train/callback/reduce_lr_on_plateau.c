/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceLROnPlateau, as in Keras: if a metric has not improved for `patience` epochs or, if
 * validation runs by steps, validations, the learning rate is multiplied by `factor`, but not
 * reduced below `min_lr`. If `cooldown` is above 0, the next `cooldown` - 1 epochs or validations
 * do not count. The logs get `learning_rate`, the rate that the epoch was trained with. */
#include <math.h>

#include "train/monitor.h"

struct plateau {
    dt_monitor_head head;
    double factor, min_lr;
    int64_t patience, cooldown;
};

static const dt_field fields[] = {
    DT_MONITOR_FIELDS(struct plateau),
    DT_MIN_DELTA_FIELD(struct plateau, "0.0001"),
    DT_REAL(struct plateau, factor, .preset = "0.1", .above_min = true, .max = 1, .below_max = true,
            .help = "factor by which the learning rate is reduced"),
    DT_INT(struct plateau, patience, .preset = "10", .max = INT32_MAX,
           .help = "number of epochs (or step validations) without improvement before the rate is "
                   "reduced"),
    DT_INT(struct plateau, cooldown, .max = INT32_MAX,
           .help = "number of epochs (or step validations) to wait after a reduction"),
    DT_REAL(struct plateau, min_lr, .max = INFINITY, .help = "lower bound of the learning rate"),
    DT_END};

typedef struct reducer {
    const struct plateau *x;
    dt_monitor monitor;
    int64_t wait, cooldown;
} reducer;

static dt_status *open_reducer(run *r, dt_hook *h) {
    reducer *s = dt_arena_new(r->arena, reducer);
    *s = (reducer){.x = h->named->args};
    s->monitor = dt_monitor_open(r, &s->x->head);
    h->state = s;
    return NULL;
}

static void reduce(run *r, dt_hook *h, double old) {
    reducer *s = h->state;
    dt_local_str rate = {0};
    if (old <= (double)(float)s->x->min_lr) return;
    float now = (float)fmax(old * s->x->factor, s->x->min_lr);
    dt_run_set_rate(r, (double)now);
    s->cooldown = s->x->cooldown;
    s->wait = 0;
    dt_str_float(&rate, now);
    dt_callback_report(r, h, "reducing learning rate to %s", dt_str_text(&rate));
}

static void compare_with_best(run *r, dt_hook *h, double current, double rate) {
    reducer *s = h->state;
    if (s->cooldown > 0) {
        s->cooldown--;
        s->wait = 0;
    }
    if (dt_monitor_improves(&s->monitor, current)) {
        s->wait = 0;
        return;
    }
    if (s->cooldown == 0 && ++s->wait >= s->x->patience) reduce(r, h, rate);
}

static dt_status *end_epoch(run *r, dt_hook *h, dt_logs *logs) {
    const reducer *s = h->state;
    double rate;
    DT_TRY(dt_run_rate(r, &rate));
    dt_logs_put(logs, "learning_rate", rate);
    const double *current = dt_logs_find(logs, s->x->head.monitor);
    if (current && dt_monitor_is_due(r, &s->monitor, logs)) compare_with_best(r, h, *current, rate);
    return NULL;
}

static dt_status *save(run *r, dt_hook *h, dt_json *j) {
    const reducer *s = h->state;
    (void)r;
    dt_monitor_save(&s->monitor, j);
    dt_json_int(j, "wait", s->wait);
    dt_json_int(j, "cooldown", s->cooldown);
    return NULL;
}

static void restore(run *r, dt_hook *h, const json_t *kept) {
    reducer *s = h->state;
    (void)r;
    dt_monitor_restore(&s->monitor, kept);
    dt_kept_count(kept, "wait", &s->wait);
    dt_kept_count(kept, "cooldown", &s->cooldown);
}

const dt_hook_row dt_callback_reduce_lr_on_plateau = {
    .kind = {"ReduceLROnPlateau", "learns more slowly when a metric no longer becomes better",
             fields, sizeof(struct plateau), NULL},
    .varies_rate = true,
    .check = dt_monitor_check,
    .open = open_reducer,
    .save = save,
    .restore = restore,
    .epoch_end = end_epoch,
};
