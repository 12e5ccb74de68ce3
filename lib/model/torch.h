/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's names and shapes for the weights of a model, as in a `state_dict`. A layer "enc.fc1" is
 * the module of that name. Its weight "enc.fc1/kernel" is the tensor "enc.fc1.weight", whose
 * dimensions are in another order. torch.c has the table of rules.
 */
#ifndef DT_MODEL_TORCH_H
#define DT_MODEL_TORCH_H

#include "format/format.h"
#include "model/model.h"

/* The tensors of a model under PyTorch's names, and how values are copied between them and the
 * weights. Its memory is in the arena. */
typedef struct dt_torch {
    /* the tensors in PyTorch's shapes; data is NULL if the weights have no memory */
    dt_arrays tensors;
    int n;
    struct dt_torch_move *move; /* [n] how values are copied between a weight and a tensor */
} dt_torch;

/* Lists the tensors. weights: all weights of the model, in the order of its specification. A weight
 * without a rule keeps its shape; its name is its path with dots. The seed counters of layers that
 * draw random numbers are left out. Fails with CHECKPOINT_MODEL for attention whose queries, keys
 * and values differ in size, which PyTorch does not have, and for a layer that reads a flattened
 * image whose features were mixed. */
dt_status *dt_torch_open(dt_torch *out, const dt_model_spec *m, const dt_arrays *weights,
                         dt_arena *arena) DT_MUST_USE;
/* dt_torch_put copies the weights to the tensors; dt_torch_take copies the tensors to the
 * weights. */
void dt_torch_put(const dt_torch *t);
void dt_torch_take(const dt_torch *t);

#endif
