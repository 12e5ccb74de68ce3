/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples of a data set, in any order: what `open_part` of a format's row opens. Formats of
 * records share one reader, those of arrays another; text, folders of pictures and synthetic data,
 * which make examples of something else than rows of files, each have their own.
 */
#ifndef DT_FILE_EXAMPLES_H
#define DT_FILE_EXAMPLES_H

#include "file/file.h"
#include "file/places.h"
#include "file/records.h"

typedef enum dt_part { DT_PART_TRAIN, DT_PART_VALIDATION, DT_PART_TEST, DT_PARTS } dt_part;
const char *dt_part_name(dt_part p); /* "train": as in job files */

/* A request to a format: one part of a data set. */
typedef struct dt_format_request {
    dt_arena *arena;
    /* the value of `train:` etc. as written, usually a map element -> path; NULL: not given */
    const dt_tree *tree;
    const dt_tree *train;  /* that of `train`, whose vocabulary other parts share */
    const dt_location *at; /* of the data set: for errors about missing keys */
    const dt_tree *keys;   /* all keys of the data set */
    const void *args;      /* the struct of the format's own keys, filled */
    const dt_format *format;
    const char *directory; /* relative paths start here */
    dt_part part;
    uint64_t seed;
    bool splits; /* opening: the last examples are to validate with */
    /* [n] the stored elements, if `tree` names a file that is not the data set's; NULL: the keys
     * declare them */
    const dt_element_spec *element;
    int n;
    bool foreign; /* `format` is not that of the keys */
    /* [n_known] elements of a checkpoint or of train, by name: where the keys have patterns of
     * columns, these have the columns in the order of training; see dt_csv_settle_columns */
    const dt_element_spec *known;
    int n_known;
} dt_format_request;

/* One part, opened: a format's own state begins with it. */
typedef struct dt_examples {
    const struct dt_example_reader *reader;
    int n;
    dt_element_spec *stored; /* [n] the elements */
    int64_t count;           /* of examples */
    dt_paths paths;          /* files with several examples each; none: no such files */
    /* [paths.n + 1] numbers of their first examples, where these follow one another; else NULL */
    int64_t *first;
    bool single;  /* example i is the file paths.v[i] */
    bool encoded; /* examples are decoded each by itself, which takes time worth sharing */
} dt_examples;

/* Memory of a thread that reads examples, zeroed before it is used. */
typedef struct dt_read_buffer {
    dt_str bytes; /* of files, as they were read last */
    int file;     /* for record_access.c: the file, and the offset in it, where `bytes` begins */
    int64_t offset;
    /* the example behind the last one, and the bytes of those that followed one another so far */
    int64_t next, run;
    dt_places_cursor cursor;
    /* dt_now_ns when the bytes of the last example had been read and decoding them began; 0: its
     * format decodes nothing */
    int64_t fetched_ns;
} dt_read_buffer;

/* What can be done with the examples of a part. Several threads may call all but `close`. */
typedef struct dt_example_reader {
    /* The path of the i-th file, NULL past the last; *what: its purpose, such as an element's name.
     * Lent. NULL: `paths` has them. */
    const char *(*source)(const dt_examples *x, int64_t i, const char **what);
    /* All examples of element e, one after the other, or NULL when they are read one by one. The
     * first call may read a file. NULL: none can be had so. */
    dt_status *(*whole)(dt_examples *x, int e, const void **rows);
    /* Bytes that the first call of it will read into memory; 0: it has been called, or reads
     * nothing. NULL: `whole` reads nothing. */
    int64_t (*unread)(dt_examples *x, int e);
    /* Example `row`, in file order: out[e] of each element, NULL: not wanted. */
    dt_status *(*at)(dt_examples *x, int64_t row, dt_read_buffer *buffer, void *const *out);
    /* Bytes that so many threads take at once to decode examples as large as the first one, besides
     * `out`. NULL: none. */
    int64_t (*decoding)(const dt_examples *x, int threads);
    /* The tokens of a text, at most one for each of its bytes; RANGE: a character
     * that the vocabulary lacks. `decode` appends the text of a token. Both NULL: the examples are
     * not text. */
    dt_status *(*encode)(const dt_examples *x, const char *text, int32_t *tokens, int64_t *n);
    void (*decode)(const dt_examples *x, int32_t token, dt_str *out);
    void (*close)(dt_examples *x); /* NULL: everything is the arena's */
} dt_example_reader;

/* record_access.c: of formats whose sources have `at`; where the request has elements, of any that
 * can be opened. */
dt_status *dt_records_check(const dt_format_request *r, dt_texts *names) DT_MUST_USE;
dt_status *dt_records_open_part(const dt_format_request *r, dt_examples **out) DT_MUST_USE;
/* array_access.c: of a header, and `members` where files may be members of an archive. */
dt_status *dt_arrays_check(const dt_format_request *r, dt_texts *names) DT_MUST_USE;
dt_status *dt_arrays_open_part(const dt_format_request *r, dt_header_reader *header, bool members,
                               dt_examples **out) DT_MUST_USE;

#endif
