/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by oneDNN: a matmul primitive for each planned product that is not empty, made
 * when compiling. Those that oneDNN computes by its general routine share code that it makes when
 * the first of them runs, in 12 to 30 ms.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "exec/conv.h"
#include "exec/gemm.h"
#include "exec/instructions.h"
#include "exec/onednn.h"

/* Bytes of address space for each thread, more than enough for the code that oneDNN generates for
 * each shape. */
#define CODE_BYTES ((size_t)16 << 20)

enum { WORKING_BYTES = 6 /* the value of dnnl_query_memory_consumption_s64 */ };

typedef struct plan {
    const dt_dnnl_api *dnnl;
    dt_dnnl primitive, memory[3]; /* memory of the source, the weights and the destination */
    bool empty;
    dt_gemm g;
    int64_t held;
} plan;

static void release(void *p) {
    plan *q = p;

    if (!q) return;
    for (int i = 0; i < 3; i++)
        if (q->memory[i]) q->dnnl->memory_destroy(q->memory[i]);
    if (q->primitive) q->dnnl->primitive_destroy(q->primitive);
    free(q);
}

typedef struct matrix {
    int64_t dims[2], strides[2];
} matrix;

static matrix matrix_of(int64_t rows, int64_t columns, bool transposed, int64_t ld) {
    return (matrix){{rows, columns}, {transposed ? 1 : ld, transposed ? ld : 1}};
}

static bool make_primitive_desc(const dt_dnnl_api *a, const dt_dnnl_desc *md, dt_dnnl attr,
                                dt_dnnl *out) {
    if (a->matmul_desc_3)
        return !a->matmul_desc_3(out, a->engine, md[0].h, md[1].h, NULL, md[2].h, attr);
    dt_dnnl_op *op = dt_alloc(sizeof *op);
    bool ok = !a->matmul_desc_2(op->bytes, md[0].bytes, md[1].bytes, NULL, md[2].bytes) &&
              !a->primitive_desc_2(out, op->bytes, attr, a->engine, NULL);
    free(op);
    return ok;
}

/* Creates the attribute by which a product is added to the destination. The attribute has a copy of
 * the list that describes this. */
static bool make_adding(const dt_dnnl_api *a, dt_dnnl *attr) {
    dt_dnnl list = NULL;
    bool ok = !a->post_ops_create(&list) &&
              !(a->append_sum_3 ? a->append_sum_3(list, 1, 0, 0) : a->append_sum_2(list, 1)) &&
              !a->attr_create(attr) && !a->attr_post_ops(*attr, list);

    if (list) a->post_ops_destroy(list);
    return ok;
}

static bool make_primitive(plan *p, const dt_dnnl_desc *md) {
    const dt_dnnl_api *a = p->dnnl;
    dt_dnnl desc = NULL, attr = NULL;
    bool ok = (!p->g.adds || make_adding(a, &attr)) && make_primitive_desc(a, md, attr, &desc) &&
              !a->primitive_create(&p->primitive, desc);

    /* if the library does not report the number of bytes, it is 0 */
    if (ok && a->query(desc, WORKING_BYTES, 0, &p->held)) p->held = 0;
    if (attr) a->attr_destroy(attr);
    if (desc) a->primitive_desc_destroy(desc);
    for (int i = 0; ok && i < 3; i++)
        ok = !a->memory_create(&p->memory[i], dt_dnnl_pointer(a, &md[i]), a->engine, NULL);
    return ok;
}

static dt_status *make_plan(const dt_gemm_library *l, const dt_gemm *g, void **out) {
    const dt_dnnl_api *a = l->state;
    plan *p = dt_alloc(sizeof *p);
    matrix m[3] = {matrix_of(g->m, g->k, g->trans_a, g->lda),
                   matrix_of(g->k, g->n, g->trans_b, g->ldb), matrix_of(g->m, g->n, false, g->ldc)};
    /* descriptions are not on the stack, because the library needs the stack */
    dt_dnnl_desc *md = dt_alloc(3 * sizeof *md);
    bool ok = true;

    *p = (plan){.dnnl = a, .g = *g, .empty = g->m == 0 || g->n == 0 || g->k == 0};
    if (!p->empty) {
        for (int i = 0; ok && i < 3; i++)
            ok = dt_dnnl_describe(
                a, (i < 2 ? g->in[i] : g->out) == DT_GEMM_BF16 ? DT_DNNL_BF16 : DT_DNNL_F32, 2,
                m[i].dims, m[i].strides, &md[i]);
        ok = ok && make_primitive(p, md);
        for (int i = 0; i < 3; i++) dt_dnnl_forget(a, &md[i]);
    }
    free(md);
    if (!ok) {
        release(p);
        return dt_fail(DT_E_KERNELS, NULL, "oneDNN rejects the matrix product %lld x %lld x %lld",
                       (long long)g->m, (long long)g->n, (long long)g->k);
    }
    *out = p;
    return NULL;
}

static void run(const void *q, const void *a, const void *b, void *c, void *scratch) {
    (void)scratch;
    const plan *p = q;
    const dt_dnnl_api *dnnl = p->dnnl;
    dt_dnnl_arg arg[3] = {
        {DT_DNNL_SRC, p->memory[0]}, {DT_DNNL_WEIGHTS, p->memory[1]}, {DT_DNNL_DST, p->memory[2]}};

    if (p->empty) {
        const int64_t size = p->g.out == DT_GEMM_F32 ? 4 : 2;
        for (int64_t i = 0; i < p->g.m && !p->g.adds; i++)
            memset((char *)c + i * p->g.ldc * size, 0, (size_t)(p->g.n * size));
        return;
    }
    dnnl->memory_set(p->memory[0], (void *)a);
    dnnl->memory_set(p->memory[1], (void *)b);
    dnnl->memory_set(p->memory[2], c);
    dnnl->execute(p->primitive, dnnl->stream, 3, arg);
}

static int64_t held(const void *q) { return ((const plan *)q)->held; }

/* oneDNN's number of threads is set separately in each thread. */
static void enter_thread(const dt_gemm_library *l) {
    const dt_dnnl_api *a = l->state;
    if (a->omp_set_num_threads) a->omp_set_num_threads(1);
}

static void close_library(dt_gemm_library *l) {
    dt_dnnl_close(l->state);
    free((char *)l->about);
}

dt_status *dt_gemm_open_onednn(dt_gemm_library *l) {
    dt_dnnl_api *a = NULL;
    dt_str about = {0};

    DT_TRY(dt_dnnl_open(&a));
    dt_str_printf(&about, "%d.%d.%d", a->version()[0], a->version()[1], a->version()[2]);
    *l = (dt_gemm_library){.name = "onednn",
                           .about = dt_str_take(&about),
                           .state = a,
                           .room = CODE_BYTES,
                           .plan = make_plan,
                           .run = run,
                           .release = release,
                           .held = held,
                           .enter_thread = enter_thread,
                           .close = close_library,
                           .conv = &dt_conv_onednn,
                           .bf16 = dt_instructions_have_amx()};
    return NULL;
}
