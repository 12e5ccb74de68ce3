/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain data inspect: what data holds. */
#include "data.h"

struct data_inspect {
    struct common common;
    struct data_source source;
    int64_t records;
};

static int run(const struct call *call)
{
    const struct data_inspect *my = call->settings;
    dt_data_request request;
    dt_job *job = NULL;
    char *text = NULL;
    dt_status *s = take_data(call, &my->source, &job, &request);
    if (!s)
        s = dt_data_inspect(&request, my->records, &text);
    dt_job_unref(job);
    return out_result(call->out, s, text);
}

static const struct option options[] = {
    INTEGER(struct data_inspect, records, "records", "N", "show the first N examples", .letter = 'r', .fallback = 3, .min = 0, .max = 10000),
    DATA_OPTIONS(struct data_inspect),
    OPTIONS_END
};
const struct verb verb_data_inspect = {
    .name = "data inspect",
    .group = "Inspect",
    .line = "look at data: elements, their types, shapes and ranges, a few examples",
    .operands = "JOB [key.path=value...] | [NAME=]FILE...",
    .examples = "  dtrain data inspect job.yaml            what the model gets, after `map`\n"
                "  dtrain data inspect train.csv           a file by itself: csv, npy, npz, idx, tfrecord, by its contents\n"
                "  dtrain data inspect slides/train        a folder of pictures, a folder a class: how many, their sizes, broken ones\n"
                "  dtrain data inspect image=train-images-idx3-ubyte label=train-labels-idx1-ubyte --json\n",
    .more = "All values are read once. Of a file by itself, elements are what it has: arrays, columns, features. Columns of texts are numbers by their\n"
            "places in a vocabulary, empty fields and lists of several lengths are filled with 0; both are said.\n",
    .options = options,
    .size = sizeof(struct data_inspect),
    .run = run,
};
