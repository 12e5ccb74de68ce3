/*
 * `init_from`: training begins with weights that were trained before. By name and shape, nothing else of a checkpoint is looked at: not its job,
 * its optimizer or its step.
 */
#include "train/train.h"

static dt_status *read_weights(const dt_checkpoint *c, const dt_init_from *from, const dt_arrays *weights, dt_status **warnings)
{
    const dt_weights_request q = { .path = dt_checkpoint_weights(c), .arrays = weights, .skip_mismatch = from->skip_mismatch, .warnings = warnings };
    int64_t n;
    DT_TRY(dt_weights_read(&q));
    const dt_named_array *bad = dt_find_not_finite(weights, &n);
    if (!bad)
        return NULL;
    return dt_fail(DT_E_CHECKPOINT_NOT_FINITE, NULL, "%s: '%s' holds %lld value%s that %s not finite", q.path, bad->name, (long long)n,
                   n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

dt_status *dt_init_weights(dt_model *m, const dt_init_from *from, dt_status **warnings)
{
    dt_arena *arena = dt_arena_create();
    dt_arrays weights = dt_model_arrays(m, arena);
    dt_checkpoint c = { 0 };
    dt_status *bad = dt_checkpoint_find(&c, from->path, warnings);
    if (!bad)
        bad = read_weights(&c, from, &weights, warnings);
    dt_checkpoint_release(&c);
    dt_arena_destroy(arena);
    if (!bad)
        return NULL;
    dt_status_free(*warnings); /* what is wrong says it all */
    *warnings = NULL;
    return from->at.source ? dt_at(bad, &from->at) : dt_note(bad, "in init_from");
}
