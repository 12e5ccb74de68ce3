/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File formats: files that hold rows of values. A format recognizes its files by their first
 * bytes, reads their rows from front to back, finds rows again, and writes rows, as far as
 * possible. Data sets, `predict` and `data convert` read and write examples by the table in
 * formats.h:
 *
 *     sniff, open         rows from front to back, of a file, a folder, or a pipe that is
 *                         still being written: a dt_row_source with its dt_row_reader
 *     open_part           a data set's examples in any order: dt_examples (file/examples.h)
 *     check, declare      a job's keys of its data set, without files
 *     survey              the elements of files without a job
 *     writer              an output, which gets its name when it is complete
 *
 * Faults of files name the file and the place in it: line and column, record and offset.
 */
#ifndef DT_FILE_FILE_H
#define DT_FILE_FILE_H

#include "base/file.h"
#include "base/json.h"
#include "conf/conf.h"
#include "file/array.h"
#include "graph/graph.h"

/* ---- reading ---- */

/* What `columns` of an element of CSV files has. */
typedef enum dt_choice { DT_CHOICE_NAMES, DT_CHOICE_PATTERNS, DT_CHOICE_ALL_BUT } dt_choice;

/* A named element of examples. Unknown members are zero. */
typedef struct dt_element_spec {
    const char *name;
    /* of one row in files, (B, ...) in batches; in pipelines a size of -1 is unknown. In files as
     * the job declares it, unless the format has it */
    dt_type type;
    /* in files: each row is one text; type is that of its bytes, a NUL follows the last one, the
     * rest is undefined */
    bool text;
    /* values lie in [0, numbers), as of a vocabulary; in batches after `map`; 0: unknown */
    int64_t numbers;
    /* The texts that the values number, such as classes; after one_hot those of the last dimension;
     * or those of the columns that stand side by side. Files that are written have the texts
     * instead of the numbers. n 0: they have none. */
    dt_texts names;
    /* in batches of a data set that was opened without `map` */
    const struct dt_element_spec *stored;

    /* The other members are for elements as files store them. */
    dt_location at;   /* of its path in the job file */
    const char *file; /* for messages */
    int64_t classes;  /* values of the file are known to lie in [0, classes); 0: not known */
    /* of CSV and JSON lines: their names, and the texts whose places are the values; n 0: none */
    dt_texts columns, vocabulary;
    dt_choice choice;     /* of `columns`; once settled, they are names all the same */
    bool settled, shaped; /* shaped: the job gives the shape */
    bool has_default;     /* missing values become default_value */
    double default_value;
    bool imputes;         /* a step of `map` replaces them; see file/missing.h */
    dt_texts missing;     /* texts that stand for one, besides the empty text; */
    bool missing_numbers; /* some of them are numbers */
    /* CSV: [columns] of each the first whole number that float32 rounds, with its place, for a
     * warning; NULL: none so far. NULL: not float32 */
    const char **rounded;
    char delimiter;          /* of CSV files */
    char thousands, decimal; /* in their numbers; 0: none, and a point */
    bool numbered;           /* CSV files without a header: the columns' names are numbers from 0 */
    const void *own;         /* what the data set's format has read of its keys, see `declare` */
    /* TFRecords: byte strings that are files of pictures, according to the first record */
    bool pictures;
} dt_element_spec;

/* A record of a format that can find records again. */
typedef struct dt_row_record {
    int64_t number;       /* in its file, from 0 */
    int64_t offset, size; /* of its bytes */
    const char *bytes;    /* NULL: they are to be read from the file */
    bool checked;         /* its checksum has been looked at */
} dt_row_record;

/* Operations of an open source. */
struct dt_row_source;
typedef struct dt_row_reader {
    /* The next row of every element. *more false: the end. */
    dt_status *(*next)(struct dt_row_source *s, void *const *row, bool *more);
    /* the file of a row, if each row is a file, lent; NULL: rows are not files */
    const char *(*file)(const struct dt_row_source *s, int64_t row);
    /* a whole row has been read already; NULL: never */
    bool (*holds)(const struct dt_row_source *s);
    /* Like `next`, but only finds s->record and reads no values; NULL: opening a data set reads all
     * values, and keeps them while they are few. */
    dt_status *(*skip)(struct dt_row_source *s, bool *more);
    /* With `skip`: takes from the first record what holds for all elements. */
    void (*look)(struct dt_row_source *s, const dt_row_record *first);
    /* A record's values, out[e] of each element, NULL: not wanted. Any thread, any time, after
     * `close` too. NULL: rows are not found again. */
    dt_status *(*at)(const struct dt_row_source *s, const dt_row_record *r, void *const *out);
    void (*close)(struct dt_row_source *s); /* NULL: nothing to do */
} dt_row_reader;

/* A file, folder or pipe that is being read. */
typedef struct dt_row_source {
    const dt_row_reader *reader; /* set by `open`, as is state; NULL: not open */
    void *state;
    dt_arena *arena;
    const char *path; /* for messages too */
    dt_inflow *file;  /* NULL: a folder */
    bool is_pipe;     /* standard input */
    bool again;       /* a data set's: rows will be wanted again, by reader->at */
    bool native;      /* this format is the data set's own: its keys, and `own` of elements hold */
    const dt_tree *keys; /* of the data set */
    int n;
    dt_element_spec *element; /* [n] */
    int64_t count;            /* of rows; -1: not known */
    int64_t row;              /* the number of the next one, from 0 */
    dt_row_record record;     /* that of the last row, where the reader has `at` */
} dt_row_source;

/* Values of a row as the elements want them, in order. */
int64_t dt_row_source_values(const dt_row_source *s);
/* Takes one that is not open. The file stays open. */
void dt_row_source_close(dt_row_source *s);
/* A number as value i of an element of dtype; false: it does not fit. */
bool dt_row_source_put(dt_dtype dtype, double x, void *out, int64_t i);

/* Files without a job: the keys that a data set needs for them, with `element`, are written to
 * j. */
typedef struct dt_survey_request {
    const char *const *path; /* [n] */
    int n;
    dt_json *j;
    dt_str *notes; /* lines about columns whose values are converted */
} dt_survey_request;

/* ---- writing ---- */

typedef struct dt_output {
    const struct dt_format *kind;
    const char *named; /* as the user named it, lent */
    int n;
    const dt_element_spec *column; /* [n] lent */
    int64_t of, rows;              /* how many there will be, -1: unknown; so far */
    char delimiter;                /* CSV */
    /* CSV; plain: for people: LF, no control characters, no quotes without need */
    bool no_header, plain;
    dt_writer file;
    char *path, *temporary; /* NULL: standard output */
    dt_str text;            /* not written yet */
    bool begun;
    void *state; /* the format's */
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
void dt_output_close(dt_output *o); /* removes an incomplete file; takes a zeroed one */
/* All rows of a column. */
dt_type dt_output_type(const dt_element_spec *c, int64_t rows);

/* ---- the table ---- */

/* Keys of `dataset` beside the common ones, and the struct that they fill. */
typedef struct dt_dataset_keys {
    const dt_field *fields; /* NULL: none */
    size_t size;
} dt_dataset_keys;

/* A format's key `element`: a mapping from names to what the table `fields_` reads. */
#define DT_ELEMENTS(type, fields_, ...)                                                            \
    DT_TREE(type, element, .required = true,                                                       \
            .forms = DT_FORMS(DT_MAP_BY_NAME(DT_FORM(DT_FIELD_TABLE, .table = fields_))),          \
            __VA_ARGS__)

/* The contents of a format's files, which determine what can be written into them. */
typedef enum dt_content {
    DT_CONTENT_OTHER,   /* pictures: none is written */
    DT_CONTENT_NONE,    /* examples are made without files */
    DT_CONTENT_TEXT,    /* one text, of which examples are tokens */
    DT_CONTENT_TABLE,   /* rows of fields: an array is several columns */
    DT_CONTENT_RECORDS, /* rows that are objects by themselves */
    DT_CONTENT_ARRAY,   /* one array, all rows of one element */
    DT_CONTENT_ARCHIVE, /* an array for each element; its output is a file, not a pipe */
} dt_content;

/* Operations of an output. */
typedef struct dt_format_writer {
    dt_status *(*begin)(dt_output *o); /* NULL: no header */
    /* appends to o->text or o->state */
    dt_status *(*put)(dt_output *o, const void *const *row);
    dt_status *(*flush)(dt_output *o);  /* NULL: o->text goes into the file */
    dt_status *(*finish)(dt_output *o); /* NULL: nothing to do */
    void (*release)(dt_output *o);      /* of o->state, if there is any */
} dt_format_writer;

struct dt_format_request;
struct dt_examples;
typedef struct dt_format {
    dt_kind kind; /* as `format` names it; no fields: its keys stand beside the name */
    dt_dataset_keys keys;
    const char *suffix[3]; /* of files that are written: ".idx", "-ubyte" */
    dt_content content;
    /* By the first bytes, DT_PEEK at least if there are so many; n -1: a folder. NULL: never. */
    bool (*sniff)(const unsigned char *first, int64_t n);
    /* Sets s->reader and s->state; after an error there is nothing to close. NULL: only data sets
     * have this format. */
    dt_status *(*open)(dt_row_source *s);
    /* The elements of files without a job; NULL: a job must declare them. */
    dt_status *(*survey)(const dt_survey_request *q);
    /* Checks a part as far as possible without files. All faults; *names: its elements, in the
     * arena. */
    dt_status *(*check)(const struct dt_format_request *r, dt_texts *names);
    /* Sets *out from an entry of `element`; keys: all of the data set. NULL: files have the
     * types. */
    dt_status *(*declare)(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out);
    /* Opens the examples of a part. After an error *out may be set, and the caller closes it. NULL:
     * there are no data sets of this format. */
    dt_status *(*open_part)(const struct dt_format_request *r, struct dt_examples **out);
    const dt_format_writer *writer; /* NULL: none is written */
} dt_format;

/* Rows follow one another, so they may be written into several files; they may hold texts. */
bool dt_format_has_rows(const dt_format *f);
#define DT_FILE_FORMAT(name) extern const dt_format dt_format_##name;
#include "file/formats.h"
#undef DT_FILE_FORMAT
/* All of them, in order; NULL behind the last. */
extern const dt_format *const dt_file_formats[];
/* By the end of a file's name; NULL: none can be written. *suffix: which one. */
const dt_format *dt_format_for(const char *path, const char **suffix);
/* By its first bytes; NULL: none. */
const dt_format *dt_format_sniff(const unsigned char *first, int64_t n);
/* Whether jobs can name it: it is in the table. */
bool dt_format_is_named(const dt_format *f);
/* How many formats data sets have, and those in the order of their names. */
int dt_formats(void);
const dt_format *dt_format_at(int place);

#endif
