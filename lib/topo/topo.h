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
 * Coordinates are (x, y, z, core). Within a task of a slice, devices are ordered with core varying
 * fastest, then x, y and z. The id of a core in its slice is core + C * (x + X * (y + Y * z)).
 */
#ifndef DT_TOPO_TOPO_H
#define DT_TOPO_TOPO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

typedef int dt_coords[4]; /* the coordinates x, y, z and core */

/* ---- chips and slices ---- */

/* How fast compiled kernels are on a core. Cycles are those of clock_hz; parts are from 0 to 1.
 * lib/cost combines these numbers. */
typedef struct dt_kernel_rates {
    double launch; /* cycles before a kernel with products of matrices starts */
    double tile;   /* cycles to load a tile of mxu_size x mxu_size numbers into a matrix unit */
    /* The part of the matrix units' peak that large products reach, by the compiler's estimates. */
    double share;
    /* The part of that peak which single large products reached on hardware (topo/chips.h names
     * them); 0: there are no such measurements, and `share` is used. */
    double measured_share;
    double result;    /* cycles to write 1,024 results of 16 bits from a matrix unit */
    double hbm_share; /* the part of core_hbm_Bps that kernels reach, by the compiler's estimates */
    /* The part of core_hbm_Bps that training steps reached on hardware; 0: there are no such
     * measurements, and the part that copies reach is used (cost/core_time.c). */
    double measured_hbm;
    /* The family of models (cost/expected_error.h) on whose published step times measured_hbm, or
     * the share that steps sustain (cost/core_time.c), was calibrated; NULL: no step times of this
     * generation were used. */
    const char *calibrated;
    /* The rate of products of 8-bit integers relative to bfloat16; 0: the same rate. */
    double int8_rate;
    /* the rate of products of 8-bit floats relative to bfloat16; 0: the same rate */
    double fp8_rate;
    /* The number of rows whose multiplication takes as long as unpacking a tile of 8-bit
     * integers. */
    double int8_rows;
    /* Whether matrix units compute products of a matrix and a vector; false: vector units do. */
    bool vectors;
    /* Bytes of the memory on the chip (VMEM, CMEM) in which the compiler keeps values that are read
     * soon, for all of them together: the size of that memory minus what kernels use; 0: it keeps
     * none there. */
    int64_t resident;
    /* The fewest examples of a device with which, in the compiler's programs, products compute the
     * gradient of a cross-entropy again from its logits; 0: they read it from memory. */
    int loss_again;
    /* Whether the compiler's programs store what a normalization gives in mixed precision; false:
     * convolutions compute it again. */
    bool keeps_normalized;
    /* Whether the compiler's programs copy weights and slots into another layout when a step
     * starts. */
    bool copies_variables;
    /* Additions per cycle of each of 8 x 128 lanes in a long chain, by the compiler's estimates. A
     * lane has 2 ALUs, or 4 by the Scaling book. */
    double alus;
} dt_kernel_rates;

/* A generation of chips, in SI units. 0: the number is unknown, or the chip has none. topo/chips.h
 * names the sources. */
typedef struct dt_chip {
    const char *generation; /* name of the generation, such as "v3" */
    /* The beginning of accelerator types, such as "v5litepod" in v5litepod-16; NULL: the
     * generation's name. */
    const char *type;
    const char *aliases[4]; /* other names of the generation; unused entries are NULL */
    const char *kind;       /* the name that the device reports: "TPU v5 lite" */
    int cores;              /* number of TensorCores of a chip */
    /* Number of devices per chip that programs see by default: one per core, or one for both cores
     * (megacore). */
    int devices;
    /* Whether the number in a name such as v3-8 counts cores; false: it counts chips (v5e, v6e). */
    bool counts_cores;
    /* The bfloat16 FLOP/s of a core. float32 products are computed in several bfloat16 passes at
     * this rate. */
    double core_flops;
    double core_int8_ops; /* the int8 operations per second of a core */
    double clock_hz;
    /* mxus: number of matrix units of a core; mxu_size: number of rows, and of columns, of each. */
    int mxus, mxu_size;
    int64_t core_hbm;        /* bytes of HBM of a core, as advertised */
    int64_t core_hbm_usable; /* bytes of HBM of a core that programs can use */
    double core_hbm_Bps;
    int64_t core_vmem; /* bytes of the vector memory of a core */
    int64_t cmem;      /* bytes of the memory that the cores of a chip share */
    dt_kernel_rates kernel;
    int links;       /* number of links of a chip to other chips */
    double link_Bps; /* bytes per second of a link in one direction */
    double hop_s;    /* latency of one link */
    /* Bytes per second between the cores of a chip, both directions together, or from a device of a
     * cluster to others on its host; 0: cores exchange data through HBM. */
    double core_link_Bps;
    /* The part of link_Bps that collectives reach if their ranks form rings along all axes. */
    double ring_efficiency;
    /* The part of link_Bps that collectives reach if their ranks do not form such rings. */
    double line_efficiency;
    /* The part of ring_efficiency and line_efficiency that all-reduces reach; 0: all of it. */
    double sum_efficiency;
    /* The constant time of a collective in seconds, for starting it and waiting for all devices. */
    double collective_s;
    double pcie_Bps; /* bytes per second between a chip and its host */
    /* Bytes per second of a chip's share of the network between slices, in one direction. */
    double dcn_Bps;
    double usd_hour; /* the on-demand price of a chip for an hour in US dollars; 0: unknown */
    /* The source of usd_hour, with its date and region as far as they are known. */
    const char *price_source;
    int dims; /* number of axes of the torus of a pod: 2 or 3 */
    /* With 2 axes: sides of this length wrap around. With 3: all sides wrap around if each is a
     * multiple of this (a slice of whole cubes). */
    int wrap;
    /* With 2 axes: the shapes of all slices, such as "1x1 2x2". With 3: of the slices smaller than
     * a cube. */
    const char *shapes;
    int cubes;     /* with 3 axes: the most cubes, blocks of 4 x 4 x 4 chips, of a slice */
    int job_cubes; /* the most cubes of a job on one slice; 0: as many as a slice can have */
    /* whether Cloud TPU twists, by default, every box that can be twisted */
    bool twists;
    /* whether the sides of a box may be in any order; false: they must be ascending */
    bool any_order;
    bool long_twists; /* whether boxes of k x 2k x 4k, 8k or 16k can be twisted, too */
    int host[3]; /* the number of a host's chips along x, y and z, in slices of several hosts */
    /* Whether this is a host of a cluster (topo/cluster.c): links lead to a switch, and a core is a
     * device of which only the numbers of dt_cluster_facts are known. */
    bool is_host;
    /* The largest sides of a slice that is a single host; 0: `host` applies to all slices. */
    int lone_host[3];
} dt_chip;

/* Returns the generation of a name or alias ("v3", "v5litepod"), in upper or lower case; NULL:
 * there is no such generation. */
const dt_chip *dt_chip_find(const char *generation);

/* Returns all generations, from the oldest on, and sets *n to their number. */
const dt_chip *const *dt_chips(int *n);

/* A part of a pod that can be rented. The struct may be copied. */
typedef struct dt_slice {
    /* The slice's name: "v3-8"; "v4:4x4x16" if another shape with the same number of chips is the
     * usual one; "v4:4x4x8_twisted". */
    char name[40];
    const dt_chip *chip;
    int chips[3]; /* number of chips along x, y and z */
    bool wrap[3]; /* for each axis: whether its last chip is linked to the first one */
    bool twisted; /* whether wraparound links are shifted along the long axes (topo/wiring.c) */
} dt_slice;

/* Returns all slices of a generation, smallest first; among slices of the same size the usual shape
 * is first. Sets *n to their number. The caller frees them. */
dt_slice *dt_slices_of(const dt_chip *c, int *n);
/* Finds the slice of a name: "v3-8", "sim:v3-8", "v3:2x2", "v5p-4x4x4", "v4:4x4x8_twisted",
 * "v4:4x4x8_untwisted", in upper or lower case. If there is no such slice, fails with `unknown`
 * (UNKNOWN_SLICE for a job, UNKNOWN_SLICE_OPTION for the command line) and names the nearest. `at`
 * may be NULL. */
dt_status *dt_slice_find(const char *name, dt_error unknown, const dt_location *at,
                         dt_slice *out) DT_MUST_USE;
int dt_slice_chips(const dt_slice *s);
/* Whether Cloud TPU would by default provide the slice's shape with a twist, although the slice is
 * not twisted. */
bool dt_slice_is_twisted_by_default(const dt_slice *s);
/* Whether the slice has more chips than a job on one slice can have. */
bool dt_slice_exceeds_job(const dt_slice *s);

/* ---- topology ---- */

/* tf.tpu.experimental.Topology (declared in dtrain.h, reference-counted). A topology does not
 * change. */
struct dt_topology {
    _Atomic int refs;
    /* The slice, which points to `own`; NULL: the topology was created from coordinates. */
    const dt_slice *slice;
    dt_slice own;           /* a copy of the slice, unless `slice` is NULL */
    dt_chip described;      /* the chip that stands for a cluster's hosts, to which `own` refers */
    int mesh[4];            /* sizes of the mesh along x, y, z and core, all >= 1 */
    int tasks;              /* number of hosts */
    int devices;            /* number of devices of each host */
    dt_coords *coordinates; /* [tasks * devices] the coordinates of each device, task by task */
    /* [x][y][z][core] the index in `coordinates` of the device there; -1: there is no device. */
    int *place;
    int missing;        /* number of positions of the mesh without a device */
    int *missing_place; /* [missing] these positions, in row-major order */
    /* [chips] number of links from chip 0 to each chip of a twisted slice; else NULL */
    int *distance;
    /* the bytes of the topology as a TopologyProto, as they were read or first written */
    dt_str serialized;
};

dt_topology *dt_topology_ref(const dt_topology *t);
/* Returns the error TOPOLOGY if t is NULL. */
dt_status *dt_topology_given(const dt_topology *t) DT_MUST_USE;
/* Appends a list of sizes as a job file writes it: "[2,2,1,2]". */
void dt_list_print(dt_str *out, const int64_t *v, int n);
void dt_list_print_4(dt_str *out, const int v[4]);
/* Return a list of at most 8 sizes as text, for messages. */
dt_text dt_text_of_list(const int64_t *v, int n);
dt_text dt_text_of_4(const int v[4]);
/* Appends t in the format of TopologyProto. */
void dt_topology_write(const dt_topology *t, dt_str *out);
/* Returns the topology of a slice, as its hosts report it. */
dt_topology *dt_topology_of_slice(const dt_slice *s);
/* Returns the topology of a slice whose chips show `cores` devices instead of their default. For
 * chips whose two cores are one device by default, that is 1 or 2. */
dt_topology *dt_topology_of_cores(const dt_slice *s, int cores);
/* What a job says about a cluster: its hosts and their devices, in SI units. */
typedef struct dt_cluster_facts {
    int hosts, devices; /* hosts: number of hosts; devices: number of devices on each */
    double flops;       /* the FLOP/s that products of matrices reach on a device */
    int64_t memory;     /* the bytes of a device's memory that programs get */
    double memory_Bps;  /* the bandwidth of a device's memory in bytes per second */
    /* Bytes per second in one direction. inside_Bps: from a device to others on its host;
     * between_Bps: from a host to other hosts. 0: they are not connected. */
    double inside_Bps, between_Bps;
    double latency_s; /* the latency between two hosts in one direction, in seconds */
    double usd_hour;  /* the price of a host for an hour in US dollars; 0: unknown */
} dt_cluster_facts;
dt_topology *dt_topology_of_cluster(const dt_cluster_facts *f);
/* Returns the number of cores that make up one device of a slice's topology (t->slice is not
 * NULL). */
int dt_topology_device_cores(const dt_topology *t);
/* Returns the number of positions of the mesh that have a device: a core, or all cores of a chip if
 * they are one device. */
int dt_topology_cores(const dt_topology *t);
bool dt_topology_has(const dt_topology *t, const dt_coords at);
/* Return the task, or the device within its task, at coordinates for which dt_topology_has is
 * true. */
int dt_topology_task(const dt_topology *t, const dt_coords at);
int dt_topology_device(const dt_topology *t, const dt_coords at);
/* Returns the id of the core: core + C * (x + X * (y + Y * z)), for a mesh of X x Y x Z x C. */
int dt_topology_id(const dt_topology *t, const dt_coords at);
/* Returns the neighbour of a chip along an axis, towards larger coordinates if `up`; -1: it has
 * none. Hosts of a cluster have no neighbours. Takes wraparound links and twists into account. On
 * an axis of two chips, these are linked only once. The number of a chip is x + X * (y + Y * z). */
int dt_topology_neighbour(const dt_topology *t, int chip, int axis, bool up);
bool dt_topology_wraps(const dt_topology *t, int axis);
/* Returns how many chips further along axis `along` one turn around `axis` ends in a twisted slice;
 * else 0. */
int dt_topology_twist(const dt_topology *t, int axis, int along);
/* Returns the number of links between chips, each counted once for both directions; 0 for a
 * cluster. */
int dt_topology_links(const dt_topology *t);
/* For slices: dt_topology_hops returns the number of links on the shortest route between two chips,
 * 0 within a chip; dt_topology_diameter the largest such number for any two chips. */
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
/* Returns what messages and headers call a topology: the name of its slice, or "this topology". */
const char *dt_topology_name(const dt_topology *t);

/* ---- device assignment ---- */

/* tf.tpu.experimental.DeviceAssignment (declared in dtrain.h, counted): where each replica's
 * logical devices are. */
typedef struct dt_device_assignment dt_assignment;
struct dt_device_assignment {
    _Atomic int refs;
    dt_topology *topology; /* the topology that the cores belong to; a counted reference */
    int replicas;
    int logical; /* number of logical devices of each replica */
    /* The computation_shape: the cores of a replica along x, y, z and core. All 0: the cores were
     * listed one by one. All 1 in the assignment of one replica to each core. */
    int shape[4];
    /* The computation_stride along x, y, z and core; all 0 unless dt_device_assignment_build made
     * the assignment. */
    int stride[4];
    dt_device_order order;
    dt_coords *core; /* [replicas][logical] the coordinates of each logical device */
};

dt_assignment *dt_assignment_ref(const dt_assignment *a);
/* Returns an assignment of one replica to each core, in the order of tasks and their devices: that
 * of TPUStrategy without an assignment. */
dt_assignment *dt_assignment_each_core(const dt_topology *t);
/* Returns the coordinates of a replica's logical device. */
const int *dt_assignment_at(const dt_assignment *a, int replica, int logical);
/* Lists the replicas whose logical device number `logical` is in the task, in ascending order, in
 * replicas[a->replicas]. Returns their number. */
int dt_assignment_lookup(const dt_assignment *a, const dt_topology *t, int task, int logical,
                         int *replicas);
/* Orders the replicas for rings of collectives so that neighbours are close to each other: as a
 * ring through all chips visits them, if that is shorter than the order of their numbers. Writes
 * order[a->replicas]. */
void dt_assignment_ring(const dt_assignment *a, const dt_topology *t, int *order);
/* Finds the grid that the replicas' first cores form. Sets grid[4] to its sizes along z, y, x and
 * core, and order[a->replicas], unless it is NULL, to the replicas by these coordinates, z slowest.
 * Returns false if the cores do not fill a grid; order is then not set. */
bool dt_assignment_grid(const dt_assignment *a, int grid[4], int *order);

/* ---- names of devices ---- */

typedef enum dt_device_type { DT_DEVICE_CPU, DT_DEVICE_GPU, DT_DEVICE_TPU } dt_device_type;
enum { DT_JOB_NAME = 32 }; /* the most bytes of a job's name, including its NUL */
typedef struct dt_device_name {
    char job[DT_JOB_NAME]; /* name of the job in the device's name, such as "localhost", "worker" */
    int replica, task;
    dt_device_type type;
    int index;
} dt_device_name;

/* Reads a device name: "CPU:0", "/cpu:0", "/device:CPU:0",
 * "/job:worker/replica:0/task:1/device:TPU:3", in upper or lower case. Parts that are left out are
 * /job:localhost, /replica:0 and /task:0. Fails with DEVICE_NAME; `at` may be NULL. */
dt_status *dt_device_name_parse(const char *text, const dt_location *at,
                                dt_device_name *out) DT_MUST_USE;
/* Copies the name of a job. Fails with DEVICE_NAME unless it has 1 to 31 letters, digits and _. */
dt_status *dt_job_name_parse(const char *job, const dt_location *at,
                             char out[DT_JOB_NAME]) DT_MUST_USE;
/* Prints the full name, "/job:localhost/replica:0/task:0/device:CPU:0". */
void dt_device_name_print(const dt_device_name *d, dt_str *out);
bool dt_device_name_equal(const dt_device_name *a, const dt_device_name *b);
/* Reads n different names of CPU devices of this machine. The devices are virtual, so any index
 * below DT_MAX_CPU_DEVICES is valid. Fails with DEVICE_NAME, DEVICE_TWICE or NO_DEVICE. */
#define DT_MAX_CPU_DEVICES 65536
dt_status *dt_cpu_devices_parse(const char *const *names, int n, const dt_location *at,
                                dt_device_name *out) DT_MUST_USE;
/* Reads n different names of devices of a plug-in ("GPU:0"), all of one type, CPU included. Does
 * not check whether the devices exist. Fails with DEVICE_NAME for a malformed name or another type
 * than the first one's, DEVICE_TWICE, or NO_DEVICE for another machine's device or an index of at
 * least DT_MAX_CPU_DEVICES. */
dt_status *dt_accelerators_parse(const char *const *names, int n, const dt_location *at,
                                 dt_device_name *out) DT_MUST_USE;

/* ---- resolvers ---- */

/* How products are computed on a simulated slice. EXACT: in float32, and values that a replica
 * divides over logical devices are computed as a whole, so that results are those of a single
 * device. CHIP: like the chip: operands are rounded to bfloat16, and sums over divided values are
 * added part by part. */
typedef enum dt_numerics { DT_NUMERICS_EXACT, DT_NUMERICS_CHIP } dt_numerics;

/* dt_resolver is TPUClusterResolver (declared in dtrain.h, reference-counted): a slice, and how it
 * was found. */
struct dt_resolver {
    int refs;
    /* The slice that was found, which belongs to `topology`; NULL: there is no topology, or it was
     * created from coordinates. */
    const dt_slice *slice;
    /* the topology of the slice, a counted reference; NULL: the resolver is for workers without a
     * slice */
    dt_topology *topology;
    /* Whether the resolver has a topology, other than that of a plug-in's TPUs. */
    bool simulated;
    /* the job in device names, such as "worker"; "localhost" for the slice "local" */
    char job[DT_JOB_NAME];
    /* tasks: number of tasks of the job; task: the index of this process among them. */
    int tasks, task;
    dt_numerics numerics;
    /* Why the slice is simulated: "simulated: this machine has no TPU (...)"; owned. NULL: the user
     * named the slice or gave a topology, a plug-in has its TPUs, or there is no slice. */
    char *why;
};
/* Opens a resolver like dt_tpu_resolver: for the slice of the name `tpu`, or for this machine's TPU
 * if it is NULL, "" or "local". Unknown slices fail with the error `unknown` at the source location
 * `at`, which may be NULL. *out must be NULL or a resolver, whose reference is released; it does
 * not change on failure. */
dt_status *dt_resolver_open(dt_resolver **out, const char *tpu, dt_error unknown,
                            const dt_location *at) DT_MUST_USE;
dt_resolver *dt_resolver_ref(dt_resolver *r);
/* Returns the resolver's topology, lent; NULL: it has none, or r is NULL. */
const dt_topology *dt_resolver_slice(const dt_resolver *r);
/* Sets the number of devices that each chip of the resolver's slice shows. Fails with RANGE at `at`
 * (may be NULL) if that is not possible. Must precede the first use of the topology. */
dt_status *dt_resolver_show_cores(dt_resolver *r, int64_t cores, const dt_location *at) DT_MUST_USE;
/* Returns a resolver for workers, without a slice. It says that this process is task 0, the chief;
 * workers that are processes change that. */
dt_resolver *dt_resolver_of_workers(int workers);

/* ---- pictures ---- */

typedef struct dt_topology_picture {
    const dt_topology *topology; /* the topology that is drawn */
    /* The assignment whose replicas are drawn; NULL: numbers of devices are drawn. */
    const dt_assignment *assignment;
    /* Why the slice is simulated, as in dt_resolver; NULL: the picture does not say it. */
    const char *why;
    bool simulated; /* whether the slice is simulated, which JSON and SVG say */
    bool utf8;      /* whether lines are drawn with box drawing characters */
    /* the width of the page; 0: 80 columns for planes, and lines of text are not broken */
    int columns;
} dt_topology_picture;
/* Draws a picture as text: a header, one plane of chips with links for each z, a legend, and the
 * lines of dt_draw_traffic. Large slices are folded. A cluster has a line for each host instead. */
void dt_topology_draw(const dt_topology_picture *p, dt_str *out);
/*
 * Prints one line of JSON: type, generation, simulated, chips, hosts, cores_per_chip,
 * mesh_shape[4], wrap[3], twisted, devices: [{id, task, coords[4]}], and with an assignment
 * replicas: [[id, ...]].
 */
void dt_topology_json(const dt_topology_picture *p, dt_str *out);

/* Draws the picture as a complete SVG file. Nothing is folded, but of slices with more than 1,024
 * chips only the first 8 chips along each axis are drawn. */
void dt_topology_svg(const dt_topology_picture *p, dt_str *out);
/* Prints where a block of [x, y, z, core] devices fits: for a slice's topology (may be NULL),
 * whether this block fits, and which others with the same number of devices fit or do not (of these
 * at most 8 for each axis that is too short); then the smallest slices with room. `columns` is as
 * in a picture. */
void dt_topology_fit(const dt_topology *t, const int64_t want[4], int columns, dt_str *out);
/* Prints one line of JSON: computation_shape, type, mesh_shape, shapes: [{computation_shape,
 * replicas, too_short}], slices: [{type, chips, cores_per_chip, replicas}]. `shapes` are blocks of
 * as many devices as `want` in this topology; replicas is how many fit, and too_short names the
 * axis that is too short for one, if there are none. If t is NULL, type, mesh_shape and shapes are
 * left out. `slices` are the smallest slices of each generation with room. */
void dt_topology_fit_json(const dt_topology *t, const int64_t want[4], dt_str *out);

#endif
