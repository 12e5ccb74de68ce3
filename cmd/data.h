/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the verbs that inspect data. Their operands are a job and its overrides, or
 * files. */
#ifndef CMD_DATA_H
#define CMD_DATA_H

#include "verb.h"

struct data_source {
    int split; /* which part of the data: index in split_choices */
    bool json;
};
extern const char *const split_choices[];

#define DATA_OPTIONS(s)                                                                            \
    CHOICE(s, source.split, "split", "PART", split_choices, "which part of a job's data"),         \
        FLAG(s, source.json, "json", "print one JSON object")

/* Opens the job if the first operand is one (- or *.yaml). Sets *job to NULL if the operands are
 * files. The caller releases the job. */
dt_status *take_data(const struct call *call, const struct data_source *from, dt_job **job,
                     dt_data_request *request);

#endif
