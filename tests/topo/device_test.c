/* SPDX-License-Identifier: Apache-2.0 */
/* Names of devices: one canonical form for all spellings, one clear word for what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "topo/topo.h"

static void test_spellings_become_one_name(void **state) {
    (void)state;
    static const struct {
        const char *text, *full;
    } rows[] = {
        {"CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"},
        {"cpu:0", "/job:localhost/replica:0/task:0/device:CPU:0"},
        {"/cpu:0", "/job:localhost/replica:0/task:0/device:CPU:0"},
        {"device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"},
        {"/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"},
        {"/job:localhost/replica:0/task:0/device:CPU:0",
         "/job:localhost/replica:0/task:0/device:CPU:0"},
        {"/job:localhost/replica:0/task:0/cpu:7", "/job:localhost/replica:0/task:0/device:CPU:7"},
        {"TPU:3", "/job:localhost/replica:0/task:0/device:TPU:3"},
        {"gpu:99", "/job:localhost/replica:0/task:0/device:GPU:99"},
        {"/JOB:worker/TASK:12/Device:tpu:3", "/job:worker/replica:0/task:12/device:TPU:3"},
        {"CPU:2147483647", "/job:localhost/replica:0/task:0/device:CPU:2147483647"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_device_name d, again;
        dt_str full = {0};
        assert_null(dt_device_name_parse(rows[i].text, NULL, &d));
        dt_device_name_print(&d, &full);
        assert_string_equal(dt_str_text(&full), rows[i].full);
        assert_null(dt_device_name_parse(dt_str_text(&full), NULL, &again));
        assert_true(dt_device_name_equal(&d, &again));
        dt_str_release(&full);
    }
}

static void test_malformed_names_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "write TYPE:NUMBER, as in CPU:0"},
        {"CPU", "write TYPE:NUMBER, as in CPU:0"},
        {"CPU:", "write TYPE:NUMBER, as in CPU:0"},
        {"CPU:-1", "write TYPE:NUMBER, as in CPU:0"},
        {"CPU:+1", "write TYPE:NUMBER, as in CPU:0"},
        {"CPU:0x1", "write TYPE:NUMBER, as in CPU:0"},
        {"CPU:0 ", "write TYPE:NUMBER, as in CPU:0"},
        {"CPU:*", "write TYPE:NUMBER, as in CPU:0"},
        {"CPU:2147483648", "its number is out of range"},
        {"CPU:99999999999999999999", "its number is out of range"},
        {"XPU:0", "the device type must be CPU, GPU or TPU"},
        {":0", "the device type must be CPU, GPU or TPU"},
        {"/job:/cpu:0", "the job's name must have 1 to 31 characters"},
        {"/job:a b/cpu:0", "the job's name may have letters, digits and _"},
        {"/job:a/job:b/cpu:0", "it names two jobs"},
        {"/task:0/task:0/cpu:0", "a part is given twice"},
        {"/replica:0/replica:1/cpu:0", "a part is given twice"},
        {"/cpu:0/cpu:1", "it names two devices"},
        {"/job:localhost", "the device is missing; add it, as in /device:CPU:0"},
        {"/cpu:0/", "it names two devices"},
        {"//cpu:0", "write TYPE:NUMBER, as in CPU:0"},
        {"/job:localhost/device:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:0",
         "it is too long"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_device_name d;
        char want[256];
        snprintf(want, sizeof want, "'%.80s' is not a device name: %s", rows[i].text, rows[i].why);
        dt_status *s = dt_device_name_parse(rows[i].text, NULL, &d);
        assert_non_null(s);
        assert_string_equal(dt_status_text(s), want);
        assert_int_equal(dt_status_code(s), 78);
        dt_status_free(s);
    }
}

static void test_devices_of_this_machine(void **state) {
    (void)state;
    static const struct {
        const char *names[2];
        int number, code;
        const char *text;
    } rows[] = {
        {{"CPU:0", "/cpu:1"}, 0, 0, NULL},
        {{"CPU:65535", "CPU:0"}, 0, 0, NULL},
        {{"CPU:1", "cpu:1"}, 50, 78, "'cpu:1' is listed twice"},
        {{"CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"},
         50,
         78,
         "'/job:localhost/replica:0/task:0/device:CPU:0' is listed twice"},
        {{"CPU:0", "gpu:99"},
         51,
         69,
         "no device 'gpu:99'; this machine has only CPU devices: CPU:0, CPU:1, ..."},
        {{"CPU:0", "TPU:0"},
         51,
         69,
         "no device 'TPU:0'; this machine has only CPU devices: CPU:0, CPU:1, ..."},
        {{"/job:worker/cpu:0", "CPU:0"},
         51,
         69,
         "no device '/job:worker/cpu:0'; this machine has only CPU devices: CPU:0, CPU:1, ..."},
        {{"CPU:65536", "CPU:0"}, 51, 69, "no device 'CPU:65536'; the last CPU device is CPU:65535"},
        {{"CPU:0", "pony"}, 49, 78, "'pony' is not a device name: write TYPE:NUMBER, as in CPU:0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_device_name d[2];
        dt_status *s = dt_cpu_devices_parse(rows[i].names, 2, NULL, d);
        assert_int_equal(dt_status_code(s), rows[i].code);
        if (s) {
            assert_int_equal(dt_status_number(s), rows[i].number);
            assert_string_equal(dt_status_text(s), rows[i].text);
        }
        dt_status_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings_become_one_name),
        cmocka_unit_test(test_malformed_names_are_refused),
        cmocka_unit_test(test_devices_of_this_machine),
    };
    return cmocka_run_group_tests_name("topo/device", tests, NULL, NULL);
}
