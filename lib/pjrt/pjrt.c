/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls a plug-in: see pjrt.h, and api.h for the plug-in's table.
 *
 * By default libtpu queries a metadata server and locks the machine's TPU. Neither is needed to
 * compile, so dt_pjrt_open turns both off by libtpu's environment variables, unless the user has
 * set them. TPU_ACCELERATOR_TYPE describes a TPU in this machine, so any type will do: the slice to
 * compile for is named later.
 */
#include "pjrt/pjrt.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "pjrt/pjrt_impl.h"

enum { MAJOR = 0, MOST_OPTIONS = 3, LONGEST_MESSAGE = 2000 };

#define HEAD DT_PJRT_HEAD

/* ---- functions, extensions and errors ---- */

bool dt_pjrt_has(const dt_pjrt *p, dt_pjrt_slot slot) {
    return p->api->head.size >=
               offsetof(dt_pjrt_api, function) + ((size_t)slot + 1) * sizeof(dt_pjrt_function) &&
           p->api->function[slot];
}

bool dt_pjrt_drives_gpus(const dt_pjrt *p) {
    for (const dt_pjrt_extension *e = p->api->head.extensions; e; e = e->next)
        if (e->type == DT_PJRT_GPU_CUSTOM_CALL) return true;
    return false;
}

static bool is_exhausted(const dt_pjrt *p, void *error) {
    dt_pjrt_number_of code = {HEAD(dt_pjrt_number_of), .object = error};
    return dt_pjrt_has(p, DT_PJRT_ERROR_GET_CODE) &&
           !p->api->function[DT_PJRT_ERROR_GET_CODE](&code) &&
           code.number == DT_PJRT_RESOURCE_EXHAUSTED;
}

/* Whether the message is one that XLA gives for missing CUDA files, which are not an error of the
 * program. */
static bool lacks_cuda(const char *words) {
    static const char *const signs[] = {"libdevice", "ptxas", "No PTX compilation provider"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(words, signs[i])) return true;
    return false;
}

dt_status *dt_pjrt_failed(const dt_pjrt *p, dt_error id, const char *doing, void *error) {
    dt_pjrt_text_of m = {HEAD(dt_pjrt_text_of), .object = error};
    dt_local_str words = {0};

    if (dt_pjrt_has(p, DT_PJRT_ERROR_MESSAGE)) p->api->function[DT_PJRT_ERROR_MESSAGE](&m);
    if ((id == DT_E_ACCELERATOR || id == DT_E_COMPILER) && is_exhausted(p, error))
        id = DT_E_DOES_NOT_FIT;
    if (m.text) dt_str_escaped(&words, m.text, m.size, LONGEST_MESSAGE);
    const bool no_cuda = id == DT_E_COMPILER && lacks_cuda(dt_str_text(&words));
    if (no_cuda) id = DT_E_PLUGIN;
    dt_status *s = dt_fail(id, NULL, "%s: %s: %s", p->path, doing,
                           m.text ? dt_str_text(&words) : "an error without a message");
    if (no_cuda)
        s = dt_suggest(
            s, "CUDA's compiler is not installed beside the plug-in: pip install "
               "'jax-cuda13-plugin[with-cuda]', and "
               "name the plug-in where pip put it: jax_plugins/xla_cuda13/xla_cuda_plugin.so");
    if (dt_pjrt_has(p, DT_PJRT_ERROR_DESTROY))
        p->api->function[DT_PJRT_ERROR_DESTROY](&(dt_pjrt_of){HEAD(dt_pjrt_of), .object = error});
    return s;
}

dt_status *dt_pjrt_call(const dt_pjrt *p, const dt_pjrt_step *s, void *arguments) {
    if (!dt_pjrt_has(p, s->slot))
        return dt_fail(DT_E_PLUGIN, NULL, "%s has no %s (PJRT %d.%d)", p->path, s->name,
                       p->api->version.major, p->api->version.minor);
    void *error = p->api->function[s->slot](arguments);
    return error ? dt_pjrt_failed(p, s->id, s->doing, error) : NULL;
}

void dt_pjrt_destroy(const dt_pjrt *p, dt_pjrt_slot slot, void *object) {
    void *error = object && dt_pjrt_has(p, slot)
                      ? p->api->function[slot](&(dt_pjrt_of){HEAD(dt_pjrt_of), .object = object})
                      : NULL;
    if (error) dt_status_free(dt_pjrt_failed(p, DT_E_PLUGIN, "destroy", error));
}

/* ---- opening, closing and versions ---- */

/* Keeps XLA from writing to standard error, unless its variable is set already. It would log traces
 * for each error, and a hundred lines if a CUDA file is missing. The errors that it returns are
 * enough. */
static void be_quiet(void) { setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0); }

static void set_environment(void) {
    setenv("TPU_SKIP_MDS_QUERY", "1", 0);
    setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", 0);
    setenv("TPU_WORKER_HOSTNAMES", "localhost", 0);
    setenv("TPU_ACCELERATOR_TYPE", "v4-8", 0);
    setenv("TPU_STDERR_LOG_LEVEL", "3", 0);
    setenv("TPU_MIN_LOG_LEVEL", "3", 0);
}

static dt_status *load(dt_pjrt *p) {
    const dt_pjrt_api *(*get)(void) = NULL;
    if (!*p->path) /* for "" dlopen would open dtrain itself */
        return dt_fail(DT_E_PLUGIN, NULL, "cannot open the plug-in: its path is empty");
    DT_TRY(dt_path_check(p->path));
    void *library = dlopen(p->path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return dt_fail(DT_E_PLUGIN, NULL, "cannot open the plug-in: %s", dlerror());
    *(void **)&get = dlsym(library, "GetPjrtApi");
    if (!get)
        return dt_fail(DT_E_PLUGIN, NULL, "%s is not a PJRT plug-in: it does not export GetPjrtApi",
                       p->path);
    p->api = get();
    if (!p->api || p->api->head.size < offsetof(dt_pjrt_api, function))
        return dt_fail(DT_E_PLUGIN, NULL, "%s: GetPjrtApi returns no function table", p->path);
    if (p->api->version.major != MAJOR)
        return dt_fail(DT_E_PLUGIN, NULL, "%s uses PJRT %d.%d; dtrain supports %d.x", p->path,
                       p->api->version.major, p->api->version.minor, MAJOR);
    return NULL;
}

bool dt_pjrt_is_named(const dt_pjrt_named_value *v, const char *name) {
    return v->name && v->name_size == strlen(name) && memcmp(v->name, name, v->name_size) == 0;
}

static dt_status *read_attributes(dt_pjrt *p) {
    static const dt_pjrt_step attributes = {DT_PJRT_PLUGIN_ATTRIBUTES, "PJRT_Plugin_Attributes",
                                            "attributes", DT_E_PLUGIN};
    dt_pjrt_attributes a = {HEAD(dt_pjrt_attributes)};
    DT_TRY(dt_pjrt_call(p, &attributes, &a));
    for (size_t i = 0; i < a.n; i++)
        if (dt_pjrt_is_named(&a.value[i], "stablehlo_current_version") &&
            a.value[i].kind == DT_PJRT_INT64_LIST && a.value[i].value_size == 3)
            memcpy(p->stablehlo, a.value[i].value.list, sizeof p->stablehlo);
    return NULL;
}

static dt_status *start(dt_pjrt *p) {
    static const dt_pjrt_step initialize = {DT_PJRT_PLUGIN_INITIALIZE, "PJRT_Plugin_Initialize",
                                            "initialize", DT_E_PLUGIN};
    dt_pjrt_of nothing = {.head = {.size = sizeof nothing.head}};
    DT_TRY(load(p));
    DT_TRY(dt_pjrt_call(p, &initialize, &nothing));
    return read_attributes(p);
}

dt_status *dt_pjrt_open(dt_pjrt **out, const char *path) {
    set_environment();
    return dt_pjrt_load(out, path);
}

dt_status *dt_pjrt_load(dt_pjrt **out, const char *path) {
    dt_pjrt *p = dt_alloc(sizeof *p);
    *p = (dt_pjrt){.path = dt_strdup(path)};
    be_quiet();
    dt_status *bad = start(p);
    if (bad) {
        dt_pjrt_close(p);
        return bad;
    }
    *out = p;
    return NULL;
}

void dt_pjrt_close(dt_pjrt *p) {
    if (!p) return;
    free(p->path);
    free(p);
}

void dt_pjrt_print_version(const dt_pjrt *p, dt_str *out) {
    dt_str_printf(out, "PJRT %d.%d", p->api->version.major, p->api->version.minor);
    if (p->stablehlo[0])
        dt_str_printf(out, ", StableHLO %lld.%lld.%lld", (long long)p->stablehlo[0],
                      (long long)p->stablehlo[1], (long long)p->stablehlo[2]);
}

/* ---- compiling ---- */

static dt_pjrt_named_value list_option(const char *name, const int64_t *list) {
    return (dt_pjrt_named_value){HEAD(dt_pjrt_named_value), .name = name,
                                 .name_size = strlen(name), .kind = DT_PJRT_INT64_LIST,
                                 .value.list = list,        .value_size = 3};
}

static dt_pjrt_named_value text_option(const char *name, const char *text) {
    return (dt_pjrt_named_value){HEAD(dt_pjrt_named_value), .name = name,
                                 .name_size = strlen(name), .kind = DT_PJRT_STRING,
                                 .value.string = text,      .value_size = strlen(text)};
}

static dt_status *create_topology(const dt_pjrt *p, const char *name,
                                  const dt_pjrt_named_value *option, size_t n, void **out) {
    static const dt_pjrt_step create = {DT_PJRT_TOPOLOGY_CREATE, "PJRT_TopologyDescription_Create",
                                        "topology", DT_E_COMPILER};
    dt_pjrt_topology_create c = {HEAD(dt_pjrt_topology_create), .name = name,
                                 .name_size = strlen(name), .option = option, .n_options = n};
    DT_TRY(dt_pjrt_call(p, &create, &c));
    *out = c.topology;
    return NULL;
}

/* Makes the topology of one host with o->n_devices GPUs. */
static dt_status *make_gpus(const dt_pjrt *p, const dt_pjrt_order *o, void **out) {
    char grid[40];
    snprintf(grid, sizeof grid, "1x1x%d", o->n_devices);
    const dt_pjrt_named_value options[] = {text_option("target_config", o->target),
                                           text_option("topology", grid)};
    return create_topology(p, o->slice, options, 2, out);
}

static dt_status *make_topology(const dt_pjrt *p, const dt_pjrt_order *o, void **out) {
    const int64_t wrap[] = {o->wrap[0], o->wrap[1], o->wrap[2]},
                  host[] = {o->host[0], o->host[1], o->host[2]};
    const char *cores = o->megacore ? "megacore" : "default";
    const dt_pjrt_named_value options[MOST_OPTIONS] = {
        list_option("wrap", wrap),
        list_option("chips_per_host_bounds", host),
        text_option("chip_config_name", cores),
    };
    return o->target ? make_gpus(p, o, out)
                     : create_topology(p, o->slice, options, MOST_OPTIONS, out);
}

static dt_status *read_devices(const dt_pjrt *p, void *topology, dt_pjrt_report *out) {
    static const dt_pjrt_step list = {DT_PJRT_TOPOLOGY_GET_DEVICE_DESCRIPTIONS,
                                      "PJRT_TopologyDescription_GetDeviceDescriptions", "devices",
                                      DT_E_PLUGIN};
    static const dt_pjrt_step attributes = {DT_PJRT_DEVICE_DESCRIPTION_ATTRIBUTES,
                                            "PJRT_DeviceDescription_Attributes", "device",
                                            DT_E_PLUGIN};
    dt_pjrt_objects_of d = {HEAD(dt_pjrt_objects_of), .object = topology};
    DT_TRY(dt_pjrt_call(p, &list, &d));
    if (d.n == 0) return dt_fail(DT_E_PLUGIN, NULL, "%s: the topology has no devices", p->path);
    dt_pjrt_description_attributes a = {HEAD(dt_pjrt_description_attributes),
                                        .description = d.part[0]};
    DT_TRY(dt_pjrt_call(p, &attributes, &a));
    for (size_t i = 0; i < a.n; i++)
        if (dt_pjrt_is_named(&a.value[i], "device_memory_bytes_limit") &&
            a.value[i].kind == DT_PJRT_INT64)
            out->hbm = a.value[i].value.int64;
    return NULL;
}

static dt_status *compile(const dt_pjrt *p, const dt_pjrt_order *o, const void *topology,
                          void **executable) {
    static const dt_pjrt_step with = {DT_PJRT_COMPILE, "PJRT_Compile", "compile", DT_E_COMPILER};
    dt_local_str options = {0};
    DT_LOCAL char *code = dt_alloc(o->size + 1);
    memcpy(code, o->program, o->size);
    dt_pjrt_write_options(o->device, o->n_devices, &options);
    const dt_pjrt_program_source program = {HEAD(dt_pjrt_program_source), .code = code,
                                            .code_size = o->size, .format = "mlir",
                                            .format_size = 4};
    dt_pjrt_compile_arguments c = {HEAD(dt_pjrt_compile_arguments), .topology = topology,
                                   .program = &program, .options = dt_str_text(&options),
                                   .options_size = options.size};
    dt_status *bad = dt_pjrt_call(p, &with, &c);
    *executable = c.executable;
    return bad;
}

static dt_status *read_memory(const dt_pjrt *p, void *executable, dt_pjrt_report *out) {
    static const dt_pjrt_step stats = {DT_PJRT_EXECUTABLE_GET_COMPILED_MEMORY_STATS,
                                       "PJRT_Executable_GetCompiledMemoryStats", "memory",
                                       DT_E_PLUGIN};
    dt_pjrt_memory_stats m = {HEAD(dt_pjrt_memory_stats), .executable = executable};
    DT_TRY(dt_pjrt_call(p, &stats, &m));
    out->code = m.code;
    out->argument = m.argument;
    out->output = m.output;
    out->alias = m.alias;
    out->temp = m.temp;
    out->peak = m.peak;
    return NULL;
}

/* Reads the optimized program by two calls: the first returns its size, the second its bytes. */
static dt_status *read_program(const dt_pjrt *p, void *executable, dt_pjrt_report *out) {
    static const dt_pjrt_step optimized = {DT_PJRT_EXECUTABLE_OPTIMIZED_PROGRAM,
                                           "PJRT_Executable_OptimizedProgram", "optimized program",
                                           DT_E_PLUGIN};
    dt_pjrt_program_source program = {HEAD(dt_pjrt_program_source)};
    dt_pjrt_object_of q = {HEAD(dt_pjrt_object_of), .object = executable, .part = &program};
    DT_TRY(dt_pjrt_call(p, &optimized, &q));
    size_t asked = program.code_size;
    program.code = dt_alloc(asked + 1);
    dt_status *bad = dt_pjrt_call(p, &optimized, &q);
    if (!bad && program.code_size > asked)
        bad = dt_fail(DT_E_COMPILER, NULL, "%s: the optimized program grew while it was read",
                      p->path);
    if (!bad) bad = dt_pjrt_read_hlo(program.code, program.code_size, out);
    free(program.code);
    return bad;
}

static dt_status *compile_for(const dt_pjrt *p, const dt_pjrt_order *o, void *topology,
                              dt_pjrt_report *out) {
    void *executable = NULL;
    DT_TRY(read_devices(p, topology, out));
    dt_status *bad = compile(p, o, topology, &executable);
    if (!bad) bad = read_memory(p, executable, out);
    if (!bad) bad = read_program(p, executable, out);
    dt_pjrt_destroy(p, DT_PJRT_EXECUTABLE_DESTROY, executable);
    return bad;
}

dt_status *dt_pjrt_compile(const dt_pjrt *p, const dt_pjrt_order *o, dt_pjrt_report *out) {
    void *topology = NULL;
    *out = (dt_pjrt_report){0};
    DT_TRY(make_topology(p, o, &topology));
    dt_status *bad = compile_for(p, o, topology, out);
    dt_pjrt_destroy(p, DT_PJRT_TOPOLOGY_DESTROY, topology);
    return bad;
}
