/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs `dtrain config ...`, except config_reference.c. */
#include <string.h>
#include <sys/stat.h>

#include "verb.h"

/* ---- config init: prints a job to start from ---- */

struct config_init {
    struct common common;
    struct words from;
    const char *target;
};

/* HEAD and TAIL are the beginning and the end of the jobs that `config init` prints. Each trains
 * without changes, on generated examples, and has a comment with the lines for the user's own
 * data. */
#define HEAD(name, about)                                                                          \
    "# " about " Train it with: dtrain fit FILE\n"                                                 \
    "version: 1\n"                                                                                 \
    "name: " name "\n"                                                                             \
    "seed: 42\n"                                                                                   \
    "# strategy: {type: mirrored}         # a replica on each core; default: one\n"                \
    "dataset:\n"                                                                                   \
    "  # For your own data, use these lines instead of format, examples, element:\n"
#define TAIL                                                                                       \
    "compile:\n"                                                                                   \
    "  optimizer: {Adam: {learning_rate: 0.001}}\n"                                                \
    "  loss: {SparseCategoricalCrossentropy: {from_logits: true}}\n"                               \
    "  metrics: [accuracy]\n"                                                                      \
    "fit: {epochs: 5}\n"

static const struct {
    const char *name, *text;
} rows[] = {
    {"mlp",
     HEAD("mlp", "Small images, one hidden layer.") "  #   format: idx                     # the "
                                                    "format of MNIST; or npy\n"
                                                    "  #   train: {image: images-idx3-ubyte, "
                                                    "label: labels-idx1-ubyte}\n"
                                                    "  #   map: {image: [rescale: {scale: "
                                                    "0.00392156862745098}]}\n"
                                                    "  format: synthetic\n"
                                                    "  examples: 2000\n"
                                                    "  element: {image: {shape: [28, 28]}, label: "
                                                    "{num_classes: 10}}\n"
                                                    "  validation_split: 0.2               # the "
                                                    "last examples\n"
                                                    "  shuffle: true\n"
                                                    "  global_batch_size: 64               # for "
                                                    "all replicas together\n"
                                                    "model:\n"
                                                    "  layers:\n"
                                                    "    - Input: {name: image, shape: [28, 28]}\n"
                                                    "    - Flatten\n"
                                                    "    - Dense: {units: 128, activation: relu}\n"
                                                    "    - Dense: {units: 10, name: logits}   # "
                                                    "one per class\n" TAIL},
    {"cnn", HEAD("cnn", "Images, two convolutions.") "  #   format: image_folder\n"
                                                     "  #   train: photos                   # a "
                                                     "folder for each class\n"
                                                     "  #   element:\n"
                                                     "  #     image: {shape: [32, 32, 3], "
                                                     "interpolation: bilinear}\n"
                                                     "  #     label: {num_classes: 10}\n"
                                                     "  #   map: {image: [rescale: {scale: "
                                                     "0.00392156862745098}]}\n"
                                                     "  format: synthetic\n"
                                                     "  examples: 500\n"
                                                     "  element: {image: {shape: [32, 32, 3]}, "
                                                     "label: {num_classes: 10}}\n"
                                                     "  validation_split: 0.2\n"
                                                     "  shuffle: true\n"
                                                     "  global_batch_size: 32\n"
                                                     "model:\n"
                                                     "  layers:\n"
                                                     "    - Input: {name: image, shape: [32, 32, "
                                                     "3]}   # rows, columns, channels\n"
                                                     "    - Conv2D: {filters: 16, kernel_size: 3, "
                                                     "padding: same, activation: relu}\n"
                                                     "    - MaxPooling2D: {pool_size: 2}\n"
                                                     "    - Conv2D: {filters: 32, kernel_size: 3, "
                                                     "padding: same, activation: relu}\n"
                                                     "    - GlobalAveragePooling2D\n"
                                                     "    - Dense: {units: 10, name: logits}   # "
                                                     "one per class\n" TAIL},
    {"text",
     HEAD("text",
          "Texts, sorted into classes.") "  #   format: csv\n"
                                         "  #   train: texts.csv\n"
                                         "  #   element:\n"
                                         "  #     words: {column: text, dtype: string}\n"
                                         "  #     label: {column: topic, vocabulary: [art, food, "
                                         "music, sport]}\n"
                                         "  #   map:\n"
                                         "  #     words:\n"
                                         "  #       - text_vectorization: {max_tokens: 500, "
                                         "output_sequence_length: 64}\n"
                                         "  format: synthetic\n"
                                         "  examples: 1000\n"
                                         "  element: {words: {shape: [64], num_classes: 500}, "
                                         "label: {num_classes: 4}}\n"
                                         "  validation_split: 0.2\n"
                                         "  shuffle: true\n"
                                         "  global_batch_size: 32\n"
                                         "model:\n"
                                         "  layers:\n"
                                         "    - Input: {name: words, shape: [64], dtype: int32}\n"
                                         "    - Embedding: {input_dim: 500, output_dim: 32}   # "
                                         "500: max_tokens\n"
                                         "    - GlobalAveragePooling1D\n"
                                         "    - Dense: {units: 32, activation: relu}\n"
                                         "    - Dense: {units: 4, name: logits}    # one per "
                                         "class\n" TAIL},
    {"tabular",
     HEAD("tabular",
          "Rows of a table, sorted into classes.") "  #   format: csv\n"
                                                   "  #   train: table.csv\n"
                                                   "  #   element:\n"
                                                   "  #     x: {columns: [age, height, income, "
                                                   "size]}\n"
                                                   "  #     label: {column: plan, vocabulary: "
                                                   "[basic, plus, pro]}\n"
                                                   "  format: synthetic\n"
                                                   "  examples: 2000\n"
                                                   "  element: {x: {shape: [4]}, label: "
                                                   "{num_classes: 3}}\n"
                                                   "  map: {x: [normalize]}               # mean "
                                                   "0, variance 1; keep this line\n"
                                                   "  validation_split: 0.2               # the "
                                                   "last examples\n"
                                                   "  shuffle: true\n"
                                                   "  global_batch_size: 64\n"
                                                   "model:\n"
                                                   "  layers:\n"
                                                   "    - Input: {name: x, shape: [4]}       # one "
                                                   "per column\n"
                                                   "    - Dense: {units: 64, activation: relu}\n"
                                                   "    - Dense: {units: 32, activation: relu}\n"
                                                   "    - Dense: {units: 3, name: logits}    # one "
                                                   "per class\n" TAIL},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Prints a job for the user's data, which the library writes. */
static int draft(const struct call *call) {
    const struct config_init *my = call->settings;
    char *text = NULL;
    if (call->operands.n > 0)
        return out_error(call->out,
                         usage_error(call, "either a kind of job or --from FILE, not both"));
    dt_status *s = dt_job_draft(
        &(dt_draft_request){.files = my->from.at, .n_files = my->from.n, .target = my->target},
        &text);
    return out_result(call->out, s, text);
}

static int run_init(const struct call *call) {
    const struct config_init *my = call->settings;
    if (my->from.n > 0) return draft(call);
    if (my->target) return out_error(call->out, usage_error(call, "--target needs --from FILE"));
    if (call->operands.n != 1)
        return out_error(
            call->out, usage_error(call, "one kind of job is expected: mlp, cnn, text or tabular"));
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, call->operands.at[0]) == 0) {
            out_text(call->out, rows[i].text);
            return 0;
        }
    return out_error(call->out,
                     usage_error(call, "unknown kind of job '%s'; known: mlp, cnn, text, tabular",
                                 cut_word(call->operands.at[0]).text));
}

static const struct option init_options[] = {
    LIST(struct config_init, from, "from", "FILE",
         "write a job for this data: a table (csv, jsonl), a folder of pictures or texts, "
         "a text (x.txt), or [NAME=]FILE of npy and npz; repeat it for several files",
         .path = true),
    TEXT(struct config_init, target, "target", "COLUMN", "the column or array to predict"),
    OPTIONS_END};
const struct verb verb_config_init = {
    .name = "config init",
    .group = "Other",
    .line = "print a job to start from, or one for your data",
    .operands = "mlp|cnn|text|tabular | --from FILE --target COLUMN",
    .examples = "  dtrain config init --from people.csv --target income > job.yaml\n"
                "  dtrain config init --from photos > job.yaml       a folder for each class\n"
                "  dtrain config init --from play.txt > job.yaml     a language model\n"
                "  dtrain config init tabular > job.yaml && dtrain fit job.yaml\n",
    .more = "With --from, the job trains on your data as it is; its comments say what was decided "
            "and why. Otherwise it\n"
            "trains on generated examples, and its comments say what to change for your own "
            "data.\n",
    .options = init_options,
    .size = sizeof(struct config_init),
    .run = run_init,
};

/* ---- config show: prints the resolved job ---- */

struct config_show {
    struct common common;
    struct place place;
    bool origin;
};

static int run_show(const struct call *call) {
    const struct config_show *my = call->settings;
    dt_job_source source;
    dt_job *job = NULL;
    char *text = NULL;
    dt_status *s = take_job(call, &my->place, &source);
    if (!s) {
        source.purpose = DT_FOR_TOPOLOGY;
        s = dt_job_open(&job, &source);
    }
    if (!s) s = dt_job_config_text(job, my->origin, &text);
    dt_job_unref(job);
    return out_result(call->out, s, text);
}

static const struct option show_options[] = {
    FLAG(struct config_show, origin, "origin",
         "show where each value comes from: file and line, override or default"),
    PLACE_OPTIONS(struct config_show), OPTIONS_END};
const struct verb verb_config_show = {
    .name = "config show",
    .group = "Inspect",
    .line = "print the job with extends, overrides and variables resolved",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain config show job.yaml                            as a job file, with defaults\n"
        "  dtrain config show --origin job.yaml fit.epochs=3      and where each value comes "
        "from\n",
    .options = show_options,
    .size = sizeof(struct config_show),
    .run = run_show,
};

/* ---- config diff: shows how two jobs, or a job and a run, differ ---- */

struct config_diff {
    struct common common;
    struct place place;
};

/* The two sides of the comparison: the job `a`, and the job `b` or, if that is NULL, the job that
 * the run in the folder `run` was trained with. */
struct sides {
    dt_job *a, *b;
    const char *run;
};

static dt_status *open_job(const struct call *call, const char *path, bool overridden,
                           dt_job **out) {
    const struct config_diff *my = call->settings;
    dt_job_source source = {
        .path = path, .directory = my->place.directory, .purpose = DT_FOR_TOPOLOGY};
    if (overridden) {
        source.overrides = call->operands.at + 2;
        source.n_overrides = call->operands.n - 2;
    }
    return dt_job_open(out, &source);
}

static dt_status *open_sides(const struct call *call, struct sides *sides) {
    struct stat st;
    const char *const *operand = call->operands.at;
    if (count_jobs(call) != 2 || is_override(operand[0]) || is_override(operand[1]))
        return usage_error(call, "expected two jobs, or a job and the directory of a run");
    dt_status *s = open_job(call, operand[0], false, &sides->a);
    if (s) return s;
    if (stat(operand[1], &st) != 0 || !S_ISDIR(st.st_mode))
        return open_job(call, operand[1], true, &sides->b);
    sides->run = operand[1];
    return call->operands.n == 2
               ? NULL
               : usage_error(call, "a run cannot be overridden: '%s'", cut_word(operand[2]).text);
}

static int run_diff(const struct call *call) {
    struct sides sides = {0};
    char *text = NULL;
    dt_status *s = open_sides(call, &sides);
    if (!s) s = dt_job_config_diff(sides.a, sides.b, sides.run, &text);
    dt_job_unref(sides.a);
    dt_job_unref(sides.b);
    return out_result(call->out, s, text);
}

static const struct option diff_options[] = {PLACE_OPTIONS(struct config_diff), OPTIONS_END};
const struct verb verb_config_diff = {
    .name = "config diff",
    .group = "Inspect",
    .line = "show how two jobs, or a job and a run, differ",
    .operands = "JOB JOB|RUN [key.path=value...]",
    .examples = "  dtrain config diff a.yaml b.yaml               compare key by key, after "
                "extends and substitutions\n"
                "  dtrain config diff a.yaml a.yaml seed=7        what the overrides change\n"
                "  dtrain config diff a.yaml runs/a               what changed since the newest "
                "checkpoint of the run\n",
    .more = "Lines with '-' are from the first, lines with '+' from the second. Prints nothing if "
            "there is no difference; the\n"
            "exit code is 0 either way.\n",
    .options = diff_options,
    .size = sizeof(struct config_diff),
    .run = run_diff,
};

/* ---- config schema: prints the JSON Schema of job files, for editors and other programs ---- */

struct config_schema {
    struct common common;
};

static int run_schema(const struct call *call) {
    char *text = NULL;
    dt_status *s = call->operands.n ? usage_error(call, "no operands expected, got '%s'",
                                                  cut_word(call->operands.at[0]).text)
                                    : dt_job_schema(&text);
    return out_result(call->out, s, text);
}

static const struct option schema_options[] = {OPTIONS_END};
const struct verb verb_config_schema = {
    .name = "config schema",
    .group = "Inspect",
    .line = "print a JSON Schema of job files, for editors",
    .operands = "",
    .examples = "  dtrain config schema > dtrain.schema.json\n",
    .more = "JSON Schema 2020-12, generated from the tables that dtrain reads job files with. A "
            "job that begins with\n"
            "    # yaml-language-server: $schema=dtrain.schema.json\n"
            "gets completion, explanations and checks in editors that use the YAML language server "
            "(VS Code, Neovim, Emacs, ...).\n",
    .options = schema_options,
    .size = sizeof(struct config_schema),
    .run = run_schema,
};
