/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of hooks: one file and one row each. DT_HOOK(name) belongs to every run. A job chooses
 * among DT_CALLBACK(name). At each moment of a run the hooks of every run are called in this order,
 * then the job's callbacks in the order of `fit.callbacks`. This file may be included several
 * times.
 */
#ifndef DT_HOOK
#define DT_HOOK(name)
#endif
#ifndef DT_CALLBACK
#define DT_CALLBACK(name)
#endif

/* The files of these hooks are lib/train/observe/NAME.c, and lib/train/faults.c. */
/* This hook writes record.jsonl. It is the first, so that the record gets the warnings of the
 * others. */
DT_HOOK(record)
DT_HOOK(recording) /* records the steps of output.trace, and writes trace.json.gz */
DT_HOOK(faults)    /* injects the faults of --inject */
DT_HOOK(time)      /* measures waiting for data, and the clock of a simulated slice */
DT_HOOK(guard)     /* ends the run if a loss is not finite or copies of weights differ */
DT_HOOK(data)      /* hashes the files that the run reads */
DT_HOOK(events)    /* reports progress, checkpoints, workers and the end to the caller */

/* The files of these callbacks are lib/train/callback/NAME.c. */
DT_CALLBACK(csv_logger)
DT_CALLBACK(early_stopping)
DT_CALLBACK(generate_text)
DT_CALLBACK(learning_rate_scheduler)
DT_CALLBACK(model_checkpoint)
DT_CALLBACK(reduce_lr_on_plateau)
DT_CALLBACK(tensorboard)
DT_CALLBACK(terminate_on_nan)
DT_CALLBACK(swap_ema_weights)

#undef DT_HOOK
#undef DT_CALLBACK
