/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs `dtrain data ...`. The operands of all but `data synth` are a job and its overrides, or
 * files. */
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "verb.h"

struct data_source {
    int split; /* the part of the job's data to read, as an index in split_choices */
    bool json;
};
#define DATA_OPTIONS(s)                                                                            \
    CHOICE(s, source.split, "split", "PART", split_choices, "which part of a job's data"),         \
        FLAG(s, source.json, "json", "print one JSON object")

static const char *const split_choices[] = {"train", "validation", "test", NULL};

/* Opens the job if the first operand is one (is_job). Leaves *job unchanged if the operands are
 * files. The caller releases the job. */
static dt_status *take_data(const struct call *call, const struct data_source *from, dt_job **job,
                            dt_data_request *request) {
    dt_job_source source;
    *request = (dt_data_request){.split = split_choices[from->split], .json = from->json};
    if (call->operands.n == 0) return usage_error(call, "a job or files of data are missing");
    if (!is_job(call->operands.at[0])) {
        request->files = call->operands.at;
        request->n_files = call->operands.n;
        return NULL;
    }
    dt_status *s = take_job(call, &(struct place){0}, &source);
    if (s) return s;
    source.purpose = DT_FOR_PREDICT;
    s = dt_job_open(job, &source);
    request->job = *job;
    request->title = source.path;
    return s;
}

/* ---- data inspect: describes a data set ---- */

struct data_inspect {
    struct common common;
    struct data_source source;
    int64_t records;
};

static int run_inspect(const struct call *call) {
    const struct data_inspect *my = call->settings;
    dt_data_request request;
    dt_job *job = NULL;
    char *text = NULL;
    dt_status *s = take_data(call, &my->source, &job, &request);
    if (!s) s = dt_data_inspect(&request, my->records, &text);
    dt_job_unref(job);
    return out_result(call->out, s, text);
}

static const struct option inspect_options[] = {
    INTEGER(struct data_inspect, records, "records", "N", "show the first N examples",
            .letter = 'r', .fallback = 3, .min = 0, .max = 10000),
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
    .options = inspect_options,
    .size = sizeof(struct data_inspect),
    .run = run_inspect,
};

/* ---- data convert: writes data in another format ---- */

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

static int run_convert(const struct call *call) {
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

static const struct option convert_options[] = {
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
    .options = convert_options,
    .size = sizeof(struct data_convert),
    .run = run_convert,
};

/* ---- data shards: shows which worker reads which examples ---- */

struct data_shards {
    struct common common;
    struct data_source source;
    int64_t workers;
    int policy;
};

static const char *const policies[] = {"job", "auto", "file", "data", "off", "hint", NULL};

static int run_shards(const struct call *call) {
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

static const struct option shards_options[] = {
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
    .options = shards_options,
    .size = sizeof(struct data_shards),
    .run = run_shards,
};

/* ---- data synth: generates sample data ---- */

struct data_synth {
    struct common common;
    const char *output;
    uint64_t seed;
};

static dt_status *draw(const struct call *call) {
    const struct data_synth *my = call->settings;
    if (call->operands.n == 0) return usage_error(call, "kind of data missing: digits or text");
    if (call->operands.n > 1)
        return usage_error(call, "one kind of data expected, got %d operands", call->operands.n);
    if (!my->output || !*my->output) return usage_error(call, "-o DIR is missing");
    return dt_data_synth(call->operands.at[0], my->output, my->seed);
}

static int run_synth(const struct call *call) {
    const struct data_synth *my = call->settings;
    dt_status *s = draw(call);
    if (!s && !call->out->quiet)
        out_line(call->out, "wrote %s to %s, seed %llu", call->operands.at[0], my->output,
                 (unsigned long long)my->seed);
    return out_error(call->out, s);
}

static const struct option synth_options[] = {
    PATH(struct data_synth, output, "output", "DIR", "the directory to write to; it is created",
         .letter = 'o'),
    UNSIGNED(struct data_synth, seed, "seed", "N", "seed of the random numbers (default 0)"),
    OPTIONS_END};
const struct verb verb_data_synth = {
    .name = "data synth",
    .group = "Inspect",
    .line = "generate sample data; equal seeds produce equal files",
    .operands = "digits|text",
    .examples = "  dtrain data synth digits -o build/digits\n"
                "  dtrain data synth text -o build/text\n",
    .more = "digits: handwritten-looking digits as IDX files, 10,000 to train (train-*) and 2,000 "
            "to test (t10k-*), the training part also as\n"
            "x.npy (N, 784) float32 in [0, 1] and y.npy (N, 10) one-hot.\n"
            "text: play.txt, a play of 1,115,394 characters, 65 of them different, as in Tiny "
            "Shakespeare. A small grammar generates it: a model\n"
            "trains faster on it than on a real text, and reaches a lower loss.\n",
    .options = synth_options,
    .size = sizeof(struct data_synth),
    .run = run_synth,
};
