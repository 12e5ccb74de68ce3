/* SPDX-License-Identifier: Apache-2.0 */
/* Dense: y = activation(x W + b), over the last dimension of x. W is (features, units), as in
 * Keras. */
#include <string.h>

#include "model/model.h"

struct dense {
    dt_layer_head head;
    int64_t units;
    int activation;
    bool use_bias;
    const dt_tree *kernel_initializer, *bias_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct dense, units, .min = 1, .max = INFINITY, .required = true,
           .help = "number of outputs"),
    DT_ENUM(struct dense, activation, dt_activations, .help = "activation function"),
    DT_FLAG(struct dense, use_bias, .preset = "true", .help = "add a bias"),
    DT_INITIALIZER(struct dense, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_INITIALIZER(struct dense, bias_initializer, .help = "initializer; default: zeros"),
    DT_LAYER_FIELDS(struct dense),
    DT_INSTEAD("hidden_size", "write 'units'"),
    DT_INSTEAD("output_dim", "write 'units'"),
    DT_REGULARIZER(struct dense, KERNEL, "kernel_regularizer"),
    DT_REGULARIZER(struct dense, BIAS, "bias_regularizer"),
    DT_REGULARIZER(struct dense, ACTIVITY, "activity_regularizer"),
    DT_CONSTRAINT(struct dense, KERNEL, "kernel_constraint"),
    DT_CONSTRAINT(struct dense, BIAS, "bias_constraint"),
    DT_NOT_YET("lora_rank"),
    DT_NOT_YET("lora_alpha"),
    DT_NOT_YET("quantization_config"),
    DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct dense *d = b->args;
    DT_TRY(dt_layer_wants(b, "Dense", 2));
    int last = b->in.rank - 1;
    DT_TRY(dt_layer_weight(b, &(dt_weight_request){
                                  .name = "kernel",
                                  .dtype = b->in.dtype,
                                  .rank = 2,
                                  .dim = {b->in.dim[last], d->units},
                                  .initializer = d->kernel_initializer,
                                  .preset = "glorot_uniform",
                              }));
    if (d->use_bias)
        DT_TRY(dt_layer_weight(b, &(dt_weight_request){
                                      .name = "bias",
                                      .dtype = b->in.dtype,
                                      .rank = 1,
                                      .dim = {d->units},
                                      .initializer = d->bias_initializer,
                                      .preset = "zeros",
                                  }));
    b->out = b->in;
    b->out.dim[last] = d->units;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    const struct dense *d = c->args;
    dt_value y = dt_matmul(c->x, c->weight[0]); /* shape (B, ..., units) */
    if (d->use_bias) y = dt_add(y, c->weight[1]);
    return dt_activate(d->activation, y);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    return dt_activation_yields(((const struct dense *)l->args)->activation, &l->out);
}

const dt_layer dt_layer_dense = {
    .kind = {"Dense", "y = activation(x W + b)", fields, sizeof(struct dense), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};
