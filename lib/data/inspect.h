/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects data sets, and files and folders that no job describes. Also writes a data set in
 * another format, and reports how workers share it. */
#ifndef DT_DATA_INSPECT_H
#define DT_DATA_INSPECT_H

#include "data/data.h"
#include "data/guess.h"

typedef struct dt_inspection {
    dt_dataset *data;
    dt_part part;
    const char *title; /* path of the file or job that is inspected, for the heading */
    const char *notes; /* lines to append to the report */
    int64_t records;   /* number of examples to show */
    bool json;
} dt_inspection;
/* Reads one epoch of the part, and appends the report to *out: lines, or one JSON object. */
dt_status *dt_dataset_inspect(const dt_inspection *q, dt_str *out) DT_MUST_USE;

/* Appends a report about a table that no job describes, and that was guessed with wants_table: its
 * columns, its first records as written, and the lines of a job that reads it. The report is lines
 * of text, or one JSON object. */
void dt_table_inspect(const dt_guess *g, const char *title, bool json, dt_str *out);

/* Reports on a folder that has a folder of pictures for each class: classes, sizes, and files that
 * cannot be read. */
dt_status *dt_pictures_inspect(const char *folder, bool json, dt_str *out) DT_MUST_USE;

typedef struct dt_pictures_facts {
    /* number of pictures, of classes, and of pictures in the smallest class */
    int64_t pictures, classes, smallest;
    /* the most frequent size of a picture, in pixels; 0 if no picture can be read */
    int64_t height, width;
    int64_t broken; /* number of pictures that cannot be read */
    bool grey;      /* no picture that can be read has colours */
} dt_pictures_facts;
/* Gets the facts that dt_pictures_inspect reports, for generating a job. */
dt_status *dt_pictures_describe(const char *folder, dt_pictures_facts *out) DT_MUST_USE;

/* Facts of a folder that has a folder of texts (.txt) for each class. */
typedef struct dt_texts_facts {
    int64_t texts;
    dt_texts classes;     /* names of the classes, in byte order */
    const int64_t *times; /* [classes.n] number of texts of each class */
    int64_t longest;      /* number of bytes in the longest text that can be read */
    double words;         /* average number of words in a text that can be read */
    int64_t broken;       /* number of texts that cannot be read */
} dt_texts_facts;
/* Gets the facts of such a folder. Strings are in the arena. */
dt_status *dt_texts_describe(dt_arena *arena, const char *folder, dt_texts_facts *out) DT_MUST_USE;
dt_status *dt_texts_inspect(const char *folder, bool json, dt_str *out) DT_MUST_USE;
/* inspect_pictures.c: fails if all classes of a folder have names of parts, such as train. */
dt_status *dt_classes_check(const char *folder, const dt_texts *classes) DT_MUST_USE;
/* Whether the folders in a folder hold texts rather than pictures. */
bool dt_texts_are_in(const char *folder);

typedef struct dt_conversion {
    dt_dataset *data;
    dt_part part;
    /* path of the file to write: its suffix determines the format; for formats of one array,
     * {element} is replaced by the name of the element */
    const char *output;
    /* number of files over which records are distributed; 1: they are not divided */
    int64_t shards;
} dt_conversion;
/* Writes the examples of one epoch of a part. Appends the names of the written files to *files, one
 * per line. A file gets its final name when it is complete. */
dt_status *dt_dataset_convert(const dt_conversion *q, dt_str *files) DT_MUST_USE;

typedef struct dt_sharing {
    dt_dataset *data;
    dt_part part;
    const char *title;
    const char *policy; /* name of the sharding policy; NULL: the data set's own */
    int64_t workers;    /* number of workers, 1 to 65536 */
    int64_t replicas;   /* number of replicas that each worker has */
    int64_t batch;      /* number of examples in a global batch */
    bool json;
} dt_sharing;
/* Distributes the examples to workers and reports which worker reads which examples, as lines or as
 * one JSON object. Fails with INTERNAL if two workers read the same example, or an example is left
 * out, under a policy that excludes this. */
dt_status *dt_dataset_shares(const dt_sharing *q, dt_str *out) DT_MUST_USE;

#endif
