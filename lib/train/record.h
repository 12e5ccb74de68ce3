/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.jsonl below output.dir: what happened in a run, for `dtrain report`. history.jsonl has the
 * metrics, and the newest checkpoint the position of the run; this file has the rest: the machine,
 * the times of steps and of waiting, memory, warnings, how each attempt ended. base/events.h has
 * the members of its lines. Lines are only appended, attempt after attempt; an attempt without an
 * "end" was killed or still runs.
 *
 * If an attempt starts at step s, earlier lines about later steps of the same generation (see
 * dt_state_file) are void. If it starts a new generation, all earlier lines are void. Training does
 * not depend on the file: it is not synced, its last line may be cut, and a run whose file is gone
 * continues.
 *
 * In a long run a line "steps" stands for several steps, so that an attempt writes at most a
 * thousand such lines, not counting one that may precede each line of another kind.
 */
#ifndef DT_TRAIN_RECORD_H
#define DT_TRAIN_RECORD_H

#include "base/json.h"
#include "data/identity.h"
#include "train/run.h"

#define DT_RECORD_FILE "record.jsonl"

/* Whether the next step ends a line "steps" of a run whose learning rate follows a schedule. The
 * rate must then be read before another step begins. */
bool dt_record_follows_schedule(const run *r);
/* Records an event, if the record has lines about events of its kind. Lines about the data and the
 * end are not written here. */
void dt_record_event(const run *r, const dt_event *e);

/* observe/data.c: whether the hashes of the run's data are known. A thread of low priority takes
 * them while the run trains, and `fit --json` prints them before its end. */
bool dt_run_is_hashed(const run *r);
/* Returns the identity of part p, once the data is hashed. Its number of files is 0 if the part has
 * no files of its own. Returns NULL and sets *fault, which is lent, if a file could not be read or
 * hashing was stopped. */
const dt_identity *dt_run_identity(const run *r, dt_part p, const char **fault);

/* record_host.c: writes the machine as the member "host". dt_record_peak_bytes returns the
 * process's peak memory in bytes, or 0 if it is unknown. */
void dt_record_host(dt_json *j);
int64_t dt_record_peak_bytes(void);
/* Writes the processor's name. Returns false if it is unknown. */
bool dt_host_processor(dt_str *out);

#endif
