/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds of several threads: the bits fed are the same for any number of them, any depth of reading
 * ahead, whether decoded examples are kept, and wherever a run begins; errors come in the order of
 * the examples.
 */
#define HERE "build/tmp/data-feed-threads"
#include "files.h"
#include "order.h"

#include <time.h>

#include "base/hash.h"
#include "data/feed.h"
#include "pictures.h"

enum { PICTURES = 45, CLASSES = 3, EPOCHS = 2 };

static const int threads[] = {1, 2, 3, 5, 8};
enum { N_THREADS = sizeof threads / sizeof *threads };

/* ---- pictures in folders ---- */

static void write_pictures(void) {
    assert_int_equal(system("rm -rf " HERE), 0);
    for (int i = 0; i < PICTURES; i++) {
        char name[64];
        snprintf(name, sizeof name, HERE "/train/%c", 'a' + i % CLASSES);
        OK(dt_dir_make(name));
        snprintf(name, sizeof name, "train/%c/%02d.png", 'a' + i % CLASSES, i);
        dt_str png = draw_png(&forms[5], i);
        write_str(name, &png);
    }
}

static dt_dataset *open_pictures(const char *keys) {
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d,
                       "{format: image_folder, train: " HERE
                       "/train, element: {image: {shape: [5, 7, 3]}, label: {num_classes: 3}},"
                       " map: {image: [zero_padding: 2, random_crop: [5, 7], random_flip: "
                       "horizontal, rescale: {scale: 0.5}]},"
                       " shuffle: true, repeat: 2, global_batch_size: 4, %s}",
                       keys));
    return d;
}

/* The bytes of everything that a feed gives, in order. */
static dt_digest digest_of(dt_dataset *d, const dt_batch_options *o) {
    dt_iterator *f = NULL;
    dt_example b;
    dt_str all = {0};
    OK(dt_iterator_open_batches(&f, d, o));
    for (OK(dt_iterator_next_batch(f, &b)); b.rows > 0; OK(dt_iterator_next_batch(f, &b)))
        for (int e = 0; e < b.n; e++) {
            assert_int_equal(b.tensor[e]->type.dim[0], b.rows);
            dt_str_add(&all, b.tensor[e]->data, (size_t)dt_type_bytes(&b.tensor[e]->type));
        }
    dt_iterator_close(f);
    dt_digest digest = dt_sha256_of(dt_str_text(&all), all.size);
    dt_str_release(&all);
    return digest;
}

static void test_bits_are_the_same_for_any_number_of_threads(void **state) {
    (void)state;
    static const char *const keys[] = {"prefetch: auto", "prefetch: 1", "prefetch: 3, cache: false",
                                       "prefetch: 100, cache: true", "num_parallel_calls: 4"};
    static const int64_t batches[] = {1, 7, 45, 1000};
    write_pictures();
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        dt_batch_options o = {.epochs = EPOCHS, .batch = batches[b], .shuffle = true, .threads = 1};
        dt_dataset *plain = open_pictures("cache: false");
        dt_digest expected = digest_of(plain, &o);
        dt_dataset_unref(plain);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            for (int t = -1; t < N_THREADS; t++) {
                dt_dataset *d = open_pictures(keys[k]);
                o.threads = t < 0 ? 0 : threads[t];
                if (strcmp(digest_of(d, &o).hex, expected.hex) != 0)
                    fail_msg("%s, batch %lld, %d threads: other bits", keys[k], (long long)o.batch,
                             o.threads);
                dt_dataset_unref(d);
            }
    }
}

/* Each pass of each epoch draws anew; the next run of the same epoch does not. */
static void test_passes_differ(void **state) {
    (void)state;
    write_pictures();
    dt_dataset *d = open_pictures("cache: true");
    dt_dataset_set_seed(d, 5);
    dt_digest of[3];
    for (int i = 0; i < 3; i++)
        of[i] = digest_of(d, &(dt_batch_options){.epoch = i % 2, .batch = 9, .threads = 2});
    assert_string_equal(of[0].hex, of[2].hex);
    assert_string_not_equal(of[0].hex, of[1].hex);
    dt_dataset_set_seed(d, 6);
    assert_string_not_equal(digest_of(d, &(dt_batch_options){.batch = 9, .threads = 2}).hex,
                            of[0].hex);
    dt_dataset_unref(d);
}

/* A run that goes on in the middle of an epoch is fed what the undisturbed one is from there. */
static void test_resume_anywhere(void **state) {
    (void)state;
    write_pictures();
    dt_dataset *d = open_pictures("cache: false"), *kept = open_pictures("prefetch: 2");
    for (int64_t step = 0; step <= 13; step += 1 + step / 4)
        assert_string_equal(digest_of(d, &(dt_batch_options){.epoch = 1,
                                                             .epochs = 2,
                                                             .first_step = step,
                                                             .batch = 7,
                                                             .shuffle = true,
                                                             .threads = 1})
                                .hex,
                            digest_of(kept, &(dt_batch_options){.epoch = 1,
                                                                .epochs = 2,
                                                                .first_step = step,
                                                                .batch = 7,
                                                                .shuffle = true,
                                                                .threads = 4})
                                .hex);
    dt_dataset_unref(d);
    dt_dataset_unref(kept);
}

/* The picture of row i, in the order of class and name. */
static void spoil(int64_t row) {
    char name[64];
    int k = (int)(row / (PICTURES / CLASSES));
    snprintf(name, sizeof name, "train/%c/%02d.png", 'a' + k,
             (int)(row % (PICTURES / CLASSES)) * CLASSES + k);
    write_file(name, "spoilt", 6);
}

static void test_errors_come_in_order(void **state) {
    (void)state;
    enum { BATCH = 8 };
    static const int64_t spoilt[] = {13, 20, 29, 44};
    int64_t first = PICTURES;
    char text[64] = "";
    write_pictures();
    ordering order = {0, PICTURES, 2, true, true};
    for (int64_t i = PICTURES - 1; i >= 0; i--)
        for (int k = 0; k < 4; k++)
            if (order_at(&order, 0, i) == spoilt[k]) {
                first = i;
                int c = (int)(spoilt[k] / 15);
                snprintf(text, sizeof text, "%c/%02d.png: not a PNG, JP", 'a' + c,
                         (int)(spoilt[k] % 15) * 3 + c);
            }
    for (int k = 0; k < 4; k++) spoil(spoilt[k]);
    for (int t = 0; t < N_THREADS; t++)
        for (int round = 0; round < 10; round++) {
            dt_dataset *d = open_pictures(round % 2 ? "cache: false" : "prefetch: 3");
            dt_iterator *f = NULL;
            dt_example b;
            OK(dt_iterator_open_batches(
                &f, d,
                &(dt_batch_options){.batch = BATCH, .shuffle = true, .threads = threads[t]}));
            for (int64_t i = 0; i < first / BATCH; i++) {
                OK(dt_iterator_next_batch(f, &b));
                assert_int_equal(b.rows, BATCH);
            }
            expect_fault(text, dt_iterator_next_batch(f, &b), DT_E_DATA_FILE, 65, text);
            OK(dt_iterator_next_batch(f, &b)); /* reported once; then the data ends */
            assert_int_equal(b.rows, 0);
            dt_iterator_close(f);
            dt_dataset_unref(d);
        }
}

/* An error of one batch, of several pieces, leaves the others readable. */
static void test_batches_by_number_outlive_errors(void **state) {
    (void)state;
    static const int64_t numbers[] = {1, 0, 1, 1, 2, 0};
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    write_pictures();
    spoil(13);
    d = open_pictures("cache: true");
    OK(dt_iterator_open_batches(&f, d, &(dt_batch_options){.batch = 8, .by_number = true}));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        dt_status *s = dt_iterator_read_batch(f, numbers[i], &b);
        if (numbers[i] == 1) {
            expect_fault("spoilt", s, DT_E_DATA_FILE, 65, "a/39.png: not a PNG, JP");
            continue;
        }
        OK(s);
        assert_int_equal(b.step, numbers[i]);
        assert_int_equal(b.rows, 8);
    }
    dt_iterator_close(f);
    dt_dataset_unref(d);
}

/* ---- examples in memory ---- */

static void test_arrays_too(void **state) {
    (void)state;
    write_idx("x.idx", 3, (uint32_t[]){200, 6, 5});
    dt_dataset *d = NULL;
    OK(dt_dataset_open(
        &d, "{format: idx, train: {x: " HERE
            "/x.idx}, map: {x: [random_flip, random_crop: [4, 3], normalize: {mean: 3, std: 2}]},"
            " shuffle: true, global_batch_size: 4, prefetch: 2}"));
    dt_digest expected =
        digest_of(d, &(dt_batch_options){.epochs = 3, .batch = 9, .shuffle = true, .threads = 1});
    for (int t = 1; t < N_THREADS; t++)
        assert_string_equal(digest_of(d, &(dt_batch_options){.epochs = 3,
                                                             .batch = 9,
                                                             .shuffle = true,
                                                             .threads = threads[t]})
                                .hex,
                            expected.hex);
    dt_dataset_unref(d);
}

/* ---- threads that come and go ---- */

static void doze(int64_t us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

static void test_closing_at_any_moment(void **state) {
    (void)state;
    write_pictures();
    dt_dataset *d = open_pictures("prefetch: 2");
    for (int i = 0; i < 60; i++) {
        dt_iterator *f = NULL;
        dt_example b;
        OK(dt_iterator_open_batches(
            &f, d,
            &(dt_batch_options){.batch = 3, .epochs = 100, .shuffle = true, .threads = 1 + i % 6}));
        for (int k = 0; k < i % 7; k++) OK(dt_iterator_next_batch(f, &b));
        if (i % 3 == 0) doze(10 * i);
        dt_iterator_close(f);
    }
    dt_dataset_unref(d);
}

/* The caller in several rhythms, so that both sides come to sleep. */
static void test_slow_and_fast_callers(void **state) {
    (void)state;
    write_pictures();
    dt_dataset *d = open_pictures("prefetch: 4");
    for (int rhythm = 1; rhythm < 8; rhythm++) {
        dt_iterator *f = NULL;
        dt_example b;
        OK(dt_iterator_open_batches(
            &f, d,
            &(dt_batch_options){.batch = 2, .epochs = 10, .shuffle = true, .threads = rhythm % 4}));
        for (int i = 0; i < 30 * rhythm; i++) {
            OK(dt_iterator_next_batch(f, &b));
            assert_int_equal(b.step, i % PICTURES);
            if (i % rhythm == 0) doze(i % 5 * 60);
        }
        dt_iterator_close(f);
    }
    dt_dataset_unref(d);
}

/* One thread serves a caller that is busy with other things; one that always waits gets more, where
 * there are cores for them. */
static void test_threads_are_added_when_they_are_needed(void **state) {
    (void)state;
    write_idx("x.idx", 3, (uint32_t[]){64, 100, 100});
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d, "{format: idx, train: {x: " HERE
                           "/x.idx}, map: {x: [resize: [200, 200]]}, global_batch_size: 4}"));
    for (int busy = 0; busy < 2; busy++) {
        dt_iterator *f = NULL;
        dt_example b;
        double spent = 0, waited = 0;
        OK(dt_iterator_open_batches(&f, d, &(dt_batch_options){.batch = 16, .epochs = 100}));
        for (int i = 0; i < (busy ? 6 : 100); i++) {
            OK(dt_iterator_next_batch(f, &b));
            spent += b.spent_s[DT_SPENT_MAP];
            waited += b.waited_s;
            if (busy) doze(100000);
        }
        assert_true(spent > 0 && waited > 0 && dt_feed_of(f)->n_threads >= 1 &&
                    dt_feed_of(f)->n_threads <= 16);
        assert_true(waited * 1e9 <= 1.001 * (double)dt_feed_of(f)->waited_ns);
        dt_iterator_close(f);
    }
    dt_dataset_unref(d);
}

/* ---- threads that prepare batches are counted ---- */

typedef struct seen {
    const _Atomic uint32_t *preparing;
    _Atomic uint32_t least, most;
} seen;

/* Called by the thread that has just filled the batch. */
static dt_status *look(void *user, const dt_example *batch, void **lent) {
    seen *s = user;
    const uint32_t n = atomic_load(s->preparing);
    (void)batch;
    *lent = NULL;
    if (n < atomic_load(&s->least)) atomic_store(&s->least, n);
    if (n > atomic_load(&s->most)) atomic_store(&s->most, n);
    return NULL;
}

static void take_nothing_back(void *user, void *lent) {
    (void)user;
    (void)lent;
}

static void test_threads_count_themselves_while_they_prepare(void **state) {
    (void)state;
    dt_dataset *d = open_pictures("num_parallel_calls: 3");
    seen s = {.preparing = dt_dataset_preparing(d), .least = UINT32_MAX};
    dt_iterator *f = NULL;
    dt_example b;
    assert_int_equal(atomic_load(s.preparing), 0);
    OK(dt_iterator_open_batches(
        &f, d,
        &(dt_batch_options){.batch = 7, .epochs = 20, .lend = {look, take_nothing_back, &s}}));
    do OK(dt_iterator_next_batch(f, &b));
    while (b.rows > 0);
    dt_iterator_close(f);
    assert_in_range(atomic_load(&s.least), 1, 3);
    assert_in_range(atomic_load(&s.most), 1, 3);
    assert_int_equal(atomic_load(s.preparing), 0);
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(test_passes_differ),
        cmocka_unit_test(test_resume_anywhere),
        cmocka_unit_test(test_errors_come_in_order),
        cmocka_unit_test(test_batches_by_number_outlive_errors),
        cmocka_unit_test(test_arrays_too),
        cmocka_unit_test(test_closing_at_any_moment),
        cmocka_unit_test(test_slow_and_fast_callers),
        cmocka_unit_test(test_threads_are_added_when_they_are_needed),
        cmocka_unit_test(test_threads_count_themselves_while_they_prepare),
    };
    return cmocka_run_group_tests_name("feed_threads", tests, NULL, NULL);
}
