/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hash: the same job ends with the same weights, and tells the same numbers, however it is
 * placed. Replicas, slices and threads are no part of the mathematics; kernel libraries and
 * `reproducible` are, so each of them has a hash of its own.
 */
#define HERE "build/tmp/train-bits"
#include "exec/exec.h"
#include "kit.h"

/* 250 examples of 40 numbers: batches of 96, 96 and 58, which neither threads nor replicas
 * divide. */
#define DATA                                                                                       \
    "{format: synthetic, examples: 250, validation: 70, element: {image: {shape: [40]}, label: "   \
    "{num_classes: 10}}, "                                                                         \
    "global_batch_size: 96, shuffle: true}"
#define LAYERS                                                                                     \
    "[Input: {name: image, shape: [40]}, Dense: {units: 96, activation: relu}, Dense: {units: "    \
    "33, activation: relu}, "                                                                      \
    "Dense: {units: 10, activation: softmax}]"
#define COMPILE(optimizer)                                                                         \
    "{optimizer: " optimizer ", loss: SparseCategoricalCrossentropy, metrics: [accuracy]}"

static setup job(void) {
    return (setup){.layers = LAYERS,
                   .data = DATA,
                   .compile = COMPILE("Adam"),
                   .fit = "{epochs: 2}",
                   .seed = 11};
}

static const setup placements[] = {
    {.replicas = 1, .threads = 1},       {.replicas = 1, .threads = 2},
    {.replicas = 1, .threads = 3},       {.replicas = 2, .threads = 1},
    {.replicas = 4, .threads = 2},       {.replicas = 8, .threads = 3},
    {.replicas = 7, .threads = 2},       {.slice = "sim:v2-8", .threads = 1},
    {.slice = "sim:v2-8", .threads = 2}, {.slice = "sim:v3-8", .threads = 2},
    {.slice = "sim:v3-8", .threads = 3}, {.replicas = 2048, .threads = 1},
    {.replicas = 2048, .threads = 2},
};

/* One hash over all placements, into sha. */
static void expect_one_hash(const setup *mode, char sha[65]) {
    dt_str log = {0};

    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++) {
        setup s = *mode;
        s.replicas = placements[i].replicas;
        s.slice = placements[i].slice;
        s.threads = placements[i].threads;
        outcome o = fit_well(&s);
        if (i == 0) {
            snprintf(sha, 65, "%s", o.sha);
            dt_str_puts(&log, dt_str_text(&o.log));
        }
        if (strcmp(o.sha, sha) != 0 || strcmp(dt_str_text(&o.log), dt_str_text(&log)) != 0)
            fail_msg("placement %zu, %d replicas%s, %d threads: other bits\n%s%s", i,
                     o.start.replicas, s.slice ? " of a slice" : "", s.threads, dt_str_text(&o.log),
                     dt_str_text(&log));
        outcome_free(&o);
    }
    dt_str_release(&log);
}

/* Whether the library can be opened on this machine. */
static bool has_kernels(dt_kernels kernels) {
    dt_engine *e = NULL;
    dt_status *s = dt_engine_open(&e, &(dt_engine_options){.threads = 1, .kernels = kernels});
    bool there = s == NULL;

    dt_status_free(s);
    dt_engine_close(e);
    return there;
}

static void test_one_hash(void **state) {
    (void)state;
    static const struct {
        const char *name;
        dt_kernels kernels;
        int shards;
    } modes[] = {
        {"own", DT_KERNELS_AUTO, 0},          {"own, 8 shards", DT_KERNELS_AUTO, 8},
        {"openblas", DT_KERNELS_OPENBLAS, 0}, {"openblas, 8 shards", DT_KERNELS_OPENBLAS, 8},
        {"onednn", DT_KERNELS_ONEDNN, 0},     {"onednn, 8 shards", DT_KERNELS_ONEDNN, 8}};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        setup s = job();
        char sha[65];
        s.kernels = modes[i].kernels;
        s.shards = modes[i].shards;
        if (!has_kernels(s.kernels)) {
            print_message("%s: not on this machine\n", modes[i].name);
            continue;
        }
        expect_one_hash(&s, sha);
        print_message("%s: %.8s\n", modes[i].name, sha);
    }
}

/* Momentum, one-hot targets, batches that are all of one size; more shards than rows in the last
 * batch. */
static void test_one_hash_of_other_jobs(void **state) {
    (void)state;
    char sha[65];
    setup s = job();

    s.compile = COMPILE("{SGD: {learning_rate: 0.1, momentum: 0.9, nesterov: true}}");
    expect_one_hash(&s, sha);
    s.compile = "{optimizer: {Adam: {global_clipnorm: 0.5}}, loss: {CategoricalCrossentropy: "
                "{from_logits: true}}, metrics: [accuracy]}";
    s.layers = "[Input: {name: image, shape: [40]}, Dense: {units: 10}]";
    s.data = "{format: synthetic, examples: 130, element: {image: {shape: [40]}, label: "
             "{num_classes: 10}}, map: {label: [one_hot: 10]}, "
             "global_batch_size: 64}";
    expect_one_hash(&s, sha);
    s.shards = 5; /* the last batch has two rows */
    expect_one_hash(&s, sha);
}

/* Shards are another order of sums, not other sums: what a tree adds up may be there by then only
 * because the tree reads it. */
static void test_shards_change_bits_alone(void **state) {
    (void)state;
    static const char *const layers[] = {
        "RepeatVector: {n: 4}, BatchNormalization",
        "RepeatVector: {n: 3}, BatchNormalization: {synchronized: true}",
        "BatchNormalization, Dense: {units: 20}"};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        char text[256];
        double loss[2];
        snprintf(text, sizeof text,
                 "[Input: {name: image, shape: [40]}, Dense: {units: 5}, %s, Flatten, Dense: "
                 "{units: 10, activation: softmax}]",
                 layers[i]);
        for (int sharded = 0; sharded < 2; sharded++) {
            setup s = job();
            s.layers = text;
            s.shards = sharded ? 4 : 0;
            outcome o = fit_well(&s);
            loss[sharded] = dt_history_last(o.history, "loss");
            outcome_free(&o);
        }
        if (!(fabs(loss[0] - loss[1]) < 1e-4))
            fail_msg("%s: loss %.9g, in 4 shards %.9g", layers[i], loss[0], loss[1]);
    }
}

/* The hash tells different trainings apart. */
static void test_other_seeds_other_bits(void **state) {
    (void)state;
    setup s = job();
    outcome a = fit_well(&s), b = fit_well(&s);

    assert_string_equal(a.sha, b.sha);
    outcome_free(&b);
    s.seed = 12;
    b = fit_well(&s);
    assert_string_not_equal(a.sha, b.sha);
    outcome_free(&b);
    s = job();
    s.fit = "{steps: 5}";
    b = fit_well(&s);
    assert_string_not_equal(a.sha, b.sha);
    outcome_free(&a);
    outcome_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_hash),
        cmocka_unit_test(test_one_hash_of_other_jobs),
        cmocka_unit_test(test_shards_change_bits_alone),
        cmocka_unit_test(test_other_seeds_other_bits),
    };
    return cmocka_run_group_tests_name("train/bits", tests, clean_folder, NULL);
}
