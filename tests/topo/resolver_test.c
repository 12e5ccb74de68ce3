/* SPDX-License-Identifier: Apache-2.0 */
/* Resolvers: what was asked for, what the environment says, and the word about simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"

static void set(const char *name, const char *value) {
    if (value) setenv(name, value, 1);
    else unsetenv(name);
}

static void test_the_slice_and_why(void **state) {
    (void)state;
    static const struct {
        const char *tpu, *type, *name, *slice, *why;
    } rows[] = {
        {"sim:v2-8", NULL, NULL, "v2-8", NULL},
        {"v3-8", "v2-8", "node", "v3-8", NULL},
        {"", NULL, NULL, "v3-8",
         "simulated: this machine has no TPU (neither TPU_NAME nor TPU_ACCELERATOR_TYPE is set)"},
        {NULL, "", "", "v3-8",
         "simulated: this machine has no TPU (neither TPU_NAME nor TPU_ACCELERATOR_TYPE is set)"},
        {"", "v2-8", NULL, "v2-8",
         "simulated: TPU_ACCELERATOR_TYPE is v2-8; --backend pjrt --plugin libtpu.so computes on "
         "it"},
        {"", "V2-8", "v3-8", "v2-8",
         "simulated: TPU_ACCELERATOR_TYPE is v2-8; --backend pjrt --plugin libtpu.so computes on "
         "it"},
        {"", NULL, "v2-8", "v2-8",
         "simulated: TPU_NAME is v2-8; --backend pjrt --plugin libtpu.so computes on it"},
        {"", NULL, "my\ttpu", "v3-8",
         "simulated: TPU_NAME is my\\x09tpu, but TPU_ACCELERATOR_TYPE, which gives its type, is "
         "not set"},
    };
    dt_resolver *r = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set("TPU_ACCELERATOR_TYPE", rows[i].type);
        set("TPU_NAME", rows[i].name);
        assert_null(dt_tpu_resolver(&r, rows[i].tpu)); /* replaces the one before */
        assert_string_equal(r->slice->name, rows[i].slice);
        assert_true(r->simulated);
        if (rows[i].why) assert_string_equal(r->why, rows[i].why);
        else assert_null(r->why);
    }
    dt_resolver_unref(r);
    set("TPU_ACCELERATOR_TYPE", NULL);
    set("TPU_NAME", NULL);
}

static void test_a_failed_resolver_leaves_the_old_one(void **state) {
    (void)state;
    dt_resolver *r = NULL;
    assert_null(dt_tpu_resolver(&r, "v2-8"));
    dt_resolver *old = r;
    dt_status *s = dt_tpu_resolver(&r, "sim:pony");
    assert_int_equal(dt_status_code(s), 78);
    assert_ptr_equal(r, old);
    dt_status_free(s);
    s = dt_resolver_open(&r, "pony", DT_E_UNKNOWN_SLICE_OPTION, NULL);
    assert_int_equal(dt_status_code(s), 64);
    dt_status_free(s);
    set("TPU_ACCELERATOR_TYPE", "v9-8");
    s = dt_tpu_resolver(&r, "");
    char *text = dt_status_format(s);
    assert_non_null(strstr(text, "unknown slice 'v9-8'"));
    assert_non_null(
        strstr(text, "the slice is named by the environment variable TPU_ACCELERATOR_TYPE"));
    free(text);
    dt_status_free(s);
    set("TPU_ACCELERATOR_TYPE", NULL);
    dt_resolver_unref(r);
}

static void test_initialize_lends_the_topology(void **state) {
    (void)state;
    dt_resolver *r = NULL;
    const dt_topology *t = NULL;
    int shape[4];
    assert_null(dt_tpu_resolver(&r, "sim:v3-8"));
    dt_resolver *other = dt_resolver_ref(r);
    dt_resolver_unref(r);
    assert_null(dt_tpu_initialize(other, &t));
    dt_topology_mesh_shape(t, shape);
    assert_memory_equal(shape, ((int[4]){2, 2, 1, 2}), sizeof shape);
    dt_resolver_unref(other);
    dt_resolver_unref(NULL);
    dt_status *s = dt_tpu_initialize(NULL, &t);
    assert_non_null(s);
    dt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_slice_and_why),
        cmocka_unit_test(test_a_failed_resolver_leaves_the_old_one),
        cmocka_unit_test(test_initialize_lends_the_topology),
    };
    return cmocka_run_group_tests_name("topo/resolver", tests, NULL, NULL);
}
