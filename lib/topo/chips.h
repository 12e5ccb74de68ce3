/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generations of chips, one row each: DT_CHIP(generation, fields of dt_chip). There is no include
 * guard: each user defines DT_CHIP in its own way and includes this file. SI units; rates of links
 * between chips are those of one direction (a link of "164 GB/s" in some tables is two times 82).
 * Numbers that are unknown are 0.
 *
 * Comments name the sources of numbers, as `source: NAME`, `source of MEMBER: NAME` or `NAME: what
 * it says`:
 *
 *   Cloud TPU docs      the Cloud TPU pages of the generation
 *   Hot Chips           the TPUv2/v3 talk at Hot Chips 2020
 *   libtpu              libtpu 0.0.42.1, asked through its C API
 *   libtpu's estimates  calibrated on what libtpu 0.0.42.1 estimates for 111 products of matrices
 *                       per generation: see lib/cost/core_time.c
 *   jax                 jax 0.10.2, pallas/mosaic/tpu_info.py
 *   DSSA paper          "A Domain-Specific Supercomputer for Training Deep Neural Networks", from
 *                       memory
 *   Scaling book        the book "How to Scale Your Model"
 *   DAWNBench           an entry of DAWNBench, 2018
 *   SkyPilot            SkyPilot's catalog of Google Cloud's prices: skypilot-org/skypilot pull
 *                       requests 3814 (2024) and 4540 (2025), and catalogs/v8/gcp/vms.csv of
 *                       skypilot-org/skypilot-catalog at 006059e0
 *   TPU recipes         AI-Hypercomputer/tpu-recipes, microbenchmarks
 *   microbenchmarks     AI-Hypercomputer/accelerator-microbenchmarks, whose GB/s of a psum are
 *                       2 V (N - 1) / N / seconds
 */
DT_CHIP(v2, .kind = "TPU v2",     /* source: libtpu */
        .cores = 2, .devices = 2, /* source: jax, libtpu */
        .counts_cores = true,     /* Cloud TPU docs: v2-8 has 8 cores */
        .core_flops = 46e12 / 2,  /* jax: 46 TFLOP/s per chip; 2 * 128 * 128 * 0.7 GHz = 22.9e12 */
        .clock_hz = 700e6,        /* source: Hot Chips */
        .mxus = 1, .mxu_size = 128,     /* source: jax, Cloud TPU docs */
        .core_hbm = INT64_C(16) << 29,  /* Cloud TPU docs: 16 GiB per chip */
        .core_hbm_usable = 8034172928,  /* libtpu: the limit that a device reports */
        .core_hbm_Bps = 700e9 / 2,      /* Hot Chips: 700 GB/s per chip; jax: 716 */
        .core_vmem = INT64_C(16) << 20, /* source: jax */
        /* source: libtpu's estimates */
        .kernel = {.loss_again = 1,
                   .launch = 950,
                   .tile = 140,
                   .share = 0.98,
                   .result = 14.2,
                   .hbm_share = 0.98,
                   /* Scaling book: in its profile, a product of the size 2048 reaches 100 % */
                   .measured_share = 1.0,
                   .alus = 2},
        .links = 4,
        .link_Bps = 62e9, /* DSSA paper: 496 Gbit/s; Scaling book: 120 GB/s for both ways */
        .hop_s = 1e-6,    /* source: Scaling book */
        /* calibrated on the Scaling book's profile: a reduce-scatter of 134 MB between two
     * neighbours, 1.08 ms at 62 GB/s, took 1.13 ms */
        .ring_efficiency = 0.96, .line_efficiency = 0.96,
        .collective_s = 5e-6, /* the value fitted to measurements of v5e */
        .usd_hour = 4.50 / 4,
        /* DAWNBench: 4.50 dollars an hour for a v2-8 */
        .price_source = "DAWNBench (2018), region unknown", .dims = 2,
        .wrap = 16, /* libtpu: 8x16 wraps around in y, 16x16 in x and y */
        .shapes = "1x1 2x2 4x4 8x8 8x16 16x16", /* source: libtpu */
        .host = {2, 2, 1})                      /* libtpu: a host has 4 chips */
DT_CHIP(v3, .kind = "TPU v3",                   /* source: libtpu */
        .cores = 2, .devices = 2,               /* source: jax, libtpu */
        .counts_cores = true,                   /* Cloud TPU docs: v3-8 has 8 cores */
        /* Cloud TPU docs: 123 TFLOP/s per chip, which is 4 matrix units * 2 * 128 * 128 * 0.94 GHz;
         * Scaling book and jax: 140 */
        .core_flops = 123e12 / 2, .clock_hz = 940e6, /* source of clock_hz: Hot Chips */
        .mxus = 2, .mxu_size = 128,                  /* source: jax, Cloud TPU docs */
        .core_hbm = INT64_C(32) << 29,               /* Cloud TPU docs: 32 GiB per chip */
        .core_hbm_usable = 16624107520,              /* libtpu: the limit that a device reports */
        .core_hbm_Bps = 900e9 / 2,      /* Cloud TPU docs: 900 GB/s per chip; jax: 825 */
        .core_vmem = INT64_C(16) << 20, /* source: jax */
        /* source: libtpu's estimates */
        .kernel = {.loss_again = 2,
                   .launch = 900,
                   .tile = 190,
                   .share = 0.96,
                   .result = 14.3,
                   .hbm_share = 0.95,
                   .alus = 2,
                   /* calibrated on ResNet-50 of MLPerf 0.6 on v3-32 and v3-128 */
                   .measured_hbm = 0.70,
                   .calibrated = "convnets"},
        /* DSSA paper: 656 Gbit/s; Cloud TPU docs: pod all-reduce 340 TB/s over 1024 chips of 4
     * links, so 83 GB/s per link */
        .links = 4, .link_Bps = 82e9, .hop_s = 1e-6,      /* source of hop_s: Scaling book */
        .ring_efficiency = 0.96, .line_efficiency = 0.96, /* assumed to be those of v2 */
        .collective_s = 5e-6, /* the value fitted to measurements of v5e */
        .usd_hour = 8.00 / 4,
        /* SkyPilot: 2,048 dollars an hour for 1,024 chips */
        .price_source = "on demand in us-east1, August 2024",
        /* libtpu: 16x16 does not wrap around, 16x32 does in y, 32x32 in x and y */
        .dims = 2, .wrap = 32,
        .shapes = "1x1 2x2 4x2 4x4 4x8 8x8 8x16 16x16 16x32 32x32", /* source: libtpu */
        .host = {2, 2, 1})    /* Cloud TPU docs: a v3-8 machine has 4 chips */
DT_CHIP(v4, .kind = "TPU v4", /* source: libtpu */
        /* Cloud TPU docs, libtpu: both cores are one device (megacore) by default; a program can
         * ask for one per core */
        .cores = 2, .devices = 1, .counts_cores = true, /* Cloud TPU docs: v4-8 has 8 cores */
        .core_flops = 275e12 / 2,                       /* Cloud TPU docs: 275 TFLOP/s per chip */
        .core_int8_ops = 275e12 / 2, /* Cloud TPU docs: "275 teraflops (bf16 or int8)" */
        /* 275e12 FLOP/s of a chip / (8 matrix units * 2 * 128 * 128) */
        .clock_hz = 1050e6, .mxus = 4, .mxu_size = 128, /* source of mxus: jax, Cloud TPU docs */
        .core_hbm = INT64_C(32) << 29,                  /* Cloud TPU docs: 32 GiB per chip */
        .core_hbm_usable = 32745848832 /
                           2,           /* libtpu: the limit that a device (both cores) reports */
        .core_hbm_Bps = 1200e9 / 2,     /* Cloud TPU docs: 1,200 GB/s per chip; jax: 1,230 */
        .core_vmem = INT64_C(16) << 20, /* source: jax */
        .cmem = INT64_C(128) << 20,     /* jax: both cores share it */
        /* source: libtpu's estimates */
        .kernel = {.launch = 1600,
                   .tile = 73,
                   .share = 0.875,
                   .result = 14.0,
                   .hbm_share = 0.73,
                   .int8_rows = 105,
                   .resident = INT64_C(128) << 20,
                   .alus = 2,
                   .calibrated = "decoders"},
        /* source: Scaling book; Cloud TPU docs: pod all-reduce 1.1 PB/s over 4096 chips of 6 links,
     * so 44.8 GB/s per link */
        .links = 6, .link_Bps = 45e9, .hop_s = 1e-6,      /* source of hop_s: Scaling book */
        .ring_efficiency = 0.95, .line_efficiency = 0.83, /* assumed to be those of v5e */
        .collective_s = 5e-6, /* the value fitted to measurements of v5e */
        .pcie_Bps = 16e9,     /* source: Scaling book */
        .dcn_Bps = 6.25e9,    /* source: Scaling book */
        .usd_hour = 3.22,
        .price_source = "on demand, us-central2 (SkyPilot 006059e0)", /* source: SkyPilot */
        .dims = 3, .wrap = 4, /* libtpu: cubes of 4x4x4 behind optical switches */
        /* libtpu: the slices below a cube, which do not wrap around */
        .shapes = "1x1x1 1x2x1 2x2x1 2x2x2 2x2x4 2x4x4", .cubes = 64,
        .any_order = true, /* source: libtpu */
        .host = {2, 2, 1}) /* libtpu: a host has 4 chips */
DT_CHIP(
    v5e, .kind = "TPU v5 lite",       /* source: libtpu */
    .type = "v5litepod",              /* Cloud TPU docs: v5litepod-16 */
    .aliases = {"v5lite", "v5 lite"}, /* source: jax */
    .cores = 1, .devices = 1,         /* source: jax, libtpu */
    .core_flops = 197e12,             /* source: Cloud TPU docs */
    .core_int8_ops = 393e12,          /* source: Cloud TPU docs */
    .clock_hz = 1500e6,         /* source: Scaling book; 197e12 / (4 * 2 * 128 * 128) = 1.503e9 */
    .mxus = 4, .mxu_size = 128, /* source: jax, Cloud TPU docs */
    .core_hbm = INT64_C(16) << 30,   /* Cloud TPU docs: 16 GiB */
    .core_hbm_usable = 16909334528,  /* libtpu: the limit that a device reports */
    .core_hbm_Bps = 819e9,           /* Cloud TPU docs, of which later versions say 800; jax: 820 */
    .core_vmem = INT64_C(128) << 20, /* source: jax */
    /* source: libtpu's estimates */
    .kernel = {.loss_again = 1,
               .launch = 3700,
               .tile = 33,
               .share = 0.985,
               .result = 14.1,
               .hbm_share = 0.755,
               .int8_rate = 2,
               .resident = INT64_C(112) << 20,
               .alus = 3,
               .calibrated = "decoders"},
    .links = 4,
    .link_Bps =
        45e9, /* source: Scaling book; Cloud TPU docs: nominal 50 GB/s, 400 per chip both ways */
    .hop_s = 1e-6,           /* source: Scaling book */
    .ring_efficiency = 0.95, /* Scaling book: measured along y of 8x16, from 10 MB up */
    /* calibrated on the Scaling book's profile: an all-gather of 33.5 MB over 4 chips without
     * wraparound took 680 us */
    .line_efficiency = 0.83,
    /* calibrated on the Scaling book's profile of v5e: an all-gather of 131 kB in 8 us, of which
     * 3 are hops */
    .collective_s = 5e-6, .pcie_Bps = 16e9, /* source of pcie_Bps: Scaling book */
    .dcn_Bps = 3.125e9, /* Cloud TPU docs: a host of 8 chips has 2 x 100 Gbit/s */
    .usd_hour = 1.20,
    .price_source =
        "on demand, us-central1 (SkyPilot 006059e0)", /* source: SkyPilot, Scaling book */
    .dims = 2, .wrap = 16, /* libtpu: 8x16 wraps around in y, 16x16 in x and y */
    .shapes = "1x1 2x2 2x4 4x4 4x8 8x8 8x16 16x16", /* source: libtpu, Cloud TPU docs */
    /* Cloud TPU docs: machines of 4 chips; up to 8 chips are one machine */
    .host = {2, 2, 1}, .lone_host = {2, 4, 1})
DT_CHIP(
    v5p, .kind = "TPU v5",       /* source: libtpu */
    .aliases = {"v5"},           /* source: jax */
    .cores = 2, .devices = 1,    /* jax, libtpu: both cores are one device (megacore) */
    .counts_cores = true,        /* Cloud TPU docs: v5p-8 has 4 chips */
    .core_flops = 459e12 / 2,    /* Cloud TPU docs: 459 TFLOP/s per chip */
    .core_int8_ops = 918e12 / 2, /* source: Cloud TPU docs */
    /* source: Scaling book; 459e12 FLOP/s / (8 matrix units * 2 * 128 * 128) */
    .clock_hz = 1750e6, .mxus = 4, .mxu_size = 128, /* source of mxus: jax, Cloud TPU docs */
    .core_hbm = INT64_C(95) << 29,                  /* Cloud TPU docs: 95 GiB per chip */
    /* libtpu: the limit that a device (both cores) reports, which is above the 95 GiB of the
     * docs */
    .core_hbm_usable = 102803437568 / 2,
    .core_hbm_Bps = 2765e9 / 2,     /* Cloud TPU docs: 2,765 GB/s per chip; jax: 2,460 */
    .core_vmem = INT64_C(64) << 20, /* source: jax */
    /* source: libtpu's estimates */
    .kernel = {.launch = 4430,
               .tile = 30,
               .share = 0.955,
               .result = 11.2,
               .hbm_share = 0.63,
               .int8_rate = 2,
               .resident = INT64_C(48) << 20,
               .alus = 2,
               .calibrated = "decoders"},
    .links = 6,
    .link_Bps =
        90e9, /* source: Scaling book; Cloud TPU docs: nominal 100 GB/s, 1,200 per chip both ways */
    .hop_s = 1e-6,                                    /* source: Scaling book */
    .ring_efficiency = 0.95, .line_efficiency = 0.83, /* assumed to be those of v5e */
    .collective_s = 5e-6,                             /* the value fitted to measurements of v5e */
    .pcie_Bps = 16e9,                                 /* source: Scaling book */
    .dcn_Bps = 6.25e9,                                /* Cloud TPU docs: 50 Gbit/s per chip */
    .usd_hour = 4.20,
    .price_source =
        "on demand, us-central1 (SkyPilot 006059e0)", /* source: SkyPilot, Scaling book */
    .dims = 3, .wrap = 4, /* libtpu: cubes of 4x4x4 behind optical switches */
    /* libtpu: the slices below a cube, which do not wrap around */
    .shapes = "1x1x1 1x2x1 2x2x1 2x2x2 2x2x4 2x4x4",
    .cubes = 140,    /* libtpu: the largest slice is 16x20x28 */
    .job_cubes = 96, /* Cloud TPU docs: the largest job has 16x16x24 chips */
    /* TPU recipes: Mixtral on v5p asks for 4x4x8_untwisted, so the default is twisted */
    .twists = true, .host = {2, 2, 1}) /* libtpu: a host has 4 chips */
DT_CHIP(
    v6e, .kind = "TPU v6 lite",       /* source: libtpu */
    .aliases = {"v6lite", "v6 lite"}, /* source: libtpu */
    .cores = 1, .devices = 1,         /* source: jax, libtpu */
    .core_flops = 918e12,             /* source: Cloud TPU docs */
    .core_int8_ops = 1836e12,         /* source: Cloud TPU docs */
    /* The clock is not published. With this one, a core's peak is about 524,288 FLOP per cycle,
     * twice what 2 MXUs of 256 x 256 compute. */
    .clock_hz = 1750e6, .mxus = 2, .mxu_size = 256, /* source of mxus: jax, Cloud TPU docs */
    .core_hbm = INT64_C(32) << 30,                  /* Cloud TPU docs: 32 GiB */
    .core_hbm_usable = 33550235648,                 /* libtpu: the limit that a device reports */
    .core_hbm_Bps = 1638e9,                         /* source: Cloud TPU docs */
    .core_vmem = INT64_C(128) << 20,                /* source: jax */
    /* source: libtpu's estimates */
    .kernel = {.loss_again = 1,
               .launch = 4300,
               .tile = 127,
               .share = 0.845,
               .result = 7.6,
               .hbm_share = 0.845,
               .int8_rate = 1.5,
               /* TPU recipes: a product of 8192^3 reaches 90 % */
               .measured_share = 0.9,
               .resident = INT64_C(96) << 20,
               .alus = 2.7},
    .links = 4,
    .link_Bps =
        90e9, /* source: Scaling book; Cloud TPU docs: nominal 100 GB/s, 800 per chip both ways */
    .hop_s = 1e-6,                                    /* source: Scaling book */
    .ring_efficiency = 0.95, .line_efficiency = 0.83, /* assumed to be those of v5e */
    /* calibrated on the psum of 606 MB over 16x16 of TPU recipes, by microbenchmarks 5.12 ms */
    .sum_efficiency = 0.69, .collective_s = 5e-6, /* collective_s: as fitted for v5e */
    .pcie_Bps = 32e9,                             /* source: Scaling book */
    .dcn_Bps = 12.5e9, /* Cloud TPU docs: a host of 8 chips has 4 x 200 Gbit/s */
    .usd_hour = 2.70, .price_source = "on demand in us-east5, January 2025", /* source: SkyPilot */
    .dims = 2, .wrap = 16, /* libtpu: 8x16 wraps around in y, 16x16 in x and y */
    .shapes = "1x1 2x2 2x4 4x4 4x8 8x8 8x16 16x16", /* source: libtpu, Cloud TPU docs */
    /* Cloud TPU docs: machines of 4 chips; up to 8 chips are one machine */
    .host = {2, 2, 1}, .lone_host = {2, 4, 1})
DT_CHIP(
    tpu7x, .kind = "TPU7x",                       /* source: libtpu */
    .aliases = {"v7x", "7x", "ironwood", "tpu7"}, /* Cloud TPU docs: Ironwood; xpk: tpu7 */
    .cores = 2, .devices = 2,                     /* jax, libtpu: two chiplets, each a device */
    .counts_cores = true,                         /* Cloud TPU docs: tpu7x-8 has 4 chips */
    .core_flops = 2307e12 / 2,                    /* Cloud TPU docs: 2,307 TFLOP/s per chip */
    /* The clock is not published. With this one, a core's peak is about 524,288 FLOP per cycle,
     * twice what 2 MXUs of 256 x 256 compute. */
    .clock_hz = 2200e6, .mxus = 2, .mxu_size = 256, /* source of mxus: jax, Cloud TPU docs */
    .core_hbm = INT64_C(192) << 29,                 /* Cloud TPU docs: 192 GiB per chip */
    .core_hbm_usable = 101732839424,                /* libtpu: the limit that a device reports */
    .core_hbm_Bps = 7380e9 / 2,                     /* Cloud TPU docs: 7,380 GB/s per chip */
    .core_vmem = INT64_C(64) << 20,                 /* source: jax */
    /* source: libtpu's estimates */
    .kernel = {.keeps_normalized = true,
               .copies_variables = true,
               .launch = 5460,
               .tile = 119,
               .share = 0.88,
               .result = 4.15,
               .hbm_share = 0.78,
               .fp8_rate = 2, /* Cloud TPU docs: 4,614 TFLOP/s */
               .int8_rows = 200,
               .vectors = true,
               /* TPU recipes: products of 16384^3 reach 82.4 %, of 32768^3 82.9 % */
               .measured_share = 0.83,
               .resident = INT64_C(48) << 20,
               .alus = 2.6},
    .links = 6, .link_Bps = 100e9, /* Cloud TPU docs: 1,200 GB/s per chip both ways, nominal */
    .hop_s = 1e-6,                 /* Scaling book: that of v5p; that of tpu7x is unknown */
    /* link_Bps is the nominal rate here. The Scaling book's rates of v5e, v5p and v6e are 90 % of
     * the nominal ones, so these are v5e's efficiencies times 0.9. */
    /* collective_s: the value fitted to measurements of v5e */
    .ring_efficiency = 0.86, .line_efficiency = 0.75, .collective_s = 5e-6,
    /* Cloud TPU docs: between the chiplets, six times a link; from memory */
    .core_link_Bps = 6 * 2 * 100e9, .dcn_Bps = 12.5e9, /* Cloud TPU docs: 100 Gbit/s per chip */
    .dims = 3, .wrap = 4, /* libtpu: cubes of 4x4x4 behind optical switches */
    /* libtpu: the slices below a cube, which do not wrap around */
    .shapes = "1x1x1 1x2x1 2x2x1 2x2x2 2x2x4 2x4x4", .cubes = 144,
    /* cubes: libtpu's largest slice has 9,216 chips; long_twists: libtpu lists slices with them */
    .long_twists = true, .host = {2, 2, 1}) /* Cloud TPU docs: a host has 4 chips */
#undef DT_CHIP
