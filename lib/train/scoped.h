/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes and data for public calls of a model, which run in the scope in which the model was
 * created. */
#ifndef DT_TRAIN_SCOPED_H
#define DT_TRAIN_SCOPED_H

#include "train/train.h"

/* Enters the scope of the model's strategy; the caller leaves it with dt_scope_leave.
 * IN_CAPTURED_SCOPE does both: it enters the scope, and leaves it at the end of the block. No scope
 * is entered if m is NULL or the model was created outside of any scope. If the scope cannot be
 * entered, for example because that of another strategy is open, the next call of dt_status_kept
 * returns the error. */
dt_scope dt_captured_scope(const dt_model *m);
#define IN_CAPTURED_SCOPE(m)                                                                       \
    dt_scope scope __attribute__((cleanup(dt_scope_leave), unused)) = dt_captured_scope(m)

/* Returns the part of a data set that dt_model_evaluate and dt_model_predict use: the validation
 * part or, if that has no examples, the training part. */
dt_part dt_evaluated_part(const dt_dataset *data);

#endif
