/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of this machine's memory a step needs. The step is prepared and compiled as for a run,
 * and the executable, which allocates nothing before it runs, is asked for its size. No device is
 * opened, so no chip's memory limit applies and nothing is priced.
 */
#include "strategy/compiled.h"

/*
 * Compiling takes a time that grows with the square of the nodes: 0.3 s for 12,000 (Llama 3 8B), 7
 * s for 49,000 (Llama 3.1 405B). At most these are compiled to be looked at. Where each logical
 * device's and each micro-batch's work is a part of the program, as numerics: chip has it, all
 * count.
 */
enum { MOST_NODES = 16384 };

static bool is_small(const dt_compiled *c, int64_t rows) {
    double times = dt_compiled_uses_logical_devices(c) && dt_compiled_is_chip(c)
                       ? (double)c->strategy->logical * dt_compiled_micro_batches(c, rows)
                       : 1;
    return c->folded.graph && c->folded.graph->n_nodes * times <= MOST_NODES;
}

dt_status *dt_compiled_host_bytes(const dt_compiled *c, int64_t rows, int64_t *bytes) {
    dt_sized z = {0};

    *bytes = 0;
    if (!is_small(c, rows)) return NULL;
    DT_TRY(dt_compiled_cut(c, rows, &z));
    const dt_compile_request r = dt_compiled_request(c, &z);
    dt_status *s = dt_host_bytes(
        &(dt_device_options){.threads = c->strategy->threads, .kernels = c->strategy->kernels}, &r,
        bytes);
    dt_sized_release(&z);
    return s;
}
