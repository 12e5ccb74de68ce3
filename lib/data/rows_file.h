/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows other than the job's own, as a data set to predict or to evaluate: from a file, whose format
 * is usually recognized by its first bytes, from a folder or the files of a pattern, or from a pipe
 * that is still being written. They replace all parts and go through the job's `map`.
 *
 *     standard input ──▶ NPY, CSV, TFRecord, picture, ...? ──▶ a row ──▶ map ──▶ a feed's batch
 *
 * Files are read by their formats (file/file.h). Whatever the format, a row becomes an example as
 * the job's data set stores it. If the job declares its elements, they are as it says, but with the
 * vocabularies and resolved columns of a checkpoint or the open data set (dt_dataset_spec.stored).
 * Else they are as these store them or, if there are none, have the shapes of the model's inputs.
 */
#ifndef DT_DATA_ROWS_FILE_H
#define DT_DATA_ROWS_FILE_H

#include "data/data.h"

typedef struct dt_rows_request {
    const char *path;           /* path of a file or folder, or a pattern; "-": standard input */
    const dt_dataset_spec *job; /* the job whose `map` and `element` apply to the rows */
    /* [n] the elements that rows must have: the model's inputs, of type (B, ...), and, to evaluate,
     * targets and weights, of which only the name is set */
    const dt_element_spec *input;
    int n;
    /* Rows are read once, from front to back, and there may be any number of them. If not set, path
     * is a file that can be read again. */
    bool once;
    /* Only if `once` is set: a row with a fault is handed out as zeros, and dt_rows_fault
     * returns its fault. */
    bool answers;
    /* names of the columns to keep for the caller, only if `once` is set; n 0: none */
    dt_texts keep;
} dt_rows_request;

/* Opens the rows as a data set whose elements are those of `input`, in order. The caller releases
 * *out with dt_dataset_unref; the job and q->job->learned must outlive it. Fails with NO_INPUT (66)
 * if the file is missing, with exit status 65 if its format is unknown or the file is malformed,
 * and with ELEMENTS if rows that are read once do not have the shapes that the model expects. */
dt_status *dt_rows_open(dt_dataset **out, const dt_rows_request *q) DT_MUST_USE;
/* Sets *is_text to whether a file is plain text, for jobs that train on text: no format recognizes
 * it, or it is a table that does not begin with rows of numbers or a column "tokens_0". A pattern
 * of file names always counts as text, standard input and folders never. Fails if the file cannot
 * be read or is empty. */
dt_status *dt_rows_are_text(const char *path, bool *is_text) DT_MUST_USE;

/* ---- columns and faults that are kept beside the rows ---- */

/* Returns the names of the columns that are kept; n is 0 if there are none, as for all data sets
 * that dt_rows_open did not make. */
const dt_texts *dt_rows_keep(const dt_dataset *d);
/* Returns the value of column i of a row, lent until dt_rows_forget. The row must have been handed
 * out after the last call of dt_rows_forget. */
dt_copied_value dt_rows_kept(const dt_dataset *d, int64_t row, int i);
/* Returns the fault of a row, lent until dt_rows_forget; NULL if the row has none. */
const char *dt_rows_fault(const dt_dataset *d, int64_t row);
/* Whether rows with faults are handed out instead of ending the iteration. */
bool dt_rows_give_faults(const dt_dataset *d);
/* Discards the columns and faults that are kept for all rows so far. */
void dt_rows_forget(dt_dataset *d);

#endif
