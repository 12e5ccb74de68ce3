/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by OpenBLAS. A plan only describes the product; the library chooses its kernel at
 * each call.
 *
 * The library is loaded only when it is opened (gemm.h), because loading takes as long as
 * everything else in `dtrain --version`, and starts a thread per core unless the environment
 * forbids it at that moment.
 */
#include <cblas.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/library.h"
#include "base/str.h"
#include "exec/gemm.h"
#include "exec/instructions.h"

#ifndef OPENBLAS_VERSION
#error "cblas.h is another library's: run scripts/install-missing, or set CFLAGS=-I for OpenBLAS's"
#endif

typedef struct api {
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&openblas_set_num_threads) set_num_threads;
    __typeof__(&openblas_get_config) get_config;
    __typeof__(&openblas_get_corename) get_corename;
} api;

typedef struct product {
    dt_gemm g;
    const api *blas;
} product;

/* The value of BUFFER_SIZE in OpenBLAS's common_x86_64.h. If there is not enough memory for the
 * buffer, the library tries to get it again and again, without end. */
#define BUFFER_BYTES ((size_t)128 << 20)

/* An environment variable that the library reads only while it is loaded. */
typedef struct variable {
    const char *name;
    char *before; /* its value before the library was loaded; NULL: it was not set */
} variable;

/* Sets an environment variable for the library and remembers its old value. value NULL: it keeps
 * the one that it has. Without its variables, the library would start threads or use other
 * kernels. */
static dt_status *set(variable *v, const char *value) {
    const char *current = getenv(v->name);
    v->before = current ? dt_strdup(current) : NULL;
    return value && setenv(v->name, value, 1) != 0 ? dt_fail_errno(DT_E_NO_MEMORY, v->name) : NULL;
}

static void set_back(variable *v) {
    if (v->before) setenv(v->name, v->before, 1);
    else unsetenv(v->name);
    free(v->before);
}

/* Loads the library, which is never unloaded: engines are opened and closed several times, and each
 * would load the library and its buffers again. */
static dt_status *load(void **library, const char **why) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    const dt_instructions *most = dt_instructions_limit();
    variable threads = {.name = "OPENBLAS_NUM_THREADS"}, core = {.name = "OPENBLAS_CORETYPE"};

    dt_status *s = set(&threads, "1"), *other = set(&core, most ? most->openblas : NULL);
    dt_status_append(&s, other);
    if (!s) s = dt_library_open(library, names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE, why);
    set_back(&core);
    set_back(&threads);
    return s;
}

/* ISO C does not convert object pointers to function pointers; POSIX guarantees that copying their
 * bytes works. */
#define BIND(member, name) (p = dlsym(library, name), memcpy(&a->member, &p, sizeof p), p != NULL)

static bool bind(api *a, void *library) {
    void *p;
    return BIND(sgemm, "cblas_sgemm") && BIND(set_num_threads, "openblas_set_num_threads") &&
           BIND(get_config, "openblas_get_config") && BIND(get_corename, "openblas_get_corename");
}

static dt_status *plan(const dt_gemm_library *l, const dt_gemm *g, void **out) {
    const int64_t size[] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        if (size[i] > INT32_MAX)
            return dt_fail(DT_E_KERNELS, NULL,
                           "OpenBLAS uses 32-bit sizes and cannot compute the matrix product %lld "
                           "x %lld x %lld",
                           (long long)g->m, (long long)g->n, (long long)g->k);
    if (g->in[0] != DT_GEMM_F32 || g->in[1] != DT_GEMM_F32 || g->out != DT_GEMM_F32)
        return dt_fail(DT_E_KERNELS, NULL, "OpenBLAS multiplies float32 only");
    product *p = dt_alloc(sizeof *p);
    *p = (product){.g = *g, .blas = l->state};
    *out = p;
    return NULL;
}

static void run(const void *planned, const void *a, const void *b, void *to, void *scratch) {
    (void)scratch;
    const product *p = planned;
    const dt_gemm *g = &p->g;
    float *c = to;

    if (g->m == 0 || g->n == 0 || g->k == 0) { /* if there are no terms, the sum is 0 */
        for (int64_t i = 0; i < g->m && !g->adds; i++)
            memset(c + i * g->ldc, 0, (size_t)g->n * sizeof *c);
        return;
    }
    p->blas->sgemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans,
                   g->trans_b ? CblasTrans : CblasNoTrans, (blasint)g->m, (blasint)g->n,
                   (blasint)g->k, 1.0f, a, (blasint)g->lda, b, (blasint)g->ldb,
                   g->adds ? 1.0f : 0.0f, c, (blasint)g->ldc);
}

static void enter_thread(const dt_gemm_library *l) { (void)l; }

static void close_library(dt_gemm_library *l) {
    free((char *)l->about);
    free(l->state);
}

/* Returns the library's version and the name of the kernels in use. The library describes itself by
 * a text such as "OpenBLAS 0.3.21 NO_LAPACKE ... SkylakeX MAX_THREADS=64". */
static char *describe(const api *blas) {
    dt_str text = {0};
    const char *config = blas->get_config(), *version = strchr(config, ' ');

    if (version) dt_str_add(&text, version + 1, strcspn(version + 1, " "));
    dt_str_printf(&text, " %s", blas->get_corename());
    return dt_str_take(&text);
}

dt_status *dt_gemm_open_openblas(dt_gemm_library *l) {
    api found;
    const char *why = NULL;
    void *library = NULL;

    DT_TRY(load(&library, &why));
    if (!library) return dt_fail(DT_E_KERNELS, NULL, "OpenBLAS cannot be loaded: %s", why);
    if (!bind(&found, library))
        return dt_fail(DT_E_KERNELS, NULL, "OpenBLAS lacks a required function: %s", dlerror());
    found.set_num_threads(1);
    *l = (dt_gemm_library){.name = "openblas",
                           .about = describe(&found),
                           .state = dt_alloc(sizeof found),
                           .plan = plan,
                           .run = run,
                           .release = free,
                           .room = BUFFER_BYTES,
                           .enter_thread = enter_thread,
                           .close = close_library};
    *(api *)l->state = found;
    return NULL;
}
