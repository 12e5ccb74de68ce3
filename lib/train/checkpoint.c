/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of custom loops: the handle, and the objects that are added to it. */
#include "train/checkpoint.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 200 };

const char *dt_tracked_word(dt_tracked_kind kind) {
    static const char *const words[] = {"model",   "optimizer", "variable",
                                        "counter", "iterator",  "data set"};
    return words[kind];
}

dt_status *dt_checkpoint_create(dt_checkpoint **out) {
    DT_REQUIRE({out, "place for the checkpoint"});
    dt_checkpoint *c = dt_alloc(sizeof *c);
    c->refs = 1;
    dt_checkpoint_unref(*out);
    *out = c;
    return NULL;
}

static void release(const dt_tracked *t) {
    switch (t->kind) {
    case DT_A_MODEL: dt_model_unref(t->object); break;
    case DT_AN_OPTIMIZER: dt_optimizer_unref(t->object); break;
    case DT_A_VARIABLE: dt_variable_unref(t->object); break;
    case DT_AN_ITERATOR: dt_iterator_unref(t->object); break;
    case DT_A_DATA_SET: dt_dist_dataset_unref(t->object); break;
    default: break;
    }
    free(t->name);
}

void dt_checkpoint_unref(dt_checkpoint *c) {
    if (!DT_LAST(c)) return;
    for (int i = 0; i < c->n; i++) release(&c->item[i]);
    dt_run_dir_close(&c->directory);
    free(c->item);
    free(c->stands_on);
    DT_RETIRE(c);
}

dt_status *dt_checkpoint_check_call(const dt_checkpoint *c, const char *call) {
    DT_TRY(dt_status_kept());
    if (dt_context_now() != DT_OUTSIDE)
        return dt_fail(DT_E_SCOPE, NULL, "%s cannot be called in a step function", call);
    return dt_want(c, call, "checkpoint");
}

void dt_checkpoint_stand_on(dt_checkpoint *c, const char *path, const dt_state_file *state) {
    free(c->stands_on);
    c->stands_on = realpath(path, NULL);
    c->generation = state->generation;
    c->step = state->step;
}

/* Whether a name may be used: 1 to LONGEST_NAME bytes of UTF-8, without '/' and invisible
 * characters. It becomes a key of a JSON object and a part of tensors' names. */
static bool is_name(const char *name) {
    size_t n = strlen(name), at = 0;
    bool is = n > 0 && n <= LONGEST_NAME && !strchr(name, '/');
    while (is && at < n) {
        uint32_t code;
        const size_t bytes = dt_utf8_next(name + at, n - at, &code);
        is = bytes > 0 && !dt_is_unseen(code);
        at += bytes;
    }
    return is;
}

static dt_status *bad_name(const char *name, const char *why) {
    dt_local_str shown = {0};
    dt_str_escaped(&shown, name, strlen(name), LONGEST_NAME);
    return dt_fail(DT_E_MISUSE, NULL, "'%s' %s", dt_str_text(&shown), why);
}

static dt_status *check_add(const dt_checkpoint *c, const char *name, const void *object,
                            const char *call) {
    DT_TRY(dt_checkpoint_check_call(c, call));
    DT_TRY(dt_want(name, call, "name"));
    DT_TRY(dt_want(object, call, "object to add"));
    if (!is_name(name))
        return bad_name(name, "cannot be a name in a checkpoint: use 1 to 200 bytes of UTF-8 "
                              "without '/' and control characters");
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->item[i].name, name) == 0)
            return bad_name(name, "is the name of another object in the checkpoint");
    return NULL;
}

static void add(dt_checkpoint *c, dt_tracked_kind kind, const char *name, void *object) {
    DT_GROW(c->item, c->cap, c->n + 1);
    c->item[c->n++] = (dt_tracked){.kind = kind, .name = dt_strdup(name), .object = object};
}

dt_status *dt_checkpoint_add_model(dt_checkpoint *c, const char *name, dt_model *m) {
    DT_LIVE(c);
    DT_LIVE(m);
    DT_TRY(check_add(c, name, m, "dt_checkpoint_add_model"));
    m->refs++;
    add(c, DT_A_MODEL, name, m);
    return NULL;
}

dt_status *dt_checkpoint_add_optimizer(dt_checkpoint *c, const char *name, dt_optimizer *o) {
    DT_LIVE(c);
    DT_LIVE(o);
    DT_TRY(check_add(c, name, o, "dt_checkpoint_add_optimizer"));
    o->refs++;
    add(c, DT_AN_OPTIMIZER, name, o);
    return NULL;
}

dt_status *dt_checkpoint_add_variable(dt_checkpoint *c, const char *name, dt_variable *v) {
    DT_LIVE(c);
    DT_LIVE(v);
    DT_TRY(check_add(c, name, v, "dt_checkpoint_add_variable"));
    v->refs++;
    add(c, DT_A_VARIABLE, name, v);
    return NULL;
}

dt_status *dt_checkpoint_add_counter(dt_checkpoint *c, const char *name, int64_t *counter) {
    DT_LIVE(c);
    DT_TRY(check_add(c, name, counter, "dt_checkpoint_add_counter"));
    add(c, DT_A_COUNTER, name, counter);
    return NULL;
}

dt_status *dt_checkpoint_add_iterator(dt_checkpoint *c, const char *name, dt_iterator *it) {
    DT_LIVE(c);
    DT_LIVE(it);
    DT_TRY(check_add(c, name, it, "dt_checkpoint_add_iterator"));
    dt_iterator_track(it);
    add(c, DT_AN_ITERATOR, name, dt_iterator_ref(it));
    return NULL;
}

dt_status *dt_checkpoint_add_data(dt_checkpoint *c, const char *name, dt_dist_dataset *data) {
    DT_LIVE(c);
    DT_LIVE(data);
    DT_TRY(check_add(c, name, data, "dt_checkpoint_add_data"));
    dt_dist_dataset_track(data);
    add(c, DT_A_DATA_SET, name, dt_dist_dataset_ref(data));
    return NULL;
}
