/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job from texts; see draft.h. Texts in folders are turned into tf-idf weights of their words,
 * for a linear model. A single text gets a language model that predicts characters.
 */
#include <math.h>
#include <string.h>

#include "data/inspect.h"
#include "job/draft.h"

/* ---- folders of texts ---- */

/* Whether the name of a folder says that its texts have no labels, as `unsup` in aclImdb/train. */
static bool is_unlabeled(const char *name) {
    return strcmp(name, "unsup") == 0 || strcmp(name, "unlabeled") == 0;
}

/* Counts the classes and their texts, without folders of texts that have no labels. */
static void count_classes(dt_draft *d, const dt_texts_facts *f) {
    d->rarest = f->texts;
    for (int i = 0; i < f->classes.n; i++) {
        if (is_unlabeled(f->classes.v[i])) continue;
        d->classes++;
        d->examples += f->times[i];
        if (f->times[i] < d->rarest) d->rarest = f->times[i];
    }
}

static void put_label(const dt_draft *d, const dt_texts_facts *f, dt_str *out) {
    enum { LISTED = 24 };
    const bool all = d->classes == f->classes.n;
    bool first = true;
    if (all && d->classes > LISTED) {
        dt_str_printf(out, "    label: {num_classes: %lld}\n", (long long)d->classes);
        return;
    }
    dt_str_puts(out, "    label: {class_names: [");
    for (int i = 0; i < f->classes.n; i++) {
        if (is_unlabeled(f->classes.v[i])) continue;
        dt_str_puts(out, first ? "" : ", ");
        dt_put_word(out, f->classes.v[i]);
        first = false;
    }
    dt_str_printf(out, "]}   # folders that are not listed are skipped%s\n",
                  all ? "" : "; one has texts without labels, by its name");
}

static void put_texts(dt_draft *d, const dt_texts_facts *f, const char *folder) {
    const int64_t tokens = DT_DRAFT_TOKENS;
    dt_str *out = &d->dataset;
    dt_str_puts(out, "dataset:\n  format: text_folder\n  train: ");
    dt_put_word(out, folder);
    dt_str_puts(out, "   # a folder for each class\n  element:\n    text: {dtype: string");
    if (f->longest > 65535) dt_str_printf(out, ", max_bytes: %lld", (long long)f->longest);
    dt_str_printf(out, "}   # %.0f word%s on average\n", f->words, round(f->words) == 1 ? "" : "s");
    put_label(d, f, out);
    dt_str_printf(out,
                  "  map:   # learned from the training part, kept in checkpoints\n"
                  "    text: [text_vectorization: {max_tokens: %lld, output_mode: tf_idf, "
                  "pad_to_max_tokens: true}]\n"
                  "    # The %lld most frequent words, weighted by how rare they are; their order "
                  "is ignored.\n",
                  (long long)tokens, (long long)tokens);
    d->input = dt_arena_new(d->arena, dt_draft_input);
    *d->input =
        (dt_draft_input){.name = "text", .type = dt_type_of(DT_FLOAT32, 1, &tokens), .words = true};
    d->n_inputs = 1;
}

dt_status *dt_draft_texts(dt_draft *d, const char *folder) {
    dt_texts_facts f;
    DT_TRY(dt_texts_describe(d->arena, folder, &f));
    count_classes(d, &f);
    DT_TRY(dt_draft_check_folder(folder, "text", f.broken, d->classes));
    put_texts(d, &f, folder);
    d->element = "label";
    d->about = dt_arena_printf(d->arena, "%lld classes from %lld texts", (long long)d->classes,
                               (long long)d->examples);
    return NULL;
}

/* ---- one text ---- */

enum { SHORTEST = 1000, PROMPT = 12 };

typedef struct language {
    int64_t characters, vocabulary;
    /* the first characters of the text, at most PROMPT: up to a line feed, or before a '}', if one
     * comes after the first character */
    dt_str prompt;
} language;

/* Reads the first characters of the text. The model has a token for each of them, so they can be
 * a prompt. */
static dt_status *read_prompt(dt_dataset *data, language *x) {
    dt_iterator *batches = NULL;
    dt_example b;
    DT_TRY(dt_iterator_open_batches(&batches, data,
                                    &(dt_batch_options){.part = DT_PART_TRAIN, .batch = PROMPT}));
    dt_status *s = dt_iterator_next_batch(batches, &b);
    const int32_t *token = s ? NULL : (const int32_t *)b.tensor[0]->data;
    for (int64_t i = 0; !s && i < b.rows; i++) {
        const size_t before = x->prompt.size;
        dt_dataset_decode(data, token[i], i == 0, &x->prompt);
        const char last = dt_str_text(&x->prompt)[before];
        if (i == 0 || (last != '\n' && last != '}')) continue;
        if (last == '}') { /* a closing brace here would make a {word}, which a job replaces */
            x->prompt.data[before] = '\0';
            x->prompt.size = before;
        }
        break;
    }
    dt_iterator_close(batches);
    return s;
}

/* Opens the text as the job will do, but in windows of one character, and counts its characters and
 * how many different ones there are. Reads the prompt, too. */
static dt_status *survey(const char *path, language *x) {
    dt_local_str keys = {0};
    dt_json j = {.out = &keys};
    dt_dataset *data = NULL;
    dt_str_puts(&keys, "{format: text, train: ");
    dt_json_string(&j, NULL, path);
    dt_str_puts(&keys, ", element: {tokens: {shape: [1]}}, global_batch_size: 1}");
    dt_status *s = dt_without_place(dt_dataset_open(&data, "%s", dt_str_text(&keys)), "dataset");
    DT_TRY(s);
    x->characters = dt_dataset_count(data, DT_PART_TRAIN) + 1;
    x->vocabulary = dt_dataset_stored(data, 0)->classes;
    s = read_prompt(data, x);
    dt_dataset_unref(data);
    return s;
}

/* Settings of the model and of training, chosen by the length of the text. */
typedef struct language_sizes {
    int64_t window, width, layers, batch;
    double dropout, rate;
} language_sizes;

static language_sizes sizes_for(const language *x) {
    static const struct {
        int64_t below; /* the row is for texts of fewer characters than this */
        language_sizes s;
    } rows[] = {
        {50000, {32, 64, 2, 8, 0.1, 0.003}},
        {500000, {64, 96, 3, 16, 0.1, 0.002}},
        {INT64_MAX, {64, 128, 4, 16, 0, 0.002}},
    };
    int i = 0;
    while (x->characters >= rows[i].below) i++;
    return rows[i].s;
}

static void put_language_data(const language *x, const language_sizes *z, const char *path,
                              dt_str *out) {
    dt_str_puts(out, "dataset:\n  format: text   # for a table in a text file, name the column to "
                     "predict: --target COLUMN\n  train: ");
    dt_put_word(out, path);
    dt_str_printf(out,
                  "   # %lld characters, %lld different ones\n"
                  "  tokenizer: {type: char}   # or {path: tokenizer.json}, if you have one\n"
                  "  element: {tokens: {shape: [%lld], dtype: int32}}   # characters that the "
                  "model sees at once\n"
                  "  validation_split: 0.1   # the end of the text\n"
                  "  shuffle: true\n"
                  "  global_batch_size: %lld\n"
                  "  last_batch: drop_remainder\n",
                  (long long)x->characters, (long long)x->vocabulary, (long long)z->window,
                  (long long)z->batch);
}

static void put_language_model(const language *x, const language_sizes *z, dt_str *out) {
    dt_str_printf(
        out,
        "model:\n"
        "  type: sequential\n"
        "  layers:\n"
        "    - Input: {name: tokens, shape: [%lld], dtype: int32}\n"
        "    - TokenAndPositionEmbedding: {name: embed, vocabulary_size: %lld, sequence_length: "
        "%lld, embedding_dim: %lld, embeddings_initializer: {RandomNormal: {stddev: 0.02}}}\n"
        "    - Repeat:\n"
        "        for: {i: %lld}\n"
        "        layers:\n"
        "          - TransformerDecoder: {name: \"decoder_{i}\", intermediate_dim: %lld, "
        "num_heads: 4, activation: gelu, normalize_first: true, dropout: %g}\n"
        "    - LayerNormalization: {name: final_norm, epsilon: 1e-5}\n"
        "    - Tied: {name: logits, to: embed/token_embedding}   # the score of each character\n",
        (long long)z->window, (long long)x->vocabulary, (long long)z->window, (long long)z->width,
        (long long)z->layers, (long long)(4 * z->width), z->dropout);
}

/* Returns the number of epochs that gives about 4,000 steps: at least 2 and at most 60, so a short
 * text is trained for many epochs. */
static int64_t epochs_for(int64_t steps) {
    enum { STEPS = 4000, MOST = 60 };
    const int64_t n = (STEPS + steps - 1) / steps;
    return n < 2 ? 2 : n > MOST ? MOST : n;
}

static void put_language_training(const language *x, const language_sizes *z, dt_str *out) {
    const int64_t examples = (x->characters - 1) / z->window * 9 / 10,
                  steps = examples > z->batch ? examples / z->batch : 1, epochs = epochs_for(steps);
    dt_str_printf(
        out,
        "compile:\n"
        "  optimizer:\n"
        "    AdamW:   # the rate rises for 100 steps, then falls to a tenth in all %lld\n"
        "      learning_rate: {CosineDecay: {initial_learning_rate: 0.0, warmup_target: %g, "
        "warmup_steps: 100, decay_steps: %lld, alpha: 0.1}}\n"
        "      weight_decay: 0.1\n"
        "      global_clipnorm: 1.0\n"
        "  loss: {SparseCategoricalCrossentropy: {from_logits: true}}\n"
        "  metrics: [accuracy, Perplexity]\n"
        "fit:\n"
        "  epochs: %lld   # at most: training ends when val_loss has not improved for 5 epochs\n"
        "  callbacks:\n"
        "    - GenerateText: {every: %lld, prompt: ",
        (long long)(epochs * steps), z->rate, (long long)(epochs * steps), (long long)epochs,
        (long long)(epochs + 3) / 4);
    dt_json_string(&(dt_json){.out = out, .yaml = true}, NULL, dt_str_text(&x->prompt));
    dt_str_puts(out, ", max_tokens: 200, temperature: 0.8}   # shows what was learned so far\n"
                     "    - EarlyStopping: {monitor: val_loss, patience: 5, restore_best_weights: "
                     "true}\n"
                     "checkpoint: {save_freq: 30s}   # and at the end\n");
}

dt_status *dt_draft_language(dt_draft *d, const char *path) {
    language x = {0};
    dt_status *s = survey(path, &x);
    if (!s && x.characters < SHORTEST)
        s = dt_fail(DT_E_DATA_EMPTY, NULL,
                    "%s: %lld characters are too few for a language model; at least %d", path,
                    (long long)x.characters, SHORTEST);
    if (!s && x.vocabulary < 2)
        s = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: the text has one character only, again and again",
                    path);
    if (!s) {
        const language_sizes z = sizes_for(&x);
        put_language_data(&x, &z, path, &d->dataset);
        put_language_model(&x, &z, &d->dataset);
        put_language_training(&x, &z, &d->dataset);
    }
    d->body = DT_DRAFT_LANGUAGE;
    d->about = "the next character of a text";
    dt_str_release(&x.prompt);
    return s;
}
