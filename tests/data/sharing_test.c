/* SPDX-License-Identifier: Apache-2.0 */
/* What auto_shard_policy comes to for input workers: tf.data's rules (semantics of AUTO, FILE,
 * DATA, OFF), and in words. */
#define HERE "build/tmp/data-sharing"
#include "files.h"

#define OF_FILES "format: csv, train: '" HERE "/x-*.csv', element: {x: {column: x}}"
#define OF_ARRAYS "format: npy, train: {x: " HERE "/x.npy}"

typedef struct sharing_case {
    const char *keys, *policy;
    int workers, number; /* 0: no error */
    const char *words;
} sharing_case;

static const sharing_case cases[] = {
    {OF_FILES, "auto", 1, 0, "sharded by element"},
    {OF_FILES, "auto", 3, 0, "sharded by element"},
    {OF_FILES, "auto", 4, 0, "sharded by element"},
    {OF_FILES, "file", 3, 0, "sharded by file (results depend on the number of workers: 3)"},
    {OF_FILES, "file", 4, DT_E_TOO_FEW_FILES,
     "auto_shard_policy: file: 3 files cannot be shared by 4 workers"},
    {OF_FILES, "data", 2, 0, "sharded by element (results depend on the number of workers: 2)"},
    {OF_FILES, "off", 2, 0, "not sharded (results depend on the number of workers: 2)"},
    {OF_FILES, "hint", 2, 0, "not sharded (results depend on the number of workers: 2)"},
    {OF_FILES, "off", 1, 0, "not sharded"},
    {OF_ARRAYS, "auto", 2, 0, "sharded by element"},
    {OF_ARRAYS, "file", 1, 0, "sharded by file"},
    {OF_ARRAYS, "file", 2, DT_E_UNSHARDABLE,
     "auto_shard_policy: file: format 'npy' is not divided into files, as csv and tfrecord are"},
};

static void check_case(const sharing_case *c) {
    dt_dataset *d = NULL;
    dt_str words = {0};
    OK(dt_dataset_open(&d, "{%s, auto_shard_policy: %s, global_batch_size: 2}", c->keys,
                       c->policy));
    dt_status *s = dt_dataset_sharing(d, c->workers, &words);
    if (c->number) {
        /* at the policy */
        assert_int_equal(dt_status_column(s),
                         strlen(c->keys) + strlen("{, auto_shard_policy: ") + 1);
        expect_fault(c->policy, s, c->number, 78, c->words);
    } else {
        OK(s);
        assert_string_equal(dt_str_text(&words), c->words);
    }
    dt_str_release(&words);
    dt_dataset_unref(d);
}

static void test_policies(void **state) {
    (void)state;
    const float x[2] = {1, 2};
    write_npy("x.npy", "<f4", "(2,)", x, sizeof x);
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "x-%d.csv", i);
        write_file(name, "x\n1\n2\n", 6);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_policies)};
    return cmocka_run_group_tests_name("sharing", tests, NULL, NULL);
}
