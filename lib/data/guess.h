/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of which nothing is said: what format they have, seen by their contents, and which
 * elements. The answer is a `dataset` mapping as text, which is read like a job's, so that what is
 * guessed is what a job would have to say.
 */
#ifndef DT_DATA_GUESS_H
#define DT_DATA_GUESS_H

#include "base/json.h"
#include "base/str.h"

/* A file as it is given, "x.npy" or "image=x.npy", which names the element. */
typedef struct dt_guess {
    const char *const *files;
    int n;
    dt_str out;   /* a mapping in JSON, which is YAML too */
    dt_str notes; /* lines: what could not be taken as it is */
} dt_guess;

/* Arrays (npy, npz, idx): an element a file or member. Records (tfrecord, csv): all files are one
 * after the other. Others: an error that says what to do. The caller releases out and notes. */
dt_status *dt_guess_files(dt_guess *g) DT_MUST_USE;
void dt_guess_release(dt_guess *g);
/* A given file's path, and in *name the length of the name in front of it; 0: it has none. A name
 * has no '/', nor '.' in front: "./lr=0.1/x.npy" is a path. */
const char *dt_guess_path(const char *file, size_t *name);

#endif
