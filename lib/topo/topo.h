/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where things are: chips, slices of a pod, the topology of a slice (as in tf.tpu), the assignment
 * of replicas to its cores, and device names. Pure data: nothing here computes, sends or depends on
 * a strategy.
 *
 *     chip       one generation's numbers                      topo/chips.h
 *     slice      "v3-8": chips in a grid, wrapped or not        topo/slices.c
 *     topology   mesh_shape, tasks, coordinates of devices
 *     assignment replica, logical device -> coordinates
 *
 * Coordinates are (x, y, z, core). Within a task, devices are ordered with core varying fastest,
 * then x, then y. The id of a core in its slice is core + C * (x + X * (y + Y * z)).
 */
#ifndef DT_TOPO_TOPO_H
#define DT_TOPO_TOPO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

typedef int dt_coords[4]; /* x, y, z, core */

/* ---- chips and slices ---- */

/* A generation of chips; SI units, 0: unknown or none. The sources of the numbers stand beside them
 * in topo/chips.h. */
/* Rates of compiled kernels on a core, in cycles of clock_hz. lib/cost combines them. */
typedef struct dt_kernel_rates {
    double launch; /* cycles before a kernel with products starts */
    double tile;   /* cycles to load a tile of mxu_size squared into a matrix unit */
    /* part of the matrix units' peak that large products reach, by the compiler's estimates */
    double share;
    /* the same on hardware, from measured products or training steps (topo/chips.h names them) */
    double measured_share;
    double result;    /* cycles to bring out 1,024 results of 16 bits */
    double hbm_share; /* part of core_hbm_Bps that kernels reach, by the compiler's estimates */
    /* the same, from training steps; 0: as measured for copies (cost/core_time.c) */
    double measured_hbm;
    /* the family (cost/expected_error.h) whose published steps one of the two was set on; NULL:
     * none */
    const char *calibrated;
    double int8_rate; /* 8-bit integers against bfloat16; 0: as bfloat16 */
    double fp8_rate;  /* 8-bit floats, the same */
    double int8_rows; /* unpacking a tile of 8-bit integers takes as long as this number of rows */
    bool vectors;     /* matrix units compute products by a vector; false: vector units do */
    /* bytes of an operand that the compiler can prefetch into the chip: its memory less what
     * kernels use; 0: none */
    int64_t resident;
    /* additions per cycle for each of 8 x 128 lanes in a long chain, by the compiler's
     * estimates; a lane has 2 ALUs, or 4 [sb] */
    double alus;
} dt_kernel_rates;

typedef struct dt_chip {
    const char *generation; /* "v3" */
    /* beginning of accelerator types, if it is not the name: "v5litepod" of v5litepod-16; else
     * NULL */
    const char *type;
    const char *aliases[4]; /* other names; unused ones are NULL */
    const char *kind;       /* name that the device reports: "TPU v5 lite" */
    int cores;              /* TensorCores of a chip */
    /* devices that programs see per chip by default: one per core, or one for both (megacore) */
    int devices;
    bool counts_cores; /* the number in v3-N counts cores; false: chips (v5e, v6e) */
    /* bfloat16 FLOP/s of a core; float32 products run as bfloat16 passes, at the same rate */
    double core_flops;
    double core_int8_ops; /* int8 operations/s of a core */
    double clock_hz;
    int mxus, mxu_size;      /* matrix units of a core; rows and columns of one */
    int64_t core_hbm;        /* bytes, as sold */
    int64_t core_hbm_usable; /* bytes that programs get */
    double core_hbm_Bps;
    int64_t core_vmem; /* bytes of a core's vector memory */
    int64_t cmem;      /* bytes of a chip's common memory */
    dt_kernel_rates kernel;
    int links;       /* links of a chip */
    double link_Bps; /* bytes per second of a link in one direction */
    double hop_s;    /* latency of one link */
    /* between the cores of a chip, both ways together; 0: they exchange through HBM */
    double core_link_Bps;
    /* part of link_Bps that collectives reach where the ends of all axes are linked */
    double ring_efficiency;
    double line_efficiency; /* part of link_Bps where some ends are not linked */
    /* an all-reduce reaches this part of the two efficiencies above; 0: all */
    double sum_efficiency;
    /* constant time of a collective: starting it and waiting for all devices */
    double collective_s;
    double pcie_Bps; /* between a chip and its host */
    double dcn_Bps;  /* a chip's share of the network between slices, in one direction */
    double usd_hour; /* on-demand price of a chip for an hour, US dollars; 0: unknown */
    /* source of usd_hour, with date and region as far as they are known */
    const char *price_source;
    int dims; /* axes of the torus: 2 or 3 */
    /* 2: sides of this length wrap; 3: all do where every side is a multiple of it (a slice of
     * whole cubes) */
    int wrap;
    const char *shapes; /* slices one by one: "1x1 2x2"; 3: those below a cube */
    int cubes;          /* 3 dimensions: the most cubes that a box has */
    int job_cubes;      /* the most that a job on one slice can have; 0: all */
    bool twists;        /* Cloud TPU twists a box that can be, unless it is asked not to */
    bool any_order;     /* sides may be in any order; false: ascending */
    bool long_twists;   /* boxes may be twisted also as k x 2k x 4k and longer */
    int host[3];        /* chips of a host along x, y and z, if the slice has several hosts */
    /* a cluster (topo/cluster.c): links lead to a switch, and a core is a device of which only
     * these rates are known */
    bool is_host;
    int lone_host[3]; /* a slice within these sides has one host; 0: `host` applies to all */
} dt_chip;

/* The row of a generation or of an alias ("v3", "v5litepod"), in any case, or NULL. */
const dt_chip *dt_chip_find(const char *generation);

/* All generations, oldest first; *n is their count. */
const dt_chip *const *dt_chips(int *n);

/* A part of a pod that can be rented. May be copied. */
typedef struct dt_slice {
    /* "v3-8"; "v4:4x4x16" if another shape with as many chips is the usual one;
     * "v4:4x4x8_twisted" */
    char name[40];
    const dt_chip *chip;
    int chips[3]; /* X, Y, Z */
    bool wrap[3]; /* the last chip of this axis is linked to the first one */
    bool twisted; /* wraps with an offset along the long axes, see topo/wiring.c */
} dt_slice;

/* All slices of a generation, smallest first; among slices of the same size the usual shape is
 * first. *n is their number; the caller frees them. */
dt_slice *dt_slices_of(const dt_chip *c, int *n);
/* "v3-8", "sim:v3-8", "v3:2x2", "v4:4x4x8_twisted", "v4:4x4x8_untwisted", in any case. None of that
 * name: an error of the row `unknown` (UNKNOWN_SLICE for a job, UNKNOWN_SLICE_OPTION for the
 * command line) that names the nearest. `at` may be NULL. */
dt_status *dt_slice_find(const char *name, dt_error unknown, const dt_location *at,
                         dt_slice *out) DT_MUST_USE;
int dt_slice_chips(const dt_slice *s);
/* Whether Cloud TPU would hand out the slice's shape with a twist, which it lacks. */
bool dt_slice_is_twisted_by_default(const dt_slice *s);
/* Whether it has more chips than a job on one slice can have. */
bool dt_slice_exceeds_job(const dt_slice *s);

/* ---- topology ---- */

/* tf.tpu.experimental.Topology (declared in dtrain.h, reference-counted). Immutable. */
struct dt_topology {
    _Atomic int refs;
    const dt_slice *slice; /* &own; NULL: the topology was created from coordinates */
    dt_slice own;
    dt_chip described;      /* the chip of a cluster, which `own` refers to */
    int mesh[4];            /* x, y, z, core: sizes, all >= 1 */
    int tasks;              /* hosts */
    int devices;            /* devices of a task */
    dt_coords *coordinates; /* [tasks * devices], task by task */
    int *place;             /* [x][y][z][core]: index into coordinates, -1: no such device */
    int missing;            /* places of the mesh without a device */
    int *missing_place;     /* [missing] which, row-major */
    int *distance;          /* [chips]: hops from chip 0 if the slice is twisted, else NULL */
    dt_str serialized;      /* TopologyProto bytes, as they were read or first written */
};

dt_topology *dt_topology_ref(const dt_topology *t);
/* TOPOLOGY when it is NULL. */
dt_status *dt_topology_given(const dt_topology *t) DT_MUST_USE;
/* Places in a mesh of that shape, none of its sizes below 1; 0: too many. */
int dt_topology_places(const int64_t mesh[4]);
/* Appends t as TopologyProto bytes. */
void dt_topology_write(const dt_topology *t, dt_str *out);
/* The topology of a slice, as its hosts report it. */
dt_topology *dt_topology_of_slice(const dt_slice *s);
/* The topology of a slice whose chips show `cores` devices instead of their default: 1 (both cores
 * as one) or 2. */
dt_topology *dt_topology_of_cores(const dt_slice *s, int cores);
/* Hosts and devices of a cluster, SI units. */
typedef struct dt_cluster_facts {
    int hosts, devices; /* number of hosts, and of devices on each */
    double flops;       /* FLOP/s that products of a device reach */
    int64_t memory;     /* bytes of a device that programs get */
    double memory_Bps;  /* memory bandwidth of a device */
    /* in one direction: from a device to others of its host; from a host to other hosts. 0: not
     * connected */
    double inside_Bps, between_Bps;
    double latency_s; /* between hosts, one way */
    double usd_hour;  /* price of a host for an hour, US dollars; 0: unknown */
} dt_cluster_facts;
dt_topology *dt_topology_of_cluster(const dt_cluster_facts *f);
/* Cores that make one device of a topology of a slice. */
int dt_topology_device_cores(const dt_topology *t);
/* Cores that are there. */
int dt_topology_cores(const dt_topology *t);
bool dt_topology_has(const dt_topology *t, const dt_coords at);
/* Task and device in it at coordinates that dt_topology_has. */
int dt_topology_task(const dt_topology *t, const dt_coords at);
int dt_topology_device(const dt_topology *t, const dt_coords at);
/* core + C * (x + X * (y + Y * z)) */
int dt_topology_id(const dt_topology *t, const dt_coords at);
/*
 * Chips are numbered x + X * (y + Y * z) here. The neighbour of a chip along an axis, towards
 * larger coordinates when `up`, round the end where it wraps, with the twist; -1: none. Two chips
 * of a wrapped axis of two are linked once.
 */
int dt_topology_neighbour(const dt_topology *t, int chip, int axis, bool up);
bool dt_topology_wraps(const dt_topology *t, int axis);
/* On a twisted slice, going once round `axis` ends this number of chips further along axis
 * `along`; else 0. */
int dt_topology_twist(const dt_topology *t, int axis, int along);
/* The number of links. The link from a chip in upward direction along an axis belongs to that
 * chip, the one downwards to its neighbour. */
int dt_topology_links(const dt_topology *t);
/* The number of links on the shortest way between two chips; 0 within a chip. And the largest
 * such number. */
int dt_topology_hops(const dt_topology *t, const dt_coords a, const dt_coords b);
int dt_topology_diameter(const dt_topology *t);
/* One step of a message from chip to chip: along `axis`, towards larger coordinates (or round the
 * end) when `up`. */
typedef struct dt_link {
    int from, to; /* chips */
    int axis;
    bool up;
} dt_link;
/* The links of a shortest way, along x first, then y, then z where possible. Returns their
 * number, dt_topology_hops. links must have room for mesh[0] + mesh[1] + mesh[2]. */
int dt_topology_route(const dt_topology *t, const dt_coords a, const dt_coords b, dt_link *links);
/* The name for messages and headers: the slice's, or "this topology". */
const char *dt_topology_name(const dt_topology *t);

/* ---- device assignment ---- */

/* tf.tpu.experimental.DeviceAssignment (declared in dtrain.h, counted): where each replica's
 * logical devices are. */
typedef struct dt_device_assignment dt_assignment;
struct dt_device_assignment {
    _Atomic int refs;
    dt_topology *topology; /* counted */
    int replicas;
    int logical;   /* devices of a replica */
    int shape[4];  /* computation_shape; all 0: the cores were listed one by one */
    int stride[4]; /* computation_stride */
    dt_device_order order;
    dt_coords *core; /* [replicas][logical] */
};

/* Not filled. */
dt_assignment *dt_assignment_new(const dt_topology *t, int replicas, int logical);
dt_assignment *dt_assignment_ref(const dt_assignment *a);
/* One replica per core, in the order of tasks and their devices: TPUStrategy without an
 * assignment. */
dt_assignment *dt_assignment_each_core(const dt_topology *t);
/* Coordinates of a replica's logical device. */
const int *dt_assignment_at(const dt_assignment *a, int replica, int logical);
/* Writes the replicas that have a logical device in the task, ascending, into
 * replicas[a->replicas]; returns their number. */
int dt_assignment_lookup(const dt_assignment *a, const dt_topology *t, int task, int logical,
                         int *replicas);
/* An order of the replicas in which neighbours lie near each other, for rings of collectives: that
 * of a ring through all chips where it is shorter than the order of numbers. order[a->replicas]. */
void dt_assignment_ring(const dt_assignment *a, const dt_topology *t, int *order);
/* The grid of the replicas' first cores. Sets grid[4] to its sizes along z, y, x and core, and
 * order[a->replicas], unless it is NULL, to the replicas by these coordinates, z slowest. False:
 * the cores do not fill a grid, and order is not set. */
bool dt_assignment_grid(const dt_assignment *a, int grid[4], int *order);

/* ---- names of devices ---- */

typedef enum dt_device_type { DT_DEVICE_CPU, DT_DEVICE_GPU, DT_DEVICE_TPU } dt_device_type;
enum { DT_JOB_NAME = 32 }; /* bytes of a job's name with its end */
typedef struct dt_device_name {
    char job[DT_JOB_NAME]; /* "localhost", "worker" */
    int replica, task;
    dt_device_type type;
    int index;
} dt_device_name;

/* "CPU:0", "/cpu:0", "/device:CPU:0", "/job:worker/replica:0/task:1/device:TPU:3", in any case;
 * what is left out is /job:localhost, /replica:0, /task:0. DEVICE_NAME; `at` may be NULL. */
dt_status *dt_device_name_parse(const char *text, const dt_location *at,
                                dt_device_name *out) DT_MUST_USE;
/* Copies the name of a job: 1 to 31 letters, digits and _. DEVICE_NAME. */
dt_status *dt_job_name_parse(const char *job, const dt_location *at,
                             char out[DT_JOB_NAME]) DT_MUST_USE;
/* "/job:localhost/replica:0/task:0/device:CPU:0" */
void dt_device_name_print(const dt_device_name *d, dt_str *out);
bool dt_device_name_equal(const dt_device_name *a, const dt_device_name *b);
/* n names of CPU devices of this machine, all different (virtual ones: any index below
 * DT_MAX_CPU_DEVICES). DEVICE_NAME, DEVICE_TWICE, NO_DEVICE. */
#define DT_MAX_CPU_DEVICES 65536
dt_status *dt_cpu_devices_parse(const char *const *names, int n, const dt_location *at,
                                dt_device_name *out) DT_MUST_USE;
/* Reads n names of devices of a plug-in ("GPU:0"), all of one kind. Does not check whether the
 * devices exist. Errors as for dt_cpu_devices_parse. */
dt_status *dt_accelerators_parse(const char *const *names, int n, const dt_location *at,
                                 dt_device_name *out) DT_MUST_USE;

/* ---- resolvers ---- */

/* TPUClusterResolver (declared in dtrain.h, counted): a slice, and how we came to it. */
/* How products are computed on a simulated slice. EXACT: in float32, and what a replica cuts over
 * logical devices in one piece, so that numbers are those of one device. CHIP: as the chip does it:
 * operands rounded to bfloat16, sums of what is cut in parts. */
typedef enum dt_numerics { DT_NUMERICS_EXACT, DT_NUMERICS_CHIP } dt_numerics;

struct dt_resolver {
    int refs;
    const dt_slice *slice; /* the topology's */
    dt_topology *topology; /* NULL: workers without a slice */
    bool simulated;        /* always true: there is no resolver for real slices */
    char job[DT_JOB_NAME]; /* the job in device names: "worker"; "localhost" for this machine */
    int tasks, task;       /* number of tasks of the job; number of this process */
    dt_numerics numerics;
    /* "simulated: this machine has no TPU (...)"; NULL when a simulated one was asked for */
    char *why;
};
/* dt_tpu_resolver with the row for unknown slices and a place; *out is NULL or a resolver that is
 * replaced. */
dt_status *dt_resolver_open(dt_resolver **out, const char *tpu, dt_error unknown,
                            const dt_location *at) DT_MUST_USE;
dt_resolver *dt_resolver_ref(dt_resolver *r);
/* The slice of a resolver, lent; NULL: it has none, or r is NULL. */
const dt_topology *dt_resolver_slice(const dt_resolver *r);
/* Sets the number of devices that each chip of the resolver's slice shows. RANGE: it is not
 * possible. Must precede the first use of the topology. */
dt_status *dt_resolver_show_cores(dt_resolver *r, int64_t cores, const dt_location *at) DT_MUST_USE;
/* Virtual workers of this process: no slice. This is task 0 of them, the chief. */
dt_resolver *dt_resolver_of_workers(int workers);

/* ---- pictures ---- */

typedef struct dt_topology_picture {
    const dt_topology *topology;     /* topology of a slice */
    const dt_assignment *assignment; /* replicas to draw on it; NULL: device numbers */
    const char *why;                 /* resolver's: printed when it is not NULL */
    bool simulated;                  /* the slice is simulated; JSON and SVG say so */
    bool utf8;                       /* lines as box drawing characters */
    int columns; /* width of the page; 0: 80 for planes, and lines of words are not broken */
} dt_topology_picture;
/* A header, one plane of chips for each z with links, a legend, and which links gradients use;
 * folded where it is large. */
void dt_topology_draw(const dt_topology_picture *p, dt_str *out);
/*
 * One line of JSON: type, generation, simulated, chips, hosts, cores_per_chip, mesh_shape[4],
 * wrap[3], twisted, devices: [{id, task, coords[4]}], and with an assignment replicas: [[id, ...]].
 */
void dt_topology_json(const dt_topology_picture *p, dt_str *out);

/* Draws the picture as a complete SVG file, in which nothing is folded. */
void dt_topology_svg(const dt_topology_picture *p, dt_str *out);
/* Where a block of [x, y, z, core] devices fits: on a topology of a slice (NULL: none is asked for)
 * it and all others of as many devices, and the smallest slices with room. `columns` as in a
 * picture. */
void dt_topology_fit(const dt_topology *t, const int64_t want[4], int columns, dt_str *out);
/* One line of JSON: computation_shape, type, mesh_shape, shapes: [{computation_shape, replicas,
 * too_short}], slices: [{type, chips, cores_per_chip, replicas}]. */
void dt_topology_fit_json(const dt_topology *t, const int64_t want[4], dt_str *out);

#endif
