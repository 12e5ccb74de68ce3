/* SPDX-License-Identifier: Apache-2.0 */
/* A model that Keras wrote, as text or as an archive, and what is made of it as a job's layers. */
#include "fuzz.h"
#include "model/keras/keras.h"
#include "repair.h"

FUZZ_TARGET(keras) {
    dt_arena *arena = dt_arena_create();
    dt_tree file = {.kind = DT_TREE_SCALAR, .text = fuzz_file(data, size)};
    dt_entry entry = {.key = DT_KERAS_KEY, .value = &file};
    dt_tree model = {.kind = DT_TREE_MAP, .n = 1, .entry = &entry};
    dt_model_spec spec;
    dt_str text = {0};
    dt_status *s = dt_keras_import(arena, "", &model);
    if (!s) s = dt_model_read(arena, &model, &model.at, &spec);
    dt_tree_print(&model, &text);
    dt_str_release(&text);
    fuzz_done(s);
    dt_arena_destroy(arena);
    return 0;
}

FUZZ_REPAIRED_BY(repair_zip)
