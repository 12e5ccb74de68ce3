/* SPDX-License-Identifier: Apache-2.0 */
/* Saving the checkpoint of a custom loop, and finding the newest. */
#include <stdlib.h>
#include <string.h>

#include "format/state.h"
#include "train/checkpoint.h"

enum { DEFAULT_KEPT = 3 };
/* A checkpoint's name has room for 18 digits of the step. */
#define GREATEST_STEP INT64_C(999999999999999999)

static int64_t bytes_of(const dt_bound bound[DT_BOUND_FILES]) {
    int64_t bytes = 65536; /* an allowance for the headers of the files and for state.json */
    for (int f = 0; f < DT_BOUND_FILES; f++)
        for (int i = 0; i < bound[f].n; i++)
            bytes = dt_add_fits(bytes, dt_type_bytes(&bound[f].array[i].type), &bytes) ? bytes
                                                                                       : INT64_MAX;
    return bytes;
}

static dt_status *open_directory(dt_checkpoint *c, const char *dir, int64_t bytes) {
    if (c->directory.path && strcmp(c->directory.path, dir) == 0) return NULL;
    dt_run_dir_close(&c->directory);
    DT_TRY(dt_run_dir_open(&c->directory, dir, bytes));
    return dt_checkpoints_clean(&c->directory, false, NULL);
}

/* Finds the generation of the checkpoint to write. Checkpoints are ordered by (generation, step). A
 * loop that continues the newest one stays in its generation. A loop that starts afresh or from an
 * older one, or whose step is smaller than that of the newest, begins another generation, so that
 * its checkpoints are the newest. */
static dt_status *find_generation(const dt_checkpoint *c, const char *dir, int64_t step,
                                  dt_arena *arena, int64_t *generation) {
    const char *ckpt = dt_arena_printf(arena, "%s/ckpt", dir);
    dt_step_list list;
    *generation = 0;
    DT_TRY(dt_steps_list(arena, ckpt, false, &list, NULL));
    DT_TRY(dt_steps_rank(ckpt, &list, NULL));
    const dt_step_name *newest = list.n > 0 ? &list.item[list.n - 1] : NULL;
    if (!newest || newest->generation < 0) return NULL;
    DT_LOCAL char *path = realpath(dt_arena_printf(arena, "%s/%s", ckpt, newest->name), NULL);
    const bool goes_on = c->stands_on && path && strcmp(path, c->stands_on) == 0 &&
                         c->generation == newest->generation && step >= newest->step;
    *generation = newest->generation + !goes_on;
    return NULL;
}

static dt_status *take_values(dt_bound *b) {
    DT_TRY(dt_variables_fetch(b->variable, b->n));
    for (int i = 0; i < b->n; i++) b->array[i].data = (void *)dt_host_data(b->variable[i]);
    return NULL;
}

static dt_status *check_finite(const dt_bound *b, const char *dir) {
    const dt_arrays all = dt_bound_arrays(b);
    return dt_check_finite(&all, DT_E_CHECKPOINT_NOT_FINITE, "%s: not saved", dir);
}

static dt_status *check_iterators(const dt_checkpoint *c) {
    for (int i = 0; i < c->n; i++)
        if (c->item[i].kind == DT_AN_ITERATOR && dt_iterator_is_replaced(c->item[i].object))
            return dt_suggest(dt_fail(DT_E_CHECKPOINT_PARTS, NULL,
                                      "the program has released the iterator '%s' and reads from a "
                                      "newer one of its data set",
                                      c->item[i].name),
                              "add the data set with dt_checkpoint_add_data instead");
    return NULL;
}

static const dt_tracked *first_of(const dt_checkpoint *c, dt_tracked_kind kind) {
    for (int i = 0; i < c->n; i++)
        if (c->item[i].kind == kind) return &c->item[i];
    return NULL;
}

/* Returns the checkpoint's "job": a description of the model if there is exactly one, so that
 * dt_model_load can load the checkpoint, else "{}". */
static const char *describe(const dt_checkpoint *c, dt_arena *arena) {
    const dt_tracked *only = first_of(c, DT_A_MODEL);
    for (int i = 0; only && i < c->n; i++)
        if (c->item[i].kind == DT_A_MODEL && &c->item[i] != only) return "{}";
    return only ? dt_model_describe(only->object, false, arena) : "{}";
}

/* Names the kernels that computed the values, for information only. Without a model this opens no
 * device: the device's threads would keep running, and a coordinator may have to fork workers
 * again. */
static const char *kernels_of(const dt_checkpoint *c) {
    const dt_tracked *model = first_of(c, DT_A_MODEL);
    dt_device *device = model ? NULL : dt_get_strategy()->device;
    if (model)
        dt_status_free(dt_strategy_device_of(((dt_model *)model->object)->strategy, &device));
    return device ? dt_device_facts_of(device).kernels : "";
}

/* Returns the position of the first data set, or else of the first iterator, which becomes the
 * checkpoint's epoch and epoch_step. */
static dt_position first_position(const dt_checkpoint *c) {
    const dt_tracked *data = first_of(c, DT_A_DATA_SET), *it = first_of(c, DT_AN_ITERATOR);
    return data ? dt_dist_dataset_position(data->object)
           : it ? dt_iterator_position(it->object)
                : (dt_position){0};
}

static dt_status *save(dt_checkpoint *c, const char *dir, int64_t step, int max_to_keep,
                       dt_arena *arena) {
    dt_bound bound[DT_BOUND_FILES];
    const dt_tracked *model = first_of(c, DT_A_MODEL);
    const char *job = describe(c, arena);
    char *path = NULL;

    DT_TRY(check_iterators(c));
    DT_TRY(dt_bound_list(c, arena, NULL, bound));
    for (int f = 0; f < DT_BOUND_FILES; f++) DT_TRY(take_values(&bound[f]));
    DT_TRY(check_finite(&bound[DT_BOUND_WEIGHTS], dir));
    DT_TRY(check_finite(&bound[DT_BOUND_SLOTS], dir));
    DT_TRY(open_directory(c, dir, bytes_of(bound)));
    const dt_arrays weights = dt_bound_arrays(&bound[DT_BOUND_WEIGHTS]),
                    slots = dt_bound_arrays(&bound[DT_BOUND_SLOTS]),
                    variables = dt_bound_arrays(&bound[DT_BOUND_VARIABLES]);
    const dt_digest job_digest = dt_sha256_of(job, strlen(job));
    dt_digest digest;
    const dt_position at = first_position(c);
    dt_state_file state = {.step = step,
                           .epoch = at.epoch,
                           .epoch_step = at.steps,
                           .seed = model ? ((dt_model *)model->object)->seed : 0,
                           .job = job,
                           .job_sha256 = job_digest.hex,
                           .weights_sha256 = digest.hex,
                           .weights = &digest,
                           .kernels = kernels_of(c),
                           .loop = dt_loop_print(c, arena),
                           .variable_arrays = &variables};
    DT_TRY(find_generation(c, dir, step, arena, &state.generation));
    DT_TRY(dt_run_dir_save(&c->directory, &state, &weights, &slots,
                           max_to_keep ? max_to_keep : DEFAULT_KEPT, &path));
    dt_checkpoint_stand_on(c, path, &state);
    free(path);
    return NULL;
}

dt_status *dt_checkpoint_save(dt_checkpoint *c, const char *dir, int64_t step, int max_to_keep) {
    DT_LIVE(c);
    DT_TRY(dt_checkpoint_check_call(c, "dt_checkpoint_save"));
    if (!dir || !*dir)
        return dt_fail(DT_E_CANT_CREATE, NULL, "no directory given to save the checkpoint in");
    if (step < 0 || step > GREATEST_STEP)
        return dt_fail(DT_E_MISUSE, NULL,
                       "dt_checkpoint_save: step must be from 0 to %lld, got %lld",
                       (long long)GREATEST_STEP, (long long)step);
    if (max_to_keep < 0)
        return dt_fail(DT_E_MISUSE, NULL,
                       "dt_checkpoint_save: max_to_keep must be at least 1, or 0 for %d, got %d",
                       DEFAULT_KEPT, max_to_keep);
    dt_local_arena arena = dt_arena_create();
    return save(c, dir, step, max_to_keep, arena);
}

dt_status *dt_checkpoint_latest(const char *dir, char **path, dt_status **skipped) {
    dt_status *warnings = NULL;
    dt_saved newest = {0};

    DT_REQUIRE({dir, "directory"}, {path, "place for the path"});
    dt_status *s = dt_saved_newest(&newest, dir, &warnings);
    *path = !s && newest.path ? dt_strdup(newest.path) : NULL;
    dt_saved_release(&newest);
    /* Warnings before an error are not reported. */
    if (s || !skipped) dt_status_free(warnings);
    if (skipped) *skipped = s ? NULL : warnings;
    return s;
}
