/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where iterators are, for checkpoints. Everything that a data set does follows from its
 * description and the number of the iteration, so a position is that number and the batches taken.
 * To find it again, a job's data set is opened at that batch, and a pipeline read up to it. The
 * last batch is then compared with the one that was saved: with other data, another global batch,
 * or a function of the caller's that does not depend on its element alone, training would not
 * resume where it stopped.
 *
 * A data set that is distributed is where its newest iterator is, or at the beginning of the next
 * one if that has ended or been released.
 */
#ifndef DT_STRATEGY_POSITION_H
#define DT_STRATEGY_POSITION_H

#include "base/hash.h"
#include "data/data.h"
#include "strategy/pipelines.h"

typedef struct dt_position {
    /* which iteration of the data set, from 0, and the batches taken from it */
    int64_t epoch, steps;
    bool ended;     /* at its end. The data set of an ended iterator is at its next iterator */
    dt_digest last; /* of the last batch; "": none, or not known */
} dt_position;

dt_iterator *dt_iterator_ref(dt_iterator *it);
dt_dist_dataset *dt_dist_dataset_ref(dt_dist_dataset *d);
/* From now on the last batch is kept, so that a position has its digest. */
void dt_iterator_track(dt_iterator *it);
void dt_dist_dataset_track(dt_dist_dataset *d);
dt_position dt_iterator_position(const dt_iterator *it);
dt_position dt_dist_dataset_position(const dt_dist_dataset *d);

/* Whether only a checkpoint has it, and its data set a newer one: the loop reads from that. */
bool dt_iterator_is_replaced(const dt_iterator *it);

/* A second iterator over what `of` iterates over, at a position. It counts no references: while
 * `of` lives it must be given to an iterator or data set below, or discarded. CHECKPOINT_DATA: the
 * data set has no such batch, or a different one. */
dt_status *dt_iterator_open_at(dt_iterator **out, const dt_iterator *of,
                               const dt_position *p) DT_MUST_USE;
dt_status *dt_dist_dataset_open_at(dt_iterator **out, dt_dist_dataset *of,
                                   const dt_position *p) DT_MUST_USE;
/* Puts `it`, or the data set's newest iterator if it has not ended and else its next one, where
 * `there` is. Takes `there`. */
void dt_iterator_resume(dt_iterator *it, dt_iterator *there);
void dt_dist_dataset_resume(dt_dist_dataset *d, dt_iterator *there);
void dt_iterator_discard(dt_iterator *there); /* takes NULL */

#endif
