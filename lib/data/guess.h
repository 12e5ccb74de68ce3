/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files without a job: their format and elements, guessed from their contents. The result is the
 * text of a `dataset` mapping, which is read like that of a job, so that it shows what a job would
 * need.
 */
#ifndef DT_DATA_GUESS_H
#define DT_DATA_GUESS_H

#include "base/json.h"
#include "base/str.h"

/* Files as given, "x.npy", or "image=x.npy" with the element's name. */
typedef struct dt_guess {
    const char *const *files;
    int n;
    dt_str out;   /* a mapping in JSON, which is YAML too */
    dt_str notes; /* lines about columns whose values are converted */
} dt_guess;

/* Arrays (npy, npz, idx): an element a file or member. Records (tfrecord, csv): all files are one
 * after the other. Others: an error with a suggestion. The caller releases out and notes. */
dt_status *dt_guess_files(dt_guess *g) DT_MUST_USE;
void dt_guess_release(dt_guess *g);
/* A given file's path, and in *name the length of the name in front of it; 0: it has none. A name
 * has no '/', nor '.' in front: "./lr=0.1/x.npy" is a path. */
const char *dt_guess_path(const char *file, size_t *name);

#endif
