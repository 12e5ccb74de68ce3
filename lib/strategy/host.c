/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates how much of this machine's memory a step needs. The step is prepared and compiled as
 * for a run, and the executable reports how much memory it will need. An executable allocates
 * nothing before it runs. No device is opened, so no chip's memory limit applies and no time is
 * estimated.
 */
#include "strategy/compiled.h"

/*
 * Compile time grows with the square of the number of nodes: 0.3 s for 12,000 nodes (Llama 3 8B), 7
 * s for 49,000 (Llama 3.1 405B). Larger graphs than this are not compiled just for the estimate.
 * With numerics: chip, the program repeats the work for each logical device and each micro-batch,
 * so these multiply the number of nodes.
 */
enum { MOST_NODES = 32768 };

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
