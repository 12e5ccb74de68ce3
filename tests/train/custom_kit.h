/* SPDX-License-Identifier: Apache-2.0 */
/* What custom steps and custom loops share: a model that a strategy owns, and what trains it. */
#ifndef TESTS_TRAIN_CUSTOM_KIT_H
#define TESTS_TRAIN_CUSTOM_KIT_H

#include "kit.h"

KIT dt_model *model_in(dt_strategy *s, const char *layers) {
    dt_model *m = NULL;

    DT_SCOPE(s)
    OK(dt_model_create(&m, "%s", layers));
    return m;
}

typedef struct loop {
    dt_model *model;
    dt_loss *loss;
    dt_optimizer *optimizer;
} loop;

#endif
