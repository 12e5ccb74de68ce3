/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain data shards: shows which worker reads which examples. */
#include "data.h"

struct data_shards {
    struct common common;
    struct data_source source;
    int64_t workers;
    int policy;
};

static const char *const policies[] = {"job", "auto", "file", "data", "off", "hint", NULL};

static int run(const struct call *call) {
    const struct data_shards *my = call->settings;
    dt_data_request request;
    dt_job *job = NULL;
    char *text = NULL;
    dt_status *s = take_data(call, &my->source, &job, &request);
    if (!s)
        s = dt_data_shards(&request, (int)my->workers, my->policy ? policies[my->policy] : NULL,
                           &text);
    dt_job_unref(job);
    return out_result(call->out, s, text);
}

static const struct option options[] = {
    INTEGER(struct data_shards, workers, "workers", "N",
            "number of workers; default: those of the job's strategy; 2 for files", .letter = 'w',
            .min = 1, .max = 65536),
    CHOICE(struct data_shards, policy, "policy", "POLICY", policies,
           "auto-shard policy; job: the job's own, else auto"),
    DATA_OPTIONS(struct data_shards), OPTIONS_END};
const struct verb verb_data_shards = {
    .name = "data shards",
    .group = "Inspect",
    .line = "show which worker reads which examples, and check that each is read once",
    .operands = "JOB [key.path=value...] | [NAME=]FILE...",
    .examples = "  dtrain data shards job.yaml\n"
                "  dtrain data shards train-*.tfrecord --workers 4 --policy file\n",
    .more = "Examples have the numbers that they have in the files. They are distributed like "
            "tf.data's auto-sharding does\n"
            "it, in the global batches of the job, and the share of every worker is read. Shards "
            "that overlap although the\n"
            "policy forbids it are an error (exit code 70).\n",
    .options = options,
    .size = sizeof(struct data_shards),
    .run = run,
};
