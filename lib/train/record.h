/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.jsonl below output.dir: what happened in a run, for `dtrain report`. history.jsonl has the
 * metrics, and the newest checkpoint the position of the run; this file has the rest: the machine,
 * the times of steps and of waiting, memory, warnings, how each attempt ended. base/events.h has
 * the members of its lines. Lines are only appended, attempt after attempt; an attempt without an
 * "end" was killed.
 *
 * A start at step s makes lines of later steps void, those of the same generation (see
 * dt_state_file) that came before it; one of a new generation all. Nothing depends on the file: it
 * is not synced, its last line may be torn, and a run whose file is gone continues.
 *
 * A "steps" line stands for so many steps that a whole run has about a thousand of them.
 */
#ifndef DT_TRAIN_RECORD_H
#define DT_TRAIN_RECORD_H

#include "base/json.h"
#include "data/identity.h"
#include "train/run.h"

#define DT_RECORD_FILE "record.jsonl"

/* Whether the next step ends a line that has a learning rate which follows a schedule: it must be
 * read before a further step begins. */
bool dt_record_follows_schedule(const run *r);
/* Adds the line of an event, where its row in base/events.h has one. */
void dt_record_event(const run *r, const dt_event *e);

/* observe/data.c: whether the hashes of the run's data are known. A thread of low priority takes
 * them while the run trains, and `fit --json` prints them before its end. */
bool dt_run_is_hashed(const run *r);
/* After that: the identity of part p, with files 0 where the data set has no such part. NULL, and
 * *fault, lent: a file cannot be read. */
const dt_identity *dt_run_identity(const run *r, dt_part p, const char **fault);

/* record_host.c: the machine as the member "host"; the process's memory at its peak, in bytes, 0
 * where it is unknown. */
void dt_record_host(dt_json *j);
int64_t dt_record_peak_bytes(void);
bool dt_host_processor(dt_str *out); /* its name; false: unknown */

#endif
