/* SPDX-License-Identifier: Apache-2.0 */
/* See position.h. */
#include "strategy/position.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/build.h"
#include "strategy/iterators.h"

/* ---- positions ---- */

dt_iterator *dt_iterator_ref(dt_iterator *it) {
    it->refs++;
    return it;
}

dt_dist_dataset *dt_dist_dataset_ref(dt_dist_dataset *d) {
    d->refs++;
    return d;
}

void dt_iterator_track(dt_iterator *it) { it->tracked = true; }

void dt_dist_dataset_track(dt_dist_dataset *d) {
    d->tracked = true;
    if (d->newest) d->newest->tracked = true;
}

/* Hashes the last batch. If the rows of all replicas are stored as one tensor, they are hashed
 * as one, so the digest does not depend on the number of replicas. */
static dt_digest digest_of(const dt_iterator *it) {
    dt_sha256 *h = dt_sha256_create();
    dt_local_str type = {0};

    for (int i = 0; i < it->last.n; i++) {
        const dt_tensor *t = it->last.tensor[i];
        dt_str_clear(&type);
        dt_type_print(&t->type, &type);
        dt_sha256_add(h, type.data, type.size);
        dt_sha256_add(h, t->data, (size_t)dt_type_bytes(&t->type));
    }
    return dt_sha256_end(h);
}

dt_position dt_iterator_position(const dt_iterator *it) {
    dt_position p = {.epoch = (int64_t)it->epoch, .steps = it->at, .ended = it->ended};

    if (it->last.n > 0) p.last = digest_of(it);
    return p;
}

bool dt_iterator_is_replaced(const dt_iterator *it) {
    return it->refs == 1 && it->of && it->of->newest && it->of->newest != it;
}

static bool is_under_way(const dt_dist_dataset *d) { return d->newest && !d->newest->ended; }

dt_position dt_dist_dataset_position(const dt_dist_dataset *d) {
    if (is_under_way(d)) return dt_iterator_position(d->newest);
    return d->pending ? dt_iterator_position(d->pending) : (dt_position){.epoch = d->epoch};
}

int64_t dt_dist_dataset_epoch(const dt_dist_dataset *d) {
    DT_LIVE(d);
    return !d ? 0 : is_under_way(d) ? (int64_t)d->newest->epoch : d->epoch;
}

/* ---- opening an iterator at a position ---- */

static dt_status *check_last(const dt_iterator *it, const dt_position *p) {
    if (!*p->last.hex || strcmp(digest_of(it).hex, p->last.hex) == 0) return NULL;
    return dt_suggest(
        dt_fail(DT_E_CHECKPOINT_DATA, NULL,
                "batch %lld of iteration %lld is not the batch that was read when it was saved",
                (long long)p->steps, (long long)p->epoch + 1),
        "use the same files, transformations, seed, global batch size and sharding; functions of "
        "map, filter and interleave must depend on "
        "their element alone");
}

/* Reads the last batch before the position. */
static dt_status *read_last(dt_iterator *it, const dt_position *p) {
    dt_values *batch = NULL;

    if (p->steps > 0) DT_TRY(dt_iterator_read(it, &batch));
    dt_values_unref(batch);
    if (it->at < p->steps)
        return dt_fail(
            DT_E_CHECKPOINT_DATA, NULL,
            "iteration %lld has fewer batches than the %lld that were read when it was saved",
            (long long)p->epoch + 1, (long long)p->steps);
    it->ended = p->ended;
    return check_last(it, p);
}

dt_status *dt_iterator_open_at(dt_iterator **out, const dt_iterator *of, const dt_position *p) {
    dt_iterator *it;

    DT_TRY(dt_iterator_open(&it, of->dataset, (uint64_t)p->epoch, p->steps > 0 ? p->steps - 1 : 0));
    it->of = of->of;
    it->tracked = of->tracked;
    dt_status *s = read_last(it, p);
    if (s) dt_iterator_close(it);
    else *out = it;
    return s;
}

dt_status *dt_dist_dataset_open_at(dt_iterator **out, dt_dist_dataset *of, const dt_position *p) {
    return dt_iterator_open_at(
        out, &(dt_iterator){.of = of, .dataset = of->dataset, .tracked = of->tracked}, p);
}

/* ---- restoring a position ---- */

void dt_iterator_resume(dt_iterator *it, dt_iterator *there) {
    const dt_iterator before = *it;

    dt_iterator_release(it);
    *it = *there;
    it->refs = before.refs;
    free(there);
    if (!it->of) {
        it->dataset->iterations = it->epoch + 1;
        return;
    }
    dt_iterator_close(it->of->pending);
    it->of->pending = NULL;
    it->of->newest = it;
    it->of->epoch = (int64_t)it->epoch + 1;
}

void dt_dist_dataset_resume(dt_dist_dataset *d, dt_iterator *there) {
    if (is_under_way(d)) {
        dt_iterator_resume(d->newest, there);
        return;
    }
    dt_iterator_close(d->pending);
    d->pending = there;
    d->epoch = (int64_t)there->epoch;
}
