/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain data convert: writes data in another format. */
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "print.h"

struct data_convert {
    struct common common;
    struct data_source source;
    const char *output;
    int64_t shards;
    bool mapped;
};

/* Prints the names of the files that were written, one per line. */
static void report_files(const struct call *call, char *lines) {
    const struct data_convert *my = call->settings;
    struct json j;
    for (char *end; (end = strchr(lines, '\n')); lines = end + 1) {
        *end = '\0';
        if (!my->source.json) {
            out_field(call->out, "wrote", "%s", lines);
            continue;
        }
        json_open_event(&j, "wrote");
        dt_json_string(&j.to, "file", lines);
        json_print(&j, call->out);
    }
}

static void report_notes(const struct call *call, const char *lines) {
    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
        out_note(call->out, "%.*s", (int)(end - lines), lines);
}

static int run(const struct call *call) {
    const struct data_convert *my = call->settings;
    dt_data_request request;
    dt_job *job = NULL;
    char *files = NULL, *notes = NULL;
    dt_status *s = my->output && *my->output ? take_data(call, &my->source, &job, &request)
                                             : usage_error(call, "-o FILE is missing");
    if (!s) {
        request.as_stored = !my->mapped;
        request.notes = &notes;
    }
    if (!s) s = dt_data_convert(&request, my->output, (int)my->shards, &files);
    if (!s && (!call->out->quiet || my->source.json)) report_files(call, files);
    if (notes && !call->out->quiet) report_notes(call, notes);
    free(files);
    free(notes);
    dt_job_unref(job);
    return out_error(call->out, s);
}

static const struct option options[] = {
    PATH(struct data_convert, output, "output", "FILE",
         "output file; its suffix selects the format: .npy .npz .idx .csv .jsonl .tfrecord",
         .letter = 'o'),
    INTEGER(struct data_convert, shards, "shards", "N",
            "write records into N files, NAME-00000-of-0000N", .fallback = 1, .min = 1,
            .max = 100000),
    FLAG(struct data_convert, mapped, "mapped",
         "with a job: write what the model gets, after `map`, instead of the stored examples"),
    DATA_OPTIONS(struct data_convert), OPTIONS_END};
const struct verb verb_data_convert = {
    .name = "data convert",
    .group = "Inspect",
    .line = "write data in another format",
    .operands = "JOB [key.path=value...] | [NAME=]FILE...",
    .examples = "  dtrain data convert train.csv -o train.npz\n"
                "  dtrain data convert image=train-images-idx3-ubyte label=train-labels-idx1-ubyte "
                "-o train.tfrecord --shards 8\n"
                "  dtrain data convert train.npz -o 'train-{element}.npy'\n"
                "  dtrain data convert job.yaml --split validation -o validation.csv\n"
                "  dtrain data convert job.yaml -o train.npz --mapped     what the model gets, "
                "after `map`\n",
    .more = "Examples of a job are written as they are stored, so that the job (and predict) can "
            "read the new files instead\n"
            "of its own. Values keep their dtype if the format supports it: tf.Example has int64, "
            "float32 and bytes; IDX has\n"
            "no int64. A file appears under its name only when it is complete. Numbers in CSV are "
            "the shortest decimals that\n"
            "read back as the same value; nan and inf are written as these words, which pandas "
            "reads and a job refuses. For\n"
            "plain files, the output reports what had to be changed, such as texts that became "
            "numbers.\n",
    .options = options,
    .size = sizeof(struct data_convert),
    .run = run,
};
