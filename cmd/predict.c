/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain predict: a model's outputs, row by row, as they are computed. */
#include <string.h>

#include "env.h"
#include "verb.h"
#include "watch.h"

struct predict {
    struct common common;
    struct place place;
    struct compute compute;
    const char *checkpoint, *input, *output;
    int64_t top;
    int split, format;
};

static const char *const splits[] = {"validation", "test", "train", NULL};
static const char *const formats[] = {"auto", "csv", "npy", "npz", "jsonl", NULL};

/* All that one run needs, so that it is taken back in one place. */
struct prediction {
    const struct call *call;
    const struct predict *my;
    dt_job_source source;
    struct watch watch;
    dt_row_writer *writer;
    dt_job *job;
};

static const char *output_of(const struct predict *my)
{
    return my->output ? my->output : "-";
}

static dt_status *read_call(struct prediction *p)
{
    dt_status *s = take_job(p->call, &p->my->place, &p->source);
    if (s)
        return s;
    if (p->my->input && strcmp(p->my->input, "-") == 0 && strcmp(p->source.path, "-") == 0)
        return usage_error(p->call, "standard input holds the job or the examples, not both");
    return NULL;
}

static dt_status *open_writer(struct prediction *p)
{
    const struct predict *my = p->my;
    const char *output = output_of(my);
    const char *format = my->format ? formats[my->format] : strcmp(output, "-") == 0 ? "csv" : NULL;
    if (strcmp(output, "-") == 0)
        out_end_with_readers();
    return dt_row_writer_open(&p->writer, &(dt_row_writer_options){.path = output, .format = format, .top = my->top});
}

static dt_status *predict(struct prediction *p)
{
    const struct predict *my = p->my;
    const dt_run_options options = {
        .threads = env_threads(p->call->out, my->compute.threads),
        .kernels = (dt_kernels)my->compute.kernels,
        .event = watch_event,
        .user = &p->watch,
    };
    const dt_predict_request request = {
        .checkpoint = my->checkpoint,
        .input = my->input,
        .split = splits[my->split],
        .rows = dt_row_writer_put,
        .user = p->writer,
    };
    return dt_job_predict(p->job, &request, &options, NULL);
}

static dt_status *finish(struct prediction *p)
{
    int64_t rows;
    dt_status *s = dt_row_writer_finish(p->writer, &rows);
    if (!s && !p->call->out->quiet && strcmp(output_of(p->my), "-") != 0)
        out_field(p->call->out, "wrote", "%s, outputs of %lld examples", p->my->output, (long long)rows);
    return s;
}

static dt_status *run_all(struct prediction *p)
{
    dt_status *s = open_writer(p);
    if (!s)
        s = dt_job_open(&p->job, &p->source);
    if (!s)
        s = predict(p);
    return s ? s : finish(p);
}

static int run(const struct call *call)
{
    struct prediction p = {.call = call, .my = call->settings};
    dt_status *s = read_call(&p);
    if (s)
        return out_error(call->out, s);
    p.watch = (struct watch){.out = call->out, .path = p.source.path};
    p.source.purpose = DT_FOR_PREDICT;
    s = run_all(&p);
    int code = s ? watch_error(&p.watch, s) : 0;
    watch_end(&p.watch, code);
    watch_release(&p.watch);
    dt_row_writer_unref(p.writer);
    dt_job_unref(p.job);
    return code;
}

static const struct option options[] = {
    TEXT(struct predict, output, "output", "FILE", "where to, .csv, .npy, .npz or .jsonl; - or not given: standard output", .letter = 'o'),
    CHOICE(struct predict, format, "format", "FORM", formats, "how rows are written; auto: as FILE ends, csv to standard output"),
    TEXT(struct predict, input, "input", "FILE", "examples in place of the job's data: a file, a folder of pictures (or of folders of them), or - for standard input"),
    INTEGER(struct predict, top, "top", "K", "only the K largest values of a row: the likeliest classes", .min = 1, .max = 1 << 20),
    TEXT(struct predict, checkpoint, "ckpt", "PATH", "the checkpoint or saved model; not given: the newest below output.dir"),
    CHOICE(struct predict, split, "split", "PART", splits, "the part of the job's data"),
    COMPUTE_OPTIONS(struct predict),
    PLACE_OPTIONS(struct predict),
    OPTIONS_END
};
const struct verb verb_predict = {
    .name = "predict",
    .group = "Train",
    .line = "write predictions",
    .operands = "JOB [key.path=value...]",
    .examples = "  dtrain predict job.yaml                               of the validation data, by the newest checkpoint, as CSV\n"
                "  dtrain predict job.yaml --input x.npy -o y.npy        of a file, row by row\n"
                "  dtrain predict job.yaml --input cat.png --top 3       the three likeliest classes\n"
                "  ... | dtrain predict job.yaml --input - --format jsonl | ...      rows are answered as they come\n",
    .more = "What FILE is, its content says: NPY, NPZ, IDX, CSV, JSON lines, TFRecord of tf.Examples, PNG, JPEG, compressed by gzip or not.\n"
            "Rows go through the job's `map`. Of CSV and TFRecord the columns and features are those of the job's `dataset.element`, labels may be missing;\n"
            "else a record's numbers are the inputs' values in order; a first record of CSV without any number is a header. JSON lines are\n"
            "{\"INPUT\": [...]} or [...]. The job needs no `compile` and no `fit`.\n\n"
            "CSV has a header OUTPUT_0, OUTPUT_1, ..., a JSON line is {\"OUTPUT\": [...]}. Where the loss is one of classes (or, without `compile`,\n"
            "the last activation is softmax or sigmoid) they hold probabilities, also of a model that gives logits; a single sigmoid has two: of class 0\n"
            "and of class 1. Classes have the names that the training data gave them (vocabulary, folders, columns): OUTPUT_ring, {\"OUTPUT\":\n"
            "{\"ring\": 0.9, ...}}; checkpoints keep them. Pictures of a folder begin with their file: a column `file`, \"file\": \"...\".\n"
            "With --top: columns OUTPUT_class_0, OUTPUT_score_0, ...; [{\"class\": \"ring\", \"score\": 0.9}, ...].\n\n"
            "NPY and NPZ hold the outputs as the model gives them, (rows, ...): NPY the only one, NPZ each by its name. With --top NPY holds the\n"
            "numbers of classes, (rows, K), NPZ those as OUTPUT_class and their probabilities as OUTPUT_score.\n",
    .options = options,
    .size = sizeof(struct predict),
    .run = run,
};
