/*
 * oneDNN by dlopen: a matmul primitive per shape and strides, made when compiling. Its C interface changed between 2.x (a
 * descriptor struct, filled by the library) and 3.x (everything behind handles); both are known here by their symbols. Structs of
 * 2.x are passed through as bytes of ample size, so no header of the library is needed and one binary serves every version.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "exec/gemm.h"

typedef void *handle;
typedef struct version { int major, minor, patch; } version;
typedef struct exec_arg { int arg; handle memory; } exec_arg;

/* Ample for the code that it makes for each shape. */
#define CODE_BYTES ((size_t)16 << 20)
enum { DNNL_CPU = 1, DNNL_F32 = 3, DNNL_SRC = 1, DNNL_WEIGHTS = 33, DNNL_DST = 17, DNNL_MAX_DIMS = 12 };
/* sizeof(dnnl_memory_desc_t) is 696 and sizeof(dnnl_matmul_desc_t) about 3,500 in 2.x. */
typedef union memory_desc { char bytes[2048]; handle h; int64_t align; } memory_desc;
typedef union matmul_desc { char bytes[16384]; int64_t align; } matmul_desc;

/* The functions used; those of one interface are NULL under the other. */
typedef struct api {
    void *library;
    handle engine, stream;
    void (*omp_set_num_threads)(int);
    const version *(*version)(void);
    int (*engine_create)(handle *, int, size_t);
    int (*engine_destroy)(handle);
    int (*stream_create)(handle *, handle, unsigned);
    int (*stream_destroy)(handle);
    int (*memory_create)(handle *, const void *desc, handle engine, void *data);
    int (*memory_set)(handle, void *data);
    int (*memory_destroy)(handle);
    int (*primitive_create)(handle *, handle desc);
    int (*primitive_desc_destroy)(handle);
    int (*primitive_destroy)(handle);
    int (*execute)(handle, handle stream, int n, const exec_arg *);
    int (*desc_strides_2)(void *desc, int n, const int64_t *dims, int type, const int64_t *strides);      /* 2.x */
    int (*matmul_desc_2)(void *desc, const void *src, const void *weights, const void *bias, const void *dst);
    int (*primitive_desc_2)(handle *, const void *op, handle attr, handle engine, handle hint);
    int (*desc_strides_3)(handle *desc, int n, const int64_t *dims, int type, const int64_t *strides);    /* 3.x */
    int (*desc_destroy_3)(handle);
    int (*matmul_desc_3)(handle *, handle engine, handle src, handle weights, handle bias, handle dst, handle attr);
} api;

typedef struct plan {
    const api *dnnl;
    handle primitive, memory[3]; /* source, weights, destination */
    bool empty;
    dt_gemm g;
} plan;

/* ---- finding the library ---- */

static void *symbol(void *library, const char *name, bool *missing)
{
    void *p = dlsym(library, name);
    *missing |= !p;
    return p;
}

/* ISO C has no conversion from object to function pointers; POSIX has, by representation. */
#define BIND(member, name) (p = symbol(a->library, name, &missing), memcpy(&a->member, &p, sizeof p))

static bool bind(api *a)
{
    bool missing = false, none = false;
    void *p;

    BIND(version, "dnnl_version"), BIND(engine_create, "dnnl_engine_create"), BIND(engine_destroy, "dnnl_engine_destroy");
    BIND(stream_create, "dnnl_stream_create"), BIND(stream_destroy, "dnnl_stream_destroy");
    BIND(memory_create, "dnnl_memory_create"), BIND(memory_set, "dnnl_memory_set_data_handle"), BIND(memory_destroy, "dnnl_memory_destroy");
    BIND(primitive_create, "dnnl_primitive_create"), BIND(primitive_destroy, "dnnl_primitive_destroy");
    BIND(primitive_desc_destroy, "dnnl_primitive_desc_destroy"), BIND(execute, "dnnl_primitive_execute");
    if (missing)
        return false;
    if (a->version()->major >= 3) {
        BIND(desc_strides_3, "dnnl_memory_desc_create_with_strides"), BIND(desc_destroy_3, "dnnl_memory_desc_destroy");
        BIND(matmul_desc_3, "dnnl_matmul_primitive_desc_create");
    } else {
        BIND(desc_strides_2, "dnnl_memory_desc_init_by_strides"), BIND(matmul_desc_2, "dnnl_matmul_desc_init");
        BIND(primitive_desc_2, "dnnl_primitive_desc_create");
    }
    p = symbol(a->library, "omp_set_num_threads", &none); /* of the OpenMP it is built with, if it is */
    memcpy(&a->omp_set_num_threads, &p, sizeof p);
    return !missing;
}

static void *open_any(void)
{
    static const char *const names[] = { "libdnnl.so.3", "libdnnl.so.2", "libdnnl.so" };
    void *library = NULL;

    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* ---- plans ---- */

static void release(void *p)
{
    plan *q = p;

    if (!q)
        return;
    for (int i = 0; i < 3; i++)
        if (q->memory[i])
            q->dnnl->memory_destroy(q->memory[i]);
    if (q->primitive)
        q->dnnl->primitive_destroy(q->primitive);
    free(q);
}

typedef struct matrix { int64_t dims[2], strides[2]; } matrix;

static matrix matrix_of(int64_t rows, int64_t columns, bool transposed, int64_t ld)
{
    return (matrix){ { rows, columns }, { transposed ? 1 : ld, transposed ? ld : 1 } };
}

static bool describe(const api *a, const matrix *m, memory_desc *out)
{
    return !(a->desc_strides_2 ? a->desc_strides_2(out->bytes, 2, m->dims, DNNL_F32, m->strides)
                               : a->desc_strides_3(&out->h, 2, m->dims, DNNL_F32, m->strides));
}

static const void *desc_pointer(const api *a, const memory_desc *d)
{
    return a->desc_strides_2 ? (const void *)d->bytes : d->h;
}

static bool make_primitive_desc(const api *a, const memory_desc *md, handle *out)
{
    matmul_desc op;

    if (a->matmul_desc_3)
        return !a->matmul_desc_3(out, a->engine, md[0].h, md[1].h, NULL, md[2].h, NULL);
    memset(&op, 0, sizeof op);
    return !a->matmul_desc_2(op.bytes, md[0].bytes, md[1].bytes, NULL, md[2].bytes) &&
           !a->primitive_desc_2(out, op.bytes, NULL, a->engine, NULL);
}

static bool make_primitive(plan *p, const memory_desc *md)
{
    const api *a = p->dnnl;
    handle desc = NULL;
    bool ok = make_primitive_desc(a, md, &desc) && !a->primitive_create(&p->primitive, desc);

    if (desc)
        a->primitive_desc_destroy(desc);
    for (int i = 0; ok && i < 3; i++)
        ok = !a->memory_create(&p->memory[i], desc_pointer(a, &md[i]), a->engine, NULL);
    return ok;
}

static dt_status *make_plan(const dt_gemm_library *l, const dt_gemm *g, void **out)
{
    const api *a = l->state;
    plan *p = dt_alloc(sizeof *p);
    matrix m[3] = { matrix_of(g->m, g->k, g->trans_a, g->lda), matrix_of(g->k, g->n, g->trans_b, g->ldb), matrix_of(g->m, g->n, false, g->ldc) };
    memory_desc md[3];
    bool ok = true;

    memset(md, 0, sizeof md);
    *p = (plan){ .dnnl = a, .g = *g, .empty = g->m == 0 || g->n == 0 || g->k == 0 };
    if (!p->empty) {
        for (int i = 0; ok && i < 3; i++)
            ok = describe(a, &m[i], &md[i]);
        ok = ok && make_primitive(p, md);
        for (int i = 0; a->desc_destroy_3 && i < 3; i++)
            if (md[i].h)
                a->desc_destroy_3(md[i].h);
    }
    if (!ok) {
        release(p);
        return dt_fail(DT_E_KERNELS, NULL, "oneDNN refuses the matrix product %lld x %lld x %lld", (long long)g->m, (long long)g->n,
                       (long long)g->k);
    }
    *out = p;
    return NULL;
}

static void run(const void *q, const float *a, const float *b, float *c)
{
    const plan *p = q;
    const api *dnnl = p->dnnl;
    exec_arg arg[3] = { { DNNL_SRC, p->memory[0] }, { DNNL_WEIGHTS, p->memory[1] }, { DNNL_DST, p->memory[2] } };

    if (p->empty) {
        for (int64_t i = 0; i < p->g.m; i++)
            memset(c + i * p->g.ldc, 0, (size_t)p->g.n * sizeof *c);
        return;
    }
    dnnl->memory_set(p->memory[0], (void *)a);
    dnnl->memory_set(p->memory[1], (void *)b);
    dnnl->memory_set(p->memory[2], c);
    dnnl->execute(p->primitive, dnnl->stream, 3, arg);
}

/* The number of threads is a setting of each thread. */
static void enter_thread(const dt_gemm_library *l)
{
    const api *a = l->state;
    if (a->omp_set_num_threads)
        a->omp_set_num_threads(1);
}

static void close_library(dt_gemm_library *l)
{
    api *a = l->state;
    a->stream_destroy(a->stream);
    a->engine_destroy(a->engine);
    free(a); /* the library stays loaded: its threads' local data outlives it badly */
    free((char *)l->about);
}

dt_status *dt_gemm_open_onednn(dt_gemm_library *l)
{
    api *a = dt_alloc(sizeof *a);
    dt_str about = { 0 };

    a->library = open_any();
    if (!a->library) {
        free(a);
        return dt_fail(DT_E_KERNELS, NULL, "oneDNN (libdnnl.so.2 or .3) is not installed");
    }
    if (!bind(a) || a->engine_create(&a->engine, DNNL_CPU, 0) || a->stream_create(&a->stream, a->engine, 1)) {
        free(a);
        return dt_fail(DT_E_KERNELS, NULL, "oneDNN is installed, but has not the functions that are needed");
    }
    dt_str_printf(&about, "%d.%d.%d", a->version()->major, a->version()->minor, a->version()->patch);
    *l = (dt_gemm_library){ .name = "onednn", .about = dt_str_take(&about), .state = a, .room = CODE_BYTES, .plan = make_plan,
                            .run = run, .release = release, .enter_thread = enter_thread, .close = close_library };
    return NULL;
}
