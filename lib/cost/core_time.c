/* Time of a kernel on a device: matrix units, memory and vector units work side by side, so the slowest of them is the kernel's time. */
#include "cost/cost.h"

enum { LANES = 8 * 128, VECTOR_ALUS = 2 };

dt_core dt_core_of(const dt_topology *t)
{
    return (dt_core){ .chip = t->slice->chip, .cores = dt_topology_device_cores(t) };
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

dt_core_price dt_core_roofline(const dt_core *c, const dt_cost *work)
{
    dt_core_price p = {
        .matrix_s = work->flops / (c->cores * c->chip->core_flops),
        .memory_s = work->bytes / (c->cores * c->chip->core_hbm_Bps),
        .vector_s = work->vector / (c->cores * c->chip->clock_hz * LANES * VECTOR_ALUS),
    };
    p.seconds = larger(p.matrix_s, larger(p.memory_s, p.vector_s));
    return p;
}

dt_core_price dt_core_time(const dt_core *c, const dt_cost *work)
{
    return dt_core_roofline(c, work);
}
