/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What callbacks remember, in a checkpoint: one JSON object with an entry for each, by its key, and
 * the learning rate where one of them changes it; tensors are stored beside it as KEY/name. A
 * callback that is new in the job finds nothing and starts fresh; the entry of a callback that the
 * job no longer has is kept.
 */
#include "train/callback.h"

#include <math.h>
#include <string.h>

#include "base/json_load.h"

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

/* ---- saving ---- */

dt_status *dt_callbacks_save(run *r, const char **text) {
    dt_str out = {0};
    dt_json j = {.out = &out};
    dt_status *s = NULL;
    dt_json_open(&j, NULL, '{');
    if (r->optimizer && r->optimizer->rate) {
        s = dt_variable_fetch(r->optimizer->rate);
        if (!s)
            dt_keep_number(&j, "learning_rate",
                           (double)*(const float *)dt_host_data(r->optimizer->rate));
    }
    for (int i = 0; i < r->n_callbacks && !s; i++) {
        dt_callback *c = &r->callback[i];
        if (!c->row->save) continue;
        dt_json_open(&j, c->key, '{');
        s = c->row->save(r, c, &j);
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, '}');
    *text =
        strcmp(dt_str_text(&out), "{}") == 0 ? NULL : dt_arena_strdup(r->arena, dt_str_text(&out));
    dt_str_release(&out);
    return s;
}

static dt_arrays arrays_of(const dt_callback *c) {
    return c->row->arrays ? c->row->arrays(c) : (dt_arrays){0};
}

dt_arrays dt_callbacks_arrays(const run *r) {
    int n = 0, at = 0;
    for (int i = 0; i < r->n_callbacks; i++) n += arrays_of(&r->callback[i]).n;
    dt_named_view *array = dt_arena_array(r->arena, dt_named_view, n + 1);
    for (int i = 0; i < r->n_callbacks; i++) {
        const dt_arrays own = arrays_of(&r->callback[i]);
        for (int k = 0; k < own.n; k++, at++) {
            array[at] = own.array[k];
            array[at].name =
                dt_arena_printf(r->arena, "%s/%s", r->callback[i].key, own.array[k].name);
        }
    }
    return (dt_arrays){n, array};
}

/* ---- restoring ---- */

dt_status *dt_callbacks_restore(run *r, const dt_saved *c) {
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
    for (int i = 0; i < r->n_callbacks; i++) {
        const json_t *kept = json_object_get(root, r->callback[i].key);
        if (r->callback[i].row->restore && json_is_object(kept))
            r->callback[i].row->restore(r, &r->callback[i], kept);
    }
    json_decref(root);
    const dt_arrays wanted = dt_callbacks_arrays(r);
    return dt_saved_load_callbacks(c, &wanted);
}
