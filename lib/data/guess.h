/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses the format and the elements of files from their contents, for commands that are given
 * files instead of a job. The result is the text of a `dataset` mapping. It is read like that of a
 * job, so it also shows the user what a job would need. */
#ifndef DT_DATA_GUESS_H
#define DT_DATA_GUESS_H

#include "base/json.h"
#include "base/str.h"
#include "file/column_survey.h"

/* Files, and what was guessed of them. Each file is a path such as "x.npy", or "image=x.npy" with
 * the name of its element. */
typedef struct dt_guess {
    const char *const *files;
    int n;
    dt_str out;   /* text of a `dataset` mapping in JSON, which is also valid YAML */
    dt_str notes; /* lines about columns that are left out or whose values a job would convert */
    const dt_format *format;
    size_t arrays_from, arrays_end; /* where the value of `train` lies in `out` */
    /* where the value of `element` lies in `out`; both are equal for arrays, which have none */
    size_t element_from, element_end;
    /* Set by the caller: survey the columns of a table into `table`. table.v stays NULL for files
     * without columns. */
    bool wants_table;
    dt_table table;
} dt_guess;

/* Guesses the format and the elements. Array files (npy, npz, idx) give an element per file or
 * member. Files of records (tfrecord, csv, jsonl, libsvm) are read one after the other. Other files
 * are an error. The caller calls dt_guess_release, even after an error. */
dt_status *dt_guess_files(dt_guess *g) DT_MUST_USE;
void dt_guess_release(dt_guess *g);
/* Returns the path of a given file; *name becomes the length of the element name in front of it, 0
 * if there is none. A name contains no '/' and does not begin with '.', so "./lr=0.1/x.npy" is a
 * path. */
const char *dt_guess_path(const char *file, size_t *name);

#endif
