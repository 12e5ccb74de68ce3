/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 784-128-10 network of area train_mlp and its generated digits: the cases give the generator
 * as a formula (splitmix64), so data and weights are made here, number for number.
 */
#ifndef TESTS_MLP_H
#define TESTS_MLP_H

#include "conformance.h"

enum { MLP_ROWS = 256, MLP_FEATURES = 784, MLP_HIDDEN = 128, MLP_CLASSES = 10, MLP_WEIGHTS = 4 };

#define LOSSES ((tolerance){1e-4, 1e-6}) /* of training runs: golden/README.md */

enum { MOST_REPLICAS = 16 };
/* A MirroredStrategy; NULL with a difference, also for more replicas than the arrays of these cases
 * hold. */
dt_strategy *mlp_mirrored(verdict *v, int replicas);

typedef struct mlp_digits {
    double x[MLP_ROWS][MLP_FEATURES];
    int label[MLP_ROWS];
} mlp_digits;
mlp_digits *mlp_draw(void); /* free it */

/* Rows first .. first + n - 1 as (n, 784) and as labels: (n) int32, or (n, 10) of dtype when
 * `sparse` is false. */
dt_tensor *mlp_images(verdict *v, const mlp_digits *d, int first, int n, dt_dtype dtype);
dt_tensor *mlp_labels(verdict *v, const mlp_digits *d, int first, int n, dt_dtype dtype,
                      bool sparse);

/* What a case asks for. */
typedef struct mlp_case {
    int replicas, batch, steps;
    bool softmax, sparse;
    dt_dtype dtype;
    char *loss, *optimizer; /* fragments; freed by mlp_case_release */
} mlp_case;
mlp_case mlp_read(const golden_case *c);
void mlp_case_release(mlp_case *m);

/* The network with the generated weights, in the current scope. NULL with a difference. */
dt_model *mlp_model(verdict *v, const mlp_case *m);
/* {"W1": {"shape", "sum", ...}, "b1", "W2", "b2"} against the model's weights. */
void mlp_expect_weights(verdict *v, const json_t *want, dt_model *model);
/* One of these against a tensor. */
void mlp_expect_summary(verdict *v, const char *what, const json_t *want, const dt_tensor *got);

extern const char *const mlp_names[MLP_WEIGHTS]; /* "W1", ... */
extern const char *const mlp_paths[MLP_WEIGHTS]; /* "dense/kernel", ... */

#endif
