/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File formats. As far as it can, a format recognizes its files by their first bytes, reads their
 * rows from front to back, reads single rows again, and writes rows. Data sets, `predict` and `data
 * convert` use the formats in the table of formats.h:
 *
 *     sniff, open         read rows from front to back, of a file, a folder, or a pipe that is
 *                         still being written: a dt_row_source with its dt_row_reader
 *     open_part           reads a data set's examples in any order: dt_examples (file/examples.h)
 *     check, declare      check a job's keys of its data set, without files
 *     survey              finds the elements of files that no job describes
 *     writer              writes a file or standard output; a file gets its name when complete
 *
 * Messages about faults name the file and, as far as possible, the location in it, such as line and
 * column, or record and offset.
 */
#ifndef DT_FILE_FILE_H
#define DT_FILE_FILE_H

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "conf/conf.h"
#include "file/array.h"
#include "graph/graph.h"

/* ---- elements, sources and surveys ---- */

/* What the key `columns` of a CSV element contains: names, patterns, or the columns to leave
 * out. */
typedef enum dt_choice { DT_CHOICE_NAMES, DT_CHOICE_PATTERNS, DT_CHOICE_ALL_BUT } dt_choice;

/* A named element of examples. Members that are not known are zero. */
typedef struct dt_element_spec {
    const char *name;
    /* In files, the type of one row (with `window`: of one example), as the job declares it or as
     * the format stores it; in batches (B, ...). In pipelines a size of -1 is unknown. */
    dt_type type;
    /* In files: each row is a text, and `type` is the type of its bytes. A NUL follows the text;
     * bytes after it are undefined. */
    bool text;
    /* With dataset.window: the number of rows that make one example, which is the first dimension
     * of `type`; 0: an example is one row. */
    int64_t window;
    /* With window.lags: the number of lags; 0: none. `type` has the lagged rows one below the
     * other. In a batch they are side by side, so an example has window / lags rows. */
    int64_t lags;
    /* The values, in batches those after `map`, are in [0, numbers), as indices in a vocabulary
     * are; 0: unknown. */
    int64_t numbers;
    /* Names of the indices that are the values, such as class names; after one_hot, names of the
     * entries along the last dimension; or names of several columns. CSV and JSON lines get the
     * names of a dt_output's column instead of the indices. n 0: no names. */
    dt_texts names;
    /* the element as stored; set in batches of a data set that was opened without `map` */
    const struct dt_element_spec *stored;

    /* The members below are for elements as files store them. */
    /* The element is a mask of this element, an image: steps of `map` that move the image's pixels
     * move those of the mask, too. NULL: it is not a mask. */
    const char *follows;
    dt_location at; /* location of the element's entry, or of its file's path, in the job file */
    /* data file or folder, the first if there are several; else "memory" and the like */
    const char *file;
    int64_t classes; /* all values in the file are known to be in [0, classes); 0: not known */
    /* For text formats with columns or keys: their names; texts whose indices are the values. n 0:
     * none. */
    dt_texts columns, vocabulary;
    dt_choice choice; /* the kind of `columns`; once `settled`, they are names for any kind */
    /* settled: patterns have been resolved; shaped: the job gives the shape */
    bool settled, shaped;
    bool has_default; /* missing values become default_value */
    double default_value;
    bool imputes;         /* a step of `map` replaces missing values; see file/missing.h */
    bool drops;           /* a data set's rows that lack a value of this element are left out */
    bool stays;           /* rows are never left out, because they are rows of a file to predict */
    dt_texts missing;     /* texts that stand for a missing value, besides the empty text */
    bool missing_numbers; /* some of the texts in `missing` are numbers */
    /* CSV: [columns] a warning with the first whole number that float32 rounds and its location;
     * NULL: none so far. rounded NULL: the dtype is not float32. */
    const char **rounded;
    char delimiter; /* the character that separates fields of a CSV file */
    /* separators in numbers of a CSV file: of groups of digits, 0: none; of decimals, 0: a point */
    char thousands, decimal;
    /* CSV: [columns] the currency sign or % of the numbers so far; see dt_csv_symbol_agrees. NULL:
     * numbers have no symbols. */
    uint32_t *symbol;
    bool symbols;    /* CSV: numbers may have currency signs or % */
    bool numbered;   /* a CSV file without a header: the columns' names are numbers from 0 */
    const void *own; /* data of the format; see `declare` */
    /* TFRecord: byte strings are picture files, judging by the first record */
    bool pictures;
} dt_element_spec;

/* Returns the index of the element with this name; -1 if there is none. */
static inline int dt_element_find(const dt_element_spec *v, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0) return i;
    return -1;
}
/* Returns the type of one row of a stored element. */
static inline dt_type dt_element_row(const dt_element_spec *e) {
    return e->window > 0 ? dt_type_of(e->type.dtype, e->type.rank - 1, e->type.dim + 1) : e->type;
}

/* A record of a file, for formats that can read records again. */
typedef struct dt_row_record {
    int64_t number;       /* index of the row in its file, from 0, without rows that are left out */
    int64_t offset, size; /* position and size of the record, in bytes */
    const char *bytes;    /* the bytes of the record; NULL: they have to be read from the file */
    /* TFRecord: the checksum has been verified, and does not follow the record */
    bool checked;
} dt_row_record;

/* Operations of an open source. */
struct dt_row_source;
typedef struct dt_row_reader {
    /* Reads the next row; row[e] receives element e. *more false: the end. */
    dt_status *(*next)(struct dt_row_source *s, void *const *row, bool *more);
    /* The file of a row, lent, if each row is a file. NULL: rows are not files. */
    const char *(*file)(const struct dt_row_source *s, int64_t row);
    /* whether a row, or at least a line, is in memory, so that `next` rarely waits for a pipe;
     * NULL: never */
    bool (*holds)(const struct dt_row_source *s);
    /* Like `next`, but sets only s->record and reads no values. NULL: opening a data set reads all
     * values, and keeps them if they are few enough. */
    dt_status *(*skip)(struct dt_row_source *s, bool *more);
    /* With `skip`: reads from the first record what applies to all rows. */
    void (*look)(struct dt_row_source *s, const dt_row_record *first);
    /* Reads the values of a record; out[e] receives element e, NULL: not needed. Any thread may
     * call it at any time, even after `close`. NULL: rows cannot be read again. */
    dt_status *(*at)(const struct dt_row_source *s, const dt_row_record *r, void *const *out);
    /* Appends the text of column s->keep.v[i] in the row that `next` has just read, even if the row
     * had a fault, as far as possible. *json: the text is JSON other than a string. NULL: rows have
     * no columns to keep. */
    dt_status *(*kept)(const struct dt_row_source *s, int i, dt_str *out, bool *json);
    void (*close)(struct dt_row_source *s); /* closes the source; NULL: nothing to do */
} dt_row_reader;

/* A file, folder or pipe that is being read. */
typedef struct dt_row_source {
    const dt_row_reader *reader; /* `open` sets this and `state`; NULL: not open */
    void *state;
    dt_arena *arena;
    const char *path; /* path of the source, also for messages */
    dt_inflow *file;  /* NULL: a folder or pattern of files, or the file was closed after reading */
    bool is_pipe;     /* the file is standard input */
    bool again; /* a data set's files: rows may be read again with reader->at; false: only once */
    /* the format is the data set's own, so `keys` and dt_element_spec.own belong to it */
    bool native;
    const dt_tree *keys; /* keys of the data set */
    int n;
    dt_element_spec *element; /* [n] the elements that each row has */
    /* rows with faults are reported one by one, and reading goes on; set before `open` */
    bool answers;
    bool passed;   /* the error of `next` concerns only that row, and `next` may be called again */
    dt_texts keep; /* names of columns to keep beside the rows; set before `open`; n 0: none */
    int64_t count; /* number of rows; -1: not known */
    int64_t row;   /* index of the next row, from 0 */
    /* where the row that was read last (skipped last, if the reader has `skip`) lies in the file;
     * set if the reader has `at` */
    dt_row_record record;
    int64_t omitted; /* number of rows that drop_missing has left out so far */
} dt_row_source;

/* Returns the number of values of all elements in a row; a text counts as one. */
int64_t dt_row_source_values(const dt_row_source *s);
/* Closes a source, which need not be open. Does not close its file. */
void dt_row_source_close(dt_row_source *s);
/* Stores a number as value i of an element. Returns false if it does not fit the dtype: an integer
 * that is out of range (int64: beyond +-2^53) or has a fraction, a float that is not finite. */
bool dt_row_source_put(dt_dtype dtype, double x, void *out, int64_t i);

/* A request to survey files that no job describes: writes the keys of `dataset` that the files
 * need, with `element`, to j. */
typedef struct dt_survey_request {
    const char *const *path; /* [n] the paths of the files */
    int n;
    dt_json *j;
    dt_str *notes; /* lines about columns that are left out or whose values are converted */
    /* receives the columns of a format that has columns, see file/column_survey.h; its `wanted` is
     * set before; NULL: not needed */
    struct dt_table *table;
} dt_survey_request;

/* ---- writing ---- */

typedef struct dt_output {
    const struct dt_format *kind;
    const char *named; /* the name that the user gave, lent */
    int n;
    const dt_element_spec *column; /* [n] lent */
    /* of: number of rows to write, to all shards together, -1: unknown; rows: number of rows
     * written so far. */
    int64_t of, rows;
    char delimiter; /* the character that separates fields of CSV */
    /* for CSV. no_header: write no header; plain, for predictions: lines end with LF, control
     * characters are escaped, and empty texts are not quoted */
    bool no_header, plain;
    dt_writer file;
    /* path: path of the file, NULL: standard output; temporary: its path until it is complete */
    char *path, *temporary;
    dt_str text; /* bytes that are not written yet */
    bool begun;
    void *state; /* state of the format's writer */
} dt_output;

/* Opens a file to write to. It gets its name when it is complete. Fails with CANT_CREATE and
 * similar errors. The caller closes *o in any case. */
dt_status *dt_output_open(dt_output *o, const char *named) DT_MUST_USE;
void dt_output_stdout(dt_output *o);
/* Begins to write, now that the columns are known. */
dt_status *dt_output_begin(dt_output *o) DT_MUST_USE;
/* Writes a row; row[i] is the value of column i or, in CSV and JSON lines, NULL for none. */
dt_status *dt_output_put(dt_output *o, const void *const *row) DT_MUST_USE;
dt_status *dt_output_flush(dt_output *o) DT_MUST_USE;
/* Completes the output; a file gets its name. */
dt_status *dt_output_finish(dt_output *o) DT_MUST_USE;
void dt_output_close(dt_output *o); /* removes an incomplete file; a zeroed output is allowed */
/* Returns the type of all rows of a column together. */
dt_type dt_output_type(const dt_element_spec *c, int64_t rows);

/* ---- formats ---- */

/* The key `element` of a format: a mapping from names to entries, which are read by the table
 * `fields_`. */
#define DT_ELEMENTS(type, fields_, ...)                                                            \
    DT_TREE(type, element, .required = true,                                                       \
            .forms = DT_FORMS(DT_MAP_BY_NAME(DT_FORM(DT_FIELD_TABLE, .table = fields_))),          \
            __VA_ARGS__)

/* What the files of a format contain; determines what can be written to them. */
typedef enum dt_content {
    DT_CONTENT_OTHER,   /* other contents, such as pictures, which cannot be written */
    DT_CONTENT_NONE,    /* examples are generated or in memory, without files */
    DT_CONTENT_TEXT,    /* one text; examples are windows of its tokens */
    DT_CONTENT_TABLE,   /* rows of fields; an array needs several columns */
    DT_CONTENT_RECORDS, /* rows that name all their elements, such as JSON lines and TFRecords */
    DT_CONTENT_ARRAY,   /* one array with all rows of one element */
    DT_CONTENT_ARCHIVE, /* an array for each element; can be written to a file, but not to a pipe */
} dt_content;

/* Functions that write a format. */
typedef struct dt_format_writer {
    dt_status *(*begin)(dt_output *o); /* writes a header; NULL: there is none */
    /* appends a row to o->text or o->state */
    dt_status *(*put)(dt_output *o, const void *const *row);
    /* Writes the rows that were put; NULL: o->text is written to the file. */
    dt_status *(*flush)(dt_output *o);
    dt_status *(*finish)(dt_output *o); /* completes the file; NULL: nothing to do */
    void (*release)(dt_output *o);      /* frees o->state, if it is set */
} dt_format_writer;

/* How a model treats the documents of a text, each ended by a token. All 0: as one document. */
typedef struct dt_documents {
    bool masked;   /* attention does not reach from one document to another */
    bool restarts; /* positions count from a document's beginning */
    int32_t end;   /* the token that ends a document and belongs to it */
} dt_documents;

struct dt_format_request;
struct dt_examples;
typedef struct dt_format {
    /* the name in `format`; its fields are keys of `dataset`, beside the name */
    dt_kind kind;
    /* suffixes of file names, such as ".idx", "-ubyte"; files to write are recognized by them */
    const char *suffix[3];
    dt_content content;
    /* Whether a file has this format, judging by its first n bytes: at least DT_PEEK, or as many as
     * dt_inflow_peek got. n -1: the path is a folder. NULL: never. */
    bool (*sniff)(const unsigned char *first, int64_t n);
    /* Opens a source: sets s->reader and s->state. After an error there is nothing to close. NULL:
     * the format can only be read as a data set. */
    dt_status *(*open)(dt_row_source *s);
    /* Finds the elements of files that no job describes. NULL: headers of arrays or a job declare
     * them. */
    dt_status *(*survey)(const dt_survey_request *q);
    /* Checks a part as far as possible without reading files, and reports all faults. *names: the
     * names of its elements, in the arena. */
    dt_status *(*check)(const struct dt_format_request *r, dt_texts *names);
    /* Sets *out from an entry of `element`; keys: all keys of the data set. NULL: the files have
     * the types. */
    dt_status *(*declare)(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out);
    /* Opens the examples of a part. After an error *out may be set, and the caller closes it. NULL:
     * the format cannot be a data set's. */
    dt_status *(*open_part)(const struct dt_format_request *r, struct dt_examples **out);
    /* Functions that write the format; NULL: it cannot be written. */
    const dt_format_writer *writer;
    /* the job's settings for documents, without `end`; NULL: the format has no documents */
    dt_documents (*documents)(const void *args);
} dt_format;

/* Whether the format stores one row after the other, so that rows can be written to several files
 * and can hold texts. */
bool dt_format_has_rows(const dt_format *f);
#define DT_FILE_FORMAT(name) extern const dt_format dt_format_##name;
#include "file/formats.h"
#undef DT_FILE_FORMAT
/* All formats in order; ends with NULL. */
extern const dt_format *const dt_file_formats[];
/* Returns the format for a file name, by its suffix, and sets *suffix to that suffix; NULL: no
 * format can be written under that name. */
const dt_format *dt_format_for(const char *path, const char **suffix);
/* Returns the format of a file, by its first bytes; NULL: unknown. */
const dt_format *dt_format_sniff(const unsigned char *first, int64_t n);
/* Whether the format is in the table. */
bool dt_format_is_named(const dt_format *f);
/* dt_formats: the number of formats that data sets can have. dt_format_at: one of them, in the
 * order of their names. */
int dt_formats(void);
const dt_format *dt_format_at(int place);

#endif
