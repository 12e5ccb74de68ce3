/* SPDX-License-Identifier: Apache-2.0 */
/* Chips and slices: the table against the collected facts, and spellings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hosts.h"
#include "golden.h"

static double number(const json_t *j, const char *key) {
    return json_number_value(json_object_get(j, key));
}

/* Chips of tests/golden/data/tpu_chips.json, where the numbers were collected with their
 * sources. */
static void test_chips_have_the_collected_numbers(void **state) {
    (void)state;
    json_error_t error;
    json_t *root = json_load_file("tests/golden/data/tpu_chips.json", 0, &error);
    if (!root) fail_msg("tpu_chips.json: %s", error.text);
    static const char *const generations[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"};
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
        const json_t *want = json_object_get(json_object_get(root, "generations"), generations[i]),
                     *ici = json_object_get(want, "ici");
        const json_t *mxu = json_object_get(want, "mxu");
        const dt_chip *c = dt_chip_find(generations[i]);
        assert_int_equal(c->cores, number(want, "cores_per_chip"));
        assert_int_equal(c->devices, number(want, "devices_per_chip"));
        assert_true(c->core_flops * c->cores == number(want, "peak_bf16_per_chip"));
        assert_true(c->clock_hz == number(want, "clock_hz") ||
                    !json_is_number(json_object_get(want, "clock_hz")));
        assert_true(c->core_int8_ops * c->cores == number(want, "peak_int8_per_chip"));
        assert_int_equal(c->mxus, number(mxu, "per_core"));
        assert_int_equal(c->mxu_size,
                         json_integer_value(json_array_get(json_object_get(mxu, "size"), 0)));
        assert_true((double)c->core_hbm * c->cores == number(want, "hbm_per_chip"));
        assert_true((double)c->core_hbm_usable * c->cores / c->devices ==
                    number(want, "usable_hbm_per_device"));
        assert_true(c->core_hbm_Bps * c->cores == number(want, "hbm_Bps_per_chip"));
        assert_int_equal(c->links, number(ici, "links"));
        assert_true(c->link_Bps == number(ici, "oneway_Bps_per_link"));
        assert_string_equal(c->kind, golden_text(want, "device_kind"));
        assert_int_equal(c->core_vmem, number(want, "vmem_per_core"));
        assert_int_equal(c->cmem, number(want, "cmem_per_chip"));
        assert_true(c->pcie_Bps == number(want, "pcie_Bps_per_chip") ||
                    !json_object_get(want, "pcie_Bps_per_chip"));
        assert_true(c->dcn_Bps == number(want, "dcn_Bps_per_chip"));
        const int *host = c->lone_host[0] ? c->lone_host : c->host;
        assert_int_equal(host[0] * host[1] * host[2], number(want, "host_chips"));
    }
    json_decref(root);
}

static void test_slices_are_found_in_all_spellings(void **state) {
    (void)state;
    static const struct {
        const char *name, *slice;
    } rows[] = {
        {"v2-8", "v2-8"},
        {"v3-8", "v3-8"},
        {"V3-8", "v3-8"},
        {"sim:v3-8", "v3-8"},
        {"SIM:V2-8", "v2-8"},
        {"v3:2x2", "v3-8"},
        {"sim:v2:2X2x1", "v2-8"},
        {"v4:2x2x2", "v4-16"},
        {"V4-32", "v4-32"},
        {"v5litepod-128", "v5litepod-128"},
        {"v5e-128", "v5litepod-128"},
        {"v5e:8x16", "v5litepod-128"},
        {"V5 Lite:4x4", "v5litepod-16"},
        {"v5p-64", "v5p-64"},
        {"v5-64", "v5p-64"},
        {"v6e-64", "v6e-64"},
        {"tpu7x-128", "tpu7x-128"},
        {"TPU7X:4x4x4", "tpu7x-128"},
        {"v4-512", "v4-512"},
        {"v4:4x8x8", "v4-512"},
        {"v4:4x4x16", "v4:4x4x16"},
        {"v4:16x4x4", "v4:16x4x4"},
        {"v4:8x4x8", "v4:8x4x8"},
        {"v4:4x4x8_twisted", "v4:4x4x8_twisted"},
        {"sim:v4:4x4x8_TWISTED", "v4:4x4x8_twisted"},
        {"v4:4x4x8_untwisted", "v4-256"},
        {"v4-4", "v4-4"},
        {"v4:2x2", "v4-8"},
        {"v5p-6144", "v5p-6144"},
        {"v5p:16x16x24", "v5p-12288"},
        {"v5p-4x4x4", "v5p-128"},
        {"sim:v5p-4x4x8_twisted", "v5p:4x4x8_twisted"},
        {"tpu7x-2x2x2", "tpu7x-16"},
        {"tpu7x:16x24x24", "tpu7x-18432"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_slice s;
        assert_null(dt_slice_find(rows[i].name, DT_E_UNKNOWN_SLICE, NULL, &s));
        assert_string_equal(s.name, rows[i].slice);
    }
}

static void test_unknown_slices_name_the_nearest(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"v3-9", "unknown slice 'v3-9'; the nearest are v3-8 and v3-16"},
        {"v3-99999999999999999999",
         "unknown slice 'v3-99999999999999999999'; the nearest is v3-2048"},
        {"v3-", "unknown slice 'v3-'; the nearest is v3-2"},
        {"v3", "unknown slice 'v3'; the nearest is v3-2"},
        {"v9-8", "unknown slice 'v9-8'; generations are v2, v3, v4, v5e, v5p, v6e and tpu7x; write "
                 "v3-8 or v4:2x2x2"},
        {"pony", "unknown slice 'pony'; generations are v2, v3, v4, v5e, v5p, v6e and tpu7x; write "
                 "v3-8 or v4:2x2x2"},
        {"sim:", "unknown slice 'sim:'; generations are v2, v3, v4, v5e, v5p, v6e and tpu7x; write "
                 "v3-8 or v4:2x2x2"},
        {"", "unknown slice ''; generations are v2, v3, v4, v5e, v5p, v6e and tpu7x; write v3-8 or "
             "v4:2x2x2"},
        {"v3:3x3", "unknown slice 'v3:3x3'; the nearest are v3-16 (4x2) and v3-32 (4x4)"},
        {"v3:2x4", "unknown slice 'v3:2x4'; the nearest are v3-16 (4x2) and v3-32 (4x4)"},
        {"v4-24", "unknown slice 'v4-24'; the nearest are v4-16 and v4-32"},
        {"v4-15", "unknown slice 'v4-15'; the nearest are v4-8 and v4-16"},
        {"v5e-16x", "unknown slice 'v5e-16x'; the nearest are v5litepod-16 and v5litepod-32"},
        {"v5litepod-100",
         "unknown slice 'v5litepod-100'; the nearest are v5litepod-64 and v5litepod-128"},
        {"v5p:8x4x4",
         "unknown slice 'v5p:8x4x4'; the nearest are v5p-256 (4x4x8) and v5p-384 (4x4x12)"},
        {"v5p:4x16x5",
         "unknown slice 'v5p:4x16x5'; the nearest are v5p-640 (4x4x20) and v5p-768 (4x8x12)"},
        {"v4:4x4x4_twisted", "unknown slice 'v4:4x4x4_twisted'; the nearest is v4:4x4x8_twisted"},
        {"v4:4x4x12_twisted", "unknown slice 'v4:4x4x12_twisted'; the nearest are v4:4x4x8_twisted "
                              "and v4:4x8x8_twisted"},
        {"v5e:16x16_twisted",
         "unknown slice 'v5e:16x16_twisted'; the nearest is v5litepod-256 (16x16)"},
        {"v4:4x4x8_twist", "'v4:4x4x8_twist' is not of the form AxB or AxBxC"},
        {"v3:4x4x", "'v3:4x4x' is not of the form AxB or AxBxC"},
        {"v3:", "'v3:' is not of the form AxB or AxBxC"},
        {"v3:2", "'v3:2' is not of the form AxB or AxBxC"},
        {"v3:2x2x1x1", "'v3:2x2x1x1' is not of the form AxB or AxBxC"},
        {"4x4x", "'4x4x' is not of the form AxB or AxBxC"},
        {"3x", "'3x' is not of the form AxB or AxBxC"},
        {"0x0", "'0x0': every size must be at least 1, got 0"},
        {"-2x2", "'-2x2': every size must be at least 1, got -2"},
        {"1000000x1000000", "'1000000x1000000' names no chip generation; write v3:2x2 or v3-8"},
        {"v3:1000000x1000000",
         "unknown slice 'v3:1000000x1000000'; the nearest is v3-2048 (32x32)"},
        {"v3:4294967296x4294967296",
         "'v3:4294967296x4294967296': the number of chips is out of range"},
        {"v3:99999999999999999999x1",
         "'v3:99999999999999999999x1': size 99999999999999999999 is out of range"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_slice found;
        dt_status *s = dt_slice_find(rows[i].name, DT_E_UNKNOWN_SLICE, NULL, &found);
        assert_non_null(s);
        assert_string_equal(dt_status_text(s), rows[i].text);
        assert_int_equal(dt_status_code(s), 78);
        dt_status_free(s);
        s = dt_slice_find(rows[i].name, DT_E_UNKNOWN_SLICE_OPTION, NULL, &found);
        assert_int_equal(dt_status_code(s), 64);
        dt_status_free(s);
    }
}

static void test_long_names_are_cut(void **state) {
    (void)state;
    char name[5000];
    memset(name, '7', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memcpy(name, "v3:", 3);
    dt_slice found;
    dt_status *s = dt_slice_find(name, DT_E_UNKNOWN_SLICE, NULL, &found);
    assert_non_null(s);
    assert_true(strlen(dt_status_text(s)) < 200);
    dt_status_free(s);
}

static void test_slices_count_chips_and_hosts(void **state) {
    (void)state;
    const dt_slice large = {"large", dt_chip_find("v3"), {8, 16, 1}, {false}, false},
                   small = {"small", dt_chip_find("v2"), {1, 1, 1}, {false}, false};
    assert_int_equal(hosts_of(&large), 32);
    assert_int_equal(hosts_of(&small), 1);
    assert_null(dt_chip_find("v9"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chips_have_the_collected_numbers),
        cmocka_unit_test(test_slices_are_found_in_all_spellings),
        cmocka_unit_test(test_unknown_slices_name_the_nearest),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_slices_count_chips_and_hosts),
    };
    return cmocka_run_group_tests_name("topo/slices", tests, NULL, NULL);
}
