/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain data inspect: describes a data set. */
#include "data.h"

struct data_inspect {
    struct common common;
    struct data_source source;
    int64_t records;
};

static int run(const struct call *call) {
    const struct data_inspect *my = call->settings;
    dt_data_request request;
    dt_job *job = NULL;
    char *text = NULL;
    dt_status *s = take_data(call, &my->source, &job, &request);
    if (!s) s = dt_data_inspect(&request, my->records, &text);
    dt_job_unref(job);
    return out_result(call->out, s, text);
}

static const struct option options[] = {INTEGER(struct data_inspect, records, "records", "N",
                                                "show the first N examples", .letter = 'r',
                                                .fallback = 3, .min = 0, .max = 10000),
                                        DATA_OPTIONS(struct data_inspect), OPTIONS_END};
const struct verb verb_data_inspect = {
    .name = "data inspect",
    .group = "Inspect",
    .line = "show elements of data: types, shapes, ranges and examples",
    .operands = "JOB [key.path=value...] | [NAME=]FILE...",
    .examples =
        "  dtrain data inspect job.yaml            what the model gets, after `map`\n"
        "  dtrain data inspect train.csv           a file (csv, jsonl, npy, npz, idx, tfrecord, "
        "detected by content)\n"
        "  dtrain data inspect slides/train        a folder of class folders: counts, "
        "sizes, broken pictures\n"
        "  dtrain data inspect image=train-images-idx3-ubyte label=train-labels-idx1-ubyte "
        "--json\n",
    .more =
        "Reads all values once. A plain file's elements are its arrays or features. Tables (csv, "
        "jsonl) show what the\n"
        "file has: count, missing, distinct, min, mean and max of each column, over the values "
        "that are there, and the\n"
        "lines of a job that reads it. Features of tfrecord that are lists of different lengths "
        "are filled with 0, and\n"
        "the output says so.\n",
    .options = options,
    .size = sizeof(struct data_inspect),
    .run = run,
};
