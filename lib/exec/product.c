/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planned matrix products. They use the engine's library. If that was chosen automatically (`auto`) and oneDNN rejects a product,
 * OpenBLAS computes that one. The choice depends on sizes alone, and so do the bits.
 */
#include "exec/exec_impl.h"

static dt_status *open_second(dt_engine *e)
{
    if (e->second.name)
        return NULL;
    DT_TRY(dt_gemm_open_openblas(&e->second));
    dt_status *s = dt_gemm_find_room(&e->second, dt_pool_lanes(e->pool));
    if (s) {
        e->second.close(&e->second);
        e->second = (dt_gemm_library){ 0 };
    }
    return s;
}

static dt_status *plan_by(dt_engine *e, const dt_gemm_library *l, const dt_gemm *g, dt_product *out)
{
    DT_TRY(l->plan(l, g, &out->plan));
    out->library = l;
    e->held += l->held ? l->held(out->plan) : 0;
    return NULL;
}

dt_status *dt_product_plan(dt_engine *e, const dt_gemm *g, dt_product *out)
{
    dt_status *s = plan_by(e, &e->gemm, g, out);

    if (!s || e->kernels != DT_KERNELS_AUTO || dt_status_number(s) != DT_E_KERNELS)
        return s;
    dt_status_free(s);
    DT_TRY(open_second(e));
    return plan_by(e, &e->second, g, out);
}

void dt_product_run(const dt_product *p, const float *a, const float *b, float *c)
{
    p->library->run(p->plan, a, b, c);
}

void dt_product_release(dt_product *p)
{
    if (p->plan)
        p->library->release(p->plan);
    p->plan = NULL;
}
