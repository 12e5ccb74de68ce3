/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the hooks of a run at each moment, and saves the memory of its callbacks in checkpoints:
 * one JSON object with a member for each callback that has something to save, and one for the
 * learning rate if that is a variable. A callback that is new in the job has no member and starts
 * afresh.
 */
#include "train/hook.h"
#include "train/recording.h"

#include <math.h>
#include <string.h>

#include "base/json_load.h"

static const dt_hook_row *const every_run[] = {
#define DT_HOOK(name) &dt_hook_##name,
#include "train/hooks.h"
};
enum { EVERY_RUN = sizeof every_run / sizeof *every_run };

/* Returns the callback's key in checkpoints. The second callback of the same kind gets the suffix
 * "_1", the third "_2", and so on. */
static const char *key_of(const run *r, const char *name, const dt_hook_row *row) {
    int before = 0;
    for (int k = 0; k < r->n_hooks; k++) before += r->hook[k].row == row;
    return before ? dt_arena_printf(r->arena, "%s_%d", name, before) : name;
}

static dt_status *open_hook(run *r, const dt_hook_row *row, const dt_named *named) {
    dt_hook *h = &r->hook[r->n_hooks];
    *h = (dt_hook){.row = row, .named = named};
    if (named) {
        h->key = key_of(r, row->kind.name, row);
        h->mark = dt_recording_callback(r, row->kind.name);
    }
    /* The hook is counted even if `open` fails, because `close` must free what `open` has made. */
    r->n_hooks++;
    return row->open ? row->open(r, h) : NULL;
}

dt_status *dt_hooks_open(run *r) {
    const dt_callbacks *all = &r->q->fit->callbacks;
    const dt_callback_job job = {.model = &r->model->spec,
                                 .data = dt_dataset_spec_of(r->data),
                                 .compile = dt_trainer_compiled_with(r->q->trainer),
                                 .validates_by_steps = dt_fit_validates_by_steps(r->q->fit)};
    r->hook = dt_arena_array(r->arena, dt_hook, EVERY_RUN + all->n);
    for (int i = 0; i < EVERY_RUN; i++) DT_TRY(open_hook(r, every_run[i], NULL));
    DT_TRY(dt_callbacks_check(all, &job));
    for (int i = 0; i < all->n; i++)
        DT_TRY(open_hook(r, (const dt_hook_row *)all->named[i].kind, &all->named[i]));
    return NULL;
}

void dt_hooks_close(run *r) {
    for (int i = 0; i < r->n_hooks; i++)
        if (r->hook[i].row->close) r->hook[i].row->close(r, &r->hook[i]);
}

/* Calls the function for the moment in every hook that has one. `h` is the hook in `arguments`. */
#define FOR_ALL(moment, arguments)                                                                 \
    for (dt_hook *h = r->hook; h < r->hook + r->n_hooks; h++)                                      \
        if (h->row->moment) {                                                                      \
            const int64_t since = h->named ? dt_recording_since(r) : 0;                            \
            DT_TRY(h->row->moment arguments);                                                      \
            if (h->named) dt_recording_span(r, h->mark, since);                                    \
        }

dt_status *dt_hooks_begin(run *r) {
    FOR_ALL(begin, (r, h))
    dt_callbacks_emit(r);
    return NULL;
}

dt_status *dt_hooks_step_begin(run *r) {
    FOR_ALL(step_begin, (r, h))
    return NULL;
}

dt_status *dt_hooks_step_end(run *r, const dt_step_done *done) {
    FOR_ALL(step_end, (r, h, done))
    return NULL;
}

dt_status *dt_hooks_test_begin(run *r) {
    FOR_ALL(test_begin, (r, h))
    return NULL;
}

dt_status *dt_hooks_test_end(run *r, const dt_sums *sums) {
    dt_metric metric[DT_MAX_LOGS];
    const dt_logs logs = {metric, dt_trainer_metrics(r->q->trainer, sums, false, metric), false};
    FOR_ALL(test_end, (r, h, &logs))
    return NULL;
}

dt_status *dt_hooks_epoch_end(run *r, dt_logs *logs) {
    FOR_ALL(epoch_end, (r, h, logs))
    return NULL;
}

dt_status *dt_hooks_settled(run *r) {
    FOR_ALL(settled, (r, h))
    dt_callbacks_emit(r);
    /* After the validation, training continues with the weights instead of their running means. */
    return dt_run_swap(r, false);
}

dt_status *dt_hooks_saved(run *r) {
    FOR_ALL(saved, (r, h))
    return NULL;
}

dt_status *dt_hooks_train_end(run *r) {
    FOR_ALL(train_end, (r, h))
    dt_callbacks_emit(r);
    return NULL;
}

dt_status *dt_hooks_end(run *r) {
    FOR_ALL(end, (r, h))
    return NULL;
}

const double *dt_logs_find(const dt_logs *logs, const char *name) {
    for (int i = 0; i < logs->n; i++)
        if (strcmp(logs->metric[i].name, name) == 0) return &logs->metric[i].value;
    return NULL;
}

void dt_logs_put(dt_logs *logs, const char *name, double value) {
    for (int i = 0; i < logs->n; i++)
        if (strcmp(logs->metric[i].name, name) == 0) {
            logs->metric[i].value = value;
            return;
        }
    logs->metric[logs->n++] = (dt_metric){.name = name, .value = value};
}

void dt_keep_number(dt_json *j, const char *key, double x) {
    if (isfinite(x)) dt_json_double(j, key, x);
    else dt_json_string(j, key, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

bool dt_kept_number(const json_t *kept, const char *key, double *x) {
    static const struct {
        const char *text;
        double is;
    } words[] = {{"nan", (double)NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    const json_t *value = json_object_get(kept, key);
    const char *text = json_string_value(value);
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].text) == 0) {
            *x = words[i].is;
            return true;
        }
    if (!json_is_number(value)) return false;
    *x = json_number_value(value);
    return true;
}

bool dt_kept_count(const json_t *kept, const char *key, int64_t *n) {
    const json_t *value = json_object_get(kept, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *n = json_integer_value(value);
    return true;
}

dt_status *dt_hooks_save(run *r, dt_arena *arena, const char **text) {
    dt_local_str out = {0};
    dt_json j = {.out = &out};
    dt_status *s = NULL;
    dt_json_open(&j, NULL, '{');
    if (r->optimizer && r->optimizer->rate) {
        s = dt_variable_fetch(r->optimizer->rate);
        if (!s)
            dt_keep_number(&j, "learning_rate",
                           (double)*(const float *)dt_host_data(r->optimizer->rate));
    }
    for (int i = 0; i < r->n_hooks && !s; i++) {
        dt_hook *h = &r->hook[i];
        if (!h->row->save) continue;
        dt_json_open(&j, h->key, '{');
        s = h->row->save(r, h, &j);
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, '}');
    *text = strcmp(dt_str_text(&out), "{}") == 0 ? NULL : dt_arena_strdup(arena, dt_str_text(&out));
    return s;
}

static dt_arrays arrays_of(const dt_hook *h) {
    return h->row->arrays ? h->row->arrays(h) : (dt_arrays){0};
}

dt_arrays dt_hooks_arrays(const run *r, dt_arena *arena) {
    int n = 0, at = 0;
    for (int i = 0; i < r->n_hooks; i++) n += arrays_of(&r->hook[i]).n;
    dt_named_view *array = dt_arena_array(arena, dt_named_view, n + 1);
    for (int i = 0; i < r->n_hooks; i++) {
        const dt_arrays own = arrays_of(&r->hook[i]);
        for (int k = 0; k < own.n; k++, at++) {
            array[at] = own.array[k];
            array[at].name = dt_arena_printf(arena, "%s/%s", r->hook[i].key, own.array[k].name);
        }
    }
    return (dt_arrays){n, array};
}

dt_status *dt_hooks_restore(run *r, const dt_saved *c) {
    json_t *root = c->state.callbacks ? dt_json_load(c->state.callbacks, strlen(c->state.callbacks),
                                                     JSON_REJECT_DUPLICATES, NULL)
                                      : NULL;
    double rate;
    if (c->state.callbacks && !json_is_object(root)) {
        json_decref(root);
        return dt_fail(DT_E_CHECKPOINT, NULL, "%s/state.json: 'callbacks' must hold an object",
                       c->path);
    }
    if (r->optimizer->rate && dt_kept_number(root, "learning_rate", &rate))
        dt_run_set_rate(r, rate);
    for (int i = 0; i < r->n_hooks; i++) {
        const json_t *kept = json_object_get(root, r->hook[i].key);
        if (r->hook[i].row->restore && json_is_object(kept))
            r->hook[i].row->restore(r, &r->hook[i], kept);
    }
    json_decref(root);
    const dt_arrays wanted = dt_hooks_arrays(r, r->arena);
    return dt_saved_load_callbacks(c, &wanted);
}
