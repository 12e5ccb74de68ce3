/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain predict: prints or writes a model's outputs, row by row. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "env.h"
#include "verb.h"
#include "watch.h"
#include "local_workers.h"

struct predict {
    struct common common;
    struct place place;
    struct compute compute;
    const char *checkpoint, *input, *output, *threshold, *classes_above, *keep;
    int64_t top, workers, rank;
    int split, format, on_error;
};

static const char *const on_errors[] = {"stop", "row", NULL};
static const char *const splits[] = {"validation", "test", "train", NULL};
static const char *const formats[] = {"auto", "csv", "npy", "npz", "jsonl", "png", NULL};

/* The state of one call of `predict`. One function releases all of it. */
struct prediction {
    const struct call *call;
    const struct predict *my;
    dt_job_source source;
    struct watch watch;
    dt_row_writer_options rows;
    char *names;       /* a copy of the argument of --keep, cut into names; owned */
    const char **keep; /* [n_keep] the names of the columns to keep, in `names` */
    int n_keep;
    dt_row_writer *writer;
    dt_job *job;
};

static const char *output_of(const struct predict *my) { return my->output ? my->output : "-"; }

/* Reads a probability between 0 and 1, both excluded. If the option is not given (text NULL), it is
 * 0. */
static dt_status *read_probability(const struct call *call, const char *name, const char *text,
                                   double *out) {
    *out = 0;
    if (!text || (dt_parse_double(text, out) && *out > 0 && *out < 1)) return NULL;
    return usage_error(call, "--%s must be a probability between 0 and 1, such as 0.5, got '%s'",
                       name, text);
}

static dt_status *read_selection(struct prediction *p) {
    const struct predict *my = p->my;
    dt_row_writer_options *o = &p->rows;
    o->top = my->top;
    DT_TRY(read_probability(p->call, "threshold", my->threshold, &o->threshold));
    DT_TRY(read_probability(p->call, "classes-above", my->classes_above, &o->classes_above));
    if ((o->top > 0) + (o->threshold > 0) + (o->classes_above > 0) > 1)
        return usage_error(p->call, "--top, --threshold and --classes-above each select classes; "
                                    "give one of them");
    return NULL;
}

/* Cuts the argument of --keep at commas. */
static dt_status *read_keep(struct prediction *p) {
    if (!p->my->keep) return NULL;
    if (!p->my->input)
        return usage_error(p->call,
                           "--keep copies columns of a file of rows; name it with --input");
    p->names = dt_strdup(p->my->keep);
    p->keep = dt_alloc((strlen(p->names) + 1) * sizeof *p->keep);
    for (char *at = p->names, *next; at; at = next) {
        next = strchr(at, ',');
        if (next) *next++ = '\0';
        for (int i = 0; i < p->n_keep; i++)
            if (strcmp(p->keep[i], at) == 0)
                return usage_error(p->call, "--keep names column '%s' twice", at);
        if (!*at) return usage_error(p->call, "--keep has an empty name; write --keep id,name");
        p->keep[p->n_keep++] = at;
    }
    return NULL;
}

static dt_status *read_on_error(struct prediction *p) {
    if (!p->my->on_error || p->my->input) return NULL;
    return usage_error(p->call, "--on-error row answers rows of a file; name it with --input");
}

static dt_status *read_call(struct prediction *p) {
    dt_status *s = take_job(p->call, &p->my->place, &p->source);
    if (s) return s;
    if (p->my->input && strcmp(p->my->input, "-") == 0 && strcmp(p->source.path, "-") == 0)
        return usage_error(p->call, "standard input holds the job or the examples, not both");
    if (p->my->input && p->my->split >= 0)
        return usage_error(p->call, "--split names a part of the job's data, which --input "
                                    "replaces; leave one of them out");
    DT_TRY(read_keep(p));
    DT_TRY(read_on_error(p));
    return read_selection(p);
}

static dt_status *open_writer(struct prediction *p) {
    const struct predict *my = p->my;
    const char *output = output_of(my);
    if (p->watch.silent) return NULL;
    const char *format = my->format ? formats[my->format] : strcmp(output, "-") == 0 ? "csv" : NULL;
    if (strcmp(output, "-") == 0) out_end_with_readers();
    p->rows.path = output;
    p->rows.format = format;
    p->rows.input = my->input;
    return dt_row_writer_open(&p->writer, &p->rows);
}

/* Discards rows. Workers other than the first use this function, because the first worker writes
 * the rows of all workers. */
static dt_status *drop_rows(const dt_predicted_rows *rows, void *user) {
    (void)rows, (void)user;
    return NULL;
}

static dt_status *predict(struct prediction *p) {
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
        .split = splits[my->split < 0 ? 0 : my->split],
        .keep = p->keep,
        .n_keep = p->n_keep,
        .answers_bad_rows = p->my->on_error == 1,
        .rows = p->watch.silent ? drop_rows : dt_row_writer_put,
        .user = p->writer,
    };
    return dt_job_predict(p->job, &request, &options, NULL);
}

static dt_status *finish(struct prediction *p) {
    int64_t rows;
    if (p->watch.silent) return NULL;
    dt_status *s = dt_row_writer_finish(p->writer, &rows);
    if (!s && !p->call->out->quiet && strcmp(output_of(p->my), "-") != 0)
        out_field(p->call->out, "wrote", "%s, outputs of %lld example%s", p->my->output,
                  (long long)rows, rows == 1 ? "" : "s");
    return s;
}

static dt_status *run_all(struct prediction *p) {
    dt_status *s = dt_job_open(&p->job, &p->source);
    p->watch.silent = dt_job_worker(p->job) > 0;
    if (!s) s = open_writer(p);
    if (!s) s = predict(p);
    return s ? s : finish(p);
}

static void release(struct prediction *p) {
    dt_row_writer_unref(p->writer);
    dt_job_unref(p->job);
    free(p->names);
    free(p->keep);
}

static int run_here(const struct call *call) {
    struct prediction p = {.call = call, .my = call->settings};
    dt_status *s = read_call(&p);
    if (s) {
        release(&p);
        return out_error(call->out, s);
    }
    p.watch = (struct watch){.out = call->out, .path = p.source.path};
    p.source.purpose = DT_FOR_PREDICT;
    workers_take_rank(&p.source, p.my->rank);
    s = run_all(&p);
    int code = s ? watch_error(&p.watch, s) : 0;
    watch_end(&p.watch, code);
    watch_release(&p.watch);
    release(&p);
    return code;
}

static int run(const struct call *call) {
    const struct predict *my = call->settings;
    int code = 0;
    return workers_begin(call, my->workers, &code) ? run_here(call) : code;
}

static const struct option options[] = {
    PATH(struct predict, output, "output", "FILE",
         "output file (.csv, .npy, .npz or .jsonl), or FOLDER/ for masks; default: -, standard "
         "output",
         .letter = 'o'),
    CHOICE(struct predict, format, "format", "FORM", formats,
           "output format; auto: by the end of FILE, csv for standard output"),
    PATH(struct predict, input, "input", "FILE",
         "predict these examples instead of the job's data: a file, a folder of pictures (or of "
         "class folders), a pattern such as 'new/*.png', or - for standard input"),
    CHOICE(struct predict, on_error, "on-error", "WHAT", on_errors,
           "when a row of --input, CSV or JSON lines, cannot be read: stop, or answer the row with "
           "its error and continue"),
    TEXT(struct predict, keep, "keep", "NAME,...",
         "copy these columns of --input, CSV or JSON lines, to the output"),
    INTEGER(struct predict, top, "top", "K",
            "write only the K largest values of each row, the most likely classes", .min = 1,
            .max = 1 << 20),
    TEXT(struct predict, threshold, "threshold", "T",
         "write the class of each row, of outputs with two classes: the second one, if its "
         "probability is at least T"),
    TEXT(struct predict, classes_above, "classes-above", "P",
         "write only the classes of each row whose probability is above P, the most likely first"),
    PATH(struct predict, checkpoint, "ckpt", "PATH",
         "the checkpoint or saved model; default: the newest in output.dir"),
    WORKERS_OPTION(struct predict, "predict"),
    RANK_OPTION(struct predict),
    CHOICE(struct predict, split, "split", "PART", splits, "the split of the job's data",
           .min = -1),
    COMPUTE_OPTIONS(struct predict),
    BACKEND_OPTIONS(struct predict),
    PLACE_OPTIONS(struct predict),
    OPTIONS_END};
const struct verb verb_predict = {
    .name = "predict",
    .group = "Train",
    .line = "write the outputs of a model",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain predict job.yaml                               the validation data, newest "
        "checkpoint, as CSV\n"
        "  dtrain predict job.yaml --input x.npy -o y.npy        the examples of a file\n"
        "  dtrain predict job.yaml --input cat.png --top 3       the three most likely classes\n"
        "  ... | dtrain predict job.yaml --input - --format jsonl | ...      answer each row as it "
        "arrives\n",
    .more =
        "The format of FILE is detected from its content: NPY, NPZ, IDX, CSV, JSON lines, "
        "TFRecord of tf.Examples, or a\n"
        "picture, plain or gzip. A row is an example as the job's data set stores it, and the "
        "job's "
        "`map` is applied. CSV of\n"
        "a job of CSV has its columns; labels may be missing. Other CSV has a header with the "
        "names "
        "that `data convert`\n"
        "writes, or the values of the inputs in order. JSON lines name columns or elements: "
        "{\"age\": 30, \"sex\": \"male\"},\n"
        "{\"INPUT\": [...]}, or [...] for a single input; one list may hold all rows.\n"
        "The job needs neither `compile` nor `fit`.\n\n"
        "CSV has a header OUTPUT_0, OUTPUT_1, ..., of a regression the target's names; a JSON line "
        "is\n"
        "{\"OUTPUT\": [...]}. If the "
        "loss is a cross-entropy (or,\n"
        "without `compile`, the last activation is softmax or sigmoid) the values are "
        "probabilities, even if the model\n"
        "returns logits; a single sigmoid has two, of class 0 and of class 1. Classes that "
        "have names in the training\n"
        "data (a vocabulary, folders, columns) keep them: OUTPUT_ring, {\"OUTPUT\": {\"ring\": "
        "0.9, ...}}. Rows of pictures\n"
        "from a folder begin with the file: a column `file`, \"file\": \"...\". With --top: "
        "columns OUTPUT_class_0,\n"
        "OUTPUT_score_0, ...; [{\"class\": \"ring\", \"score\": 0.9}, ...]. With --threshold: "
        "columns "
        "OUTPUT_class and\n"
        "OUTPUT_score, the probability of that class; {\"class\": ..., \"score\": ...}. With "
        "--classes-above: columns\n"
        "OUTPUT_classes, such as cat|dog, and OUTPUT_scores; the list of --top.\n"
        "Columns of --keep come first, as the input has them. With --on-error row, CSV has a last "
        "column `error`, and a\n"
        "JSON line of a bad row is {\"error\": \"...\"}; JSON that is read has one row a line.\n\n"
        "NPY and NPZ hold the outputs exactly as the model returns them, shape (rows, ...): "
        "NPY a single output, NPZ each\n"
        "output by name. With --top, NPY holds class numbers (rows, K), and NPZ holds "
        "OUTPUT_class and OUTPUT_score.\n"
        "A folder (-o masks/, or --format png) holds a PNG for each example, with the number of "
        "the likeliest class of each\n"
        "pixel and a palette; of a single label, 1 where its probability is at least --threshold "
        "(0.5).\n",
    .options = options,
    .runs_jobs = true,
    .size = sizeof(struct predict),
    .run = run,
};
