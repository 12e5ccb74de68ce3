/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in with the PJRT C API that compiles nothing: a shared object of its own, which tests open
 * as a user would open libtpu.so. It has one made-up program; FAKE_PJRT in the environment says how
 * it misbehaves. The interface is that of lib/pjrt/api.h: what is tested is the driver, and that
 * header against true plug-ins where there are any (docs/simulator.md).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt/api.h"

static struct {
    dt_pjrt_head head;
    struct {
        dt_pjrt_head head;
        int major, minor;
    } version;
    dt_pjrt_function function[DT_PJRT_SLOTS];
} table;
static const char *mode = "";
static int alive; /* objects that were given out */
static int gpus;  /* of the last topology; 0: it is of TPUs */

static bool is(const char *name) { return strcmp(mode, name) == 0; }

static void *error(const char *text) {
    alive++;
    return strdup(text);
}

/* 64 MiB, with signs that are escaped. */
static void *long_error(void) {
    enum { LONG = 64 << 20 };
    char *text = malloc(LONG + 1);
    if (!text) return error("no memory");
    memset(text, '\a', LONG);
    text[LONG] = '\0';
    alive++;
    return text;
}

/* ---- the program: bytes of HloModuleProtoWithConfig ---- */

static unsigned char code[1024];
static size_t code_size;

static size_t put(unsigned char *to, int field, const void *bytes, size_t n) {
    size_t at = 0;
    for (unsigned key = (unsigned)field << 3 | 2; key; key >>= 7)
        to[at++] = (unsigned char)((key & 0x7f) | (key > 0x7f ? 0x80 : 0));
    to[at++] = (unsigned char)((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
    if (n > 0x7f) to[at++] = (unsigned char)(n >> 7);
    memcpy(to + at, bytes, n);
    return at + n;
}

static size_t put_number(unsigned char *to, int field, unsigned char value) {
    size_t at = 0;
    for (unsigned key = (unsigned)field << 3; key; key >>= 7)
        to[at++] = (unsigned char)((key & 0x7f) | (key > 0x7f ? 0x80 : 0));
    to[at++] = value;
    return at;
}

/* f32[25,4] = opcode(operand), in a computation. */
static size_t instruction(unsigned char *to, const char *opcode, unsigned char id,
                          unsigned char operand, const char *backend) {
    const unsigned char shape[] = {2 << 3, 11, 3 << 3 | 2, 2, 25, 4};
    unsigned char inside[256];
    size_t n = put(inside, 2, opcode, strlen(opcode));
    n += put(inside + n, 3, shape, sizeof shape);
    n += put_number(inside + n, 35, id);
    if (operand) n += put(inside + n, 36, &operand, 1);
    if (backend) n += put(inside + n, 43, backend, strlen(backend));
    return put(to, 2, inside, n);
}

/* A loop's body, which gathers; one of its instructions has no estimate. */
static size_t body(unsigned char *to) {
    size_t n = instruction(to, "parameter", 1, 0, NULL);
    n += instruction(to + n, "all-gather-start", 2, 1, "{\"estimated_cycles\":\"20000\"}");
    n += instruction(to + n, "custom-call", 3, 2, "{\"estimated_cycles\":\"9223372036854775807\"}");
    return n + put_number(to + n, 5, 1);
}

/* counter < 3 */
static size_t condition(unsigned char *to) {
    const unsigned char constant[] = {2 << 3 | 2, 8,   'c',        'o', 'n',        's', 't', 'a',
                                      'n',        't', 8 << 3 | 2, 3,   4 << 3 | 2, 1,   3};
    unsigned char compare[32];
    size_t n = put(compare, 2, "compare", 7);
    n += put(compare + n, 63, "LT", 2);
    size_t at = put(to, 2, constant, sizeof constant);
    at += put(to + at, 2, compare, n);
    return at + put_number(to + at, 5, 2);
}

/* while (condition) body, and another loop, of which nobody knows how long it runs. */
static size_t entry(unsigned char *to) {
    unsigned char loop[32];
    size_t n = instruction(to, "parameter", 1, 0, NULL), m = put(loop, 2, "while", 5);
    m += put(loop + m, 38, (const unsigned char[]){1, 2}, 2);
    n += instruction(to + n, "fusion", 2, 1, "{\"window\":{},\"estimated_cycles\":\"940000\"}");
    n += instruction(to + n, "all-reduce", 3, 2, NULL);
    n += put(to + n, 2, loop, m);
    n += instruction(to + n, "while", 5, 3, NULL);
    return n + put_number(to + n, 5, 3);
}

static void make_program(void) {
    unsigned char computation[400], module[900];
    size_t n = put(module, 3, computation, body(computation));
    n += put(module + n, 3, computation, condition(computation));
    n += put(module + n, 3, computation, entry(computation));
    code_size = put(code, 1, module, n);
    if (is("garbage")) memset(code + 7, 0xff, 40);
    if (is("no_module")) code_size = put(code, 2, "x", 1);
}

/* ---- functions ---- */

static void *destroy(void *arguments) {
    dt_pjrt_of *a = arguments;
    free(a->object);
    alive--;
    return NULL;
}

static void *error_message(void *arguments) {
    dt_pjrt_text_of *a = arguments;
    a->text = is("silent") ? NULL : a->object;
    a->size = strlen(a->object);
    return NULL;
}

static void *initialize(void *arguments) {
    (void)arguments;
    return is("initialize") ? error("no chip\nfound") : is("long") ? long_error() : NULL;
}

static void *attributes(void *arguments) {
    static const int64_t version[] = {1, 2, 3};
    static const dt_pjrt_named_value value[] = {
        {.name = "xla_version",
         .name_size = 11,
         .kind = DT_PJRT_INT64,
         .value.int64 = 2,
         .value_size = 1},
        {.name = "stablehlo_current_version",
         .name_size = 25,
         .kind = DT_PJRT_INT64_LIST,
         .value.list = version,
         .value_size = 3},
    };
    dt_pjrt_attributes *a = arguments;
    a->value = value;
    a->n = 2;
    return NULL;
}

static bool is_option(const dt_pjrt_named_value *v, const char *name) {
    const bool named = v->name_size == strlen(name) && memcmp(v->name, name, v->name_size) == 0;
    return named && v->kind == DT_PJRT_STRING;
}

/* GPUs: a description of each, and a grid of them. */
static void *create_gpus(dt_pjrt_topology_create *a) {
    const char *target = a->option[0].value.string;
    const dt_pjrt_named_value *grid = &a->option[1];
    if (!strstr(target, "cuda_compute_capability") || strlen(target) != a->option[0].value_size)
        return error("no GPU is described");
    if (a->n_options != 2 || !is_option(grid, "topology") || strncmp(grid->value.string, "1x1x", 4))
        return error("no grid of GPUs");
    gpus = atoi(grid->value.string + 4);
    alive++;
    a->topology = malloc(1);
    return NULL;
}

static void *create_topology(void *arguments) {
    dt_pjrt_topology_create *a = arguments;
    char text[64];
    gpus = 0;
    if (a->n_options && is_option(&a->option[0], "target_config")) return create_gpus(a);
    snprintf(text, sizeof text, "no topology named %.*s", (int)a->name_size, a->name);
    if (a->name_size != 6 || memcmp(a->name, "v3:2x2", 6) != 0) return error(text);
    if (a->n_options != 3 || a->option[0].value_size != 3 ||
        memcmp(a->option[0].name, "wrap", 4) != 0 || a->option[0].value.list[0] != 0)
        return error("other options than a v3-8 has");
    alive++;
    a->topology = malloc(1);
    return NULL;
}

static void *descriptions(void *arguments) {
    static int device;
    static void *const one[] = {&device};
    dt_pjrt_objects_of *a = arguments;
    a->part = one;
    a->n = is("no_devices") ? 0 : 1;
    return NULL;
}

static void *description_attributes(void *arguments) {
    static const dt_pjrt_named_value value = {.name = "device_memory_bytes_limit",
                                              .name_size = 25,
                                              .kind = DT_PJRT_INT64,
                                              .value.int64 = 16624107520,
                                              .value_size = 1};
    dt_pjrt_description_attributes *a = arguments;
    a->value = &value;
    a->n = 1;
    return NULL;
}

static void *compile_for_gpus(dt_pjrt_compile_arguments *a) {
    const unsigned char replicas[] = {4 << 3, (unsigned char)gpus};
    if (memcmp(a->options + 2, replicas, sizeof replicas) != 0)
        return error("other options than a replica on each GPU has");
    alive++;
    a->executable = malloc(1);
    return NULL;
}

/* Whether the program computes in bfloat16; its text ends without a zero. */
static bool is_narrow(const char *text, size_t n) {
    static const char word[] = {'b', 'f', '1', '6'};
    for (size_t i = 0; i + sizeof word <= n; i++)
        if (memcmp(text + i, word, sizeof word) == 0) return true;
    return false;
}

static void *compile(void *arguments) {
    /* 3: {4: 8 replicas, 5: 1 partition, 9: {1: 8, 2: 1, 3: {1: ids}}} */
    static const unsigned char options[] = {3 << 3 | 2, 22, 4 << 3,     8, 5 << 3, 1,
                                            9 << 3 | 2, 16, 1 << 3,     8, 2 << 3, 1,
                                            3 << 3 | 2, 10, 1 << 3 | 2, 8};
    dt_pjrt_compile_arguments *a = arguments;
    if (is("refuse")) return error("RESOURCE_EXHAUSTED: Ran out of memory on HBM");
    if (a->program->format_size != 4 || memcmp(a->program->format, "mlir", 4) != 0 ||
        memcmp(a->program->code, "module @", 8) != 0)
        return error("no StableHLO text");
    if (is("narrow") && !is_narrow(a->program->code, a->program->code_size))
        return error("a program without bfloat16");
    if (gpus) return compile_for_gpus(a);
    if (a->options_size != sizeof options + 8 || memcmp(a->options, options, sizeof options) != 0)
        return error("other options than eight replicas have");
    alive++;
    a->executable = malloc(1);
    return NULL;
}

static void *memory_stats(void *arguments) {
    dt_pjrt_memory_stats *a = arguments;
    if (a->head.size < sizeof *a) return error("struct_size too small");
    a->code = 4096;
    a->argument = 3 << 20;
    a->output = 2 << 20;
    a->alias = 1 << 20;
    a->temp = 4 << 20;
    return NULL;
}

static void *optimized(void *arguments) {
    dt_pjrt_program_source *p = ((dt_pjrt_object_of *)arguments)->part;
    if (p->code && p->code_size >= code_size) memcpy(p->code, code, code_size);
    p->code_size = code_size + (p->code && is("grows"));
    return NULL;
}

const void *GetPjrtApi(void);
__attribute__((visibility("default"))) const void *GetPjrtApi(void) {
    mode = getenv("FAKE_PJRT") ? getenv("FAKE_PJRT") : "";
    memset(&table, 0, sizeof table);
    table.head.size =
        is("short") ? 8
        : is("old") ? offsetof(dt_pjrt_api, function) + DT_PJRT_COMPILE * sizeof(dt_pjrt_function)
                    : sizeof table;
    table.version.major = is("major") ? 1 : 0;
    table.version.minor = 99;
    table.function[DT_PJRT_ERROR_DESTROY] = table.function[DT_PJRT_TOPOLOGY_DESTROY] =
        table.function[DT_PJRT_EXECUTABLE_DESTROY] = destroy;
    table.function[DT_PJRT_ERROR_MESSAGE] = error_message;
    table.function[DT_PJRT_PLUGIN_INITIALIZE] = initialize;
    table.function[DT_PJRT_PLUGIN_ATTRIBUTES] = attributes;
    table.function[DT_PJRT_TOPOLOGY_CREATE] = create_topology;
    table.function[DT_PJRT_TOPOLOGY_GET_DEVICE_DESCRIPTIONS] = descriptions;
    table.function[DT_PJRT_DEVICE_DESCRIPTION_ATTRIBUTES] = description_attributes;
    table.function[DT_PJRT_COMPILE] = compile;
    table.function[DT_PJRT_EXECUTABLE_GET_COMPILED_MEMORY_STATS] =
        is("no_memory") ? NULL : memory_stats;
    table.function[DT_PJRT_EXECUTABLE_OPTIMIZED_PROGRAM] = optimized;
    make_program();
    return is("no_table") ? NULL : &table;
}

/* For tests: nothing that was given out is left. */
int fake_pjrt_alive(void);
__attribute__((visibility("default"))) int fake_pjrt_alive(void) { return alive; }
