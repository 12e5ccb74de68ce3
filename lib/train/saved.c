/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saved models: a model in a checkpoint of its own.
 *
 *     PATH/model.safetensors       weights
 *     PATH/optimizer.safetensors   iteration and slots; nothing when the model is not compiled
 *     PATH/state.json              checksums, and as its "job" {"model": {"layers": [...]},
 *                                  "compile": {...}}
 *
 * This is the form of a run's checkpoint, with a model in place of a whole job. So `dtrain evaluate
 * --ckpt PATH` accepts a saved model, and dt_model_load accepts the checkpoint of any run.
 */
#include <string.h>

#include "train/scoped.h"
#include "train/train.h"

/* ---- saving ---- */

const char *dt_model_describe(const dt_model *m, bool compiled, dt_arena *arena) {
    dt_entry layers = {.key = "layers", .value = (dt_tree *)m->tree};
    dt_tree list = {.kind = DT_TREE_MAP, .n = 1, .entry = &layers};
    dt_tree *model = m->tree->kind == DT_TREE_LIST ? &list : (dt_tree *)m->tree;
    dt_entry parts[] = {{.key = "model", .value = model},
                        {.key = "compile", .value = (dt_tree *)m->compile_tree}};
    const dt_tree whole = {.kind = DT_TREE_MAP, .n = compiled ? 2 : 1, .entry = parts};
    dt_str text = {0};

    dt_tree_print(&whole, &text);
    return dt_arena_take(arena, &text);
}

static dt_status *check_finite(const char *path, const dt_arrays *a) {
    return dt_check_finite(a, DT_E_CHECKPOINT_NOT_FINITE, "%s: not written", path);
}

/* Gives a compiled model's optimizer all its slots, so that a saved model always has them. */
static dt_status *collect_optimizer(const dt_model *m, dt_arena *arena, dt_arrays *out) {
    *out = (dt_arrays){0};
    if (!m->compiled) return NULL;
    DT_TRY(dt_optimizer_prepare(m->optimizer, &m->trainable));
    return dt_optimizer_arrays(m->optimizer, arena, out);
}

static dt_status *save(const dt_model *m, const char *path, dt_arena *arena) {
    dt_arrays model, optimizer;
    const char *job = dt_model_describe(m, m->compiled, arena);
    dt_digest digest = dt_sha256_of(job, strlen(job)), weights;
    int64_t steps = 0;

    DT_TRY(dt_model_arrays(m, arena, &model));
    DT_TRY(collect_optimizer(m, arena, &optimizer));
    DT_TRY(check_finite(path, &model));
    DT_TRY(check_finite(path, &optimizer));
    if (m->compiled) DT_TRY(dt_optimizer_steps(m->optimizer, &steps));
    const dt_state_file state = {.step = steps,
                                 .seed = m->seed,
                                 .job = job,
                                 .job_sha256 = digest.hex,
                                 .weights_sha256 = weights.hex,
                                 .weights = &weights,
                                 .kernels = "",
                                 .finished = true};
    return dt_saved_write(path, &state, &model, &optimizer);
}

dt_status *dt_model_save(dt_model *m, const char *path) {
    DT_LIVE(m);
    IN_CAPTURED_SCOPE(m);

    DT_REQUIRE({m, "model"});
    if (!path || !*path)
        return dt_fail(DT_E_CANT_CREATE, NULL, "no path given to save the model to");
    dt_local_arena arena = dt_arena_create();
    return save(m, path, arena);
}

/* ---- loading ---- */

static char *print_part(const dt_tree *t, dt_arena *arena) {
    dt_str text = {0};

    dt_tree_print(t, &text);
    return dt_arena_take(arena, &text);
}

/* Creates the model that state.json describes, in the current scope. */
static dt_status *rebuild(const dt_saved *c, dt_model **out) {
    dt_source source = {.name = c->path, .text = c->state.job, .size = strlen(c->state.job)};
    dt_tree *job = NULL;

    DT_TRY(dt_tree_parse(c->arena, &source, &job));
    const dt_tree *model = dt_tree_get(job, "model"), *compile = dt_tree_get(job, "compile");
    if (!dt_tree_get(model, "layers"))
        return dt_fail(DT_E_CHECKPOINT, NULL, "%s: does not contain the layers of its model",
                       c->path);
    DT_TRY(dt_model_create(out, "%s", print_part(model, c->arena)));
    (*out)->seed = c->state.seed;
    return compile ? dt_model_compile(*out, "%s", print_part(compile, c->arena)) : NULL;
}

static dt_status *load(const dt_saved *c, dt_model **out) {
    dt_arrays model, optimizer;

    dt_status *s = rebuild(c, out);
    if (s) return dt_note(s, "in the model saved as %s", c->path);
    DT_TRY(collect_optimizer(*out, c->arena, &optimizer));
    model = dt_model_arrays_to_fill(*out, c->arena);
    DT_TRY(dt_saved_load(c, &model, (*out)->compiled ? &optimizer : NULL));
    return dt_saved_check_weights(c);
}

dt_status *dt_model_load(dt_model **out, const char *path) {
    dt_model *m = NULL;
    dt_saved c;

    DT_REQUIRE({out, "place for the model"});
    if (!path || !*path) return dt_fail(DT_E_NO_INPUT, NULL, "no path given to load a model from");
    DT_TRY(dt_saved_open(&c, path));
    dt_status *s = load(&c, &m);
    dt_saved_release(&c);
    if (s) {
        dt_model_unref(m);
        return s;
    }
    dt_model_unref(*out);
    *out = m;
    return NULL;
}
