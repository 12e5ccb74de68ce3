/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples of a data set, in any order: what the row of a format has as `access`. Formats of
 * records share one, those of arrays another; text, folders of pictures and synthetic data, which
 * make examples of something else than rows of files, each have their own.
 */
#ifndef DT_FILE_EXAMPLES_H
#define DT_FILE_EXAMPLES_H

#include "file/file.h"
#include "file/records.h"

typedef enum dt_part { DT_PART_TRAIN, DT_PART_VALIDATION, DT_PART_TEST, DT_PARTS } dt_part;
const char *dt_part_name(dt_part p); /* "train": as in job files */

/* What a format is asked for: one part of a data set. */
typedef struct dt_format_request {
    dt_arena *arena;
    /* the value of `train:` etc. as written, usually a map element -> path; NULL: not given */
    const dt_tree *tree;
    const dt_tree *train;  /* that of `train`, whose vocabulary other parts share */
    const dt_location *at; /* of the data set: for what is missing */
    const dt_tree *keys;   /* all of the data set, */
    const void *args;      /* and the format's own ones, filled */
    const dt_format *format;
    const char *directory; /* relative paths start here */
    dt_part part;
    uint64_t seed;
    bool splits; /* opening: the last examples are to validate with */
} dt_format_request;

/* One part, opened: a format's own state begins with it. */
typedef struct dt_examples {
    int n;
    dt_stored *stored; /* [n] the elements */
    int64_t count;     /* of examples */
    dt_paths paths;    /* files with several examples each; none: there are no such */
    /* [paths.n + 1] numbers of their first examples, where these follow one another; else NULL */
    int64_t *first;
    bool single; /* example i is the file paths.v[i] */
    /* examples are encoded each by itself: they are had by `fetch` and `unpack`, not by `read` */
    bool encoded;
} dt_examples;

/* Bytes of encoded examples that a thread has read, zeroed before it is used: `fetch` lends of
 * them. */
typedef struct dt_read_buffer {
    dt_str bytes;
    int file; /* of record_access.c: where in which file they begin, */
    int64_t offset;
    /* the example behind the last one, and the bytes of those that followed one another so far */
    int64_t next, run;
} dt_read_buffer;

/* Random access to the examples of a part. */
typedef struct dt_example_access {
    bool drawn; /* has examples without a `train` mapping */
    /* What can be checked without files, all faults; *names: the elements of this part, in the
     * arena. */
    dt_status *(*check)(const dt_format_request *r, dt_texts *names);
    /* *out is set on a fault as well, as far as it came: the caller closes it. */
    dt_status *(*open)(const dt_format_request *r, dt_examples **out);
    /* The path of the i-th file, NULL past the last; *what: what it is for, an element's name.
     * Lent. NULL: they are paths. */
    const char *(*source)(const dt_examples *x, int64_t i, const char **what);
    /* All examples of element e, one after the other, or NULL when they are read one by one. The
     * first call may read a file. NULL: none can be had so. */
    dt_status *(*whole)(dt_examples *x, int e, const void **rows);
    /* Bytes that the first call of it will read into memory; 0: it has been called, or reads
     * nothing. NULL: `whole` reads nothing. */
    int64_t (*unread)(dt_examples *x, int e);
    /* Example `row` of element e into out; NULL: all are encoded. Like `whole`, may be called by
     * several threads. */
    dt_status *(*read)(dt_examples *x, int e, int64_t row, void *out);
    /* Of encoded examples (pictures, records) what a file says of one, lent by `buffer`, until it
     * is used again, or by x; and out[e] of each element, by its number, NULL: not wanted. May be
     * called by several threads, too. */
    dt_status *(*fetch)(dt_examples *x, int64_t row, dt_read_buffer *buffer, dt_bytes *out);
    dt_status *(*unpack)(dt_examples *x, int64_t row, const dt_bytes *bytes, void *const *out);
    /* Bytes that so many threads take at once to unpack examples as large as the first one, besides
     * `out`. NULL: none. */
    int64_t (*unpacking)(const dt_examples *x, int threads);
    /* The tokens of a text, at most one for each of its bytes; RANGE where it holds what the
     * vocabulary does not. The other way: one token's text is added. Both NULL: the examples are no
     * text. */
    dt_status *(*encode)(const dt_examples *x, const char *text, int32_t *tokens, int64_t *n);
    void (*decode)(const dt_examples *x, int32_t token, dt_str *out);
    void (*close)(dt_examples *x); /* NULL: everything is the arena's */
} dt_example_access;

/* record_access.c: of formats with `declare` and `at`. array_access.c: of formats with `header`. */
extern const dt_example_access dt_record_access, dt_array_access;

#endif
