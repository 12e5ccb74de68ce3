/* SPDX-License-Identifier: Apache-2.0 */
/* distribute_dataset: how batches are cut for replicas, and what an epoch is. */
#include "kit.h"

static dt_dataset *range(int64_t n, const char *keys) {
    dt_dataset *d = NULL;
    char name[32];

    snprintf(name, sizeof name, "range-%lld.npy", (long long)n);
    write_range(name, n);
    OK(dt_dataset_open(&d, "{format: npy, train: {x: build/tmp/strategy/%s}, %s}", name, keys));
    return d;
}

static dt_dist_dataset *distribute(dt_strategy *s, dt_dataset *d) {
    dt_dist_dataset *dist = NULL;
    OK(dt_strategy_distribute_dataset(s, d, NULL, &dist));
    return dist;
}

static dt_iterator *iterate(dt_dist_dataset *d) {
    dt_iterator *it = NULL;
    OK(dt_iterator_create(&it, d));
    return it;
}

/* All of an epoch as text: "0 1|2 3/4|5" is two batches for two replicas. */
static void read_epoch(dt_dist_dataset *d, dt_str *out) {
    dt_iterator *it = iterate(d);
    dt_values *batch = NULL;

    for (int step = 0;; step++) {
        OK(dt_iterator_next(it, &batch));
        if (!batch) break;
        dt_str_puts(out, step ? "/" : "");
        for (int r = 0; r < dt_values_locals(batch, "x"); r++) {
            const dt_tensor *t = dt_values_local(batch, "x", r);
            dt_str_puts(out, r ? "|" : "");
            for (int64_t i = 0; i < dt_tensor_elements(t); i++)
                dt_str_printf(out, i ? " %g" : "%g", get(t, i));
        }
    }
    OK(dt_iterator_next(it, &batch)); /* the end is the end, again and again */
    assert_null(batch);
    dt_iterator_unref(it);
}

static void expect_epoch(dt_dist_dataset *d, const char *wanted) {
    dt_str text = {0};

    read_epoch(d, &text);
    assert_string_equal(dt_str_text(&text), wanted);
    dt_str_release(&text);
}

/* ---- cutting ---- */

static void test_batches_are_cut_for_the_replicas(void **state) {
    (void)state;
    static const struct {
        int replicas;
        int64_t examples;
        const char *keys, *wanted;
    } cases[] = {
        /* the reference's example: 6 rows are 4 and 2 */
        {2, 14, "global_batch_size: 8", "0 1 2 3|4 5 6 7/8 9 10 11|12 13"},
        {2, 4, "global_batch_size: 2", "0|1/2|3"}, /* and its other one */
        {3, 8, "global_batch_size: 4", "0 1|2|3/4 5|6|7"},
        {3, 5, "global_batch_size: 4", "0 1|2|3/4||"},
        {5, 4, "global_batch_size: 3", "0|1|2||/3||||"}, /* more replicas than rows */
        {2, 3, "global_batch_size: 8", "0 1 2|"},        /* a batch larger than the data */
        {2, 7, "global_batch_size: 4, last_batch: drop_remainder", "0 1|2 3"},
        {2, 3, "global_batch_size: 4, last_batch: drop_remainder", ""},
        {2, 3, "global_batch_size: 2, repeat: 2", "0|1/2|0/1|2"},
        {2, 9, "global_batch_size: 2, take: 3", "0|1/2|"},
        {2, 10, "global_batch_size: 4, validation_split: 0.3", "0 1|2 3/4 5|6"},
        {3, 7, "per_replica_batch_size: 2", "0 1|2 3|4 5/6||"},
        {1, 3, "global_batch_size: 2", "0 1/2"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_strategy *s = mirrored(cases[i].replicas);
        dt_dataset *data = range(cases[i].examples, cases[i].keys);
        dt_dist_dataset *d = distribute(s, data);
        expect_epoch(d, cases[i].wanted);
        expect_epoch(d, cases[i].wanted); /* iterated again it starts over */
        dt_dist_dataset_unref(d);
        dt_dataset_unref(data);
        dt_strategy_unref(s);
    }
}

/* One entry per element, each on its replica's device. */
static void test_all_elements_are_cut_alike(void **state) {
    (void)state;
    dt_strategy *s = tpu("sim:v2-8");
    dt_dataset *data = NULL;
    dt_values *batch = NULL;

    OK(dt_dataset_open(&data, "{format: synthetic, examples: 20, element: {image: {shape: [2, 3]}, "
                              "label: {num_classes: 4}}, "
                              "global_batch_size: 12}"));
    dt_dist_dataset *d = distribute(s, data);
    dt_dataset_unref(data);
    dt_iterator *it = iterate(d);
    dt_dist_dataset_unref(d);
    OK(dt_iterator_next(it, &batch));
    OK(dt_iterator_next(it, &batch)); /* 8 of 12: 2 2 2 2 0 0 0 0 */
    assert_int_equal(dt_values_count(batch), 2);
    for (int r = 0; r < 8; r++) {
        const dt_tensor *image = dt_values_local(batch, "image", r),
                        *label = dt_values_local(batch, "label", r);
        assert_int_equal(dt_tensor_dim(image, 0), r < 4 ? 2 : 0);
        assert_int_equal(dt_tensor_dim(label, 0), r < 4 ? 2 : 0);
        assert_int_equal(dt_tensor_rank(image), 3);
        assert_int_equal(dt_tensor_rank(label), 1);
        assert_string_equal(dt_tensor_device(image), dt_strategy_device(s, r));
        assert_true(dt_values_is_per_replica(batch, "label"));
    }
    dt_strategy_unref(s);
    dt_iterator_unref(it);
    assert_int_equal(dt_values_locals(batch, "image"), 8); /* a batch outlives its iterator */
    dt_values_unref(batch);
}

/* ---- epochs ---- */

static void test_epochs_differ_when_shuffled(void **state) {
    (void)state;
    static const struct {
        const char *keys;
        bool differ;
    } cases[] = {{"shuffle: true", true},
                 {"shuffle: {seed: 3}", true},
                 {"shuffle: {reshuffle_each_iteration: false}", false},
                 {"shuffle: false", false}};
    dt_strategy *s = mirrored(2);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char keys[128];
        dt_str first = {0}, second = {0}, again = {0};
        snprintf(keys, sizeof keys, "global_batch_size: 7, %s", cases[i].keys);
        dt_dataset *data = range(40, keys);
        dt_dist_dataset *d = distribute(s, data), *anew = distribute(s, data);
        read_epoch(d, &first);
        read_epoch(d, &second);
        read_epoch(anew, &again);
        assert_int_equal(strcmp(dt_str_text(&first), dt_str_text(&second)) != 0, cases[i].differ);
        assert_string_equal(dt_str_text(&first), dt_str_text(&again));
        dt_str_release(&first);
        dt_str_release(&second);
        dt_str_release(&again);
        dt_dist_dataset_unref(d);
        dt_dist_dataset_unref(anew);
        dt_dataset_unref(data);
    }
    dt_strategy_unref(s);
}

/* The order does not depend on the number of replicas. */
static void test_shuffle_is_the_same_for_any_number_of_replicas(void **state) {
    (void)state;
    double first[40];

    for (int replicas = 1; replicas <= 8; replicas *= 2) {
        dt_strategy *s = mirrored(replicas);
        dt_dataset *data = range(40, "global_batch_size: 9, shuffle: true");
        dt_dist_dataset *d = distribute(s, data);
        dt_iterator *it = iterate(d);
        dt_values *batch = NULL;
        int n = 0;
        for (OK(dt_iterator_next(it, &batch)); batch; OK(dt_iterator_next(it, &batch)))
            for (int r = 0; r < replicas; r++) {
                const dt_tensor *t = dt_values_local(batch, "x", r);
                for (int64_t i = 0; i < dt_tensor_elements(t); i++, n++) {
                    assert_true(n < 40);
                    if (replicas == 1) first[n] = get(t, i);
                    assert_true(get(t, i) == first[n]);
                }
            }
        assert_int_equal(n, 40);
        dt_iterator_unref(it);
        dt_dist_dataset_unref(d);
        dt_dataset_unref(data);
        dt_strategy_unref(s);
    }
}

/* Two iterators of one data set are two epochs, read side by side; one left in the middle harms
 * nothing. */
static void test_iterators_are_independent(void **state) {
    (void)state;
    dt_strategy *s = mirrored(2);
    dt_dataset *data = range(6, "global_batch_size: 2");
    dt_dist_dataset *d = distribute(s, data);
    dt_iterator *a = iterate(d), *b = iterate(d);
    dt_values *x = NULL, *y = NULL;

    OK(dt_iterator_next(a, &x));
    OK(dt_iterator_next(a, &x));
    OK(dt_iterator_next(b, &y));
    is_local(x, "x", 0, SHAPE(1), X(2));
    is_local(y, "x", 1, SHAPE(1), X(1));
    OK(dt_iterator_create(&a, d)); /* replaces it */
    OK(dt_iterator_next(a, &x));
    is_local(x, "x", 0, SHAPE(1), X(0));
    dt_values_unref(x);
    dt_values_unref(y);
    dt_iterator_unref(a);
    dt_iterator_unref(b);
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(s);
}

/* per_replica_batch_size means another global batch for each strategy; one that was distributed
 * before keeps its own. */
static void test_two_strategies_share_a_data_set(void **state) {
    (void)state;
    dt_strategy *two = mirrored(2), *four = mirrored(4);
    dt_dataset *data = range(8, "per_replica_batch_size: 2");
    dt_dist_dataset *a = distribute(two, data), *b = distribute(four, data);

    expect_epoch(a, "0 1|2 3/4 5|6 7");
    expect_epoch(b, "0 1|2 3|4 5|6 7");
    expect_epoch(a, "0 1|2 3/4 5|6 7");
    dt_dist_dataset_unref(a);
    dt_dist_dataset_unref(b);
    dt_dataset_unref(data);
    dt_strategy_unref(two);
    dt_strategy_unref(four);
}

/* ---- recorded ---- */

static bool sizes_are_ours(const json_t *sizes, int64_t batch) {
    int64_t n = (int64_t)json_array_size(sizes), i;

    for (i = 0; i < n; i++)
        if (json_integer_value(json_array_get(sizes, (size_t)i)) != batch / n + (i < batch % n))
            return false;
    return n > 0;
}

static void add_rows(const json_t *rows, dt_str *out) {
    for (size_t i = 0; i < json_array_size(rows); i++)
        dt_str_printf(out, i ? " %lld" : "%lld",
                      (long long)json_integer_value(json_array_get(rows, i)));
}

/* "rebatch_v2" is a stream of pieces, `replicas` to a batch; a batch that the data does not fill is
 * followed by empty pieces here. */
static void test_recorded_pieces(void **state) {
    (void)state;
    json_t *root, *c, *cases = golden_cases("distribute_dataset.json", &root);
    int done = 0;
    size_t i;

    json_array_foreach(cases, i, c) {
        const json_t *in = json_object_get(c, "in"), *sizes = json_object_get(in, "batch_sizes");
        int64_t size = json_integer_value(json_object_get(in, "size")),
                batch = json_integer_value(json_object_get(in, "input_batch_size"));
        bool drop = json_is_true(json_object_get(in, "drop_remainder"));
        if (strcmp(text_of(c, "op"), "rebatch_v2") != 0 || !sizes_are_ours(sizes, batch) || drop)
            continue;
        const json_t *pieces = json_object_get(json_object_get(c, "out"), "elements");
        size_t n = json_array_size(sizes), total = json_array_size(pieces);
        dt_str wanted = {0};
        char keys[64];
        for (size_t p = 0; p < (total + n - 1) / n * n; p++) {
            dt_str_puts(&wanted, p == 0 ? "" : p % n ? "|" : "/");
            add_rows(json_array_get(pieces, p), &wanted);
        }
        snprintf(keys, sizeof keys, "global_batch_size: %lld", (long long)batch);
        dt_strategy *s = mirrored((int)n);
        dt_dataset *data = range(size, keys);
        dt_dist_dataset *d = distribute(s, data);
        expect_epoch(d, dt_str_text(&wanted));
        dt_str_release(&wanted);
        dt_dist_dataset_unref(d);
        dt_dataset_unref(data);
        dt_strategy_unref(s);
        done++;
    }
    json_decref(root);
    print_message("%d cases\n", done);
    assert_true(done > 0);
}

/* The recorded batches are cut by the rule that this library offers no more; which rows make a
 * batch is the same, and the cut too where both rules agree: whole batches that the replicas
 * divide. */
static void check_recorded_step(const char *id, const json_t *step, int64_t batch,
                                const dt_values *is) {
    int n = dt_values_locals(is, "x");
    int64_t all = 0, at = 0;
    double rows[64] = {0};

    for (int r = 0; r < n; r++) {
        const json_t *part = json_array_get(step, (size_t)r);
        for (size_t k = 0; k < json_array_size(part); k++)
            rows[all++] = json_number_value(json_array_get(part, k));
    }
    for (int r = 0; r < n; r++) {
        const dt_tensor *t = dt_values_local(is, "x", r);
        size_t recorded = json_array_size(json_array_get(step, (size_t)r));
        if (all == batch && batch % n == 0 && (size_t)dt_tensor_elements(t) != recorded)
            fail_msg("%s: replica %d has %lld rows, recorded %zu", id, r,
                     (long long)dt_tensor_elements(t), recorded);
        for (int64_t i = 0; i < dt_tensor_elements(t); i++, at++)
            if (at >= all || get(t, i) != rows[at])
                fail_msg("%s: replica %d, row %lld", id, r, (long long)i);
    }
    if (at != all) fail_msg("%s: %lld rows, recorded %lld", id, (long long)at, (long long)all);
}

static void run_recorded(const json_t *c) {
    const json_t *in = json_object_get(c, "in"),
                 *steps = json_object_get(json_object_get(c, "out"), "steps");
    int64_t batch = json_integer_value(json_object_get(in, "global_batch_size"));
    dt_strategy *s = mirrored(
        (int)json_integer_value(json_object_get(json_object_get(in, "strategy"), "num_replicas")));
    char keys[64];
    dt_values *is = NULL;

    snprintf(keys, sizeof keys, "global_batch_size: %lld%s", (long long)batch,
             json_is_true(json_object_get(in, "drop_remainder")) ? ", last_batch: drop_remainder"
                                                                 : "");
    dt_dataset *data = range(json_integer_value(json_object_get(in, "size")), keys);
    dt_dist_dataset *d = distribute(s, data);
    dt_iterator *it = iterate(d);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        OK(dt_iterator_next(it, &is));
        assert_non_null(is);
        check_recorded_step(text_of(c, "id"), json_array_get(steps, i), batch, is);
    }
    OK(dt_iterator_next(it, &is));
    assert_null(is);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(s);
}

static void test_recorded_batches(void **state) {
    (void)state;
    json_t *root, *c, *cases = golden_cases("distribute_dataset.json", &root);
    int done = 0;
    size_t i;

    json_array_foreach(cases, i, c) if (strcmp(text_of(c, "op"), "distribute_range_batch") == 0) {
        run_recorded(c);
        done++;
    }
    json_decref(root);
    print_message("%d cases\n", done);
    assert_true(done > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_are_cut_for_the_replicas),
        cmocka_unit_test(test_all_elements_are_cut_alike),
        cmocka_unit_test(test_epochs_differ_when_shuffled),
        cmocka_unit_test(test_shuffle_is_the_same_for_any_number_of_replicas),
        cmocka_unit_test(test_iterators_are_independent),
        cmocka_unit_test(test_two_strategies_share_a_data_set),
        cmocka_unit_test(test_recorded_pieces),
        cmocka_unit_test(test_recorded_batches),
    };
    return cmocka_run_group_tests_name("distribute", tests, NULL, NULL);
}
