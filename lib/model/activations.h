/* SPDX-License-Identifier: Apache-2.0 */
/* The table of activations: DT_ACTIVATION_ROW(row, name), in files of lib/model/activation by
 * family. A row with several names has a line for each; the first line is index 0 of
 * dt_activations. There is no include guard: each user defines DT_ACTIVATION_ROW in its own way and
 * includes this file. */
DT_ACTIVATION_ROW(linear, "linear")
DT_ACTIVATION_ROW(relu, "relu")
DT_ACTIVATION_ROW(softmax, "softmax")
DT_ACTIVATION_ROW(sigmoid, "sigmoid")
DT_ACTIVATION_ROW(tanh, "tanh")
DT_ACTIVATION_ROW(relu6, "relu6")
DT_ACTIVATION_ROW(leaky_relu, "leaky_relu")
DT_ACTIVATION_ROW(elu, "elu")
DT_ACTIVATION_ROW(selu, "selu")
DT_ACTIVATION_ROW(softplus, "softplus")
DT_ACTIVATION_ROW(softsign, "softsign")
DT_ACTIVATION_ROW(silu, "silu")
DT_ACTIVATION_ROW(silu, "swish")
DT_ACTIVATION_ROW(exponential, "exponential")
DT_ACTIVATION_ROW(log_softmax, "log_softmax")
DT_ACTIVATION_ROW(hard_sigmoid, "hard_sigmoid")
DT_ACTIVATION_ROW(hard_tanh, "hard_tanh")
DT_ACTIVATION_ROW(soft_shrink, "soft_shrink")
DT_ACTIVATION_ROW(gelu, "gelu")
DT_ACTIVATION_ROW(celu, "celu")
DT_ACTIVATION_ROW(hard_silu, "hard_silu")
DT_ACTIVATION_ROW(hard_silu, "hard_swish")
DT_ACTIVATION_ROW(mish, "mish")
DT_ACTIVATION_ROW(log_sigmoid, "log_sigmoid")
DT_ACTIVATION_ROW(tanh_shrink, "tanh_shrink")
DT_ACTIVATION_ROW(hard_shrink, "hard_shrink")
DT_ACTIVATION_ROW(squareplus, "squareplus")
DT_ACTIVATION_ROW(sparse_plus, "sparse_plus")
DT_ACTIVATION_ROW(sparse_sigmoid, "sparse_sigmoid")
DT_ACTIVATION_ROW(sparsemax, "sparsemax")
/* Activations that an `activation:` field cannot name: glu halves the size of a dimension, and the
 * arguments of threshold have no defaults. */
#ifdef DT_ACTIVATION_CALL_ROW
DT_ACTIVATION_CALL_ROW(glu) DT_ACTIVATION_CALL_ROW(threshold)
#endif
