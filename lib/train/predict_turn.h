/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicting on several workers: they take batches in turn, and when each has had one, the first
 * worker (or everyone) gets the outputs of all, in order.
 *
 *     batch       0   1   2 | 3   4   5 | 6        3 workers
 *     worker      0   1   2 | 0   1   2 | 0
 *                           collect     collect
 */
#ifndef DT_TRAIN_PREDICT_TURN_H
#define DT_TRAIN_PREDICT_TURN_H

#include "model/model.h"
#include "strategy/cluster.h"

typedef struct dt_predict_turn {
    dt_cluster *cluster;      /* NULL: there is one process, and no turns */
    bool everyone;            /* gets the outputs, not only the first worker */
    const dt_graph *step;     /* whose results are outputs */
    size_t row_bytes;         /* of all outputs of an example */
    int n;                    /* batches of the turn so far */
    int64_t *rows;            /* [workers] of each */
    size_t *bytes, all_bytes; /* [workers]; room in `all` */
    dt_str own;               /* this worker's outputs, one after the other */
    char *all;                /* of all workers */
} dt_predict_turn;

void dt_predict_turn_open(dt_predict_turn *t, dt_cluster *cluster, const dt_graph *step);
void dt_predict_turn_close(dt_predict_turn *t); /* takes a zeroed one */
/* Whether the batch at hand is this worker's. */
bool dt_predict_turn_is_own(const dt_predict_turn *t);
/* The outputs of its first `rows` rows. */
dt_status *dt_predict_turn_keep(dt_predict_turn *t, const dt_view *result,
                                int64_t rows) DT_MUST_USE;
/* The batch at hand has so many rows; on to the next one. True: every worker has had one. */
bool dt_predict_turn_next(dt_predict_turn *t, int64_t rows);
dt_status *dt_predict_turn_collect(dt_predict_turn *t) DT_MUST_USE;
/* The outputs of batch w of the turn, lent until the next is collected. False: this worker does not
 * get them. */
bool dt_predict_turn_result(const dt_predict_turn *t, int w, dt_view *result);

#endif
