/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that steps of `map` learned, as checkpoints store them: a JSON object with an entry
 * for each step. A number is written as the shortest decimal that is read back bit for bit.
 *
 *     {"map/normalize/x/0": {"mean": [5.84, 3.06], "variance": [0.68, 0.19]},
 *      "map/text_vectorization/review/0": {"words": ["the", "a"]}}
 */
#include <string.h>

#include "base/json.h"
#include "file/json_read.h"
#include "train/train.h"

/* ---- printing ---- */

static void put_reals(dt_json *j, const char *key, const dt_reals *x) {
    if (x->n == 0) return;
    dt_json_doubles(j, key, x->v, x->n);
}

static void put_texts(dt_json *j, const char *key, const dt_texts *x) {
    if (x->n == 0) return;
    dt_json_strings(j, key, x->v, x->n);
}

const char *dt_learned_print(const dt_learned *l, dt_arena *arena) {
    dt_str out = {0};
    dt_json j = {.out = &out};
    if (l->n == 0) return NULL;
    dt_json_open(&j, NULL, '{');
    for (int i = 0; i < l->n; i++) {
        dt_json_open(&j, l->lesson[i].step, '{');
        put_reals(&j, "mean", &l->lesson[i].mean);
        put_reals(&j, "variance", &l->lesson[i].variance);
        put_texts(&j, "words", &l->lesson[i].words);
        put_reals(&j, "idf", &l->lesson[i].idf);
        put_reals(&j, "fill", &l->lesson[i].fill);
        put_reals(&j, "gaps", &l->lesson[i].gaps);
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, '}');
    return dt_arena_take(arena, &out);
}

/* ---- reading ---- */

static bool get_reals(dt_arena *arena, const json_t *list, dt_reals *out) {
    const int n = (int)json_array_size(list);
    *out = (dt_reals){.n = n, .v = dt_arena_array(arena, double, n)};
    for (int i = 0; i < n; i++) {
        if (!json_is_number(json_array_get(list, (size_t)i))) return false;
        out->v[i] = json_number_value(json_array_get(list, (size_t)i));
    }
    return !list || json_is_array(list);
}

static bool get_lessons(dt_arena *arena, json_t *root, dt_learned *out) {
    const char *step;
    json_t *entry;
    out->lesson = dt_arena_array(arena, dt_lesson, json_object_size(root));
    json_object_foreach(root, step, entry) {
        dt_lesson *l = &out->lesson[out->n++];
        l->step = dt_arena_strdup(arena, step);
        if (!json_is_object(entry) || !get_reals(arena, json_object_get(entry, "mean"), &l->mean) ||
            !get_reals(arena, json_object_get(entry, "variance"), &l->variance) ||
            !get_reals(arena, json_object_get(entry, "idf"), &l->idf) ||
            !get_reals(arena, json_object_get(entry, "fill"), &l->fill) ||
            !get_reals(arena, json_object_get(entry, "gaps"), &l->gaps) ||
            !dt_json_texts(arena, json_object_get(entry, "words"), &l->words))
            return false;
    }
    return true;
}

dt_status *dt_learned_read(const dt_saved *c, dt_arena *arena, const dt_learned **out) {
    dt_learned *l = dt_arena_new(arena, dt_learned);
    json_t *root = NULL;
    *out = NULL;
    if (!c->state.map) return NULL;
    const dt_json_text text = {.path = c->path,
                               .part = "'map' of state.json",
                               .member = "step",
                               .text = c->state.map,
                               .size = strlen(c->state.map),
                               .fault = DT_E_CHECKPOINT};
    DT_TRY(dt_json_parse(&text, &root));
    bool ok = get_lessons(arena, root, l);
    json_decref(root);
    if (!ok)
        return dt_fail(DT_E_CHECKPOINT, NULL,
                       "%s/state.json: 'map' must hold what steps learned: lists 'mean', "
                       "'variance', 'words', 'idf', 'fill' and 'gaps'",
                       c->path);
    *out = l;
    return NULL;
}
