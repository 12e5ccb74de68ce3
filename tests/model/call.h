/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_MODEL_CALL_H
#define TESTS_MODEL_CALL_H

#include "model/model.h"

/* The forward pass of a model of one input and one output. */
static inline dt_value call_model(const dt_model *m, dt_value input, bool training) {
    return input.trace ? dt_model_emit_inputs(m, &input, 1, training) : input;
}

#endif
