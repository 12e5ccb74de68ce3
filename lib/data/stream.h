/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples that come one after the other: from a file whose format is recognized by its first
 * bytes, from a folder, or from a pipe that is still being written. They go through the job's `map`
 * to its model; there may be any number of them, and none is kept.
 *
 *     standard input ──▶ NPY, NPZ, IDX, CSV, JSON lines, TFRecord, picture? ──▶ a row of each input ──▶ map ──▶ the caller's batch
 *
 * Files are read by their formats (file/file.h). A row of any format is an example as the job's
 * data set stores it: its elements have the types, columns, vocabularies, defaults that the job
 * declares, else those that a checkpoint or the open data set has (dt_dataset_spec.stored), else
 * the shapes of the model's inputs.
 */
#ifndef DT_DATA_STREAM_H
#define DT_DATA_STREAM_H

#include "data/data.h"
#include "data/map.h"

typedef struct dt_stream dt_stream;
typedef struct dt_stream_request {
    const char *path;             /* "-": standard input */
    const dt_dataset_spec *job;   /* whose `map` and `element` hold */
    const dt_element_spec *input; /* [n] what the model takes: (B, ...) */
    int n;
} dt_stream_request;

/* Missing: NO_INPUT (66); of no kind that is known, or malformed: 65; of another shape than the
 * model takes: ELEMENTS. */
dt_status *dt_stream_open(dt_stream **out, const dt_stream_request *q) DT_MUST_USE;
/* The same rows as the training part of a data set, after `map`; q->path is a file. An input of
 * rank 0 is known by its name alone. The caller unrefs *out; the job and q->job->learned must
 * outlive it. */
dt_status *dt_stream_dataset(dt_dataset **out, const dt_stream_request *q) DT_MUST_USE;
/* Whether a file is a text for jobs of texts, not rows of tokens; a pattern always is. */
dt_status *dt_stream_is_text(const char *path, bool *is_text) DT_MUST_USE;
/* The inputs as rows carry them, in the model's order: sizes are the model's, dtypes what `map`
 * leaves. */
const dt_element_spec *dt_stream_elements(const dt_stream *s);
/* How many rows there are; -1: unknown before the end. */
int64_t dt_stream_count(const dt_stream *s);
/* The file that a row is by itself, lent; NULL: files hold several. */
const char *dt_stream_file(const dt_stream *s, int64_t row);
/* Up to `most` rows of every input into rows[n]. Returns early with at least one where the next
 * would have to be waited for; *got 0: the end. DATA_EMPTY: it came before any row. */
dt_status *dt_stream_next(dt_stream *s, int64_t most, void *const *rows, int64_t *got) DT_MUST_USE;
void dt_stream_close(dt_stream *s); /* takes NULL */

#endif
