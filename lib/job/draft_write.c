/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the job that a dt_draft describes: head, data set, model, compile and fit; see draft.h. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "job/draft.h"

/* ---- names ---- */

/* Names that inputs must not have, among them those of the layers that put_dense writes. */
static const char *const reserved[] = {"features",  "hidden",    "hidden_1", "hidden_2", "dropout",
                                       "joined",    "wide",      "output",   "all",      "logits",
                                       "dropout_1", "dropout_2", "x_units"};

static bool is_taken(const dt_draft *d, const char *name) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(reserved[i], name) == 0) return true;
    for (int i = 0; i < d->n_inputs; i++)
        if (strcmp(d->input[i].name, name) == 0) return true;
    return d->element && strcmp(d->element, name) == 0;
}

/* Returns the name, with a number appended if the target, an input or a layer already has it. */
static const char *free_name(const dt_draft *d, const char *name) {
    const char *free = name;
    for (int i = 2; is_taken(d, free); i++) free = dt_arena_printf(d->arena, "%s_%d", name, i);
    return free;
}

const char *dt_draft_name(dt_draft *d, const char *text) {
    text += strspn(text, " \t");
    char *name =
        dt_arena_printf(d->arena, "%s%.60s", isalpha((unsigned char)*text) ? "" : "c_", text);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    return free_name(d, name);
}

/* ---- sizes ---- */

/* A row of tf-idf weights is scaled to this length, because layers learn too slowly from smaller
 * values. */
enum { LENGTH_OF_WORDS = 5 };

static bool has_words(const dt_draft *d) {
    for (int i = 0; i < d->n_inputs; i++)
        if (d->input[i].words) return true;
    return false;
}

/* Whether validation gets only a tenth of the examples: if there are 200 or more, and the model
 * reads words, because it gains much from each further training example. */
static bool keeps_more(const dt_draft *d) { return has_words(d) && d->examples >= 200; }

static double validation_of(const dt_draft *d) { return keeps_more(d) ? 0.1 : 0.2; }

/* Settings of the model and of training, chosen by the number of examples. */
typedef struct sizes {
    int64_t batch, epochs, patience;
    /* units: those of the first hidden layer; each further one has half as many as the one before;
     * layers: number of hidden layers */
    int64_t units, layers;
    double dropout, rate;
} sizes;

static sizes sizes_for(const dt_draft *d) {
    static const struct {
        int64_t below; /* the row is for data sets of fewer examples than this */
        sizes s;
    } rows[] = {
        {500, {16, 200, 30, 16, 1, 0.5, 0.003}},
        {5000, {32, 200, 20, 64, 1, 0.3, 0.002}},
        {50000, {128, 100, 10, 128, 2, 0.1, 0.002}},
        {INT64_MAX, {512, 60, 6, 128, 2, 0, 0.002}},
    };
    int i = 0;
    while (d->examples >= rows[i].below) i++;
    return rows[i].s;
}

/* ---- model ---- */

static void put_input(const dt_draft_input *in, dt_str *out) {
    dt_str_printf(out, "    - Input: {name: %s, shape: [", in->name);
    for (int i = 0; i < in->type.rank; i++)
        dt_str_printf(out, "%s%lld", i ? ", " : "", (long long)in->type.dim[i]);
    dt_str_printf(out, "]%s}\n", in->rows > 0 ? ", dtype: int32" : "");
}

/* Returns a name for a layer that follows an input: "INPUT_WHAT", or that with a number. */
static const char *name_behind(const dt_draft *d, const dt_draft_input *in, const char *what) {
    const char *name = dt_arena_printf(d->arena, "%s_%s", in->name, what);
    return free_name(d, name);
}

/* Writes layers that scale an input's tf-idf weights to length LENGTH_OF_WORDS, and returns the
 * last layer's name. Words that are not in the vocabulary are left out, since new texts have many
 * more of them than the training texts. */
static const char *put_words(const dt_draft *d, const dt_draft_input *in, dt_str *out) {
    const char *place = name_behind(d, in, "places"), *known = name_behind(d, in, "known"),
               *words = name_behind(d, in, "words"), *unit = name_behind(d, in, "unit"),
               *scaled = name_behind(d, in, "scaled");
    dt_str_printf(out,
                  "    - Reshape: {name: %s, target_shape: [%lld, 1], inputs: %s}\n"
                  "    - Cropping1D: {name: %s, cropping: [1, 0], inputs: %s}   # without unknown "
                  "words, which are number 0\n"
                  "    - Flatten: {name: %s, inputs: %s}\n"
                  "    - UnitNormalization: {name: %s, inputs: %s}   # long and short texts count "
                  "alike\n"
                  "    - Rescaling: {name: %s, scale: %d, inputs: %s}\n",
                  place, (long long)in->type.dim[0], in->name, known, place, words, known, unit,
                  words, scaled, LENGTH_OF_WORDS, unit);
    return scaled;
}

/* Writes layers that turn an input into one dimension, if it has not one already, or that scale
 * words. Returns the name of the last of them, or else the input's. */
static const char *put_row_of(const dt_draft *d, const dt_draft_input *in, dt_str *out) {
    const char *name;
    if (in->words) return put_words(d, in, out);
    if (in->rows > 0) {
        name = name_behind(d, in, "embedding");
        dt_str_printf(
            out, "    - Embedding: {name: %s, input_dim: %lld, output_dim: %lld, inputs: %s}\n",
            name, (long long)in->rows, (long long)in->width, in->name);
    } else if (in->type.rank != 1) {
        name = name_behind(d, in, "row");
        dt_str_printf(out, "    - Flatten: {name: %s, inputs: %s}\n", name, in->name);
    } else return in->name;
    return name;
}

/* Writes a layer that concatenates the given layers and returns its name. A single layer needs
 * none: its own name is returned. */
static const char *put_joined(const char *name, const char *const *part, int n, dt_str *out) {
    if (n == 1) return part[0];
    dt_str_printf(out, "    - Concatenate: {name: %s, inputs: [", name);
    for (int i = 0; i < n; i++) dt_str_printf(out, "%s%s", i ? ", " : "", part[i]);
    dt_str_puts(out, "]}\n");
    return name;
}

/* Returns the regularizer of the last layer if words are among the inputs; else "". It corresponds
 * to scikit-learn's C=1 for classes, and to alpha=1 with rows of length 1 for a number. */
static const char *regularizer_of(const dt_draft *d) {
    const double parts = d->classes > 0 ? 0.5 : pow(LENGTH_OF_WORDS * d->deviation, 2),
                 trained = (1 - validation_of(d)) * (double)d->examples;
    return has_words(d) ? dt_arena_printf(d->arena, ", kernel_regularizer: {L2: {l2: %.2g}}",
                                          parts / trained)
                        : "";
}

static int64_t outputs_of(const dt_draft *d) { return d->classes > 2 ? d->classes : 1; }

/* Writes the last layers. If the target is a number, the last one scales the output to the target's
 * mean and standard deviation. */
static void put_output(const dt_draft *d, const char *from, dt_str *out) {
    if (d->classes == 2)
        dt_str_printf(out,
                      "    - Dense: {name: %s, units: 1, activation: sigmoid%s, inputs: %s}"
                      "   # the probability of the second class\n",
                      d->element, regularizer_of(d), from);
    else if (d->classes > 2)
        dt_str_printf(out, "    - Dense: {name: %s, units: %lld%s, inputs: %s}   # one per class\n",
                      d->element, (long long)outputs_of(d), regularizer_of(d), from);
    else {
        dt_str_printf(
            out,
            "    - Dense: {name: output, units: 1%s, inputs: %s}\n"
            "    # The target's spread and mean: the layers above predict numbers near 0.\n"
            "    - Rescaling: {name: %s, scale: %.6g, offset: %.6g, inputs: output}\n",
            regularizer_of(d), from, d->element, d->deviation, d->mean);
    }
    dt_str_printf(out, "  outputs: [%s]\n", d->element);
}

static const char *put_hidden(const dt_draft *d, const sizes *z, const char *from, dt_str *out) {
    for (int i = 1; i <= z->layers; i++) {
        const char *name = dt_arena_printf(d->arena, "hidden_%d", i);
        dt_str_printf(out, "    - Dense: {name: %s, units: %lld, activation: relu, inputs: %s}\n",
                      name, (long long)(z->units >> (i - 1)), from);
        from = name;
        if (z->dropout == 0) continue;
        from = dt_arena_printf(d->arena, "dropout_%d", i);
        dt_str_printf(out, "    - Dropout: {name: %s, rate: %g, inputs: %s}\n", from, z->dropout,
                      name);
    }
    return from;
}

/* Writes a model of Dense layers. Words are connected to the output directly: there are so many of
 * them that hidden layers would overfit. */
static void put_dense(const dt_draft *d, const sizes *z, dt_str *out) {
    const char **part = dt_arena_array(d->arena, const char *, d->n_inputs + 2);
    int n = 0;
    for (int i = 0; i < d->n_inputs; i++) put_input(&d->input[i], out);
    for (int i = 0; i < d->n_inputs; i++)
        if (!d->input[i].words) part[n++] = put_row_of(d, &d->input[i], out);
    if (n > 0) {
        part[0] = put_joined("features", part, n, out);
        part[1] = put_hidden(d, z, part[0], out);
        n = 2;
    }
    for (int i = 0; i < d->n_inputs; i++)
        if (d->input[i].words) part[n++] = put_row_of(d, &d->input[i], out);
    if (n > 1)
        dt_str_puts(out, "    # The inputs reach the output directly, too: a linear model is the "
                         "simplest part.\n");
    if (has_words(d))
        dt_str_printf(out,
                      "    # Words reach the output directly: %s regression of their weights. For "
                      "their order\n    # use output_mode: int, Embedding and layers for "
                      "sequences.\n",
                      d->classes > 0 ? "logistic" : "ridge");
    put_output(d, put_joined("joined", part, n, out), out);
}

/* Writes up to four convolutions, each with a pooling layer that halves the picture, as long as its
 * shorter side has 4 pixels or more; then layers that flatten the result and predict from it. */
static void put_convolutions(const dt_draft *d, dt_str *out) {
    const dt_draft_input *in = &d->input[0];
    int64_t side = in->type.dim[0] < in->type.dim[1] ? in->type.dim[0] : in->type.dim[1];
    const char *last = in->name;
    put_input(in, out);
    if (in->type.rank == 2) {
        last = "channel";
        dt_str_printf(out,
                      "    - Reshape: {name: channel, target_shape: [%lld, %lld, 1], inputs: %s}\n",
                      (long long)in->type.dim[0], (long long)in->type.dim[1], in->name);
    }
    for (int i = 1, filters = 32; i <= 4 && side >= 4; i++, side /= 2, filters *= 2) {
        dt_str_printf(out,
                      "    - Conv2D: {name: conv_%d, filters: %d, kernel_size: 3, padding: same, "
                      "activation: relu, inputs: %s}\n"
                      "    - MaxPooling2D: {name: pool_%d, inputs: conv_%d}\n",
                      i, filters > 128 ? 128 : filters, last, i, i);
        last = dt_arena_printf(d->arena, "pool_%d", i);
    }
    dt_str_printf(out,
                  "    - Flatten: {name: features, inputs: %s}\n"
                  "    - Dropout: {name: dropout, rate: 0.3, inputs: features}\n",
                  last);
    put_output(d, "dropout", out);
}

/* ---- compile, fit ---- */

static void put_compile(const dt_draft *d, const sizes *z, dt_str *out) {
    static const char *const losses[] = {"mean_squared_error", "binary_crossentropy",
                                         "{SparseCategoricalCrossentropy: {from_logits: true}}"};
    static const char *const metrics[] = {"mean_absolute_error, R2Score", "accuracy, AUC",
                                          "accuracy"};
    const int kind = d->classes == 0 ? 0 : d->classes == 2 ? 1 : 2;
    dt_str_printf(out,
                  "compile:\n"
                  "  optimizer: {Adam: {learning_rate: %g}}\n"
                  "  loss: %s\n"
                  "  metrics: [%s]\n",
                  z->rate, losses[kind], metrics[kind]);
}

static void put_fit(const dt_draft *d, const sizes *z, dt_str *out) {
    dt_str_printf(out,
                  "fit:\n"
                  "  epochs: %lld   # at most: training ends when val_loss has not improved for "
                  "%lld epochs\n"
                  "  callbacks:\n"
                  "    - EarlyStopping: {monitor: val_loss, patience: %lld, restore_best_weights: "
                  "true}\n",
                  (long long)z->epochs, (long long)z->patience, (long long)z->patience);
    if (d->classes > 0 && d->rarest * d->classes * 5 < d->examples)
        dt_str_printf(
            out,
            "  # The smallest class has %lld examples. To weigh all classes alike, write\n"
            "  # class_weight: balanced\n",
            (long long)d->rarest);
}

/* ---- the whole job ---- */

static void put_split(const dt_draft *d, const sizes *z, dt_str *out) {
    /* stratified splits need two examples of each class */
    const bool stratified = d->classes > 0 && 2 * d->classes <= d->examples;
    dt_str_printf(out, "  # A %s of the examples, drawn by the seed, is for validation%s.\n",
                  keeps_more(d) ? "tenth" : "fifth",
                  stratified ? "; each class has its share" : "");
    dt_str_printf(out, "  validation_split: {fraction: %g, shuffle: true%s%s}\n", validation_of(d),
                  stratified ? ", stratify: " : "", stratified ? d->element : "");
    dt_str_printf(out, "  shuffle: true\n  global_batch_size: %lld\n", (long long)z->batch);
}

/* Returns a name for the job: that of the first file or folder, up to its first dot, with '_' in
 * place of all but letters, digits and '-'. "job" if that is empty. */
static const char *job_name(const dt_draft *d) {
    size_t given;
    const char *path = dt_guess_path(d->guess->files[0], &given), *end = path + strlen(path);
    while (end > path && end[-1] == '/') end--;
    const char *base = end;
    while (base > path && base[-1] != '/') base--;
    while (*base == '.') base++; /* a hidden file */
    const size_t n = strcspn(base, "./");
    char *name = dt_arena_printf(d->arena, "%.*s", n < 60 ? (int)n : 60, base);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-') *p = '_';
    return *name ? name : "job";
}

static void put_head(const dt_draft *d, dt_str *out) {
    dt_str_printf(out,
                  "# Predicts %s.\n"
                  "# Written by dtrain config init; train it with: dtrain fit FILE\n",
                  d->about);
    if (d->mixed && d->examples >= 1000)
        dt_str_puts(out,
                    "# On tables of this size with columns of different kinds, gradient boosting "
                    "(XGBoost,\n# LightGBM) often predicts as well or better: compare before you "
                    "decide.\n");
    dt_str_puts(out, "version: 1\nname: ");
    dt_put_word(out, job_name(d));
    dt_str_puts(out, "\nseed: 42\n");
}

void dt_draft_write(const dt_draft *d, dt_str *out) {
    const sizes z = sizes_for(d);
    put_head(d, out);
    dt_str_add(out, dt_str_text(&d->dataset), d->dataset.size);
    if (d->body == DT_DRAFT_LANGUAGE) return;
    put_split(d, &z, out);
    dt_str_puts(out, "model:\n  type: functional\n  layers:\n");
    if (d->body == DT_DRAFT_PICTURES) put_convolutions(d, out);
    else put_dense(d, &z, out);
    put_compile(d, &z, out);
    put_fit(d, &z, out);
    dt_str_puts(out, "checkpoint: {save_freq: 30s}   # and at the end\n");
}
