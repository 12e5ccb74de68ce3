/* SPDX-License-Identifier: Apache-2.0 */
/* What the model's own calls share: they enter the scope that the model captured. */
#ifndef DT_TRAIN_SCOPED_H
#define DT_TRAIN_SCOPED_H

#include "train/train.h"

/* The scope that the model was made in is entered again, and left with the block; a model made
 * outside of all has none. Another strategy's scope must not be open: dt_status_kept says so. */
dt_scope dt_captured_scope(const dt_model *m);
#define IN_CAPTURED_SCOPE(m)                                                                       \
    dt_scope scope __attribute__((cleanup(dt_scope_leave), unused)) = dt_captured_scope(m)

/* Of a data set, what evaluate and predict look at: the validation part, or all of it when it has
 * none. */
dt_part dt_evaluated_part(const dt_dataset *data);

#endif
