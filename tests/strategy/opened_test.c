/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input options of opened data sets (dt_dataset_open): each replica gets in each step what it gets
 * of a pipeline over the same files. AUTO alone is another: the order of one process, whatever the
 * workers.
 */
#include "kit.h"

enum { FIRST = 10, MOST_FILES = 4 }; /* numbers of two digits */

typedef struct files {
    int n;
    int count[MOST_FILES];
} files;

static char *path_of(char *path, const char *kind, int file) {
    sprintf(path, "build/tmp/strategy/opened-%d.%s", file, kind);
    return path;
}

/* The numbers as CSV, and the same as records of two bytes. */
static void write_files(const files *f) {
    int number = FIRST;
    char path[64];

    OK(dt_dir_make("build/tmp/strategy"));
    for (int i = 0; i < f->n; i++) {
        FILE *csv = fopen(path_of(path, "csv", i), "w"),
             *records = fopen(path_of(path, "bin", i), "w");
        assert_true(csv && records);
        fputs("x\n", csv);
        for (int k = 0; k < f->count[i]; k++, number++) {
            fprintf(csv, "%d\n", number);
            fprintf(records, "%d", number);
        }
        fclose(csv);
        fclose(records);
    }
}

static dt_dataset *opened(const files *f, int batch, const char *keys) {
    dt_dataset *d = NULL;
    dt_str list = {0};
    char path[64];

    for (int i = 0; i < f->n; i++)
        dt_str_printf(&list, "%s%s", i ? ", " : "", path_of(path, "csv", i));
    OK(dt_dataset_open(
        &d, "{format: csv, train: [%s], element: {x: {column: x}}, global_batch_size: %d, %s}",
        dt_str_text(&list), batch, keys));
    dt_str_release(&list);
    return d;
}

static dt_status *number_of(const dt_values *element, void *user, dt_values *result) {
    const char *text = dt_tensor_data(dt_values_local(element, "value", 0));
    const int64_t number = 10 * (text[0] - '0') + text[1] - '0';
    dt_tensor *t = NULL;
    (void)user;
    dt_status *s = dt_tensor_create(&t, DT_INT64, 0, NULL, &number);
    if (!s) s = dt_values_set(result, "x", t);
    dt_tensor_unref(t);
    return s;
}

/* Of known shapes, as those of opened data sets are. */
static dt_dataset *pipeline(const files *f, int batch, bool drop) {
    const dt_file_options records = {.kind = DT_FIXED_LENGTH, .record_bytes = 2};
    char path[MOST_FILES][64];
    const char *names[MOST_FILES];
    dt_dataset *d = NULL;

    for (int i = 0; i < f->n; i++) names[i] = path_of(path[i], "bin", i);
    OK(dt_dataset_list_files(&d, names, f->n));
    OK(dt_dataset_read_files(&d, d, &records));
    OK(dt_dataset_map(&d, d,
                      &(dt_map_options){.fn = number_of,
                                        .spec = &(dt_spec){.name = "x", .dtype = DT_INT64},
                                        .n_spec = 1}));
    OK(dt_dataset_batch(&d, d, batch, drop));
    return d;
}

/* "10 11|12/13|" is two steps for two replicas. */
static void put_step(const dt_values *batch, dt_str *out) {
    for (int r = 0; r < dt_values_locals(batch, "x"); r++) {
        const dt_tensor *t = dt_values_local(batch, "x", r);
        dt_str_puts(out, r ? "|" : "");
        for (int64_t i = 0; i < dt_tensor_elements(t); i++)
            dt_str_printf(out, "%s%g", i ? " " : "", get(t, i));
    }
    dt_str_puts(out, "/");
}

static void read_epoch(dt_dist_dataset *d, dt_str *out) {
    dt_iterator *it = NULL;
    dt_values *batch = NULL;

    OK(dt_iterator_create(&it, d));
    for (OK(dt_iterator_next(it, &batch)); batch; OK(dt_iterator_next(it, &batch)))
        put_step(batch, out);
    dt_iterator_unref(it);
}

typedef struct setting {
    int workers, replicas, batch;
    bool drop;
    dt_input_options options;
} setting;

static void compare(const files *f, const setting *x) {
    dt_strategy *s = mirrored(x->workers * x->replicas);
    dt_dataset *a = opened(f, x->batch,
                           x->drop ? "last_batch: drop_remainder" : "last_batch: partial"),
               *b = pipeline(f, x->batch, x->drop);
    dt_dist_dataset *mine = NULL, *theirs = NULL;
    dt_str got = {0}, wanted = {0};

    OK(dt_strategy_distribute_dataset(s, a, &x->options, &mine));
    OK(dt_strategy_distribute_dataset(s, b, &x->options, &theirs));
    read_epoch(mine, &got);
    read_epoch(theirs, &wanted);
    if (strcmp(dt_str_text(&got), dt_str_text(&wanted)) != 0)
        fail_msg("%d files, %d workers of %d, batch %d, policy %d, rebatch %d, drop "
                 "%d:\n%s\npipeline:\n%s",
                 f->n, x->workers, x->replicas, x->batch, (int)x->options.auto_shard_policy,
                 (int)x->options.rebatch, x->drop, dt_str_text(&got), dt_str_text(&wanted));
    dt_str_release(&got);
    dt_str_release(&wanted);
    dt_dist_dataset_unref(mine);
    dt_dist_dataset_unref(theirs);
    dt_dataset_unref(a);
    dt_dataset_unref(b);
    dt_strategy_unref(s);
}

static const files all_files[] = {
    {3, {4, 4, 3}}, {4, {9, 1, 2, 6}}, {3, {12, 12, 12}}, {3, {1, 1, 20}}};

static void test_options_are_those_of_pipelines(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof all_files / sizeof *all_files; i++) {
        write_files(&all_files[i]);
        for (int workers = 1; workers <= 3; workers++)
            for (int replicas = 1; replicas <= 2; replicas++)
                for (int batch = workers * replicas; batch <= 12; batch += batch < 7 ? 1 : 5)
                    for (int k = 0; k < 4 * 2 * 2; k++)
                        compare(&all_files[i],
                                &(setting){workers,
                                           replicas,
                                           batch,
                                           k & 1,
                                           {.workers = workers,
                                            .auto_shard_policy = DT_AUTO_SHARD_FILE + (k >> 2),
                                            .rebatch = k >> 1 & 1}});
    }
}

static void test_auto_is_the_order_of_one_process(void **state) {
    (void)state;
    const files *f = &all_files[0];
    dt_strategy *s = mirrored(4);
    dt_dist_dataset *d = NULL;
    write_files(f);
    dt_dataset *data = opened(f, 6, "last_batch: partial");

    for (int workers = 1; workers <= 4; workers *= 2) {
        dt_str got = {0};
        OK(dt_strategy_distribute_dataset(s, data, &(dt_input_options){.workers = workers}, &d));
        read_epoch(d, &got);
        assert_string_equal(dt_str_text(&got), "10 11|12 13|14|15/16 17|18 19|20|/");
        assert_true(strncmp(dt_dist_dataset_sharding(d), "auto: the order of one process", 30) ==
                    0);
        dt_str_clear(&got);
        OK(dt_strategy_distribute_dataset(
            s, data, &(dt_input_options){.workers = workers, .rebatch = DT_REBATCH_EVEN}, &d));
        read_epoch(d, &got);
        assert_string_equal(dt_str_text(&got), "10 11|12 13|14 15|/16 17|18 19|20|/");
        dt_str_release(&got);
    }
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(s);
}

/* Of its own policy, where the options say AUTO; shuffled, each worker's own part, the same again
 * in the same epoch. */
static void test_the_data_set_has_a_policy_of_its_own(void **state) {
    (void)state;
    const files *f = &all_files[2];
    dt_strategy *s = mirrored(3);
    dt_dist_dataset *d = NULL;
    dt_str epoch[3] = {{0}};
    write_files(f);

    for (int i = 0; i < 3; i++) {
        dt_dataset *data = opened(f, 6, "auto_shard_policy: file, shuffle: true");
        OK(dt_strategy_distribute_dataset(s, data, &(dt_input_options){.workers = 3}, &d));
        if (i == 2) {
            dt_str first = {0};
            read_epoch(d, &first);
            dt_str_release(&first);
        }
        read_epoch(d, &epoch[i]);
        dt_dataset_unref(data);
    }
    assert_string_equal(dt_str_text(&epoch[0]), dt_str_text(&epoch[1]));
    assert_string_not_equal(dt_str_text(&epoch[0]), dt_str_text(&epoch[2]));
    int seen[36] = {0}, replica = 0;
    for (const char *p = dt_str_text(&epoch[0]); *p; p++) {
        if (*p >= '0' && *p <= '9') {
            int number = (int)strtol(p, (char **)&p, 10) - FIRST;
            assert_int_equal(number / 12, replica);
            seen[number]++;
        }
        replica = *p == '/' ? 0 : *p == '|' ? replica + 1 : replica;
    }
    for (int i = 0; i < 36; i++) assert_int_equal(seen[i], 1);
    for (int i = 0; i < 3; i++) dt_str_release(&epoch[i]);
    dt_dist_dataset_unref(d);
    dt_strategy_unref(s);
}

static void test_what_is_refused(void **state) {
    (void)state;
    const files *f = &all_files[0];
    dt_strategy *s = mirrored(4);
    dt_dist_dataset *d = NULL;
    dt_iterator *it = NULL;
    write_files(f);
    dt_dataset *data = opened(f, 3, "last_batch: partial");

    fails(dt_strategy_distribute_dataset(s, data, &(dt_input_options){.workers = 3}, &d),
          DT_E_INPUT_WORKERS, "4 replicas cannot be divided evenly among 3");
    fails(dt_strategy_distribute_dataset(
              s, data, &(dt_input_options){.workers = 4, .auto_shard_policy = DT_AUTO_SHARD_FILE},
              &d),
          DT_E_TOO_FEW_FILES, "3 files cannot be shared by 4 workers");
    fails(dt_strategy_distribute_dataset(
              s, data, &(dt_input_options){.workers = 4, .no_fallback = true}, &d),
          DT_E_TOO_FEW_FILES, "3 files");
    fails(dt_strategy_distribute_dataset(
              s, data, &(dt_input_options){.auto_shard_policy = (dt_auto_shard_policy)9}, &d),
          DT_E_SHARD, "9 is not an auto-shard");
    fails(
        dt_strategy_distribute_dataset(s, data, &(dt_input_options){.rebatch = (dt_rebatch)9}, &d),
        DT_E_SHARD, "DT_REBATCH_EVEN, got 9");
    fails(dt_strategy_distribute_dataset(
              s, data, &(dt_input_options){.replication_mode = (dt_replication_mode)9}, &d),
          DT_E_SHARD, "DT_PER_REPLICA, got 9");
    fails(dt_strategy_distribute_dataset(
              s, data, &(dt_input_options){.replication_mode = DT_PER_REPLICA}, &d),
          DT_E_INPUT_MODE, "DT_PER_REPLICA");
    assert_null(d);
    OK(dt_strategy_distribute_dataset(
        s, data, &(dt_input_options){.workers = 2, .auto_shard_policy = DT_AUTO_SHARD_OFF}, &d));
    fails(dt_iterator_create(&it, d), DT_E_SHARD,
          "a global batch of 3 is too small for 4 replicas");
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_those_of_pipelines),
        cmocka_unit_test(test_auto_is_the_order_of_one_process),
        cmocka_unit_test(test_the_data_set_has_a_policy_of_its_own),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests_name("strategy/opened", tests, NULL, NULL);
}
