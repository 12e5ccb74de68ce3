/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `init_from`: training begins with weights that were trained before. By name and shape, nothing
 * else of a checkpoint is looked at: not its job, its optimizer or its step.
 */
#include "train/train.h"

typedef struct first_weights {
    dt_saved checkpoint;
    dt_arrays weights; /* the model's */
    bool only_compared;
} first_weights;

static dt_status *check_finite(const char *path, const dt_arrays *weights) {
    int64_t n;
    const dt_named_view *bad = dt_find_not_finite(weights, &n);
    if (!bad) return NULL;
    return dt_fail(DT_E_CHECKPOINT_NOT_FINITE, NULL,
                   "%s: '%s' holds %lld value%s that %s not finite", path, bad->name, (long long)n,
                   n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

static dt_status *take(const first_weights *w, const dt_init_from *from, dt_status **warnings) {
    const bool is_checkpoint = !w->checkpoint.only_weights;
    const dt_held_file held =
        is_checkpoint ? dt_saved_held(&w->checkpoint, 0) : (dt_held_file){.fd = -1};
    const dt_weights_request q = {.path = dt_saved_weights(&w->checkpoint),
                                  .held = is_checkpoint ? &held : NULL,
                                  .arrays = &w->weights,
                                  .only_compared = w->only_compared,
                                  .skip_mismatch = from->skip_mismatch,
                                  .warnings = warnings};
    DT_TRY(dt_weights_read(&q));
    if (w->only_compared) return NULL;
    DT_TRY(dt_saved_check_weights(&w->checkpoint));
    return check_finite(q.path, q.arrays);
}

static dt_status *find_and_take(const dt_model *m, bool only_compared, const dt_init_from *from,
                                dt_status **warnings) {
    dt_arena *arena = dt_arena_create();
    first_weights w = {.weights = dt_model_arrays_to_fill(m, arena),
                       .only_compared = only_compared};
    dt_status *bad = dt_saved_find(&w.checkpoint, from->path, warnings);
    if (!bad) bad = take(&w, from, warnings);
    dt_saved_release(&w.checkpoint);
    dt_arena_destroy(arena);
    if (!bad) return NULL;
    dt_status_free(*warnings); /* what is wrong says it all */
    *warnings = NULL;
    return from->at.source ? dt_at(bad, &from->at) : dt_note(bad, "in init_from");
}

dt_status *dt_init_weights(dt_model *m, const dt_init_from *from, dt_status **warnings) {
    return find_and_take(m, false, from, warnings);
}

dt_status *dt_init_check(const dt_model *outline, const dt_init_from *from) {
    dt_status *warnings = NULL;
    dt_status *bad = find_and_take(outline, true, from, &warnings);
    dt_status_free(warnings);
    return bad;
}
