/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a published training step as a job: a base file (configs/published) and overrides. The
 * job is what `dtrain plan` would be given, and is planned by the same code.
 *
 *     row                                         job
 *     accelerator, topology                       let.slice: a slice of that form
 *     dims                                        let.width, intermediate, heads, kv_heads,
 *                                                 head_dim, layers, vocabulary, gated
 *     ici_tensor: T                               let.tensor, let.block: T devices side by side on
 *                                                 one axis of the slice
 *     all other devices                           let.replicas, which share the weights (FSDP)
 *     slices                                      copies of the job that sum gradients over the
 *                                                 data centre network
 *     per_device_batch, global_batch, seq         let.batch, let.sequence
 *     remat                                       model.rematerialize
 *     quantization, precision                     no override: products of 8 bits are an option of
 *                                                 the plan
 *
 * What rows of MaxText do not say is its default (src/maxtext/configs/base.yml): rematerialisation
 * of whole blocks, FSDP over all devices.
 */
#ifndef CMD_SIMULATOR_TRAIN_JOB_H
#define CMD_SIMULATOR_TRAIN_JOB_H

#include "topo/topo.h"
#include "rows.h"

enum { DT_ROW_OVERRIDES = 32 };

typedef struct dt_train_job {
    dt_arena *arena;
    const char *missing;                    /* NULL: everything is said */
    const char *base;                       /* "decoder.yaml", in the directory of published jobs */
    const char *override[DT_ROW_OVERRIDES]; /* "let.layers=32" */
    int n;
    dt_slice slice;
    int slices;
    double chips, devices; /* of one slice */
    double tensor;
    /* of 8-bit products against bfloat16's on these chips; 1 for those of bfloat16 */
    double product_rate;
    double width, ff, heads, kv_heads, head_dim, layers, vocab;
    bool gated;
    double sequence, batch; /* batch: sequences of one slice and step */
} dt_train_job;

/* Lives as long as the rows. */
dt_train_job dt_train_job_of(const dt_rows *rows, const dt_row *row);
/* Weights of its products, which are also those that work: 6 operations for each and a token. */
double dt_train_job_weights(const dt_train_job *j);
/* Operations of a step of a slice as MaxText counts them: 6 for each weight and token, and 12 L T N
 * H for each token in attention, not halved for what causal masks leave out. */
double dt_train_job_flops(const dt_train_job *j);

#endif
