/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of dt_job_open share: the smallest job, and what is expected of a fault. */
#ifndef TESTS_JOB_OPEN_KIT_H
#define TESTS_JOB_OPEN_KIT_H

#include "kit.h"

/* Exactly one fault of this number whose text has this piece; its place is given as
 * "FILE:LINE:COL", file below HERE. */
static inline void expect_fault(dt_status *s, int number, const char *piece, const char *place) {
    char at[512];
    snprintf(at, sizeof at, "%s:%d:%d", dt_status_file(s) ? dt_status_file(s) : "",
             dt_status_line(s), dt_status_column(s));
    bool here = strncmp(at, HERE "/", strlen(HERE "/")) == 0;
    if (!s || dt_status_number(s) != number || !strstr(dt_status_text(s), piece) ||
        strcmp(here ? at + strlen(HERE "/") : at, place) != 0) {
        char *text = dt_status_format(s);
        fail_msg("expected DT%03d '%s' at %s, got\n%s", number, piece, place,
                 s ? text : "no error");
    }
    dt_status_free(s);
}

#define MINIMAL                                                                                    \
    "version: 1\nstrategy: {type: default}\ndataset: {format: synthetic, examples: 8, element: "   \
    "{x: {shape: [2]}, y: {num_classes: 2}},"                                                      \
    " global_batch_size: 4}\nmodel: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2}]}\n" \
    "compile: {optimizer: Adam, loss: sparse_categorical_crossentropy}\nfit: {epochs: 1}\n"

#endif
