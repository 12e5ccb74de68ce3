/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in's devices, arrays and programs, against one that is made up: what is read of it, what
 * is said of one that lies, and that nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "pjrt/client.h"
#include "pjrt/options.h"

static char plugin[4200];

static int left_behind(void) {
    void (*get)(int[7]);
    int counts[7];
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&get = dlsym(library, "fake_device_counts");
    get(counts);
    dlclose(library);
    return counts[0];
}

static dt_status *open_as(const char *mode, dt_pjrt_client **out) {
    setenv("FAKE_DEVICE", mode, 1);
    return dt_pjrt_client_open(out, plugin, &(dt_pjrt_opening){0});
}

static const char text[] =
    "module @m {\n  func.func public @main(\n      %0: tensor<2xf32> {tf.aliasing_output = 1 : "
    "i32} loc(\"x\")) -> (tensor<f32>, tensor<2xf32>) {\n";

/* One step: [1, 2] goes up, is donated, and comes back with 1 added to its first element. */
static dt_status *step(const dt_pjrt_client *c, float out[2]) {
    static const int device = 1;
    const dt_view x = {dt_type_of(DT_FLOAT32, 1, (int64_t[]){2}), (float[]){1, 2}},
                  y = {x.type, out};
    dt_pjrt_loaded *program = NULL;
    dt_pjrt_buffer *in = NULL, *results[2] = {NULL, NULL}, *const *const arguments[] = {&in};
    dt_pjrt_buffer **const all[] = {results};
    void *ready = NULL;
    dt_status *s =
        dt_pjrt_load_program(c, &(dt_pjrt_text){text, sizeof text - 1, &device, 1, 2}, &program);
    if (!s) s = dt_pjrt_upload(c, 1, &x, &in);
    if (!s) s = dt_pjrt_execute(c, program, 1, arguments, 1, all);
    if (!s) s = dt_pjrt_check_size(c, results[1], &y);
    if (!s) s = dt_pjrt_download(c, results[1], &y, &ready);
    if (!s) s = dt_pjrt_await(c, ready);
    dt_pjrt_buffer_destroy(c, in);
    dt_pjrt_buffer_destroy(c, results[0]);
    dt_pjrt_buffer_destroy(c, results[1]);
    dt_pjrt_loaded_destroy(c, program);
    return s;
}

static void test_a_step_goes_up_and_down(void **state) {
    (void)state;
    dt_pjrt_client *c = NULL;
    dt_pjrt_device_facts f;
    float out[2] = {0};
    assert_null(open_as("", &c));
    assert_int_equal(dt_pjrt_client_devices(c), 4);
    assert_string_equal(dt_pjrt_client_describe(c), "fake, PJRT 0.99, StableHLO 1.13.0");
    assert_null(dt_pjrt_client_device(c, 2, &f));
    assert_string_equal(f.kind, "made up");
    assert_int_equal(f.id, 2);
    assert_int_equal(f.memory, 1 << 30);
    assert_int_equal(f.n_coordinates, 0);
    assert_null(step(c, out));
    assert_true(out[0] == 2 && out[1] == 2);
    dt_pjrt_client_close(c);
    assert_int_equal(left_behind(), 0);
}

static void test_coordinates_are_read(void **state) {
    (void)state;
    static const int64_t at[] = {1, 1, 0, 0};
    static const char *const modes[] = {"tpu", "tpu twice"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        dt_pjrt_client *c = NULL;
        dt_pjrt_device_facts f;
        assert_null(open_as(modes[i], &c));
        assert_null(dt_pjrt_client_device(c, 3, &f));
        assert_string_equal(f.kind, "TPU v4");
        assert_int_equal(f.n_coordinates, 4);
        assert_memory_equal(f.coordinate, at, sizeof at);
        dt_pjrt_client_close(c);
    }
}

static void test_lies_are_named(void **state) {
    (void)state;
    static const struct {
        const char *mode, *says;
        int code;
    } cases[] = {
        {"devices=0", "this process has no devices of it", 69},
        {"none=client", "PJRT_Client_Create returns no client", 69},
        {"none=executable", "no program was returned", 78},
        {"none=buffer", "no buffer was returned", 69},
        {"results=1", "a program with 2 results has 3 after compiling", 78},
        {"results=-1", "a program with 2 results has 1 after compiling", 78},
        {"size=4", "an array of 8 bytes has 12 there", 69},
        {"size=-4", "an array of 8 bytes has 4 there", 69},
        {"lack=10", "has no PJRT_Client_Create", 69},
        {"lack=16", "has no PJRT_Client_AddressableDevices", 69},
        {"lack=20", "has no PJRT_Client_Compile", 69},
        {"lack=22", "has no PJRT_Client_BufferFromHostBuffer", 69},
        {"lack=55", "has no PJRT_LoadedExecutable_Execute", 69},
        {"lack=70", "has no PJRT_Buffer_ToHostBuffer", 69},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_pjrt_client *c = NULL;
        float out[2];
        dt_status *s = open_as(cases[i].mode, &c);
        if (!s) s = step(c, out);
        dt_pjrt_client_close(c);
        if (!s || !strstr(dt_status_text(s), cases[i].says) || dt_status_code(s) != cases[i].code)
            fail_msg("%s: said '%s'", cases[i].mode, s ? dt_status_text(s) : "nothing");
        dt_status_free(s);
        assert_int_equal(left_behind(), 0);
    }
}

/* Functions that nothing depends on may be missing. */
static void test_what_is_not_told_is_not_known(void **state) {
    (void)state;
    dt_pjrt_client *c = NULL;
    dt_pjrt_device_facts f;
    float out[2];
    assert_null(open_as("lack=34", &c));
    assert_null(dt_pjrt_client_device(c, 0, &f));
    assert_int_equal(f.memory, 0);
    assert_null(step(c, out));
    dt_pjrt_client_close(c);
    assert_int_equal(left_behind(), 0);
}

/* ---- options of a client ---- */

static const dt_pjrt_named_value *option_of(const dt_pjrt_options *o, const char *name) {
    for (int i = 0; i < o->n; i++)
        if (dt_pjrt_is_named(&o->at[i], name)) return &o->at[i];
    return NULL;
}

/* Without the variables that JAX reads. */
static dt_pjrt *load_as(const char *mode) {
    static const char *const variables[] = {"XLA_CLIENT_MEM_FRACTION",
                                            "XLA_PYTHON_CLIENT_MEM_FRACTION",
                                            "XLA_PYTHON_CLIENT_PREALLOCATE",
                                            "XLA_PYTHON_CLIENT_ALLOCATOR",
                                            "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB",
                                            "XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE",
                                            "XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT"};
    dt_pjrt *p = NULL;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    setenv("FAKE_DEVICE", mode, 1);
    assert_null(dt_pjrt_load(&p, plugin));
    return p;
}

static void test_a_job_says_options(void **state) {
    (void)state;
    static const int ordinal[] = {3, 1};
    static const dt_pjrt_setting settings[] = {
        {"memory_fraction", DT_PJRT_FLOAT, .value.number = 0.5},
        {"allocator", DT_PJRT_STRING, .value.text = "bfc"}};
    const dt_pjrt_settings all = {.n = 2, .at = settings};
    dt_pjrt_settings *copy = dt_pjrt_settings_copy(&all);
    dt_pjrt_opening how = {.settings = copy, .ordinal = ordinal, .n_ordinals = 2};
    dt_pjrt_options o;
    dt_pjrt *p = load_as("gpu");
    setenv("XLA_PYTHON_CLIENT_ALLOCATOR", "platform", 1); /* the job comes first */
    setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false", 1);
    assert_null(dt_pjrt_options_of(p, &how, &o));
    assert_int_equal(o.n, 4);
    assert_true(option_of(&o, "memory_fraction")->value.number == 0.5f);
    assert_int_equal(option_of(&o, "allocator")->value_size, 3);
    assert_int_equal(option_of(&o, "preallocate")->kind, DT_PJRT_BOOL);
    assert_false(option_of(&o, "preallocate")->value.boolean);
    assert_int_equal(option_of(&o, "visible_devices")->value_size, 2);
    assert_memory_equal(option_of(&o, "visible_devices")->value.list, ((int64_t[]){1, 3}), 16);
    dt_pjrt_options_release(&o);
    /* lists the devices: takes no memory, confines itself to none */
    how = (dt_pjrt_opening){.looks = true};
    unsetenv("XLA_PYTHON_CLIENT_PREALLOCATE");
    assert_null(dt_pjrt_options_of(p, &how, &o));
    assert_false(option_of(&o, "preallocate")->value.boolean);
    assert_null(option_of(&o, "visible_devices"));
    dt_pjrt_options_release(&o);
    dt_pjrt_close(p);
    p = load_as(""); /* what drives no GPUs gets what the job says, and nothing else */
    setenv("XLA_PYTHON_CLIENT_ALLOCATOR", "platform", 1);
    assert_null(dt_pjrt_options_of(
        p, &(dt_pjrt_opening){.settings = copy, .ordinal = ordinal, .n_ordinals = 2, .looks = true},
        &o));
    assert_int_equal(o.n, 2);
    dt_pjrt_options_release(&o);
    dt_pjrt_close(p);
    dt_pjrt_settings_destroy(copy);
}

static void test_the_environment_says_options(void **state) {
    (void)state;
    static const struct {
        const char *variable, *value, *says;
    } cases[] = {
        {"XLA_PYTHON_CLIENT_MEM_FRACTION", "half",
         "XLA_PYTHON_CLIENT_MEM_FRACTION: expected a positive number such as 0.9, got 'half'"},
        {"XLA_CLIENT_MEM_FRACTION", "-1", "expected a positive number"},
        {"XLA_CLIENT_MEM_FRACTION", "nan", "expected a positive number"},
        {"XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "9e9", "expected a number of MiB"},
        {"XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "99999999999999999999",
         "expected a number of MiB"},
        {"XLA_CLIENT_MEM_FRACTION", ".9", NULL},
    };
    dt_pjrt_options o;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_pjrt *p = load_as("gpu");
        setenv(cases[i].variable, cases[i].value, 1);
        dt_status *s = dt_pjrt_options_of(p, &(dt_pjrt_opening){0}, &o);
        if (cases[i].says) {
            assert_non_null(s);
            assert_non_null(strstr(dt_status_text(s), cases[i].says));
            assert_int_equal(dt_status_code(s), 78);
        } else {
            assert_null(s);
            assert_true(option_of(&o, "memory_fraction")->value.number == .9f);
        }
        dt_status_free(s);
        dt_pjrt_options_release(&o);
        dt_pjrt_close(p);
    }
    dt_pjrt *p = load_as("gpu");
    setenv("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "2", 1);
    setenv("XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT", "1", 1);
    setenv("XLA_CLIENT_MEM_FRACTION", "0.5", 1);
    assert_null(dt_pjrt_options_of(p, &(dt_pjrt_opening){0}, &o));
    assert_int_equal(option_of(&o, "collective_memory_size")->value.int64, 2 << 20);
    assert_true(option_of(&o, "use_tfrt_gpu_client")->value.boolean);
    dt_pjrt_options_release(&o);
    setenv("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.5", 1);
    dt_status *s = dt_pjrt_options_of(p, &(dt_pjrt_opening){0}, &o);
    assert_non_null(
        strstr(dt_status_text(s),
               "XLA_CLIENT_MEM_FRACTION and XLA_PYTHON_CLIENT_MEM_FRACTION are both set"));
    dt_status_free(s);
    dt_pjrt_options_release(&o);
    dt_pjrt_close(p);
    p = load_as("gpu");
    dt_pjrt_close(p);
}

/* Each kind of value as the plug-in knows it; others are refused in its words. */
static void test_a_plugin_checks_options(void **state) {
    (void)state;
    dt_pjrt_client *c = NULL;
    static const int last = 3;
    dt_pjrt_device_facts f;
    const dt_pjrt_setting bad = {"bogus", DT_PJRT_INT64, .value.whole = 1};
    dt_pjrt_close(load_as("gpu"));
    dt_status *s = dt_pjrt_client_open(
        &c, plugin, &(dt_pjrt_opening){.settings = &(dt_pjrt_settings){.n = 1, .at = &bad}});
    assert_non_null(s);
    assert_int_equal(dt_status_code(s), 69);
    assert_non_null(
        strstr(dt_status_text(s), "Unexpected option name passed to PJRT_Client_Create: bogus"));
    dt_status_free(s);
    assert_null(
        dt_pjrt_client_open(&c, plugin, &(dt_pjrt_opening){.ordinal = &last, .n_ordinals = 1}));
    assert_true(dt_pjrt_client_is_confined(c));
    assert_int_equal(dt_pjrt_client_devices(c), 1);
    assert_null(dt_pjrt_client_device(c, 0, &f));
    assert_int_equal(f.id, 3);
    const dt_pjrt_memory m = dt_pjrt_client_memory(c, 0);
    assert_int_equal(m.limit, 1 << 30);
    assert_int_equal(m.in_use, 4096);
    assert_int_equal(m.peak, 123456);
    dt_pjrt_client_close(c);
    assert_int_equal(left_behind(), 0);
}

/* An installation without CUDA's compiler is no fault of the program: 69, and what to install. */
static void test_missing_cuda_is_named(void **state) {
    (void)state;
    static const char *const words[] = {"gpu compile=libdevice not found at ./libdevice.10.bc",
                                        "gpu compile=Couldn't find a suitable version of ptxas",
                                        "gpu compile=No PTX compilation provider is available"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        dt_pjrt_client *c = NULL;
        float out[2];
        assert_null(open_as(words[i], &c));
        dt_status *s = step(c, out);
        assert_non_null(s);
        assert_int_equal(dt_status_code(s), 69);
        assert_non_null(strstr(dt_status_text(s), "compile: "));
        assert_non_null(strstr(dt_status_suggestion(s), "jax-cuda13-plugin[with-cuda]"));
        dt_status_free(s);
        dt_pjrt_client_close(c);
    }
    dt_pjrt_client *c = NULL;
    float out[2];
    assert_null(open_as("gpu compile=INTERNAL: something else", &c));
    dt_status *s = step(c, out);
    assert_int_equal(dt_status_code(s), 78);
    dt_status_free(s);
    dt_pjrt_client_close(c);
}

static int setup(void **state) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    (void)state;
    assert_true(n > 0);
    self[n] = 0;
    snprintf(plugin, sizeof plugin, "%s/fake_device.so", dirname(self));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_goes_up_and_down),
        cmocka_unit_test(test_coordinates_are_read),
        cmocka_unit_test(test_lies_are_named),
        cmocka_unit_test(test_what_is_not_told_is_not_known),
        cmocka_unit_test(test_a_job_says_options),
        cmocka_unit_test(test_the_environment_says_options),
        cmocka_unit_test(test_a_plugin_checks_options),
        cmocka_unit_test(test_missing_cuda_is_named),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
