/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of a run's data (data/identity.h). A thread of low priority takes them while the run
 * trains (observe/data.c). The record has them as soon as they are known, and `fit --json` prints
 * them before its end.
 */
#ifndef DT_TRAIN_HASHING_H
#define DT_TRAIN_HASHING_H

#include "data/identity.h"

typedef struct dt_hashing dt_hashing;
/* h may be NULL. */
bool dt_hashing_is_done(const dt_hashing *h);
/* After that: the identity of part p, with files 0 where the data set has no such part. NULL, and
 * *fault, lent: a file cannot be read. */
const dt_identity *dt_hashing_of(const dt_hashing *h, dt_part p, const char **fault);

#endif
