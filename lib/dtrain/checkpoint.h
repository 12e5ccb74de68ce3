/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of custom training loops, as with tf.train.Checkpoint and CheckpointManager. A loop
 * that is killed and started again ends with the same bits as one that was not interrupted, even
 * with another strategy, and even if it was killed in the middle of an epoch.
 */
#ifndef DTRAIN_CHECKPOINT_H
#define DTRAIN_CHECKPOINT_H

#include "ops.h"

DT_BEGIN_C

/*
 * The objects that a loop must not lose, each with a name of your choice. Before you restore,
 * create the same objects and add them with the same names:
 *
 *     DT_LET(checkpoint, c, dt_checkpoint_create(&c));
 *     DT_TRY(dt_checkpoint_add_model(c, "model", model));
 *     DT_TRY(dt_checkpoint_add_optimizer(c, "optimizer", optimizer));
 *     DT_TRY(dt_checkpoint_add_data(c, "train", data));
 *     DT_TRY(dt_checkpoint_add_counter(c, "step", &step));
 *     DT_TRY(dt_checkpoint_latest("out", &path, NULL));
 *     DT_TRY(dt_checkpoint_restore(c, path));
 *     while (dt_dist_dataset_epoch(data) < 5) {
 *         DT_LET(iterator, it, dt_iterator_create(&it, data));
 *         DT_EACH(batch, it) {
 *             DT_TRY(dt_strategy_run(strategy, train_step, batch, NULL));
 *             if (++step % 100 == 0)
 *                 DT_TRY(dt_checkpoint_save(c, "out", step, 3));
 *         }
 *     }
 *
 * All functions can be called in and outside of a scope, but not in step functions.
 */
typedef struct dt_checkpoint dt_checkpoint;
DT_API dt_status *dt_checkpoint_create(dt_checkpoint **out) DT_CHECKED;
/* Also unlocks the directory that dt_checkpoint_save has locked. */
DT_API void dt_checkpoint_unref(dt_checkpoint *c);

/*
 * These functions add an object, of which the checkpoint keeps a reference (of a counter, its
 * address). ValueError: the name is taken, is empty, has over 200 bytes, is not UTF-8, or has a '/'
 * or invisible characters (dt_is_unseen).
 */
/* Adds the model's weights and, if the model is compiled, the state of its optimizer. The weights
 * of a checkpoint with a single model can be used wherever those of a run can: dt_model_load,
 * `dtrain evaluate --ckpt`, `init_from`. */
DT_API dt_status *dt_checkpoint_add_model(dt_checkpoint *c, const char *name,
                                          dt_model *m) DT_CHECKED;
/* Adds the optimizer's state. The variables that it updates must be in the checkpoint, too, as part
 * of a model or added separately. */
DT_API dt_status *dt_checkpoint_add_optimizer(dt_checkpoint *c, const char *name,
                                              dt_optimizer *o) DT_CHECKED;
/* Adds all copies of a variable. If the number of replicas is different when they are restored, the
 * copies of a SyncOnReadVariable are combined by the aggregation that it was saved with or, without
 * one, by that of the variable which is restored. A plain variable gets their sum or mean. If the
 * restored variable adds its copies when it is read (SUM), the first copy gets the sum and the
 * others get 0. Restoring fails with InvalidArgumentError if copies would have to be combined and
 * differ without an aggregation, or are bool and would be added. */
DT_API dt_status *dt_checkpoint_add_variable(dt_checkpoint *c, const char *name,
                                             dt_variable *v) DT_CHECKED;
/* Adds a number of your own, such as the number of steps done. *counter must outlive the
 * checkpoint. */
DT_API dt_status *dt_checkpoint_add_counter(dt_checkpoint *c, const char *name,
                                            int64_t *counter) DT_CHECKED;
/*
 * Add the position of an iterator if a loop has a single one, such as over endless data; add the
 * position of a distributed data set if it has an iterator for each epoch. The position of a data
 * set is that of its newest iterator. If that has ended or was released, it is the beginning of the
 * next epoch. Restoring moves the iterator to the saved position. For a data set, it moves the
 * newest iterator or, if that has ended or was released, the next one to be created.
 *
 * Restoring a position begins to read a job's data set there, and also a pipeline that can make its
 * elements in any order. Any other pipeline, such as one with shuffle or filter, or one that is
 * divided among replicas, is read from the beginning of the iteration and calls its functions
 * again; they must depend on their element alone. The last batch is compared with the one that was
 * read when the position was saved.
 */
DT_API dt_status *dt_checkpoint_add_iterator(dt_checkpoint *c, const char *name,
                                             dt_iterator *it) DT_CHECKED;
DT_API dt_status *dt_checkpoint_add_data(dt_checkpoint *c, const char *name,
                                         dt_dist_dataset *data) DT_CHECKED;
/* The number of epochs done: that of iterators that were created, without the newest one as long as
 * it exists and has not ended. A restored position adds the epochs before it. */
DT_API int64_t dt_dist_dataset_epoch(const dt_dist_dataset *data);

/*
 * Saves everything that was added, as `dir`/ckpt/step-NNNNNNNN, in the format of runs, which
 * `dtrain ckpt` can read. Then deletes all but the newest max_to_keep checkpoints of `dir`; 0 means
 * 3. `step` is the number of the checkpoint, usually the number of steps done; an existing
 * checkpoint with that number is replaced. If the process is killed at any time, earlier
 * checkpoints are complete, and the new one is either complete or missing. The directory is
 * created, and locked from the first call on until the last reference is released or another
 * directory is used. The newest checkpoint is the one that was saved last, even if you restore an
 * older one and continue from there. Errors: UnavailableError: another process or checkpoint object
 * uses the directory. InvalidArgumentError: a weight or the state of an optimizer is not finite; an
 * optimizer updates a variable that is not in the checkpoint; an iterator was released and replaced
 * by a newer one of its data set.
 */
DT_API dt_status *dt_checkpoint_save(dt_checkpoint *c, const char *dir, int64_t step,
                                     int max_to_keep) DT_CHECKED;
/*
 * Finds the newest checkpoint of `dir` whose files are complete and unchanged. The caller frees
 * *path; NULL: there is none. Damaged checkpoints are skipped. *skipped, a list of errors that the
 * caller frees, says which and why; NULL: none was skipped. `skipped` may be NULL. DataLossError:
 * there are checkpoints, but all are damaged.
 */
DT_API dt_status *dt_checkpoint_latest(const char *dir, char **path,
                                       dt_status **skipped) DT_CHECKED;
/*
 * Restores everything as it was saved in the checkpoint directory `path`, with any strategy. NULL
 * does nothing, so that you can pass the result of dt_checkpoint_latest unchecked. After an error,
 * no value has changed. InvalidArgumentError: the checkpoint has other names than were added,
 * weights have other shapes or dtypes, or the data has changed. DataLossError: the files are
 * damaged. NotFoundError: there is no such directory.
 */
DT_API dt_status *dt_checkpoint_restore(dt_checkpoint *c, const char *path) DT_CHECKED;

DT_END_C

#endif
