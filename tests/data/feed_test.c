/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds: the batches of a plain loop over the order, whatever the batch, the ring, the file's size,
 * and wherever one begins. */
#define HERE "build/tmp/data-feed"
#include "files.h"
#include "order.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include "data/feed.h"

/* Row i of x is (i, i + 1, i + 2), of y i. */
static void write_rows(int n) {
    int32_t *x = malloc(sizeof *x * 3 * (size_t)n);
    int64_t *y = malloc(sizeof *y * (size_t)n);
    char shape[64];
    assert_true(x && y);
    for (int i = 0; i < n; i++) {
        y[i] = i;
        for (int k = 0; k < 3; k++) x[3 * i + k] = i + k;
    }
    snprintf(shape, sizeof shape, "(%d, 3)", n);
    write_npy("x.npy", "<i4", shape, x, sizeof *x * 3 * (size_t)n);
    snprintf(shape, sizeof shape, "(%d,)", n);
    write_npy("y.npy", "<i8", shape, y, sizeof *y * (size_t)n);
    free(x);
    free(y);
}

static dt_dataset *open_rows(const char *keys) {
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d,
                       "{format: npy, train: {x: " HERE "/x.npy, y: " HERE
                       "/y.npy}, map: {x: [cast: float32]}, global_batch_size: 4, %s}",
                       keys));
    return d;
}

static void check_batch(const dt_example *b, int64_t epoch, int64_t step, int64_t rows) {
    assert_int_equal(b->epoch, epoch);
    assert_int_equal(b->step, step);
    assert_int_equal(b->rows, rows);
    assert_int_equal(b->n, 2);
    assert_int_equal(b->tensor[0]->type.dtype, DT_FLOAT32);
    assert_int_equal(b->tensor[0]->type.rank, 2);
    assert_int_equal(b->tensor[0]->type.dim[0], rows);
    assert_int_equal(b->tensor[0]->type.dim[1], 3);
    assert_int_equal(b->tensor[1]->type.dim[0], rows);
    assert_int_equal((uintptr_t)b->tensor[0]->data % 64, 0);
    assert_int_equal((uintptr_t)b->tensor[1]->data % 64, 0);
}

static void check_rows(const dt_example *b, const ordering *order, int64_t first) {
    const float *x = (const float *)b->tensor[0]->data; /* (rows, 3) */
    const int64_t *y = (const int64_t *)b->tensor[1]->data;
    for (int64_t i = 0; i < b->rows; i++) {
        int64_t row = order_at(order, b->epoch, first + i);
        assert_int_equal(y[i], row);
        for (int k = 0; k < 3; k++) assert_true(x[3 * i + k] == (float)(row + k));
    }
}

/* Everything a feed gives, against the plain loop; with `keeps` the batch before as well, a moment
 * after the next one was taken. */
static void check_feed(dt_dataset *d, const dt_batch_options *o, ordering order) {
    dt_iterator *f = NULL;
    dt_example b, before = {0};
    int64_t count = dt_dataset_count(d, o->part),
            steps = dt_steps_per_epoch(count, o->batch, o->last), step = o->first_step;
    OK(dt_iterator_open_batches(&f, d, o));
    for (int64_t epoch = o->epoch; epoch < o->epoch + (o->epochs ? o->epochs : 1);
         epoch++, step = 0)
        for (; step < steps; step++) {
            int64_t left = count - step * o->batch;
            OK(dt_iterator_next_batch(f, &b));
            check_batch(&b, epoch, step, left < o->batch ? left : o->batch);
            check_rows(&b, &order, step * o->batch);
            if (o->keeps && before.rows > 0) {
                sched_yield();
                check_rows(&before, &order, before.step * o->batch);
            }
            before = b;
        }
    for (int i = 0; i < 2; i++) { /* the end stays */
        OK(dt_iterator_next_batch(f, &b));
        assert_int_equal(b.rows, 0);
    }
    dt_iterator_close(f);
}

static void test_steps_per_epoch(void **state) {
    (void)state;
    assert_int_equal(dt_steps_per_epoch(60000, 1024, DT_LAST_PARTIAL), 59);
    assert_int_equal(dt_steps_per_epoch(60000, 1024, DT_LAST_PAD), 59);
    assert_int_equal(dt_steps_per_epoch(60000, 1024, DT_LAST_DROP), 58);
    assert_int_equal(dt_steps_per_epoch(64, 8, DT_LAST_PARTIAL), 8);
    assert_int_equal(dt_steps_per_epoch(3, 8, DT_LAST_PARTIAL), 1);
    assert_int_equal(dt_steps_per_epoch(3, 8, DT_LAST_DROP), 0);
}

static void test_batches_are_those_of_a_plain_loop(void **state) {
    (void)state;
    static const int64_t batches[] = {1, 2, 7, 64, 99, 100, 101, 1000};
    write_rows(100);
    dt_dataset *d = open_rows("shuffle: true");
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        for (int last = DT_LAST_PARTIAL; last <= DT_LAST_PAD; last++)
            for (int shuffle = 0; shuffle < 2; shuffle++)
                check_feed(d,
                           &(dt_batch_options){.epoch = 2,
                                               .epochs = 3,
                                               .batch = batches[i],
                                               .last = (dt_last_batch)last,
                                               .shuffle = shuffle},
                           (ordering){0, 100, 1, shuffle, true});
    dt_dataset_unref(d);
}

static void test_ring_sizes(void **state) {
    (void)state;
    static const int ahead[] = {1, 2, 3, 5, 100};
    write_rows(100);
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) {
        char keys[64];
        snprintf(keys, sizeof keys, "prefetch: %d, shuffle: {seed: 5}, repeat: 3", ahead[i]);
        dt_dataset *d = open_rows(keys);
        for (int keeps = 0; keeps < 2; keeps++)
            check_feed(
                d, &(dt_batch_options){.epochs = 4, .batch = 7, .shuffle = true, .keeps = keeps},
                (ordering){5, 100, 3, true, true});
        dt_dataset_unref(d);
    }
}

/* Refers to a tensor through a part of it, as the value of a replica does. */
static void refer_by_part(dt_tensor **t) {
    dt_tensor *part = dt_tensor_part(*t, &(*t)->type, 0);
    dt_tensor_unref(*t);
    *t = part;
}

/* Batches that the caller refers to stay as they are, while the ring goes round several times. */
static void test_kept_batches_stay(void **state) {
    (void)state;
    write_rows(100);
    dt_dataset *d = open_rows("prefetch: 2, shuffle: {seed: 5}");
    for (int keeps = 0; keeps < 2; keeps++) {
        const dt_batch_options o = {.batch = 7, .shuffle = true, .keeps = keeps};
        ordering order = {5, 100, 1, true, true};
        dt_example_list kept = {0};
        dt_iterator *f = NULL;
        dt_example b;
        OK(dt_iterator_open_batches(&f, d, &o));
        while (OK(dt_iterator_next_example(f, &b)), b.n > 0) {
            for (int e = 0; e < b.n && kept.n % 2; e++) refer_by_part(&b.tensor[e]);
            dt_example_list_push(&kept, &b);
        }
        dt_iterator_close(f);
        assert_int_equal(kept.n, 15);
        for (int i = 0; i < kept.n; i++) {
            check_batch(&kept.v[i], 0, i, i < 14 ? 7 : 2);
            check_rows(&kept.v[i], &order, 7 * i);
        }
        dt_example_list_clear(&kept);
    }
    dt_dataset_unref(d);
}

/* A run that resumes at any step of any epoch sees what the undisturbed one saw from there. */
static void test_resume_anywhere(void **state) {
    (void)state;
    write_rows(50);
    dt_dataset *d = open_rows("shuffle: true");
    for (int64_t epoch = 0; epoch < 3; epoch++)
        for (int64_t step = 0; step <= 13; step++)
            check_feed(
                d,
                &(dt_batch_options){
                    .epoch = epoch, .first_step = step, .epochs = 2, .batch = 4, .shuffle = true},
                (ordering){0, 50, 1, true, true});
    dt_dataset_unref(d);
}

static void test_shuffle_seed(void **state) {
    (void)state;
    write_rows(50);
    dt_dataset *d = open_rows("shuffle: true"), *own = open_rows("shuffle: {seed: 3}");
    dt_dataset_set_seed(d, 8);
    dt_dataset_set_seed(own, 8);
    check_feed(d, &(dt_batch_options){.batch = 4, .shuffle = true},
               (ordering){8, 50, 1, true, true});
    check_feed(own, &(dt_batch_options){.batch = 4, .shuffle = true},
               (ordering){3, 50, 1, true, true});
    dt_dataset_unref(d);
    dt_dataset_unref(own);
}

/* So many rows that the file is read whole only when the ring has been filled row by row. */
static void test_large_file_is_read_behind_the_first_batches(void **state) {
    (void)state;
    write_rows(120000);
    dt_dataset *d = open_rows("shuffle: true, prefetch: 3");
    check_feed(d, &(dt_batch_options){.batch = 1000, .epochs = 2, .shuffle = true},
               (ordering){0, 120000, 1, true, true});
    check_feed(d, &(dt_batch_options){.batch = 1000, .shuffle = true},
               (ordering){0, 120000, 1, true, true});
    dt_dataset_unref(d);
}

/* The same rows: columns one behind the other, and as text. */
static void write_rows_in_other_ways(int n) {
    int32_t *x = malloc(sizeof *x * 3 * (size_t)n);
    char dictionary[128];
    dt_str csv = {0};
    assert_non_null(x);
    dt_str_puts(&csv, "a,b,c,y\n");
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) x[k * n + i] = i + k;
        dt_str_printf(&csv, "%d,%d,%d,%d\n", i, i + 1, i + 2, i);
    }
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '<i4', 'fortran_order': True, 'shape': (%d, 3), }", n);
    dt_str npy = npy_header(1, dictionary);
    dt_str_add(&npy, x, sizeof *x * 3 * (size_t)n);
    write_str("columns.npy", &npy);
    write_str("rows.csv", &csv);
    free(x);
}

/* Whatever holds them, rows that are wanted before the file is read whole are those of the file. */
static void test_first_batches_of_every_way_to_hold_rows(void **state) {
    (void)state;
    static const char *const ways[] = {
        "{format: npy, train: {x: " HERE "/columns.npy, y: " HERE
        "/y.npy}, map: {x: [cast: float32]}, global_batch_size: 4, prefetch: 3}",
        "{format: csv, train: " HERE "/rows.csv, element: {x: {columns: [a, b, c]}, y: {column: y, "
        "dtype: int64}}, global_batch_size: 4, prefetch: 3}",
    };
    write_rows(120000);
    write_rows_in_other_ways(120000);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            dt_dataset *d = NULL;
            OK(dt_dataset_open(&d, "%s", ways[i]));
            check_feed(d, &(dt_batch_options){.batch = 1000, .epochs = 2, .shuffle = shuffle},
                       (ordering){0, 120000, 1, shuffle, true});
            dt_dataset_unref(d);
        }
}

/* Larger than what is kept in memory: a sparse file, read row by row. */
static void test_huge_file_is_read_row_by_row(void **state) {
    (void)state;
    enum { ROWS = 300, BYTES = 1 << 20 };
    dt_str head = idx_header(8, 2, (uint32_t[]){ROWS, BYTES});
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    write_str("huge.idx", &head);
    int fd = open(HERE "/huge.idx", O_WRONLY);
    assert_true(fd >= 0);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(pwrite(fd, &(uint8_t){(uint8_t)i}, 1, 12 + (off_t)i * BYTES + 5), 1);
    assert_int_equal(ftruncate(fd, 12 + (off_t)ROWS * BYTES), 0);
    close(fd);
    OK(dt_dataset_open(&d, "{format: idx, train: {x: " HERE
                           "/huge.idx}, global_batch_size: 2, prefetch: 1}"));
    OK(dt_iterator_open_batches(&f, d, &(dt_batch_options){.batch = 2, .shuffle = true}));
    ordering order = {0, ROWS, 1, true, true};
    for (int i = 0; i < 20; i++) {
        OK(dt_iterator_next_batch(f, &b));
        for (int k = 0; k < 2; k++)
            assert_int_equal(((const uint8_t *)b.tensor[0]->data)[k * BYTES + 5],
                             order_at(&order, 0, 2 * i + k) & 255);
    }
    dt_iterator_close(f);
    dt_dataset_unref(d);
    unlink(HERE "/huge.idx");
}

/* Batches by their number, in any order and more than once, a file that feeds read late included. */
static void test_any_batch_by_its_number(void **state) {
    (void)state;
    static const int64_t rows[] = {3, 100, 120000}, numbers[] = {0, 7, 2, 2, 1 << 20, 29, 15, 0};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        write_rows((int)rows[k]);
        dt_dataset *d = open_rows("shuffle: {seed: 4}, repeat: 2, prefetch: 3");
        ordering order = {4, rows[k], 2, true, true};
        const int64_t batch = rows[k] == 3 ? 16 : 7, count = 2 * rows[k],
                      steps = dt_steps_per_epoch(count, batch, DT_LAST_PARTIAL);
        dt_iterator *f = NULL;
        dt_example b;
        OK(dt_iterator_open_batches(
            &f, d, &(dt_batch_options){.batch = batch, .shuffle = true, .by_number = true}));
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            const int64_t step = numbers[i] % steps, left = count - step * batch;
            OK(dt_iterator_read_batch(f, numbers[i], &b));
            check_batch(&b, numbers[i] / steps, step, left < batch ? left : batch);
            check_rows(&b, &order, step * batch);
        }
        expect_fault("number", dt_iterator_read_batch(f, -1, &b), DT_E_WORKERS_DISAGREE, 76,
                     "there is no batch number -1 in the data");
        expect_fault("number", dt_iterator_read_batch(f, INT64_MAX, &b), DT_E_WORKERS_DISAGREE, 76,
                     "there is no batch number 9223372036854775807 in the data");
        dt_iterator_close(f);
        dt_dataset_unref(d);
    }
}

static void own_third(const void *user, int64_t batch, int64_t rows, int64_t *from, int64_t *to) {
    const int64_t third = (batch + *(const int *)user) % 3;
    *from = rows * third / 3;
    *to = rows * (third + 1) / 3;
}

/* The rows of others may be anything. */
static void test_own_rows(void **state) {
    (void)state;
    write_rows(100);
    dt_dataset *d = open_rows("shuffle: true, prefetch: 20");
    ordering order = {0, 100, 1, true, true};
    for (int user = 0; user < 3; user++) {
        dt_iterator *f = NULL;
        dt_example b;
        OK(dt_iterator_open_batches(
            &f, d,
            &(dt_batch_options){.batch = 7, .shuffle = true, .own = own_third, .own_user = &user}));
        for (int64_t step = 0; step < 15; step++) {
            int64_t from, to;
            OK(dt_iterator_next_batch(f, &b));
            own_third(&user, step, b.rows, &from, &to);
            assert_int_equal(b.rows, step < 14 ? 7 : 2);
            assert_int_equal(b.from, from);
            assert_int_equal(b.to, to);
            for (int64_t i = from; i < to; i++)
                assert_int_equal(((const int64_t *)b.tensor[1]->data)[i],
                                 order_at(&order, 0, 7 * step + i));
        }
        dt_iterator_close(f);
    }
    dt_dataset_unref(d);
}

static void doze(int64_t us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

/* The caller slow, fast and in bursts, so that both sides come to sleep; and feeds closed at any
 * moment. */
static void test_slow_and_fast_callers(void **state) {
    (void)state;
    write_rows(1000);
    dt_dataset *d = open_rows("shuffle: true, prefetch: 4");
    ordering order = {0, 1000, 1, true, true};
    for (int rhythm = 1; rhythm < 12; rhythm++) {
        dt_iterator *f = NULL;
        dt_example b;
        OK(dt_iterator_open_batches(&f, d,
                                    &(dt_batch_options){.batch = 3, .epochs = 2, .shuffle = true}));
        for (int i = 0; i < 50 * rhythm; i++) {
            OK(dt_iterator_next_batch(f, &b));
            check_rows(&b, &order, b.step * 3);
            if (i % rhythm == 0) doze(i % 5 * 40);
        }
        assert_true(dt_feed_of(f)->waited_ns >= 0);
        dt_iterator_close(f);
    }
    dt_dataset_unref(d);
}

static void test_closing_at_once(void **state) {
    (void)state;
    write_rows(1000);
    dt_dataset *d = open_rows("shuffle: true, prefetch: 2");
    for (int i = 0; i < 200; i++) {
        dt_iterator *f = NULL;
        dt_example b;
        OK(dt_iterator_open_batches(
            &f, d, &(dt_batch_options){.batch = 3, .epochs = 100, .shuffle = true}));
        for (int k = 0; k < i % 4; k++) OK(dt_iterator_next_batch(f, &b));
        if (i % 3 == 0) doze(i);
        dt_iterator_close(f);
    }
    dt_iterator_close(NULL);
    dt_dataset_unref(d);
}

/* Training reads ahead while validation, which shares its file, is read too; the feeds keep the
 * data set alive. */
static void test_two_feeds_over_one_file(void **state) {
    (void)state;
    write_rows(120000);
    dt_dataset *d = open_rows("shuffle: true, validation_split: 0.5");
    dt_iterator *train = NULL, *validation = NULL;
    dt_example a, b;
    ordering order = {0, 60000, 1, true, true};
    OK(dt_iterator_open_batches(&train, d, &(dt_batch_options){.batch = 100, .shuffle = true}));
    OK(dt_iterator_open_batches(&validation, d,
                                &(dt_batch_options){.part = DT_PART_VALIDATION, .batch = 100}));
    dt_dataset_unref(d);
    for (int i = 0; i < 600; i++) {
        OK(dt_iterator_next_batch(train, &a));
        OK(dt_iterator_next_batch(validation, &b));
        check_rows(&a, &order, 100 * (int64_t)i);
        for (int k = 0; k < 100; k++)
            assert_int_equal(((const int64_t *)b.tensor[1]->data)[k], 60000 + 100 * i + k);
    }
    dt_iterator_close(train);
    dt_iterator_close(validation);
}

static void test_part_that_is_not_there(void **state) {
    (void)state;
    write_rows(10);
    dt_dataset *d = open_rows("shuffle: true");
    dt_iterator *f = NULL;
    expect_fault(
        "test",
        dt_iterator_open_batches(&f, d, &(dt_batch_options){.part = DT_PART_TEST, .batch = 2}),
        DT_E_DATASET_KEYS, 78, "the data set has no 'test' part");
    assert_null(f);
    dt_dataset_unref(d);
}

/* Bit 15 - 1 of the mask is SIGTERM: who may be sent it is the caller's business. */
static void test_thread_blocks_signals(void **state) {
    (void)state;
    write_rows(1000);
    dt_dataset *d = open_rows("prefetch: 2");
    dt_iterator *f = NULL;
    dt_example b;
    int blocked = 0;
    OK(dt_iterator_open_batches(&f, d, &(dt_batch_options){.batch = 3}));
    OK(dt_iterator_next_batch(f, &b));
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e = tasks ? readdir(tasks) : NULL; e; e = readdir(tasks)) {
        char path[300], line[256];
        unsigned long long mask;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *status = fopen(path, "r");
        while (status && fgets(line, sizeof line, status))
            if (sscanf(line, "SigBlk: %llx", &mask) == 1 && atoi(e->d_name) != getpid())
                blocked += (mask >> 14 & 1) == 1;
        if (status) fclose(status);
    }
    if (tasks) closedir(tasks);
    assert_true(!tasks || blocked >= 1);
    dt_iterator_close(f);
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_per_epoch),
        cmocka_unit_test(test_batches_are_those_of_a_plain_loop),
        cmocka_unit_test(test_ring_sizes),
        cmocka_unit_test(test_kept_batches_stay),
        cmocka_unit_test(test_resume_anywhere),
        cmocka_unit_test(test_shuffle_seed),
        cmocka_unit_test(test_large_file_is_read_behind_the_first_batches),
        cmocka_unit_test(test_first_batches_of_every_way_to_hold_rows),
        cmocka_unit_test(test_huge_file_is_read_row_by_row),
        cmocka_unit_test(test_slow_and_fast_callers),
        cmocka_unit_test(test_closing_at_once),
        cmocka_unit_test(test_two_feeds_over_one_file),
        cmocka_unit_test(test_part_that_is_not_there),
        cmocka_unit_test(test_thread_blocks_signals),
        cmocka_unit_test(test_any_batch_by_its_number),
        cmocka_unit_test(test_own_rows),
    };
    return cmocka_run_group_tests_name("feeds", tests, NULL, NULL);
}
