/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of compiler plug-ins against one that is made up: what it reads, what it says of those
 * that misbehave, and that it leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/random.h"
#include "pjrt/gpus.h"
#include "pjrt/pjrt.h"

static char plugin[4200];

static void find_plugin(void) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = 0;
    snprintf(plugin, sizeof plugin, "%s/fake_plugin.so", dirname(self));
}

static int left_behind(void) {
    int (*alive)(void);
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&alive = dlsym(library, "fake_pjrt_alive");
    int n = alive();
    dlclose(library);
    return n;
}

static dt_status *compile_for(const char *mode, const char *slice, const char *target,
                              dt_pjrt_report *out) {
    static const int64_t ids[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const dt_pjrt_order order = {.slice = slice,
                                 .target = target,
                                 .host = {2, 2, 1},
                                 .n_devices = target ? 1 : 8,
                                 .device = ids,
                                 .program = "module @train {}",
                                 .size = 16};
    dt_pjrt *p = NULL;
    setenv("FAKE_PJRT", mode, 1);
    dt_status *bad = dt_pjrt_open(&p, plugin);
    if (!bad) bad = dt_pjrt_compile(p, &order, out);
    dt_pjrt_close(p);
    return bad;
}

static dt_status *compile_as(const char *mode, const char *slice, dt_pjrt_report *out) {
    return compile_for(mode, slice, NULL, out);
}

static void test_gpus_are_described(void **state) {
    (void)state;
    const dt_pjrt_gpu *h100 = dt_pjrt_gpu_find("H100");
    dt_pjrt_report r;
    dt_str text = {0};
    assert_non_null(h100);
    assert_null(dt_pjrt_gpu_find("h10"));
    dt_pjrt_gpu_write(h100, &text);
    assert_non_null(strstr(dt_str_text(&text), "  core_count: 132\n"));
    assert_non_null(strstr(dt_str_text(&text), "  cuda_compute_capability { major: 9 minor: 0 "
                                               "feature_extension: ACCELERATED_FEATURES }\n"));
    dt_status *bad = compile_for("", h100->name, dt_str_text(&text), &r);
    if (bad) fail_msg("%s", dt_status_text(bad));
    assert_int_equal(r.temp, 4 << 20);
    bad = compile_for("", h100->name, "gpu_device_info {}", &r);
    assert_non_null(bad);
    assert_non_null(strstr(dt_status_text(bad), "topology: no GPU is described"));
    dt_status_free(bad);
    assert_int_equal(left_behind(), 0);
    dt_str_release(&text);
}

static void test_what_it_tells_is_read(void **state) {
    (void)state;
    dt_pjrt_report r;
    dt_status *bad = compile_as("", "v3:2x2", &r);
    if (bad) fail_msg("%s", dt_status_text(bad));
    assert_int_equal(r.argument, 3 << 20);
    assert_int_equal(r.output, 2 << 20);
    assert_int_equal(r.alias, 1 << 20);
    assert_int_equal(r.temp, 4 << 20);
    assert_int_equal(r.hbm, 16624107520);
    /* a loop of three turns; what says INT64_MAX has no estimate */
    assert_true(r.cycles == 940e3 + 3 * 20e3);
    assert_true(r.unknown == 3);
    assert_int_equal(r.loops, 1);
    assert_true(r.kernels == 2 + 3 * 2); /* the body's parameter and the condition launch nothing */
    assert_true(r.turns == 3 + 1);       /* one turn of the loop that nobody knows */
    for (int k = 0; k < DT_PJRT_KINDS; k++) {
        const int launches[DT_PJRT_KINDS] = {1, 3};
        assert_int_equal(r.collective[k].n, launches[k]);
        assert_true(r.collective[k].bytes == 400 * launches[k]);
    }
    assert_int_equal(left_behind(), 0);
}

static void test_version_is_printed(void **state) {
    (void)state;
    dt_pjrt *p = NULL;
    dt_str s = {0};
    setenv("FAKE_PJRT", "", 1);
    assert_null(dt_pjrt_open(&p, plugin));
    dt_pjrt_print_version(p, &s);
    assert_string_equal(dt_str_text(&s), "PJRT 0.99, StableHLO 1.2.3");
    dt_str_release(&s);
    dt_pjrt_close(p);
}

static void test_misbehaviour_is_named(void **state) {
    (void)state;
    static const struct {
        const char *mode, *slice, *says;
    } cases[] = {
        {"major", "v3:2x2", "uses PJRT 1.99; dtrain supports 0.x"},
        {"no_table", "v3:2x2", "GetPjrtApi returns no function table"},
        {"short", "v3:2x2", "GetPjrtApi returns no function table"},
        {"old", "v3:2x2", "has no PJRT_Compile (PJRT 0.99)"},
        {"no_memory", "v3:2x2", "has no PJRT_Executable_GetCompiledMemoryStats"},
        {"initialize", "v3:2x2", "initialize: no chip\\x0afound"},
        {"", "v9:2x2", "topology: no topology named v9:2x2"},
        {"no_devices", "v3:2x2", "the topology has no devices"},
        {"refuse", "v3:2x2", "compile: RESOURCE_EXHAUSTED: Ran out of memory on HBM"},
        {"silent", "v9:2x2", "topology: an error without a message"},
        {"garbage", "v3:2x2", "malformed HLO"},
        {"no_module", "v3:2x2", "it contains no HLO module"},
        {"grows", "v3:2x2", "grew while it was read"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_pjrt_report r;
        dt_status *bad = compile_as(cases[i].mode, cases[i].slice, &r);
        if (!bad || !strstr(dt_status_text(bad), cases[i].says))
            fail_msg("%s: said '%s'", cases[i].mode, bad ? dt_status_text(bad) : "nothing");
        dt_status_free(bad);
        assert_int_equal(left_behind(), 0);
    }
}

static void test_what_is_no_plugin(void **state) {
    (void)state;
    dt_pjrt *p = NULL;
    dt_status *bad = dt_pjrt_open(&p, "/no/such/libtpu.so");
    assert_non_null(strstr(dt_status_text(bad), "cannot open the plug-in"));
    dt_status_free(bad);
    bad = dt_pjrt_open(&p, "libm.so.6");
    assert_non_null(strstr(dt_status_text(bad), "does not export GetPjrtApi"));
    dt_status_free(bad);
}

/* ---- bytes that nobody wrote: an answer, and no step beyond them ---- */

static void read_any(const unsigned char *bytes, size_t n) {
    dt_pjrt_report r = {0};
    unsigned char *own = malloc(n ? n : 1);
    memcpy(own, bytes, n);
    dt_status_free(dt_pjrt_read_hlo(own, n, &r));
    free(own);
}

static void test_malformed_bytes(void **state) {
    (void)state;
    dt_random r = dt_random_stream(20251122, "hlo", 0);
    unsigned char bytes[256];
    print_message("seed 20251122\n");
    for (int trial = 0; trial < 20000; trial++) {
        size_t n = dt_random_below(&r, sizeof bytes);
        for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)dt_random_u32(&r);
        /* a module, a computation, .. */
        static const unsigned char openings[] = {1 << 3 | 2, 100, 3 << 3 | 2, 90,
                                                 2 << 3 | 2, 80,  3 << 3 | 2, 60};
        for (size_t i = 0; i < n && i < dt_random_below(&r, sizeof openings + 1); i++)
            bytes[i] = openings[i];
        read_any(bytes, n);
    }
}

/* A module of two computations with that id. */
static void test_ids_are_unique(void **state) {
    (void)state;
    static const unsigned char module[] = {10, 8, 26, 2, 40, 7, 26, 2, 40, 7};
    dt_pjrt_report r = {0};
    dt_status *s = dt_pjrt_read_hlo(module, sizeof module, &r);
    assert_int_equal(dt_status_number(s), DT_E_COMPILER);
    assert_non_null(strstr(dt_status_text(s), "malformed HLO"));
    dt_status_free(s);
}

static int setup(void **state) {
    (void)state;
    find_plugin();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_tells_is_read), cmocka_unit_test(test_gpus_are_described),
        cmocka_unit_test(test_version_is_printed),    cmocka_unit_test(test_misbehaviour_is_named),
        cmocka_unit_test(test_what_is_no_plugin),     cmocka_unit_test(test_malformed_bytes),
        cmocka_unit_test(test_ids_are_unique),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
