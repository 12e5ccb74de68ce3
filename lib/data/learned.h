/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What steps of `map` learned from the training part, as Keras' layers do in `adapt`: means and
 * variances, vocabularies. It is learned once, over the rows in their order, and kept in
 * checkpoints, so that evaluate and predict turn examples as training did.
 */
#ifndef DT_DATA_LEARNED_H
#define DT_DATA_LEARNED_H

#include "conf/conf.h"

/* One step's. What a step does not learn is empty. */
typedef struct dt_lesson {
    const char *step;        /* "map/normalize/x/0": its name, its element, its place in the list */
    dt_reals mean, variance; /* one for each feature */
    dt_texts words;          /* in the order of their numbers */
    dt_reals fill, gaps;     /* what replaces missing values; the features that have some, from 0 */
    dt_reals idf;            /* of each word: log(1 + texts / (1 + texts that have it)) */
} dt_lesson;

typedef struct dt_learned {
    int n;
    dt_lesson *lesson; /* [n] */
} dt_learned;

#endif
