/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job whose model was written by Keras. The model's file is read before overrides are applied, so
 * that these can change its layers; its path is relative to the file that names it. If the file
 * that a job names is gone, evaluate, predict and export take the layers from the run's newest
 * checkpoint. Training and planning without it are errors, and so is an override that names a
 * missing file.
 */
#include <stdlib.h>
#include <string.h>

#include "job/job.h"
#include "model/keras/keras.h"

/* Checks the file's name. Since the file is read before words in braces are substituted, the name
 * cannot contain any. */
static dt_status *check_name(const dt_tree *value) {
    if (!value || value->kind != DT_TREE_SCALAR || !strchr(value->text, '{')) return NULL;
    return dt_suggest(dt_fail(DT_E_SUBSTITUTION, &value->at,
                              "nothing is substituted in " DT_KERAS_KEY ", got '%.80s'",
                              value->text),
                      "an override says another file: model." DT_KERAS_KEY "=FILE");
}

static void put(dt_arena *arena, dt_tree *map, const char *key, dt_tree *value) {
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->entry[i].key, key) == 0) {
            map->entry[i].value = value;
            return;
        }
    dt_entry *all = dt_arena_array(arena, dt_entry, map->n + 1);
    for (int i = 0; i < map->n; i++) all[i] = map->entry[i];
    all[map->n++] = (dt_entry){.key = key, .key_at = value->at, .value = value};
    map->entry = all;
}

/* Appends steps to the `map` of an element, which may be a list, a single step, or missing. */
static void append_steps(dt_job *j, dt_tree *map, const dt_entry *added) {
    dt_tree *given = dt_tree_get(map, added->key), *list = added->value;
    const int n = !given || given->kind == DT_TREE_NULL ? 0
                  : given->kind == DT_TREE_LIST         ? given->n
                                                        : 1;
    dt_tree **all = dt_arena_array(j->arena, dt_tree *, n + list->n);
    for (int i = 0; i < n; i++) all[i] = given->kind == DT_TREE_LIST ? given->item[i] : given;
    for (int i = 0; i < list->n; i++) all[n + i] = list->item[i];
    list->item = all;
    list->n += n;
    put(j->arena, map, added->key, list);
}

/* Moves the model's random layers, such as RandomFlip, to the `map` of the data set; see
 * model/keras/augment.c. */
static void move_random(dt_job *j, dt_tree *model) {
    const dt_tree *steps = dt_keras_take_steps(j->arena, model);
    dt_tree *dataset = dt_tree_get(j->tree, "dataset");
    if (!steps || steps->n == 0 || !dataset || dataset->kind != DT_TREE_MAP) return;
    dt_tree *map = dt_tree_get(dataset, "map");
    if (!map || map->kind == DT_TREE_NULL) {
        map = dt_arena_new(j->arena, dt_tree);
        *map = (dt_tree){.kind = DT_TREE_MAP, .at = steps->at};
        put(j->arena, dataset, "map", map);
    }
    for (int i = 0; map->kind == DT_TREE_MAP && i < steps->n; i++)
        append_steps(j, map, &steps->entry[i]);
}

dt_status *dt_job_import_model(dt_job *j) {
    dt_tree *model = dt_tree_get(j->tree, "model");
    const dt_tree *value = dt_tree_get(model, DT_KERAS_KEY);
    DT_TRY(check_name(value));
    bool of_base = value && j->base && value->at.source == j->base,
         needed = j->purpose == DT_FOR_FIT || j->purpose == DT_FOR_PLAN ||
                  (value && !dt_job_is_of_files(j, value->at.source));
    char *directory = of_base ? dt_path_dir(j->base->name) : dt_strdup(j->data_directory);
    dt_status *s = dt_keras_import(j->arena, directory, model);
    free(directory);
    if (!s && value && value->kind != DT_TREE_NULL) move_random(j, model);
    if (dt_status_number(s) != DT_E_NO_INPUT || needed) return s;
    j->no_model = s;
    return NULL;
}

static dt_status *read_trained(dt_job *j, const dt_saved *c, dt_tree **model) {
    dt_source *source = dt_arena_new(j->arena, dt_source);
    dt_tree *job;
    *source = (dt_source){.name = dt_arena_strdup(j->arena, c->path),
                          .text = dt_arena_strdup(j->arena, c->state.job),
                          .size = strlen(c->state.job)};
    DT_TRY(dt_tree_parse(j->arena, source, &job));
    *model = dt_tree_get(job, "model");
    return NULL;
}

/* Sets *model to the model of the run's newest checkpoint; leaves it unchanged if there is no
 * checkpoint, or it has no job. */
static dt_status *find_trained(dt_job *j, dt_tree **model) {
    dt_saved c = {0};
    dt_status *warnings = NULL;
    char *directory = dt_job_output(j);
    dt_status *s = dt_saved_newest(&c, directory, &warnings);
    free(directory);
    /* these warnings are dropped, since they are reported again when the weights are read */
    dt_status_free(warnings);
    if (!s && c.path && c.state.job) s = read_trained(j, &c, model);
    dt_saved_release(&c);
    return s;
}

dt_status *dt_job_recall_model(dt_job *j) {
    dt_tree *trained = NULL, *model = dt_tree_get(j->tree, "model");
    dt_status *missing = j->no_model;
    j->no_model = NULL;
    if (!missing) return NULL;
    /* an error is dropped, since the missing file, which the user can provide, is the error to
     * report */
    dt_status_free(find_trained(j, &trained));
    if (!dt_tree_get(trained, "layers") || dt_tree_get(model, "layers")) return missing;
    dt_status_free(missing);
    dt_keras_replace(j->arena, model, trained);
    return NULL;
}
