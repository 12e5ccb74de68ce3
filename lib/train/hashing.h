/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of a run's data (data/identity.h), taken while it trains by a thread of low priority: the
 * record has them as soon as they are known, `fit --json` prints them before its end. A run that is
 * stopped or fails does not wait for them.
 */
#ifndef DT_TRAIN_HASHING_H
#define DT_TRAIN_HASHING_H

#include "data/identity.h"

typedef struct dt_hashing dt_hashing;
/* NULL where there is no thread for it: then nothing is known. The data set must outlive it. */
dt_hashing *dt_hashing_begin(const dt_dataset *d);
bool dt_hashing_is_done(const dt_hashing *h);
/* When it is done: what part p is, files 0 where it has none; NULL and *fault, lent, where a file
 * cannot be read. */
const dt_identity *dt_hashing_of(const dt_hashing *h, dt_part p, const char **fault);
void dt_hashing_wait(dt_hashing *h); /* until it is done */
/* at once; takes NULL, like dt_hashing_wait and dt_hashing_is_done */
void dt_hashing_end(dt_hashing *h);

#endif
