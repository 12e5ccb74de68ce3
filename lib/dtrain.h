/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdtrain: train models on one core or on a simulated pod, with the contract of tf.distribute, from C.
 *
 * A program makes a strategy, creates models and optimizers in its scope, and either calls dt_model_fit or writes its own
 * loop around dt_strategy_run. Two whole programs: examples/mirrored_mlp.c and examples/tpu_loop.c.
 *
 * Conventions
 *
 *   Errors     Functions that can fail return `dt_status *`; NULL is success. DT_GO(s, call) leaves to the label `out` on
 *              failure; dt_report prints, frees and gives the exit code.
 *   Handles    are opaque and counted. Out-parameters follow getline(3): pass the address of NULL or of a handle of your own,
 *              which is replaced. dt_x_unref takes NULL. A handle whose last reference was released counts as NULL in every call, and
 *              releasing it again does nothing, as long as it is among the last 4,096 that were released; after that, and where
 *              the library or another holder still has a reference, nothing can be promised. Handles keep alive what they need. `const` returns are lent.
 *   Tracing    dt_strategy_run records the step function once per input signature; there is no second, eager path. Calls on
 *              dt_value never fail at once: the trace keeps its first error and dt_strategy_run returns it.
 *   Fragments  Layers, losses, optimizers, data sets are written as in the job file; `format` arguments are printf's.
 *   Threads    A handle may be used by one thread at a time. The current strategy is per thread.
 *
 * Shapes are written (B, 784): B is the batch dimension, whose size differs between the batches of one trace.
 *
 * Programs include this file alone; its parts come in the order of the reference pages.
 */
#ifndef DTRAIN_H
#define DTRAIN_H

#include "dtrain/version.h"
#include "dtrain/base.h"
#include "dtrain/strategy.h"
#include "dtrain/topology.h"
#include "dtrain/model.h"
#include "dtrain/data.h"
#include "dtrain/step.h"
#include "dtrain/job.h"
#include "dtrain/numerics.h"
#include "dtrain/look.h"

#endif
