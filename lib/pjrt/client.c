/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, arrays and programs of a plug-in: see client.h. */
#include "pjrt/client.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "pjrt/options.h"
#include "pjrt/pjrt_impl.h"

#define HEAD DT_PJRT_HEAD

struct dt_pjrt_client {
    dt_pjrt *plugin;
    void *client;
    void *const *device;
    int n_devices;
    char *platform, *about;
    /* folders for compiled programs and for the kernels that XLA has chosen; NULL: not used */
    char *cache, *autotuned;
    bool is_cpu, is_confined;
};

/* ---- opening, closing, and facts about the client ---- */

static dt_status *text_of(const dt_pjrt *p, const dt_pjrt_step *s, void *object, dt_str *out) {
    dt_pjrt_text_of t = {HEAD(dt_pjrt_text_of), .object = object};
    DT_TRY(dt_pjrt_call(p, s, &t));
    if (t.text) dt_str_escaped(out, t.text, t.size, 200);
    return NULL;
}

static dt_status *create(dt_pjrt_client *c, const dt_pjrt_opening *how) {
    static const dt_pjrt_step make = {DT_PJRT_CLIENT_CREATE, "PJRT_Client_Create", "cannot start",
                                      DT_E_PLUGIN};
    dt_pjrt_client_create a = {HEAD(dt_pjrt_client_create)};
    dt_pjrt_options options;
    dt_status *s = dt_pjrt_options_of(c->plugin, how, &options);

    a.option = options.at;
    a.n_options = (size_t)options.n;
    c->is_confined = options.visible != NULL;
    if (!s) s = dt_pjrt_call(c->plugin, &make, &a);
    dt_pjrt_options_release(&options);
    c->client = a.client;
    if (!s && !c->client)
        s = dt_fail(DT_E_PLUGIN, NULL, "%s: PJRT_Client_Create returns no client", c->plugin->path);
    return s;
}

static dt_status *list_devices(dt_pjrt_client *c) {
    static const dt_pjrt_step list = {DT_PJRT_CLIENT_ADDRESSABLE_DEVICES,
                                      "PJRT_Client_AddressableDevices", "devices", DT_E_PLUGIN};
    enum { MOST_DEVICES = 65536 };
    dt_pjrt_objects_of d = {HEAD(dt_pjrt_objects_of), .object = c->client};
    DT_TRY(dt_pjrt_call(c->plugin, &list, &d));
    if (d.n == 0 || !d.part || d.n > MOST_DEVICES)
        return dt_fail(DT_E_PLUGIN, NULL, "%s: this process has no devices of it", c->plugin->path);
    c->device = d.part;
    c->n_devices = (int)d.n;
    return NULL;
}

static dt_status *describe(dt_pjrt_client *c) {
    static const dt_pjrt_step name = {DT_PJRT_CLIENT_PLATFORM_NAME, "PJRT_Client_PlatformName",
                                      "platform", DT_E_PLUGIN};
    static const dt_pjrt_step version = {DT_PJRT_CLIENT_PLATFORM_VERSION,
                                         "PJRT_Client_PlatformVersion", "version", DT_E_PLUGIN};
    dt_str platform = {0}, about = {0}, build = {0};
    dt_status *s = text_of(c->plugin, &name, c->client, &platform);

    if (!s) s = text_of(c->plugin, &version, c->client, &build);
    dt_str_printf(&about, "%s, ", dt_str_text(&platform));
    dt_pjrt_print_version(c->plugin, &about);
    /* Only the first line of the build's description is shown. */
    if (build.size && strcmp(dt_str_text(&build), dt_str_text(&platform)) != 0)
        dt_str_printf(&about, "; %.*s", (int)strcspn(dt_str_text(&build), "\\"),
                      dt_str_text(&build));
    c->is_cpu = strcasecmp(dt_str_text(&platform), "cpu") == 0;
    c->platform = dt_str_take(&platform);
    c->about = dt_str_take(&about);
    dt_str_release(&build);
    return s;
}

/* Prevents libtpu from querying a metadata server on machines without a TPU, where it would wait
 * for minutes. A machine is not a Cloud TPU if it has no device files of a TPU. */
static void look_for_tpu(void) {
    if (access("/dev/accel0", F_OK) != 0 && access("/dev/vfio", F_OK) != 0)
        setenv("TPU_SKIP_MDS_QUERY", "1", 0);
}

/* Opens the folder of compiled programs, unless the client only lists devices and so compiles
 * nothing. */
static dt_status *open_cache(dt_pjrt_client *c, const dt_pjrt_opening *how) {
    const char *named = how->settings ? how->settings->cache : NULL;
    const char *folder = named ? named : dt_environment(DT_PJRT_CACHE_ENV);
    if (how->looks || !folder) return NULL;
    DT_TRY(dt_pjrt_cache_open(folder));
    c->cache = dt_strdup(folder);
    if (!dt_pjrt_drives_gpus(c->plugin)) return NULL;
    dt_str autotuned = {0};
    dt_str_printf(&autotuned, "%s/autotune", folder);
    c->autotuned = dt_str_take(&autotuned);
    return dt_dir_make(c->autotuned);
}

static dt_status *start(dt_pjrt_client *c, const char *path, const dt_pjrt_opening *how) {
    look_for_tpu();
    DT_TRY(dt_pjrt_load(&c->plugin, path));
    DT_TRY(open_cache(c, how));
    DT_TRY(create(c, how));
    DT_TRY(list_devices(c));
    return describe(c);
}

dt_status *dt_pjrt_client_open(dt_pjrt_client **out, const char *path, const dt_pjrt_opening *how) {
    dt_pjrt_client *c = dt_alloc(sizeof *c);
    *c = (dt_pjrt_client){0};
    dt_status *s = start(c, path, how);
    if (s) dt_pjrt_client_close(c);
    else *out = c;
    return s;
}

void dt_pjrt_client_close(dt_pjrt_client *c) {
    if (!c) return;
    if (c->client) dt_pjrt_destroy(c->plugin, DT_PJRT_CLIENT_DESTROY, c->client);
    dt_pjrt_close(c->plugin);
    free(c->platform);
    free(c->about);
    free(c->cache);
    free(c->autotuned);
    free(c);
}

const char *dt_pjrt_client_platform(const dt_pjrt_client *c) { return c->platform; }

const char *dt_pjrt_client_describe(const dt_pjrt_client *c) { return c->about; }

int dt_pjrt_client_devices(const dt_pjrt_client *c) { return c->n_devices; }

bool dt_pjrt_client_is_confined(const dt_pjrt_client *c) { return c->is_confined; }

/* ---- facts about a device ---- */

static dt_status *description_of(const dt_pjrt_client *c, int i, void **out) {
    static const dt_pjrt_step get = {DT_PJRT_DEVICE_GET_DESCRIPTION, "PJRT_Device_GetDescription",
                                     "device", DT_E_PLUGIN};
    dt_pjrt_object_of d = {HEAD(dt_pjrt_object_of), .object = c->device[i]};
    DT_TRY(dt_pjrt_call(c->plugin, &get, &d));
    *out = d.part;
    return NULL;
}

static dt_status *id_of(const dt_pjrt_client *c, void *description, int *id) {
    static const dt_pjrt_step get = {DT_PJRT_DEVICE_DESCRIPTION_ID, "PJRT_DeviceDescription_Id",
                                     "device", DT_E_PLUGIN};
    dt_pjrt_number_of n = {HEAD(dt_pjrt_number_of), .object = description};
    DT_TRY(dt_pjrt_call(c->plugin, &get, &n));
    *id = n.number;
    return NULL;
}

/* Reads a device's memory and coordinates from its attributes. Members of *out whose attribute the
 * plug-in lacks do not change. */
static void read_attributes(const dt_pjrt_client *c, void *description, dt_pjrt_device_facts *out) {
    static const dt_pjrt_step get = {DT_PJRT_DEVICE_DESCRIPTION_ATTRIBUTES,
                                     "PJRT_DeviceDescription_Attributes", "device", DT_E_PLUGIN};
    dt_pjrt_description_attributes a = {HEAD(dt_pjrt_description_attributes),
                                        .description = description};
    dt_status *bad = dt_pjrt_call(c->plugin, &get, &a);
    for (size_t i = 0; !bad && i < a.n; i++) {
        const dt_pjrt_named_value *v = &a.value[i];
        if (dt_pjrt_is_named(v, "device_memory_bytes_limit") && v->kind == DT_PJRT_INT64)
            out->memory = v->value.int64;
        if (dt_pjrt_is_named(v, "coords") && v->kind == DT_PJRT_INT64_LIST && v->value_size <= 3) {
            out->n_coordinates = (int)v->value_size;
            memcpy(out->coordinate, v->value.list, v->value_size * sizeof *v->value.list);
        }
    }
    for (size_t i = 0; !bad && i < a.n; i++)
        if (dt_pjrt_is_named(&a.value[i], "core_on_chip") && a.value[i].kind == DT_PJRT_INT64 &&
            out->n_coordinates) {
            out->coordinate[out->n_coordinates++] = a.value[i].value.int64;
            break; /* only the first attribute of this name is used */
        }
    dt_status_free(bad);
}

dt_pjrt_memory dt_pjrt_client_memory(const dt_pjrt_client *c, int i) {
    static const dt_pjrt_step get = {DT_PJRT_DEVICE_MEMORY_STATS, "PJRT_Device_MemoryStats",
                                     "memory", DT_E_PLUGIN};
    dt_pjrt_device_memory m = {HEAD(dt_pjrt_device_memory), .device = c->device[i]};
    dt_status *bad = dt_pjrt_call(c->plugin, &get, &m);
    dt_pjrt_memory all = {0};
    if (!bad) {
        all.limit = m.limit.is_set && m.limit.value > 0 ? m.limit.value : 0;
        all.in_use = m.in_use > 0 ? m.in_use : 0;
        all.peak = m.peak.is_set && m.peak.value > all.in_use ? m.peak.value : all.in_use;
    }
    dt_status_free(bad);
    return all;
}

dt_status *dt_pjrt_client_device(const dt_pjrt_client *c, int i, dt_pjrt_device_facts *out) {
    static const dt_pjrt_step kind = {DT_PJRT_DEVICE_DESCRIPTION_KIND,
                                      "PJRT_DeviceDescription_Kind", "device", DT_E_PLUGIN};
    dt_pjrt_text_of t = {HEAD(dt_pjrt_text_of)};
    *out = (dt_pjrt_device_facts){0};
    DT_TRY(description_of(c, i, &t.object));
    DT_TRY(id_of(c, t.object, &out->id));
    DT_TRY(dt_pjrt_call(c->plugin, &kind, &t));
    snprintf(out->kind, sizeof out->kind, "%.*s", (int)(t.size < 100 ? t.size : 100),
             t.text ? t.text : "");
    read_attributes(c, t.object, out);
    const int64_t limit = dt_pjrt_client_memory(c, i).limit;
    out->memory = limit ? limit : out->memory;
    return NULL;
}

/* ---- arrays and events ---- */

/* Returns the number that PJRT's API gives to an element type (PJRT_Buffer_Type). */
static int type_of(dt_dtype d) {
    static const int numbers[] = {
        [DT_BOOL] = 1,     [DT_INT8] = 2,     [DT_INT16] = 3,    [DT_INT32] = 4,  [DT_INT64] = 5,
        [DT_UINT8] = 6,    [DT_UINT16] = 7,   [DT_UINT32] = 8,   [DT_UINT64] = 9, [DT_FLOAT16] = 10,
        [DT_FLOAT32] = 11, [DT_FLOAT64] = 12, [DT_BFLOAT16] = 13};
    return numbers[d];
}

dt_status *dt_pjrt_await(const dt_pjrt_client *c, void *event) {
    static const dt_pjrt_step await = {DT_PJRT_EVENT_AWAIT, "PJRT_Event_Await",
                                       "waiting for a device", DT_E_ACCELERATOR};
    if (!event) return NULL;
    dt_status *s =
        dt_pjrt_call(c->plugin, &await, &(dt_pjrt_of){HEAD(dt_pjrt_of), .object = event});
    dt_pjrt_destroy(c->plugin, DT_PJRT_EVENT_DESTROY, event);
    return s;
}

static dt_status *upload(const dt_pjrt_client *c, int i, const dt_view *x, int semantics,
                         dt_pjrt_from_host *f) {
    static const dt_pjrt_step copy = {DT_PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER,
                                      "PJRT_Client_BufferFromHostBuffer", "copying to a device",
                                      DT_E_ACCELERATOR};
    *f = (dt_pjrt_from_host){HEAD(dt_pjrt_from_host), .client = c->client,
                             .data = x->data,         .type = type_of(x->type.dtype),
                             .dim = x->type.dim,      .rank = (size_t)x->type.rank,
                             .semantics = semantics,  .device = c->device[i]};
    DT_TRY(dt_pjrt_call(c->plugin, &copy, f));
    return f->buffer ? NULL
                     : dt_fail(DT_E_ACCELERATOR, NULL,
                               "%s: copying to a device: no buffer was returned", c->plugin->path);
}

dt_status *dt_pjrt_upload(const dt_pjrt_client *c, int i, const dt_view *x, dt_pjrt_buffer **out) {
    dt_pjrt_from_host f = {0};
    dt_status *s = upload(c, i, x, DT_PJRT_UNTIL_DONE, &f), *bad = dt_pjrt_await(c, f.done);
    if (s) dt_status_free(bad);
    else s = bad;
    if (s) dt_pjrt_buffer_destroy(c, f.buffer);
    *out = s ? NULL : f.buffer;
    return s;
}

dt_status *dt_pjrt_lend(const dt_pjrt_client *c, int i, const dt_view *x, dt_pjrt_buffer **out,
                        void **free) {
    dt_pjrt_from_host f = {0};
    dt_status *s = upload(c, i, x, DT_PJRT_LENT, &f);
    *out = f.buffer;
    *free = f.done;
    return s;
}

static dt_pjrt_layout row_major(int rank, int64_t *order) {
    dt_pjrt_layout layout = {HEAD(dt_pjrt_layout), .minor_to_major = order, .rank = (size_t)rank};
    layout.tiled.size = sizeof layout - sizeof layout.head - sizeof layout.type;
    for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
    return layout;
}

static dt_status *ask(const dt_pjrt_client *c, dt_pjrt_to_host *t, int rank) {
    static const dt_pjrt_step copy = {DT_PJRT_BUFFER_TO_HOST_BUFFER, "PJRT_Buffer_ToHostBuffer",
                                      "copying from a device", DT_E_ACCELERATOR};
    int64_t order[DT_MAX_RANK];
    dt_pjrt_layout layout = row_major(rank, order);
    t->layout = &layout;
    return dt_pjrt_call(c->plugin, &copy, t);
}

dt_status *dt_pjrt_check_size(const dt_pjrt_client *c, dt_pjrt_buffer *b, const dt_view *x) {
    const size_t bytes = (size_t)dt_type_bytes(&x->type);
    dt_pjrt_to_host t = {HEAD(dt_pjrt_to_host), .buffer = b};
    DT_TRY(ask(c, &t, x->type.rank));
    return t.size == bytes
               ? NULL
               : dt_fail(DT_E_ACCELERATOR, NULL,
                         "%s: copying from a device: an array of %zu bytes has %zu there",
                         c->plugin->path, bytes, t.size);
}

dt_status *dt_pjrt_download(const dt_pjrt_client *c, dt_pjrt_buffer *b, const dt_view *x,
                            void **ready) {
    dt_pjrt_to_host t = {HEAD(dt_pjrt_to_host), .buffer = b, .data = x->data,
                         .size = (size_t)dt_type_bytes(&x->type)};
    dt_status *s = ask(c, &t, x->type.rank);
    *ready = t.event;
    return s;
}

void dt_pjrt_buffer_destroy(const dt_pjrt_client *c, dt_pjrt_buffer *b) {
    dt_pjrt_destroy(c->plugin, DT_PJRT_BUFFER_DESTROY, b);
}

/* ---- programs ---- */

static dt_status *compile(const dt_pjrt_client *c, const dt_pjrt_text *t, const dt_str *options,
                          void **out) {
    static const dt_pjrt_step with = {DT_PJRT_CLIENT_COMPILE, "PJRT_Client_Compile", "compile",
                                      DT_E_COMPILER};
    DT_LOCAL char *code = dt_alloc(t->size + 1);
    memcpy(code, t->text, t->size);
    const dt_pjrt_program_source program = {HEAD(dt_pjrt_program_source), .code = code,
                                            .code_size = t->size, .format = "mlir",
                                            .format_size = 4};
    dt_pjrt_client_compile a = {HEAD(dt_pjrt_client_compile), .client = c->client,
                                .program = &program, .options = options->data,
                                .options_size = options->size};
    dt_status *s = dt_pjrt_call(c->plugin, &with, &a);
    *out = a.executable;
    return s || a.executable ? s
                             : dt_fail(DT_E_COMPILER, NULL, "%s: compile: no program was returned",
                                       c->plugin->path);
}

static dt_status *executable_of(const dt_pjrt_client *c, dt_pjrt_loaded *x, void **out) {
    static const dt_pjrt_step get = {DT_PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE,
                                     "PJRT_LoadedExecutable_GetExecutable", "program", DT_E_PLUGIN};
    dt_pjrt_object_of e = {HEAD(dt_pjrt_object_of), .object = x};
    DT_TRY(dt_pjrt_call(c->plugin, &get, &e));
    *out = e.part;
    return NULL;
}

/* Checks the number of results: there is room for as many as the text has, and a program with
 * more would write beyond them. */
static dt_status *check_results(const dt_pjrt_client *c, dt_pjrt_loaded *x, int n) {
    static const dt_pjrt_step count = {DT_PJRT_EXECUTABLE_NUM_OUTPUTS, "PJRT_Executable_NumOutputs",
                                       "program", DT_E_PLUGIN};
    dt_pjrt_count_of outputs = {HEAD(dt_pjrt_count_of)};
    DT_TRY(executable_of(c, x, &outputs.object));
    dt_status *s = dt_pjrt_call(c->plugin, &count, &outputs);
    dt_pjrt_destroy(c->plugin, DT_PJRT_EXECUTABLE_DESTROY, outputs.object);
    if (!s && outputs.n != (size_t)n)
        s = dt_fail(DT_E_COMPILER, NULL,
                    "%s: compile: a program with %d results has %zu after compiling",
                    c->plugin->path, n, outputs.n);
    return s;
}

/* Writes the compile options (CompileOptionsProto) for these devices, with XLA's options for this
 * platform. */
static dt_status *write_options(const dt_pjrt_client *c, const dt_pjrt_text *t, dt_str *out) {
    DT_LOCAL int64_t *ids = dt_alloc(dt_size_mul((size_t)t->n_devices, sizeof *ids));
    dt_status *s = NULL;

    for (int i = 0; !s && i < t->n_devices; i++) {
        void *description = NULL;
        int id = 0;
        s = description_of(c, t->device[i], &description);
        if (!s) s = id_of(c, description, &id);
        ids[i] = id;
    }
    dt_pjrt_write_options(ids, t->n_devices, out);
    if (c->is_cpu) dt_pjrt_write_override("xla_cpu_use_xnnpack", false, out);
    if (c->autotuned)
        dt_pjrt_write_override_text("xla_gpu_per_fusion_autotune_cache_dir", c->autotuned, out);
    return s;
}

static void store_program(const dt_pjrt_client *c, const dt_pjrt_cached *cached, void *loaded) {
    void *executable = NULL;
    dt_status *bad = executable_of(c, loaded, &executable);
    if (!bad) dt_pjrt_cache_store(cached, executable);
    dt_pjrt_destroy(c->plugin, DT_PJRT_EXECUTABLE_DESTROY, executable);
    dt_status_free(bad);
}

/* Loads the program from the cache or, if it is not there, compiles and stores it. Without a cache,
 * only compiles it. */
static dt_status *find_program(const dt_pjrt_client *c, const dt_pjrt_text *t,
                               const dt_str *options, void **out) {
    dt_pjrt_device_facts facts;
    if (!c->cache) return compile(c, t, options, out);
    DT_TRY(dt_pjrt_client_device(c, t->device[0], &facts));
    const dt_digest name = dt_pjrt_cache_name(c->plugin, c->about, facts.kind, t, options);
    const dt_pjrt_cached cached = {c->plugin, c->client, c->cache, name};
    *out = dt_pjrt_cache_load(&cached);
    if (*out) return NULL;
    DT_TRY(compile(c, t, options, out));
    store_program(c, &cached, *out);
    return NULL;
}

dt_status *dt_pjrt_load_program(const dt_pjrt_client *c, const dt_pjrt_text *t,
                                dt_pjrt_loaded **out) {
    dt_local_str options = {0};
    void *made = NULL;
    dt_status *s = write_options(c, t, &options);
    if (!s) s = find_program(c, t, &options, &made);
    if (!s) s = check_results(c, made, t->n_results);
    if (s) dt_pjrt_loaded_destroy(c, made);
    else *out = made;
    return s;
}

void dt_pjrt_loaded_destroy(const dt_pjrt_client *c, dt_pjrt_loaded *x) {
    dt_pjrt_destroy(c->plugin, DT_PJRT_LOADED_EXECUTABLE_DESTROY, x);
}

dt_status *dt_pjrt_execute(const dt_pjrt_client *c, dt_pjrt_loaded *x, int n_devices,
                           dt_pjrt_buffer *const *const *argument, int n_arguments,
                           dt_pjrt_buffer **const *result) {
    static const dt_pjrt_step run = {DT_PJRT_LOADED_EXECUTABLE_EXECUTE,
                                     "PJRT_LoadedExecutable_Execute", "running a step",
                                     DT_E_ACCELERATOR};
    dt_pjrt_execute_options o = {HEAD(dt_pjrt_execute_options)};
    dt_pjrt_execute_arguments a = {HEAD(dt_pjrt_execute_arguments),
                                   .executable = x,
                                   .options = &o,
                                   .argument = (void *const *const *)argument,
                                   .n_devices = (size_t)n_devices,
                                   .n_arguments = (size_t)n_arguments,
                                   .result = (void **const *)result};
    return dt_pjrt_call(c->plugin, &run, &a);
}

int64_t dt_pjrt_temporary_bytes(const dt_pjrt_client *c, dt_pjrt_loaded *x) {
    static const dt_pjrt_step stats = {DT_PJRT_EXECUTABLE_GET_COMPILED_MEMORY_STATS,
                                       "PJRT_Executable_GetCompiledMemoryStats", "memory",
                                       DT_E_PLUGIN};
    dt_pjrt_memory_stats m = {HEAD(dt_pjrt_memory_stats)};
    dt_status *s = executable_of(c, x, &m.executable);
    if (!s) s = dt_pjrt_call(c->plugin, &stats, &m);
    dt_pjrt_destroy(c->plugin, DT_PJRT_EXECUTABLE_DESTROY, m.executable);
    const int64_t bytes = s ? 0 : m.temp;
    dt_status_free(s);
    return bytes;
}
