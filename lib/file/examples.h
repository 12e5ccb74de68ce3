/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The examples of a data set, in any order. `open_part` of a format opens them. Formats of records
 * share one reader, those of arrays another. Text, folders and synthetic data have readers of their
 * own, because their examples are not rows of files. Rows that can be read only once, such as those
 * of a pipe, are read as examples from front to back.
 */
#ifndef DT_FILE_EXAMPLES_H
#define DT_FILE_EXAMPLES_H

#include "file/file.h"
#include "file/places.h"
#include "file/records.h"
#include "file/tokenizer/tokenizer.h"

typedef enum dt_part { DT_PART_TRAIN, DT_PART_VALIDATION, DT_PART_TEST, DT_PARTS } dt_part;
const char *dt_part_name(dt_part p); /* "train", as in job files */

/* A request to a format to check or open one part of a data set. */
typedef struct dt_format_request {
    dt_arena *arena;
    /* the value of the part's key, such as `train`: a path, a list of paths, a map from elements to
     * paths, or a number of examples; NULL: not given */
    const dt_tree *tree;
    /* the value of `train`, whose vocabulary or classes the other parts share; NULL if it is not
     * given */
    const dt_tree *train;
    const dt_location *at; /* location of the data set, for errors about missing keys */
    const dt_tree *keys;   /* the data set's keys in the job */
    /* the struct that the format's own keys were read into; NULL if `tree` names a file of rows */
    const void *args;
    const dt_format *format;
    const char *directory; /* directory in which relative paths start */
    dt_part part;
    uint64_t seed;
    bool splits; /* when opening: the last examples of train are used for validation */
    /* when opening: the caller looks for bad examples itself, so folders of pictures neither leave
     * them out nor read one as a test */
    bool checks_all;
    /* [n] the elements as they are stored, if `tree` names a file of rows that is not the data
     * set's own; NULL: `keys` declare them */
    const dt_element_spec *element;
    int n;
    bool foreign; /* `format` is not the format that the keys name */
    /* [n_known] elements by name, from a checkpoint or from train. If the keys have patterns of
     * columns, these have the columns in the order used in training; see dt_csv_settle_columns. */
    const dt_element_spec *known;
    int n_known;
} dt_format_request;

/* An open part. A format's own state begins with this struct. */
typedef struct dt_examples {
    const struct dt_example_reader *reader;
    int n;
    dt_element_spec *stored; /* [n] the elements as stored */
    /* number of examples; -1: unknown until the end, and examples can only be read in order */
    int64_t count;
    dt_paths paths; /* the files, with several examples each or, if `single` is set, one; empty:
                     * there are none, or only reader->source knows them */
    /* [paths.n + 1] index of each file's first example, if the examples of files follow one
     * another; else NULL */
    int64_t *first;
    /* a file besides the data that the format's keys name, as the job writes it; NULL: none */
    const char *named;
    dt_documents documents;
    /* characters that are tokens, in order; NULL: tokens are not characters */
    const char *characters;
    bool single; /* each example is a file of its own: example i is paths.v[i] */
    /* the warning about files or records that are left out, in the request's arena; NULL: none
     * are */
    const char *left_out;
    /* each example has to be read from its file or decoded, so threads should share the work */
    bool encoded;
} dt_examples;

/* Buffer of one thread that reads examples; zero it before use. */
typedef struct dt_read_buffer {
    dt_str bytes; /* the bytes that were read last */
    int file;     /* for record_access.c: the file, and the offset in it, where `bytes` begins */
    int64_t offset;
    /* index of the example after the last one read; bytes of the last examples that each
     * followed the one before */
    int64_t next, run;
    dt_places_cursor cursor;
    /* time (dt_now_ns) when the bytes of the last example had been read and decoding began; 0: the
     * format decodes nothing */
    int64_t fetched_ns;
} dt_read_buffer;

/* Operations on the examples of a part. Several threads may call any of them, except `next` and
 * `close`. */
typedef struct dt_example_reader {
    /* The path of file i, lent; NULL after the last one. *what: a name for the file, such as an
     * element's, or "class/file". NULL: the files are in `paths`. */
    const char *(*source)(const dt_examples *x, int64_t i, const char **what);
    /* Gets all examples of element e in one array; *rows is NULL if they have to be read one by
     * one. The first call may read a file. NULL: no element has such an array. */
    dt_status *(*whole)(dt_examples *x, int e, const void **rows);
    /* Bytes that the next call of `whole` will read into memory; 0: it has been called, or reads
     * nothing. NULL: `whole` reads nothing. */
    int64_t (*unread)(dt_examples *x, int e);
    /* Reads example `row`. out[e] receives element e; NULL: not needed. NULL: examples can only be
     * read once, with `next`. */
    dt_status *(*at)(dt_examples *x, int64_t row, dt_read_buffer *buffer, void *const *out);
    /* Reads the next example; out[e] receives element e. *more false: the end; error DATA_EMPTY:
     * the end came before any example. An error with *more true is a fault of this example alone.
     * Called by one thread. */
    dt_status *(*next)(dt_examples *x, void *const *out, bool *more);
    /* whether `next` would wait for a pipe that is being written */
    bool (*waits)(const dt_examples *x);
    /* The number of bytes that `threads` threads need at the same time to decode examples as large
     * as the largest one decoded so far, in addition to `out`. NULL: none. */
    int64_t (*decoding)(const dt_examples *x, int threads);
    /* `encode` appends the tokens of a text; error RANGE: it cannot be encoded. `decode` appends
     * the text of a token. Both NULL: the part cannot do this. */
    dt_status *(*encode)(const dt_examples *x, const char *text, dt_tokens *out);
    void (*decode)(const dt_examples *x, int32_t token, bool first, dt_str *out);
    void (*close)(dt_examples *x); /* NULL: nothing to do, because everything is in the arena */
} dt_example_reader;

/* examples_check.c: reads every example, in up to 16 threads. fault[i] receives the fault of
 * example i, if it concerns that example alone (exit code 65). Any other error ends the reading and
 * is returned. */
dt_status *dt_examples_check(dt_examples *x, dt_status **fault) DT_MUST_USE;
/* Returns the errors of examples in one status, which keeps the first 20 and counts the rest; or
 * another error, which ended the reading. NULL: there are none. */
dt_status *dt_examples_faults(dt_examples *x) DT_MUST_USE;
/* formats.c: the rows of an open source as examples. From now on the examples own the source and
 * its file. They are allocated in the source's arena. */
dt_examples *dt_examples_in_order(dt_row_source *s);
/* record_access.c: checks and opens parts whose files are read as records. If the request has
 * elements, the format needs only `open`. */
dt_status *dt_records_check(const dt_format_request *r, dt_texts *names) DT_MUST_USE;
dt_status *dt_records_open_part(const dt_format_request *r, dt_examples **out) DT_MUST_USE;
/* array_access.c: checks and opens parts for formats whose files have a header. members: files may
 * be members of an archive. */
dt_status *dt_arrays_check(const dt_format_request *r, dt_texts *names) DT_MUST_USE;
dt_status *dt_arrays_open_part(const dt_format_request *r, dt_header_reader *header, bool members,
                               dt_examples **out) DT_MUST_USE;

#endif
