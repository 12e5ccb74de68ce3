/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of GPUs, for a compiler on a machine without such GPUs. The figures of a card are
 * from NVIDIA's data sheets; its memory is counted in units of 10^9 bytes, so that a plan does not
 * promise too much. Figures that all cards of a compute capability share are from the table of
 * technical specifications in the CUDA C++ Programming Guide.
 */
#include "pjrt/gpus.h"

#include <string.h>
#include <strings.h>

#define GB INT64_C(1000000000)
#define MIB (INT64_C(1) << 20)

static const dt_pjrt_gpu gpus[] = {
    {"a100", "NVIDIA A100-SXM4-80GB", 8, 0, false, 108, 64, 2048, 164, 163, 1.41, 80 * GB,
     2039 * GB, 40 * MIB},
    {"h100", "NVIDIA H100 80GB HBM3", 9, 0, true, 132, 128, 2048, 228, 227, 1.98, 80 * GB,
     3350 * GB, 50 * MIB},
    {"h200", "NVIDIA H200", 9, 0, true, 132, 128, 2048, 228, 227, 1.98, 141 * GB, 4800 * GB,
     50 * MIB},
    {"l4", "NVIDIA L4", 8, 9, false, 58, 128, 1536, 100, 99, 2.04, 24 * GB, 300 * GB, 48 * MIB},
};
enum { GPUS = sizeof gpus / sizeof *gpus };

const dt_pjrt_gpu *dt_pjrt_gpu_find(const char *name) {
    for (int i = 0; i < GPUS; i++)
        if (strcasecmp(gpus[i].name, name) == 0) return &gpus[i];
    return NULL;
}

void dt_pjrt_gpu_names(dt_str *out) {
    for (int i = 0; i < GPUS; i++) dt_str_printf(out, "%s%s", i ? ", " : "", gpus[i].name);
}

static void put(dt_str *out, const char *name, int64_t value) {
    dt_str_printf(out, "  %s: %lld\n", name, (long long)value);
}

/* Writes the properties that are the same for all compute capabilities in the table. */
static void put_common(dt_str *out) {
    static const struct {
        const char *name;
        int64_t value;
    } common[] = {
        {"threads_per_block_limit", 1024},
        {"threads_per_warp", 32},
        {"shared_memory_per_block", 48 << 10},
        {"block_dim_limit_x", INT32_MAX},
        {"block_dim_limit_y", 65535},
        {"block_dim_limit_z", 65535},
        {"thread_dim_limit_x", 1024},
        {"thread_dim_limit_y", 1024},
        {"thread_dim_limit_z", 64},
        {"registers_per_core_limit", 65536},
        {"registers_per_block_limit", 65536},
        {"device_address_bits", 64},
    };
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        put(out, common[i].name, common[i].value);
}

void dt_pjrt_gpu_write(const dt_pjrt_gpu *g, dt_str *out) {
    dt_str_puts(out, "gpu_device_info {\n");
    put_common(out);
    put(out, "shared_memory_per_core", (int64_t)g->shared << 10);
    put(out, "shared_memory_per_block_optin", (int64_t)g->shared_by_choice << 10);
    put(out, "threads_per_core_limit", g->threads);
    put(out, "core_count", g->cores);
    put(out, "fpus_per_core", g->fpus);
    put(out, "memory_bandwidth", g->bandwidth);
    put(out, "l2_cache_size", g->l2);
    put(out, "device_memory_size", g->memory);
    dt_str_printf(out, "  clock_rate_ghz: %g\n", g->clock_ghz);
    dt_str_printf(out, "  cuda_compute_capability { major: %d minor: %d%s }\n", g->major, g->minor,
                  g->special ? " feature_extension: ACCELERATED_FEATURES" : "");
    dt_str_printf(out, "  platform_version: \"Compute Capability %d.%d%s\"\n", g->major, g->minor,
                  g->special ? "a" : "");
    dt_str_printf(out, "  name: \"%s\"\n  device_vendor: \"NVIDIA Corporation\"\n", g->title);
    dt_str_puts(out, "  driver_version: \"13.0.0\"\n  runtime_version: \"13.0.0\"\n"
                     "  compile_time_toolkit_version: \"13.0.0\"\n  dnn_version: \"9.10.0\"\n}\n");
    dt_str_printf(out,
                  "platform_name: \"CUDA\"\ndnn_version_info { major: 9 minor: 10 patch: 0 }\n"
                  "device_description_str: \"%s\"\n",
                  g->title);
}
