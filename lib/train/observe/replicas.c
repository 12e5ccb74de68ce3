/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify_replicas: workers compute alike, so their weights are equal after every step, bit by bit.
 * A processor or memory that fails silently makes them differ, and the run would go on with both.
 * Every so many steps, and after the last, workers compare hashes; of weights that differ the first
 * is named.
 */
#include <stdlib.h>
#include <string.h>

#include "format/contents.h"
#include "strategy/cluster.h"
#include "train/hook.h"
#include "train/train.h"

enum { EVERY = 100 };

/* The workers have been found to differ: in which weight? All ask for the same ones, until one
 * differs. */
static dt_status *name_weight(const run *r, const dt_arrays *weights) {
    for (int i = 0; i < weights->n; i++) {
        const dt_digest own =
            dt_hash_end(dt_weights_hash(&(dt_arrays){1, &weights->array[i]}, r->arena));
        const char *of =
            dt_arena_printf(r->arena, "step %lld: replicas differ: the SHA-256 of '%s'",
                            (long long)r->at.step, weights->array[i].name);
        DT_TRY(dt_cluster_compare(r->strategy->cluster, of, own.hex));
    }
    return NULL;
}

static dt_status *step_end(run *r, dt_hook *h, const dt_step_done *done) {
    dt_cluster *c = r->strategy->cluster;
    dt_arrays weights;
    (void)h, (void)done;
    if (!c || !r->strategy->verify_replicas || (r->at.step % EVERY != 0 && r->at.step != r->steps))
        return NULL;
    DT_TRY(dt_model_arrays(r->model, r->arena, &weights));
    const dt_digest own = dt_hash_end(dt_weights_hash(&weights, r->arena));
    char(*all)[sizeof own.hex] = dt_alloc((size_t)c->workers * sizeof *all);
    dt_status *s = dt_cluster_gather(c, "compare weights", own.hex, sizeof own.hex, all);
    bool equal = true;
    for (int i = 1; !s && i < c->workers; i++) equal &= memcmp(all[i], all[0], sizeof *all) == 0;
    free(all);
    return s || equal ? s : name_weight(r, &weights);
}

const dt_hook_row dt_hook_replicas = {.step_end = step_end};
