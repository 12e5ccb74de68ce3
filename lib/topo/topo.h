/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes hardware and where replicas are: chips, slices of a pod, the topology of a slice (as in
 * tf.tpu), the assignment of replicas to its cores, and device names. This is data only: nothing
 * here computes, sends or depends on a strategy.
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

typedef int dt_coords[4]; /* the coordinates x, y, z and core */

/* ---- chips and slices ---- */

/* Rates of compiled kernels on a core, in cycles of clock_hz. lib/cost combines them. */
typedef struct dt_kernel_rates {
    double launch; /* cycles before a kernel with products starts */
    double tile;   /* cycles to load a tile of mxu_size squared into a matrix unit */
    /* part of the matrix units' peak that large products reach, by the compiler's estimates */
    double share;
    /* the same part, measured on hardware with products or training steps (topo/chips.h names
     * them) */
    double measured_share;
    double result;    /* cycles to write 1,024 results of 16 bits from a matrix unit */
    double hbm_share; /* part of core_hbm_Bps that kernels reach, by the compiler's estimates */
    /* the same part, measured with training steps; 0: that of copies is used (cost/core_time.c) */
    double measured_hbm;
    /* the family (cost/expected_error.h) with whose published steps measured_share or measured_hbm
     * was calibrated; NULL: none */
    const char *calibrated;
    /* Rate of products of 8-bit integers relative to bfloat16; 0: the same rate. */
    double int8_rate;
    double fp8_rate; /* rate of products of 8-bit floats relative to bfloat16; 0: the same rate */
    /* Unpacking a tile of 8-bit integers takes as long as multiplying this number of rows. */
    double int8_rows;
    /* Matrix units compute products of a matrix and a vector; false: vector units do. */
    bool vectors;
    /* number of bytes of an operand that the compiler can prefetch into the chip: its memory minus
     * what kernels use; 0: none */
    int64_t resident;
    /* additions per cycle for each of 8 x 128 lanes in a long chain, by the compiler's estimates; a
     * lane has 2 ALUs, or 4 by the Scaling book */
    double alus;
} dt_kernel_rates;

/* A generation of chips, in SI units; 0: unknown or none. topo/chips.h names the source of each
 * number. */
typedef struct dt_chip {
    const char *generation; /* name of the generation, such as "v3" */
    /* the beginning of accelerator types, such as "v5litepod" in v5litepod-16; NULL: it is the
     * generation's name */
    const char *type;
    const char *aliases[4]; /* other names; unused ones are NULL */
    const char *kind;       /* name that the device reports: "TPU v5 lite" */
    int cores;              /* TensorCores of a chip */
    /* devices that programs see per chip by default: one per core, or one for both (megacore) */
    int devices;
    /* The number in a name such as v3-8 counts cores; false: it counts chips (v5e, v6e). */
    bool counts_cores;
    /* bfloat16 FLOP/s of a core; float32 products are computed in several bfloat16 passes at this
     * rate */
    double core_flops;
    double core_int8_ops; /* int8 operations/s of a core */
    double clock_hz;
    /* Number of matrix units of a core; number of rows and columns of one. */
    int mxus, mxu_size;
    int64_t core_hbm;        /* bytes of memory of a core, as advertised */
    int64_t core_hbm_usable; /* bytes of memory of a core that programs can use */
    double core_hbm_Bps;
    int64_t core_vmem; /* bytes of a core's vector memory */
    int64_t cmem;      /* bytes of a chip's common memory */
    dt_kernel_rates kernel;
    int links;       /* links of a chip */
    double link_Bps; /* bytes per second of a link in one direction */
    double hop_s;    /* latency of one link */
    /* bytes per second between the cores of a chip, both directions together; 0: cores exchange
     * data through HBM */
    double core_link_Bps;
    /* part of link_Bps that collectives reach if the ends of all axes are linked */
    double ring_efficiency;
    /* Part of link_Bps that collectives reach if some ends are not linked. */
    double line_efficiency;
    /* all-reduces reach only this part of the two efficiencies above; 0: all of it */
    double sum_efficiency;
    /* constant time of a collective, for starting it and waiting for all devices */
    double collective_s;
    double pcie_Bps; /* bytes per second between a chip and its host */
    /* Bytes per second of a chip's share of the network between slices, in one direction. */
    double dcn_Bps;
    double usd_hour; /* on-demand price of a chip for an hour in US dollars; 0: unknown */
    /* source of usd_hour, with date and region as far as they are known */
    const char *price_source;
    int dims; /* number of axes of the torus: 2 or 3 */
    /* with 2 axes: sides of this length wrap around; with 3: all sides wrap around if each is a
     * multiple of this (a slice of whole cubes) */
    int wrap;
    /* With 2 axes: all slices, such as "1x1 2x2"; with 3: those smaller than a cube. */
    const char *shapes;
    int cubes;     /* with 3 axes: number of cubes, blocks of 4 x 4 x 4 chips, in the largest box */
    int job_cubes; /* the largest number of cubes in a job on one slice; 0: that of a box */
    bool twists;   /* Cloud TPU twists every box that can be twisted unless asked not to */
    bool any_order;   /* the sides of a box may be in any order; false: they must be ascending */
    bool long_twists; /* boxes of k x 2k x 4k and longer can be twisted, too */
    int host[3];      /* chips of a host along x, y and z, if the slice has several hosts */
    /* a cluster (topo/cluster.c): links lead to a switch, and a core is a device of which only
     * these rates are known */
    bool is_host;
    /* The sides up to which a slice is a single host; 0: `host` applies to all slices. */
    int lone_host[3];
} dt_chip;

/* Finds the row of a generation or of an alias ("v3", "v5litepod"), in upper or lower case; NULL:
 * there is none. */
const dt_chip *dt_chip_find(const char *generation);

/* All generations, from the oldest on; *n is their number. */
const dt_chip *const *dt_chips(int *n);

/* A part of a pod that can be rented. May be copied. */
typedef struct dt_slice {
    /* name: "v3-8"; "v4:4x4x16" if another shape with the same number of chips is the usual one;
     * "v4:4x4x8_twisted" */
    char name[40];
    const dt_chip *chip;
    int chips[3]; /* number of chips along x, y and z */
    bool wrap[3]; /* the last chip of this axis is linked to the first one */
    bool twisted; /* wraparound links are shifted along the long axes, see topo/wiring.c */
} dt_slice;

/* All slices of a generation, smallest first; among slices of the same size the usual shape is
 * first. *n is their number; the caller frees them. */
dt_slice *dt_slices_of(const dt_chip *c, int *n);
/* "v3-8", "sim:v3-8", "v3:2x2", "v4:4x4x8_twisted", "v4:4x4x8_untwisted", in upper or lower case.
 * If there is no such slice: an error of the row `unknown` (UNKNOWN_SLICE for a job,
 * UNKNOWN_SLICE_OPTION for the command line) that names the nearest. `at` may be NULL. */
dt_status *dt_slice_find(const char *name, dt_error unknown, const dt_location *at,
                         dt_slice *out) DT_MUST_USE;
int dt_slice_chips(const dt_slice *s);
/* Whether Cloud TPU would by default provide the slice's shape with a twist, although the slice is
 * not twisted. */
bool dt_slice_is_twisted_by_default(const dt_slice *s);
/* Whether the slice has more chips than a job on one slice can have. */
bool dt_slice_exceeds_job(const dt_slice *s);

/* ---- topology ---- */

/* tf.tpu.experimental.Topology (declared in dtrain.h, reference-counted). It is immutable. */
struct dt_topology {
    _Atomic int refs;
    const dt_slice *slice; /* points to `own`; NULL: the topology was created from coordinates */
    dt_slice own;
    dt_chip described;      /* the chip of a cluster, which `own` refers to */
    int mesh[4];            /* sizes of the mesh along x, y, z and core, all >= 1 */
    int tasks;              /* number of hosts */
    int devices;            /* number of devices of each host */
    dt_coords *coordinates; /* [tasks * devices], task by task */
    /* [x][y][z][core]: index in `coordinates`; -1: there is no such device. */
    int *place;
    int missing;        /* number of positions in the mesh without a device */
    int *missing_place; /* [missing]: these positions, in row-major order */
    int *distance;      /* [chips]: hops from chip 0 if the slice is twisted, else NULL */
    dt_str serialized;  /* TopologyProto bytes, as they were read or first written */
};

dt_topology *dt_topology_ref(const dt_topology *t);
/* Returns the error TOPOLOGY if t is NULL. */
dt_status *dt_topology_given(const dt_topology *t) DT_MUST_USE;
/* Appends a list of sizes as a job file writes it: "[2,2,1,2]". */
void dt_list_print(dt_str *out, const int64_t *v, int n);
void dt_list_print_4(dt_str *out, const int v[4]);
/* The text of a list of at most 8 sizes, for messages. */
dt_text dt_text_of_list(const int64_t *v, int n);
dt_text dt_text_of_4(const int v[4]);
/* Appends t in the format of TopologyProto. */
void dt_topology_write(const dt_topology *t, dt_str *out);
/* The topology of a slice, as its hosts report it. */
dt_topology *dt_topology_of_slice(const dt_slice *s);
/* The topology of a slice whose chips show `cores` devices instead of their default: 1 (both cores
 * as one) or 2. */
dt_topology *dt_topology_of_cores(const dt_slice *s, int cores);
/* Hosts and devices of a cluster, in SI units. */
typedef struct dt_cluster_facts {
    int hosts, devices; /* number of hosts, and of devices on each */
    double flops;       /* FLOP/s that products of a device reach */
    int64_t memory;     /* bytes of a device that programs get */
    double memory_Bps;  /* memory bandwidth of a device in bytes per second */
    /* bytes per second in one direction: from a device to others on its host; from a host to other
     * hosts. 0: not connected */
    double inside_Bps, between_Bps;
    double latency_s; /* latency between hosts in one direction */
    double usd_hour;  /* price of a host for an hour in US dollars; 0: unknown */
} dt_cluster_facts;
dt_topology *dt_topology_of_cluster(const dt_cluster_facts *f);
/* The number of cores that make up one device of a slice's topology. */
int dt_topology_device_cores(const dt_topology *t);
/* The number of cores that exist. */
int dt_topology_cores(const dt_topology *t);
bool dt_topology_has(const dt_topology *t, const dt_coords at);
/* The task, or the device within its task, at coordinates for which dt_topology_has is true. */
int dt_topology_task(const dt_topology *t, const dt_coords at);
int dt_topology_device(const dt_topology *t, const dt_coords at);
/* the id of the core: core + C * (x + X * (y + Y * z)) */
int dt_topology_id(const dt_topology *t, const dt_coords at);
/*
 * The neighbour of a chip along an axis, towards larger coordinates if `up`; -1: none. It takes
 * wraparound links and twists into account. On a wrapped axis of two chips, these are linked only
 * once. The number of a chip is x + X * (y + Y * z).
 */
int dt_topology_neighbour(const dt_topology *t, int chip, int axis, bool up);
bool dt_topology_wraps(const dt_topology *t, int axis);
/* On a twisted slice, going once round `axis` ends this number of chips further along axis
 * `along`; else 0. */
int dt_topology_twist(const dt_topology *t, int axis, int along);
/* The number of links. The link from a chip upwards along an axis belongs to that chip; the link
 * downwards belongs to the neighbour. */
int dt_topology_links(const dt_topology *t);
/* The number of links on the shortest route between two chips, which is 0 within a chip; and the
 * largest number for any two chips. */
int dt_topology_hops(const dt_topology *t, const dt_coords a, const dt_coords b);
int dt_topology_diameter(const dt_topology *t);
/* One step of a message from a chip to its neighbour: along `axis`, towards larger coordinates (or
 * round the end) if `up`. */
typedef struct dt_link {
    int from, to; /* numbers of the two chips */
    int axis;
    bool up;
} dt_link;
/* Lists the links of a shortest route, along x first, then y, then z, where possible. Returns their
 * number, which is dt_topology_hops. `links` must have room for mesh[0] + mesh[1] + mesh[2]. */
int dt_topology_route(const dt_topology *t, const dt_coords a, const dt_coords b, dt_link *links);
/* The name for messages and headers: that of the slice, or "this topology". */
const char *dt_topology_name(const dt_topology *t);

/* ---- device assignment ---- */

/* tf.tpu.experimental.DeviceAssignment (declared in dtrain.h, counted): where each replica's
 * logical devices are. */
typedef struct dt_device_assignment dt_assignment;
struct dt_device_assignment {
    _Atomic int refs;
    dt_topology *topology; /* a counted reference */
    int replicas;
    int logical;   /* number of devices of each replica */
    int shape[4];  /* computation_shape; all 0: the cores were listed one by one */
    int stride[4]; /* computation_stride along each axis */
    dt_device_order order;
    dt_coords *core; /* [replicas][logical] */
};

dt_assignment *dt_assignment_ref(const dt_assignment *a);
/* One replica per core, in the order of tasks and their devices: TPUStrategy without an
 * assignment. */
dt_assignment *dt_assignment_each_core(const dt_topology *t);
/* The coordinates of a replica's logical device. */
const int *dt_assignment_at(const dt_assignment *a, int replica, int logical);
/* Lists the replicas that have a certain logical device in a task, in ascending order, in
 * replicas[a->replicas]. Returns their number. */
int dt_assignment_lookup(const dt_assignment *a, const dt_topology *t, int task, int logical,
                         int *replicas);
/* Orders the replicas for rings of collectives so that neighbours are close to each other: as a
 * ring through all chips visits them, if that is shorter than the order of their numbers. Writes
 * order[a->replicas]. */
void dt_assignment_ring(const dt_assignment *a, const dt_topology *t, int *order);
/* The grid of the replicas' first cores. Sets grid[4] to its sizes along z, y, x and core, and
 * order[a->replicas], unless it is NULL, to the replicas by these coordinates, z slowest. False:
 * the cores do not fill a grid, and order is not set. */
bool dt_assignment_grid(const dt_assignment *a, int grid[4], int *order);

/* ---- names of devices ---- */

typedef enum dt_device_type { DT_DEVICE_CPU, DT_DEVICE_GPU, DT_DEVICE_TPU } dt_device_type;
enum { DT_JOB_NAME = 32 }; /* size of a job's name in bytes, including its NUL */
typedef struct dt_device_name {
    char job[DT_JOB_NAME]; /* name of the job, such as "localhost", "worker" */
    int replica, task;
    dt_device_type type;
    int index;
} dt_device_name;

/* "CPU:0", "/cpu:0", "/device:CPU:0", "/job:worker/replica:0/task:1/device:TPU:3", in upper or
 * lower case. Parts that are left out are /job:localhost, /replica:0 and /task:0. DEVICE_NAME; `at`
 * may be NULL. */
dt_status *dt_device_name_parse(const char *text, const dt_location *at,
                                dt_device_name *out) DT_MUST_USE;
/* Copies the name of a job: 1 to 31 letters, digits and _. DEVICE_NAME. */
dt_status *dt_job_name_parse(const char *job, const dt_location *at,
                             char out[DT_JOB_NAME]) DT_MUST_USE;
/* prints "/job:localhost/replica:0/task:0/device:CPU:0" */
void dt_device_name_print(const dt_device_name *d, dt_str *out);
bool dt_device_name_equal(const dt_device_name *a, const dt_device_name *b);
/* Reads n different names of CPU devices of this machine. The devices are virtual, so any index
 * below DT_MAX_CPU_DEVICES is valid. DEVICE_NAME, DEVICE_TWICE, NO_DEVICE. */
#define DT_MAX_CPU_DEVICES 65536
dt_status *dt_cpu_devices_parse(const char *const *names, int n, const dt_location *at,
                                dt_device_name *out) DT_MUST_USE;
/* Reads n names of devices of a plug-in ("GPU:0"), all of one kind. Does not check whether the
 * devices exist. Errors as for dt_cpu_devices_parse. */
dt_status *dt_accelerators_parse(const char *const *names, int n, const dt_location *at,
                                 dt_device_name *out) DT_MUST_USE;

/* ---- resolvers ---- */

/* TPUClusterResolver (declared in dtrain.h, counted): a slice, and how it was found. */
/* How products are computed on a simulated slice. EXACT: in float32, and values that a replica
 * divides over logical devices are computed as a whole, so that results are those of a single
 * device. CHIP: like the chip: operands are rounded to bfloat16, and sums over divided values are
 * added part by part. */
typedef enum dt_numerics { DT_NUMERICS_EXACT, DT_NUMERICS_CHIP } dt_numerics;

struct dt_resolver {
    int refs;
    const dt_slice *slice; /* the slice of the topology */
    dt_topology *topology; /* NULL: the resolver is for workers without a slice */
    bool simulated;        /* always true: there is no resolver for real slices */
    char job[DT_JOB_NAME]; /* the job in device names: "worker", or "localhost" for this machine */
    /* tasks: number of tasks of the job; task: number of this process among them. */
    int tasks, task;
    dt_numerics numerics;
    /* why the slice is simulated: "simulated: this machine has no TPU (...)"; NULL: a simulated
     * slice was requested */
    char *why;
};
/* Like dt_tpu_resolver, with the error row for unknown slices and a source location. *out is NULL
 * or a resolver that is replaced. */
dt_status *dt_resolver_open(dt_resolver **out, const char *tpu, dt_error unknown,
                            const dt_location *at) DT_MUST_USE;
dt_resolver *dt_resolver_ref(dt_resolver *r);
/* The topology of a resolver's slice, lent; NULL: it has no slice, or r is NULL. */
const dt_topology *dt_resolver_slice(const dt_resolver *r);
/* Sets the number of devices that each chip of the resolver's slice shows. Error RANGE: it is not
 * possible. Must precede the first use of the topology. */
dt_status *dt_resolver_show_cores(dt_resolver *r, int64_t cores, const dt_location *at) DT_MUST_USE;
/* A resolver for virtual workers of this process, without a slice. This process is task 0, the
 * chief. */
dt_resolver *dt_resolver_of_workers(int workers);

/* ---- pictures ---- */

typedef struct dt_topology_picture {
    const dt_topology *topology; /* topology of a slice */
    /* The assignment whose replicas are drawn; NULL: device numbers are drawn. */
    const dt_assignment *assignment;
    /* Why the slice is simulated, as in dt_resolver; NULL: nothing is printed about it. */
    const char *why;
    bool simulated; /* the slice is simulated; JSON and SVG say so */
    bool utf8;      /* draw lines with box drawing characters */
    int columns;    /* width of the page; 0: 80 for planes, and lines of text are not broken */
} dt_topology_picture;
/* Draws a header, one plane of chips with links for each z, a legend, and which links gradients
 * use. Large slices are folded. */
void dt_topology_draw(const dt_topology_picture *p, dt_str *out);
/*
 * Prints one line of JSON: type, generation, simulated, chips, hosts, cores_per_chip,
 * mesh_shape[4], wrap[3], twisted, devices: [{id, task, coords[4]}], and with an assignment
 * replicas: [[id, ...]].
 */
void dt_topology_json(const dt_topology_picture *p, dt_str *out);

/* Draws the picture as a complete SVG file, in which nothing is folded. */
void dt_topology_svg(const dt_topology_picture *p, dt_str *out);
/* Prints where a block of [x, y, z, core] devices fits. For a topology of a slice (which may be
 * NULL): whether this block and all others with the same number of devices fit. Then the smallest
 * slices with room. `columns` is as in a picture. */
void dt_topology_fit(const dt_topology *t, const int64_t want[4], int columns, dt_str *out);
/* Prints one line of JSON: computation_shape, type, mesh_shape, shapes: [{computation_shape,
 * replicas, too_short}], slices: [{type, chips, cores_per_chip, replicas}]. `shapes` are blocks of
 * as many devices as `want` in this topology; replicas is how many fit, and too_short names the
 * axis that is too short for one. `slices` are the smallest slices with room. */
void dt_topology_fit_json(const dt_topology *t, const int64_t want[4], dt_str *out);

#endif
