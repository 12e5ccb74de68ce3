/*
 * Generations of chips, one row each: DT_CHIP(generation, fields of dt_chip). No include guard: expanded wherever a form of the
 * table is wanted. SI units; links are counted one way (a link of "164 GB/s" in some tables is two times 82).
 *
 * Sources: [docs] the Cloud TPU pages of the generation; [hc] the TPUv2/v3 talk at Hot Chips 2020; [lib] libtpu 0.0.42.1 asked through
 * its C API; [jax] jax 0.10.2, pallas/mosaic/tpu_info.py; [dssa] the paper "A Domain-Specific Supercomputer for Training Deep
 * Neural Networks", from memory; [sb] the book "How to Scale Your Model".
 */
DT_CHIP(v2,
    .cores = 2, .devices = 2,          /* [jax, lib] */
    .core_flops = 46e12 / 2,           /* [jax] 46 TFLOP/s a chip; 2 * 128 * 128 * 0.7 GHz = 22.9e12 */
    .clock_hz = 700e6,                 /* [hc] */
    .mxus = 1, .mxu_size = 128,        /* [jax, docs] */
    .core_hbm = INT64_C(16) << 29,     /* [docs] 16 GiB a chip */
    .core_hbm_usable = 8034172928,     /* [lib] memory limit of a device */
    .core_hbm_Bps = 700e9 / 2,         /* [hc] 700 GB/s a chip; [jax] 716 */
    .links = 4, .link_Bps = 62e9,      /* [dssa] 496 Gbit/s; [sb] 120 GB/s for both ways */
    .hop_s = 1e-6,                     /* [sb] */
    .host = {2, 2, 1})                 /* [lib] 4 chips */
DT_CHIP(v3,
    .cores = 2, .devices = 2,          /* [jax, lib] */
    .core_flops = 123e12 / 2,          /* [docs] 123 TFLOP/s a chip = clock arithmetic; [sb, jax] say 140 */
    .clock_hz = 940e6,                 /* [hc] */
    .mxus = 2, .mxu_size = 128,        /* [jax, docs] */
    .core_hbm = INT64_C(32) << 29,     /* [docs] 32 GiB a chip */
    .core_hbm_usable = 16624107520,    /* [lib] memory limit of a device */
    .core_hbm_Bps = 900e9 / 2,         /* [docs] 900 GB/s a chip; [jax] 825 */
    .links = 4, .link_Bps = 82e9,      /* [dssa] 656 Gbit/s; [docs] pod all-reduce 340 TB/s over 1024 chips of 4 links: 83 */
    .hop_s = 1e-6,                     /* [sb] */
    .host = {2, 2, 1})                 /* [docs] a v3-8 machine has 4 chips */
DT_CHIP(v4,
    .cores = 2, .devices = 1,          /* [docs, lib] megacore, Cloud TPU's default; 2 where a program asks for them */
    .core_flops = 275e12 / 2,          /* [docs] 275 TFLOP/s a chip */
    .clock_hz = 1050e6,                /* 275e12 / (8 * 2 * 128 * 128) */
    .mxus = 4, .mxu_size = 128,        /* [jax, docs] */
    .core_hbm = INT64_C(32) << 29,     /* [docs] 32 GiB a chip */
    .core_hbm_usable = 32745848832 / 2, /* [lib] memory limit of a device, both cores */
    .core_hbm_Bps = 1200e9 / 2,        /* [docs] 1,200 GB/s a chip; [jax] 1,230 */
    .links = 6, .link_Bps = 45e9,      /* [sb]; [docs] pod all-reduce 1.1 PB/s over 4096 chips of 6 links: 44.8 */
    .hop_s = 1e-6,                     /* [sb] */
    .host = {2, 2, 1})                 /* [lib] 4 chips */
#undef DT_CHIP
