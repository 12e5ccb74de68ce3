/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of hooks: one file and one row each. DT_HOOK(name) belongs to every run. A job chooses
 * among DT_CALLBACK(name). At each moment of a run the hooks of every run are called in this order,
 * then the job's callbacks in the order of `fit.callbacks`. No include guard.
 */
#ifndef DT_HOOK
#define DT_HOOK(name)
#endif
#ifndef DT_CALLBACK
#define DT_CALLBACK(name)
#endif

/* lib/train/observe; faults: lib/train/faults.c */
DT_HOOK(record)    /* record.jsonl; warnings of the hooks below are part of it */
DT_HOOK(recording) /* output.trace */
DT_HOOK(faults)    /* injected ones happen */
DT_HOOK(time)      /* waiting for data, and the clock of a simulated slice */
DT_HOOK(guard)     /* replicas that differ, and losses that are not finite, end the run */
DT_HOOK(data)      /* hashes of the files that the run reads */
DT_HOOK(events)    /* progress, checkpoints, workers and the end, for the caller */

/* lib/train/callback */
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
