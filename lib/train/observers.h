/* SPDX-License-Identifier: Apache-2.0 */
/* The table of observers, in the order in which they are called: DT_OBSERVER(name), a file each in
 * lib/train/observe. No include guard. */
DT_OBSERVER(faults)        /* injected ones happen */
DT_OBSERVER(idle)          /* time spent waiting for data */
DT_OBSERVER(virtual_time)  /* the clock of a simulated slice */
DT_OBSERVER(record)        /* record.jsonl: also steps that the guard refuses */
DT_OBSERVER(replicas)      /* whether those of all workers have the same weights */
DT_OBSERVER(guard)         /* a loss that is not finite */
DT_OBSERVER(events)        /* for the caller: progress, checkpoints */
DT_OBSERVER(workers)       /* those of a parameter server */
DT_OBSERVER(callbacks)     /* the job's */
DT_OBSERVER(previous_data) /* whether a resumed run reads the data of before */
