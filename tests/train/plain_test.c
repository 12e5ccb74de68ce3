/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training against the same training written out by hand: softmax regression in double, example by
 * example, with the mean over the global batch, partial ones included. Loss and metrics of an epoch
 * are those of all its examples.
 */
#define HERE "build/tmp/train-plain"
#include "kit.h"

enum { FEATURES = 6, CLASSES = 3, EXAMPLES = 22, VALIDATION = 9 };

/* ---- by hand ---- */

typedef struct plain {
    double w[FEATURES][CLASSES], b[CLASSES];
} plain;

typedef struct scores {
    double loss, hits, n;
} scores;

/* The probabilities of one example; adds its loss and whether it is right. */
static void predict(const plain *m, const float *x, int label, double *p, scores *s) {
    double largest = -INFINITY, sum = 0;
    int best = 0;

    for (int k = 0; k < CLASSES; k++) {
        p[k] = m->b[k];
        for (int j = 0; j < FEATURES; j++) p[k] += (double)x[j] * m->w[j][k];
        if (p[k] > largest) {
            largest = p[k];
            best = k;
        }
    }
    for (int k = 0; k < CLASSES; k++) sum += exp(p[k] - largest);
    s->loss += log(sum) + largest - p[label];
    s->hits += best == label;
    s->n++;
    for (int k = 0; k < CLASSES; k++) p[k] = exp(p[k] - largest) / sum;
}

static void train_batch(plain *m, const dt_example *batch, int image, int label, double rate,
                        scores *s) {
    const float *x = (const float *)batch->tensor[image]->data;
    const int32_t *y = (const int32_t *)batch->tensor[label]->data;
    plain g = {0};
    double p[CLASSES];

    for (int64_t i = 0; i < batch->rows; i++) {
        predict(m, x + i * FEATURES, y[i], p, s);
        for (int k = 0; k < CLASSES; k++) {
            double d = (p[k] - (k == y[i])) / (double)batch->rows;
            g.b[k] += d;
            for (int j = 0; j < FEATURES; j++) g.w[j][k] += d * (double)x[i * FEATURES + j];
        }
    }
    for (int k = 0; k < CLASSES; k++) {
        m->b[k] -= rate * g.b[k];
        for (int j = 0; j < FEATURES; j++) m->w[j][k] -= rate * g.w[j][k];
    }
}

/* One pass over a part; rate 0 trains nothing. */
static scores pass(plain *m, dt_dataset *d, const dt_batch_options *o, double rate) {
    int image = dt_dataset_find(d, "image"), label = dt_dataset_find(d, "label");
    scores s = {0};
    dt_iterator *feed = NULL;
    dt_example batch;

    OK(dt_iterator_open_batches(&feed, d, o));
    for (OK(dt_iterator_next_batch(feed, &batch)); batch.rows > 0;
         OK(dt_iterator_next_batch(feed, &batch)))
        train_batch(m, &batch, image, label, rate, &s);
    dt_iterator_close(feed);
    return s;
}

static plain weights_of(dt_model *model) {
    dt_tensor *w = NULL, *b = NULL;
    plain m;

    OK(dt_model_get_weight(model, "dense/kernel", &w));
    OK(dt_model_get_weight(model, "dense/bias", &b));
    for (int k = 0; k < CLASSES; k++) {
        m.b[k] = (double)((const float *)dt_tensor_data(b))[k];
        for (int j = 0; j < FEATURES; j++)
            m.w[j][k] = (double)((const float *)dt_tensor_data(w))[j * CLASSES + k];
    }
    dt_tensor_unref(w);
    dt_tensor_unref(b);
    return m;
}

/* ---- both ---- */

static void near(const char *what, double is, double ought) {
    if (fabs(is - ought) > 1e-5 * (fabs(ought) + 1))
        fail_msg("%s: %.9g, by hand %.9g", what, is, ought);
}

static void compare(const setup *s, double rate, const char *keys, dt_last_batch last,
                    int64_t batch, bool shuffle) {
    char data[320], compile[160];
    outcome o = {0};
    setup both = *s;
    rig r;

    snprintf(data, sizeof data,
             "{format: synthetic, examples: %d, validation: %d, element: {image: {shape: [%d]}, "
             "label: {num_classes: %d}}, %s}",
             EXAMPLES, VALIDATION, FEATURES, CLASSES, keys);
    snprintf(compile, sizeof compile,
             "{optimizer: {SGD: {learning_rate: %g}}, loss: {SparseCategoricalCrossentropy: "
             "{from_logits: true}}, "
             "metrics: [accuracy]}",
             rate);
    both.layers = "[Input: {name: image, shape: [6]}, Dense: {units: 3}]";
    both.data = data;
    both.compile = compile;
    both.fit = "{epochs: 3}";
    rig_make(&r, &both);
    plain m = weights_of(r.model);
    OK(rig_trainer(&r, &both));
    OK(rig_fit(&r, &both, &o));
    for (int epoch = 0; epoch < 3; epoch++) {
        scores train = pass(
            &m, r.data,
            &(dt_batch_options){.epoch = epoch, .batch = batch, .last = last, .shuffle = shuffle},
            rate);
        scores validation =
            pass(&m, r.data, &(dt_batch_options){.part = DT_PART_VALIDATION, .batch = 4}, 0);
        near("loss", dt_history_at(o.history, "loss", epoch), train.loss / train.n);
        near("accuracy", dt_history_at(o.history, "accuracy", epoch), train.hits / train.n);
        near("val_loss", dt_history_at(o.history, "val_loss", epoch),
             validation.loss / validation.n);
        near("val_accuracy", dt_history_at(o.history, "val_accuracy", epoch),
             validation.hits / validation.n);
        assert_true(validation.n == VALIDATION);
    }
    plain is = weights_of(r.model);
    for (int k = 0; k < CLASSES; k++) {
        near("bias", is.b[k], m.b[k]);
        for (int j = 0; j < FEATURES; j++) near("kernel", is.w[j][k], m.w[j][k]);
    }
    outcome_free(&o);
    rig_free(&r);
}

static void test_partial_batches_count_by_their_examples(void **state) {
    (void)state;
    static const setup placements[] = {{.replicas = 1},       {.replicas = 3},
                                       {.replicas = 8},       {.replicas = 40},
                                       {.slice = "sim:v2-8"}, {.replicas = 2, .shards = 4}};

    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++) {
        compare(&placements[i], 0.5, "global_batch_size: 8, shuffle: true", DT_LAST_PARTIAL, 8,
                true);
        compare(&placements[i], 0.5, "global_batch_size: 7", DT_LAST_PARTIAL, 7, false);
        compare(&placements[i], 0.5, "global_batch_size: 8, last_batch: drop_remainder",
                DT_LAST_DROP, 8, false);
        compare(&placements[i], 0.5, "global_batch_size: 50", DT_LAST_PARTIAL, EXAMPLES, false);
        /* the last is one example */
        compare(&placements[i], 0.5, "global_batch_size: 21", DT_LAST_PARTIAL, 21, false);
    }
}

/* With weights that stay, the epoch's numbers are those of the untrained model over all
 * examples. */
static void test_epoch_numbers_are_of_all_examples(void **state) {
    (void)state;
    compare(&(setup){.replicas = 5}, 1e-30, "global_batch_size: 8, shuffle: true", DT_LAST_PARTIAL,
            8, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partial_batches_count_by_their_examples),
        cmocka_unit_test(test_epoch_numbers_are_of_all_examples),
    };
    return cmocka_run_group_tests_name("train/plain", tests, clean_folder, NULL);
}
