/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in with made-up devices, in memory that a sanitizer watches. Programs are not computed: a
 * result whose memory an argument shares is that argument with 1 added to its first float, any
 * other is zeros. What counts is the traffic: which buffers live, which were donated, how often
 * something was copied.
 *
 * FAKE_DEVICE in the environment says how it misbehaves:
 *
 *     fail=K       call number K fails as UNAVAILABLE; exhaust=K: as RESOURCE_EXHAUSTED
 *     loan=K       the device fails before it has returned array number K of those that it reads
 *                  where they lie
 *     lost=K       step number K fails as UNAVAILABLE; full=K: as RESOURCE_EXHAUSTED
 *     lack=SLOT    the table has no function there
 *     size=N       arrays are said to be N bytes larger than they are; results=N: a program to have
 *                  N results more
 *     devices=N    N devices, 4 unless told
 *     none=WHAT    returns nothing: client, executable, buffer; result: of a step's last one
 *     gpu          it says that it drives GPUs (platform cuda), takes the options that XLA's GPU
 *                  plug-ins take, refuses others in their words, and has as many devices as it is
 *                  told are visible; gpu options: it prints what it was told on standard error;
 *                  compile=TEXT: it refuses programs with this
 *     tpu          it says that it is a TPU, with coordinates; tpu twice: each of them twice
 *     slow         it compiles for a minute; refuse=OP: it refuses the line of the text where that
 *                  op first stands
 *     tell         in the end it tells how many steps were started, how many of them before all
 *                  results of the one before had been awaited, and that arrays came from other
 *                  threads than the one that opened it, if any did
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pjrt/api.h"

enum { MOST = 1024, BROKEN = 14, EXHAUSTED = 8, NOT_FOUND = 5 };

static struct {
    dt_pjrt_head head;
    struct {
        dt_pjrt_head head;
        int major, minor;
    } version;
    dt_pjrt_function function[DT_PJRT_SLOTS];
} table;
/* asked: results that nobody has awaited */
static atomic_int calls, alive, uploads, downloads, donations, steps, ahead, early, asked, loans;
static pthread_t opener;

typedef struct {
    int code;
    char text[200];
} error;
typedef struct {
    size_t size;
    bool gone;
    unsigned char data[];
} buffer;
/* shares[result]: the argument whose memory it takes, -1 */
typedef struct {
    int arguments, results, shares[MOST];
    size_t bytes[MOST];
} executable;

static void *make(size_t size) {
    alive++;
    return calloc(1, size);
}

static error *fail(int code, const char *text) {
    error *e = make(sizeof *e);
    e->code = code;
    snprintf(e->text, sizeof e->text, "%s", text);
    return e;
}

/* The number behind `name=`; otherwise: not told. */
static long told(const char *name, long otherwise) {
    const char *mode = getenv("FAKE_DEVICE"), *at = mode ? strstr(mode, name) : NULL;
    return at ? strtol(at + strlen(name), NULL, 10) : otherwise;
}

static bool says(const char *words) {
    const char *mode = getenv("FAKE_DEVICE");
    return mode && strstr(mode, words);
}

/* Each function asks first whether it is its turn to fail. */
static void *turn(void) {
    const int call = ++calls;
    if (call == told("fail=", 0)) return fail(BROKEN, "UNAVAILABLE: the device is gone");
    return call == told("exhaust=", 0) ? fail(EXHAUSTED, "RESOURCE_EXHAUSTED: out of memory")
                                       : NULL;
}
#define TURN()                                                                                     \
    do {                                                                                           \
        void *bad = turn();                                                                        \
        if (bad) return bad;                                                                       \
    } while (0)

/* ---- objects ---- */

static void *destroy(void *arguments) {
    free(((dt_pjrt_of *)arguments)->object);
    alive--;
    return NULL;
}

static void *error_message(void *arguments) {
    dt_pjrt_text_of *a = arguments;
    a->text = ((error *)a->object)->text;
    a->size = strlen(a->text);
    return NULL;
}

static void *error_code(void *arguments) {
    dt_pjrt_number_of *a = arguments;
    a->number = ((error *)a->object)->code;
    return NULL;
}

static void *event(void) { return make(1); }

enum { OF_RESULT = 1, OF_LOAN = 2 };

static void *await(void *arguments) {
    TURN();
    const char of = *(char *)((dt_pjrt_of *)arguments)->object;
    asked -= of == OF_RESULT;
    return of == OF_LOAN && ++loans == told("loan=", 0)
               ? fail(BROKEN, "UNAVAILABLE: the device is gone")
               : NULL;
}

/* ---- a GPU's options ---- */

static const dt_pjrt_extension gpu_extensions[] = {
    {sizeof *gpu_extensions, 24, &gpu_extensions[1]},
    {sizeof *gpu_extensions, DT_PJRT_GPU_CUSTOM_CALL, NULL}};
static int visible[64], n_visible; /* 0: all are */

static void print_option(const dt_pjrt_named_value *v) {
    fprintf(stderr, " %.*s=", (int)v->name_size, v->name);
    switch (v->kind) {
    case DT_PJRT_STRING: fprintf(stderr, "'%.*s'", (int)v->value_size, v->value.string); break;
    case DT_PJRT_INT64: fprintf(stderr, "%lld", (long long)v->value.int64); break;
    case DT_PJRT_FLOAT: fprintf(stderr, "%g", (double)v->value.number); break;
    case DT_PJRT_BOOL: fprintf(stderr, "%s", v->value.boolean ? "true" : "false"); break;
    case DT_PJRT_INT64_LIST:
        for (size_t i = 0; i < v->value_size; i++)
            fprintf(stderr, "%s%lld", i ? "," : "[", (long long)v->value.list[i]);
        fprintf(stderr, "]");
    }
}

/* In the words of XLA's plug-in, whose kinds these are. */
static void *take_option(const dt_pjrt_named_value *v) {
    static const struct {
        const char *name;
        dt_pjrt_kind kind;
    } takes[] = {
        {"allocator", DT_PJRT_STRING},
        {"memory_fraction", DT_PJRT_FLOAT},
        {"preallocate", DT_PJRT_BOOL},
        {"visible_devices", DT_PJRT_INT64_LIST},
        {"collective_memory_size", DT_PJRT_INT64},
        {"abort_collectives_on_failure", DT_PJRT_BOOL},
        {"use_tfrt_gpu_client", DT_PJRT_BOOL},
        {"max_inflight_computations", DT_PJRT_INT64},
    };
    char text[200];
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
        if (strlen(takes[i].name) != v->name_size ||
            memcmp(takes[i].name, v->name, v->name_size) != 0)
            continue;
        if (takes[i].kind == v->kind) return NULL;
        snprintf(text, sizeof text,
                 "Option passed to PJRT_Client_Create with name %s has another type",
                 takes[i].name);
        return fail(BROKEN, text);
    }
    snprintf(text, sizeof text, "Unexpected option name passed to PJRT_Client_Create: %.*s",
             (int)v->name_size, v->name);
    return fail(BROKEN, text);
}

static void *take_options(const dt_pjrt_client_create *a) {
    n_visible = 0;
    if (says("gpu options")) fprintf(stderr, "options:");
    for (size_t i = 0; says("gpu options") && i < a->n_options; i++) print_option(&a->option[i]);
    if (says("gpu options")) fprintf(stderr, "\n");
    for (size_t i = 0; i < a->n_options; i++) {
        const dt_pjrt_named_value *v = &a->option[i];
        void *bad = take_option(v);
        if (bad) return bad;
        for (size_t k = 0; v->kind == DT_PJRT_INT64_LIST && k < v->value_size; k++)
            if (v->value.list[k] < told("devices=", 4))
                visible[n_visible++] = (int)v->value.list[k];
    }
    return NULL;
}

/* ---- the plug-in and its devices ---- */

static void *initialize(void *arguments) {
    (void)arguments;
    TURN();
    return NULL;
}

static void *attributes(void *arguments) {
    static const int64_t version[] = {1, 13, 0};
    static const dt_pjrt_named_value value = {.name = "stablehlo_current_version",
                                              .name_size = 25,
                                              .kind = DT_PJRT_INT64_LIST,
                                              .value.list = version,
                                              .value_size = 3};
    dt_pjrt_attributes *a = arguments;
    TURN();
    a->value = &value;
    a->n = 1;
    return NULL;
}

static void *create(void *arguments) {
    dt_pjrt_client_create *a = arguments;
    TURN();
    void *bad = says("gpu") ? take_options(a) : NULL;
    if (bad) return bad;
    a->client = says("none=client") ? NULL : make(1);
    return NULL;
}

static void *end(void *arguments) {
    if (says("tell"))
        fprintf(stderr, "%d steps, %d ahead%s\n", steps, ahead,
                early ? ", arrays before them" : "");
    return destroy(arguments);
}

static void *text_of(void *arguments) {
    dt_pjrt_text_of *a = arguments;
    TURN();
    a->text = says("tpu") ? "tpu" : says("gpu") ? "cuda" : "fake";
    a->size = strlen(a->text);
    return NULL;
}

static void *kind(void *arguments) {
    dt_pjrt_text_of *a = arguments;
    TURN();
    a->text = says("tpu") ? "TPU v4" : "made up";
    a->size = strlen(a->text);
    return NULL;
}

static int number[64];

static void *devices(void *arguments) {
    static void *list[64];
    dt_pjrt_objects_of *a = arguments;
    TURN();
    for (int i = 0; i < 64; i++) {
        number[i] = n_visible && i < n_visible ? visible[i] : i;
        list[i] = &number[i];
    }
    a->part = list;
    a->n = n_visible ? (size_t)n_visible : (size_t)told("devices=", 4);
    return NULL;
}

static void *description(void *arguments) {
    dt_pjrt_object_of *a = arguments;
    TURN();
    a->part = a->object;
    return NULL;
}

static void *id(void *arguments) {
    dt_pjrt_number_of *a = arguments;
    TURN();
    a->number = *(int *)a->object;
    return NULL;
}

static void *description_attributes(void *arguments) {
    static int64_t at[3];
    static const dt_pjrt_named_value value[] = {
        {.name = "coords",
         .name_size = 6,
         .kind = DT_PJRT_INT64_LIST,
         .value.list = at,
         .value_size = 3},
        {.name = "core_on_chip",
         .name_size = 12,
         .kind = DT_PJRT_INT64,
         .value.int64 = 0,
         .value_size = 1},
        {.name = "core_on_chip",
         .name_size = 12,
         .kind = DT_PJRT_INT64,
         .value.int64 = 7,
         .value_size = 1},
        {.name = "core_on_chip",
         .name_size = 12,
         .kind = DT_PJRT_INT64,
         .value.int64 = 7,
         .value_size = 1},
    };
    dt_pjrt_description_attributes *a = arguments;
    TURN();
    at[0] = *(int *)a->description % 2; /* a slice of 2x2 */
    at[1] = *(int *)a->description / 2;
    a->value = value;
    a->n = says("tpu twice") ? 4 : says("tpu") ? 2 : 0;
    return NULL;
}

static void *memory(void *arguments) {
    dt_pjrt_device_memory *a = arguments;
    TURN();
    a->limit.value = INT64_C(1) << 30;
    a->limit.is_set = true;
    a->in_use = 4096;
    a->peak.value = 123456;
    a->peak.is_set = true;
    return NULL;
}

/* ---- arrays ---- */

static size_t size_of(int type) {
    static const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2};
    return sizes[type];
}

static void *from_host(void *arguments) {
    dt_pjrt_from_host *a = arguments;
    size_t bytes = size_of(a->type);
    TURN();
    for (size_t d = 0; d < a->rank; d++) bytes *= (size_t)a->dim[d];
    uploads++;
    early += !pthread_equal(pthread_self(), opener);
    if (says("none=buffer")) return NULL;
    buffer *b = make(sizeof *b + bytes);
    b->size = bytes;
    memcpy(b->data, a->data, bytes);
    a->buffer = b;
    a->done = event();
    *(char *)a->done = a->semantics == DT_PJRT_LENT ? OF_LOAN : 0;
    return NULL;
}

static void *to_host(void *arguments) {
    dt_pjrt_to_host *a = arguments;
    buffer *b = a->buffer;
    TURN();
    if (b->gone) return fail(BROKEN, "the buffer was donated");
    if (!a->data) {
        a->size = b->size + (size_t)told("size=", 0);
        return NULL;
    }
    if (a->size < b->size) return fail(BROKEN, "there is no room");
    downloads++;
    memcpy(a->data, b->data, b->size);
    a->event = event();
    *(char *)a->event = OF_RESULT;
    asked++;
    return NULL;
}

/* ---- programs ---- */

static size_t bytes_of(const char *type) {
    size_t n = 1;
    while (*type >= '0' && *type <= '9') {
        n *= strtoul(type, (char **)&type, 10);
        type++;
    }
    const char *wide = strstr(type, "64"), *word = strstr(type, "32");
    return n * (wide && wide < type + 4 ? 8 : word && word < type + 4 ? 4 : 1);
}

/* In the words of XLA's parser. */
static void *refuse(const char *code) {
    char op[64], text[200];
    const char *mode = getenv("FAKE_DEVICE"), *name = mode ? strstr(mode, "refuse=") : NULL;
    if (!name) return NULL;
    snprintf(op, sizeof op, "\"stablehlo.%s\"", name + 7);
    const char *at = strstr(code, op);
    int line = 1;
    for (const char *p = code; at && p < at; p++) line += *p == '\n';
    snprintf(text, sizeof text, "INVALID_ARGUMENT: Failed to parse: -:%d:11: error: unknown op",
             line);
    return at ? fail(BROKEN, text) : NULL;
}

/* The text between @main( and its body: arguments, which may name the result that takes their
 * memory, then results. */
static void *compile(void *arguments) {
    dt_pjrt_client_compile *a = arguments;
    TURN();
    if (says("none=executable")) return NULL;
    if (says("slow")) sleep(60);
    const char *mode = getenv("FAKE_DEVICE"), *words = mode ? strstr(mode, "compile=") : NULL;
    void *refused = words ? fail(BROKEN, words + 8) : refuse(a->program->code);
    if (refused) return refused;
    executable *x = make(sizeof *x);
    const char *end = strstr(a->program->code, ") -> (");
    for (int i = 0; i < MOST; i++) x->shares[i] = -1;
    for (const char *p = a->program->code; (p = strstr(p, ": tensor<")) && p < end;
         p++, x->arguments++) {
        const char *next = strstr(p + 1, ": tensor<"), *shared = strstr(p, "tf.aliasing_output = ");
        if (shared && shared < end && (!next || shared < next))
            x->shares[atoi(shared + 21)] = x->arguments;
    }
    for (const char *p = end, *body = strchr(end, '{'); (p = strstr(p, "tensor<")) && p < body; p++)
        x->bytes[x->results++] = bytes_of(p + 7);
    a->executable = x;
    return NULL;
}

static void *executable_of(void *arguments) {
    dt_pjrt_object_of *a = arguments;
    TURN();
    a->part = make(sizeof(executable));
    memcpy(a->part, a->object, sizeof(executable));
    return NULL;
}

static void *outputs(void *arguments) {
    dt_pjrt_count_of *a = arguments;
    TURN();
    a->n = (size_t)(((executable *)a->object)->results + told("results=", 0));
    return NULL;
}

/* Donated memory is gone, whether the step succeeds or not. */
static void *execute(void *arguments) {
    dt_pjrt_execute_arguments *a = arguments;
    const executable *x = a->executable;
    void *bad = turn();
    const int step = ++steps;
    if (!bad && step == told("lost=", 0)) bad = fail(BROKEN, "UNAVAILABLE: the device is gone");
    if (!bad && step == told("full=", 0))
        bad = fail(EXHAUSTED, "RESOURCE_EXHAUSTED: out of memory");
    ahead += asked > 0;
    if (!bad && a->n_arguments != (size_t)x->arguments)
        bad = fail(BROKEN, "another number of arguments");
    for (size_t d = 0; d < a->n_devices; d++)
        for (int i = 0; i < x->arguments && !bad; i++)
            if (((buffer *)a->argument[d][i])->gone)
                bad = fail(BROKEN, "an argument was donated before");
    for (size_t d = 0; d < a->n_devices; d++)
        for (int r = 0; r < x->results; r++) {
            buffer *from = x->shares[r] >= 0 ? a->argument[d][x->shares[r]] : NULL;
            if (!bad && !(r == x->results - 1 && says("none=result"))) {
                buffer *b = make(sizeof *b + x->bytes[r]);
                b->size = x->bytes[r];
                if (from) memcpy(b->data, from->data, b->size);
                if (from && b->size >= sizeof(float)) {
                    float first;
                    memcpy(&first, b->data, sizeof first);
                    first += 1;
                    memcpy(b->data, &first, sizeof first);
                }
                a->result[d][r] = b;
            }
            if (from) {
                from->gone = true;
                donations++;
            }
        }
    return bad;
}

/* ---- the table ---- */

const void *GetPjrtApi(void);
__attribute__((visibility("default"))) const void *GetPjrtApi(void) {
    static const struct {
        dt_pjrt_slot slot;
        dt_pjrt_function function;
    } rows[] = {
        {DT_PJRT_ERROR_DESTROY, destroy},
        {DT_PJRT_ERROR_MESSAGE, error_message},
        {DT_PJRT_ERROR_GET_CODE, error_code},
        {DT_PJRT_PLUGIN_INITIALIZE, initialize},
        {DT_PJRT_PLUGIN_ATTRIBUTES, attributes},
        {DT_PJRT_EVENT_DESTROY, destroy},
        {DT_PJRT_EVENT_AWAIT, await},
        {DT_PJRT_CLIENT_CREATE, create},
        {DT_PJRT_CLIENT_DESTROY, end},
        {DT_PJRT_CLIENT_PLATFORM_NAME, text_of},
        {DT_PJRT_CLIENT_PLATFORM_VERSION, text_of},
        {DT_PJRT_CLIENT_ADDRESSABLE_DEVICES, devices},
        {DT_PJRT_CLIENT_COMPILE, compile},
        {DT_PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, from_host},
        {DT_PJRT_DEVICE_DESCRIPTION_ID, id},
        {DT_PJRT_DEVICE_DESCRIPTION_ATTRIBUTES, description_attributes},
        {DT_PJRT_DEVICE_DESCRIPTION_KIND, kind},
        {DT_PJRT_DEVICE_GET_DESCRIPTION, description},
        {DT_PJRT_DEVICE_MEMORY_STATS, memory},
        {DT_PJRT_EXECUTABLE_DESTROY, destroy},
        {DT_PJRT_EXECUTABLE_NUM_OUTPUTS, outputs},
        {DT_PJRT_LOADED_EXECUTABLE_DESTROY, destroy},
        {DT_PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE, executable_of},
        {DT_PJRT_LOADED_EXECUTABLE_EXECUTE, execute},
        {DT_PJRT_BUFFER_DESTROY, destroy},
        {DT_PJRT_BUFFER_TO_HOST_BUFFER, to_host},
    };
    memset(&table, 0, sizeof table);
    table.head.size = sizeof table;
    table.version.minor = 99;
    table.head.extensions = says("gpu") ? (void *)gpu_extensions : NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].slot != told("lack=", -1)) table.function[rows[i].slot] = rows[i].function;
    calls = uploads = downloads = donations = steps = ahead = early = asked = loans = 0;
    opener = pthread_self();
    return &table;
}

/* For tests: objects that are left, calls so far, copies; steps started before the one before was
 * finished, arrays from other threads. */
__attribute__((visibility("default"))) void fake_device_counts(int out[7]);
__attribute__((visibility("default"))) void fake_device_counts(int out[7]) {
    const int all[] = {alive, calls, uploads, downloads, donations, ahead, early};
    memcpy(out, all, sizeof all);
}
