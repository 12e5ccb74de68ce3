/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers: files that hold rows of values, one file format each. A container knows its files by their first bytes, reads their rows
 * from front to back, and writes rows, if it can be written. Whatever reads or writes examples (streams, `data inspect`,
 * `data convert`, outputs of `predict`) is a loop over the table in containers.h:
 *
 *     sniff, open, next, close                  a source: a file, a folder, or a pipe that somebody is still writing to
 *     begin, put, flush, finish, release        an output: what is written gets its name when it is whole
 *
 * Faults of files name the file and the place in it: line and column, record and offset.
 */
#ifndef DT_FILE_FILE_H
#define DT_FILE_FILE_H

#include "base/file.h"
#include "conf/conf.h"
#include "graph/graph.h"

/* ---- writing ---- */

/* A column of rows to be written. */
typedef struct dt_output_column {
    const char *name;
    dt_type row;                /* of a row's values */
    bool text;                  /* one text, NUL-terminated, instead */
    const dt_texts *vocabulary; /* CSV: texts whose places the values are; n 0, NULL: none */
} dt_output_column;

typedef struct dt_output {
    const struct dt_container *kind;
    const char *named;          /* as the user named it, lent */
    int n;
    const dt_output_column *column; /* [n] lent */
    int64_t of, rows;           /* how many there will be, -1: nobody knows; so far */
    char delimiter;             /* CSV */
    bool no_header, plain;      /* CSV; plain: for people: LF, no control characters, no quotes without need */
    dt_writer file;
    char *path, *temporary;     /* NULL: standard output */
    dt_str text;                /* not written yet */
    bool begun;
    void *state;                /* the container's */
} dt_output;

/* A file; or standard output. CANT_CREATE and the like. *o is to be closed in any case. */
dt_status *dt_output_open(dt_output *o, const char *named) DT_MUST_USE;
void dt_output_stdout(dt_output *o);
/* The columns are known. */
dt_status *dt_output_begin(dt_output *o) DT_MUST_USE;
/* A row: row[n], values of each column; NULL: none, an empty field. */
dt_status *dt_output_put(dt_output *o, const void *const *row) DT_MUST_USE;
dt_status *dt_output_flush(dt_output *o) DT_MUST_USE;
/* The file is whole, and gets its name. */
dt_status *dt_output_finish(dt_output *o) DT_MUST_USE;
void dt_output_close(dt_output *o); /* removes what is not whole; takes a zeroed one */

/* ---- the table ---- */

typedef struct dt_container {
    const char *name;
    const char *suffix[3];      /* of files that are written: ".idx", "-ubyte" */
    bool one_array;             /* an output has one column */
    bool seeks;                 /* an output is a file, not a pipe */
    bool records;               /* rows follow one another, so they may be written into several files */
    dt_status *(*begin)(dt_output *o);                         /* NULL: nothing stands in front */
    dt_status *(*put)(dt_output *o, const void *const *row);   /* adds to o->text, or to what o->state keeps; NULL: never written by columns */
    dt_status *(*flush)(dt_output *o);                         /* NULL: o->text goes into the file */
    dt_status *(*finish)(dt_output *o);                        /* NULL: nothing is left to do */
    void (*release)(dt_output *o);                             /* of o->state, if there is any */
} dt_container;

#define DT_CONTAINER(name) extern const dt_container dt_container_##name;
#include "file/containers.h"
#undef DT_CONTAINER
/* By the end of a file's name; NULL: none. *suffix: which one. */
const dt_container *dt_container_for(const char *path, const char **suffix);

#endif
