/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a data set: what its elements are, what values they have, and a few examples; and
 * writing one in another format. */
#ifndef DT_DATA_INSPECT_H
#define DT_DATA_INSPECT_H

#include "data/data.h"

typedef struct dt_inspection {
    dt_dataset *data;
    dt_part part;
    const char *title; /* whose it is: a file or a job */
    const char *notes; /* lines to be said beside it */
    int64_t records;   /* so many examples are shown */
    bool json;
} dt_inspection;
/* All values are read once. Appends lines, or one JSON object. */
dt_status *dt_dataset_inspect(const dt_inspection *q, dt_str *out) DT_MUST_USE;

/* A folder with a folder of pictures for each class: classes, sizes, and what cannot be read. */
dt_status *dt_pictures_inspect(const char *folder, bool json, dt_str *out) DT_MUST_USE;

typedef struct dt_conversion {
    dt_dataset *data;
    dt_part part;
    /* its suffix determines the format; {element} is replaced by an element's name */
    const char *output;
    int64_t shards; /* files that records are written to; 1: `output` itself */
} dt_conversion;
/* *files: the names of what was written, a line each. A file gets its name when it is
 * complete. */
dt_status *dt_dataset_convert(const dt_conversion *q, dt_str *files) DT_MUST_USE;

typedef struct dt_sharing {
    dt_dataset *data;
    dt_part part;
    const char *title;
    const char *policy; /* NULL: the data set's */
    int64_t workers;    /* 1 to 65536 */
    int64_t replicas;   /* of each worker */
    int64_t batch;      /* global */
    bool json;
} dt_sharing;
/* Distributes the examples to workers and lists which worker reads which: lines, or one JSON
 * object. INTERNAL if shards overlap that must not. */
dt_status *dt_dataset_shares(const dt_sharing *q, dt_str *out) DT_MUST_USE;

#endif
