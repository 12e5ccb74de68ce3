/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdtrain: train models on CPU cores, on accelerators or on a simulated pod, with the contract of
 * tf.distribute, from C.
 *
 * A program creates a strategy, creates models and optimizers in its scope, and then either calls
 * dt_model_fit or writes its own loop around dt_strategy_run. examples/mirrored_mlp.c and
 * examples/tpu_loop.c are complete programs.
 *
 * Conventions
 *
 *   Errors     Almost all functions that can fail return `dt_status *`; NULL is success. On
 *              failure DT_TRY(call) returns the status to the caller, and DT_GO(s, call) jumps to
 *              the label `out`. dt_report prints the error, frees it and returns the exit code.
 *   Handles    are opaque and reference-counted, and keep alive what they need. Out-parameters
 *              follow getline(3): pass the address of a pointer that is NULL or holds a handle you
 *              own, which is replaced. Every dt_x_unref accepts NULL. After its last reference is
 *              released, a handle counts as NULL in every call and releasing it again does nothing,
 *              as long as it is among the last 4,096 handles released. This is not guaranteed for
 *              older handles, or while the library or another owner still holds a reference. A
 *              function of yours that the library calls must not release the handles of the call
 *              that it is called from.
 *   Pointers   Returned `const` pointers are lent: they belong to the object that they come from,
 *              so do not free them. Text that a function creates is a `char *`; free it with
 *              free().
 *   Tracing    dt_strategy_run records the step function once per input signature; there is no
 *              eager mode. Calls on a dt_value do not fail immediately: the trace keeps the first
 *              error and dt_strategy_run returns it.
 *   Memory     A call that runs out of memory returns an error (exit code 71), and the program may
 *              go on. The process ends with 71 and one line only if the 4 MiB that the library
 *              keeps in reserve do not suffice to return from the call.
 *   Fragments  Layers, losses, optimizers and data sets are written as in the job file. `format`
 *              arguments are printf formats.
 *   Threads    A handle may be used by only one thread at a time. The current strategy is per
 *              thread.
 *
 * In shapes such as (B, 784), B is the batch dimension; its size may change between the batches
 * that share a trace.
 *
 * Include only this file. Its parts are in the order of the reference pages.
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
#include "dtrain/ops.h"
#include "dtrain/coordinator.h"
#include "dtrain/checkpoint.h"
#include "dtrain/job.h"
#include "dtrain/sweep.h"
#include "dtrain/numerics.h"
#include "dtrain/look.h"
#include "dtrain/auto.h"

#endif
