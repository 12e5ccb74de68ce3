/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes assignments of given cores, or chooses the cores of each replica:
 * tf.tpu.experimental.DeviceAssignment.build, step by step as in TensorFlow, because users compare
 * coordinates.
 *
 * A replica is a block of computation_shape cores, computation_stride apart. The mesh is divided
 * into such blocks, and the replicas get a grid of them that is as close to a cube as possible, so
 * that they are near each other. If replicas use whole chips at stride 1 and are as many as fit
 * into the mesh, both the chips in a block and the blocks in the mesh follow rings
 * (assignment_ring.c), unless the caller wants mesh order:
 *
 *     v3-8, computation_shape [1,1,1,2], 4 replicas         r0 -- r1
 *                                                            |     |
 *                                                           r3 -- r2
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "topo/topo.h"
#include "topo/topo_impl.h"

enum { MOST_CORES = 1 << 24 };

/* ---- creating and releasing ---- */

/* Creates an assignment whose coordinates are not set yet. */
static dt_assignment *assignment_new(const dt_topology *t, int replicas, int logical) {
    dt_assignment *a = dt_alloc(sizeof *a);
    a->refs = 1;
    a->topology = dt_topology_ref(t);
    a->replicas = replicas;
    a->logical = logical;
    a->core =
        dt_alloc(dt_size_mul(dt_size_mul((size_t)replicas, (size_t)logical) + 1, sizeof *a->core));
    return a;
}

dt_assignment *dt_assignment_ref(const dt_assignment *a) {
    /* The cast drops const, because the references of a constant assignment are counted, too. */
    dt_assignment *counted = (dt_assignment *)a;
    counted->refs++;
    return counted;
}

DT_API void dt_device_assignment_unref(dt_device_assignment *a) {
    if (!DT_LAST(a)) return;
    dt_topology_unref(a->topology);
    free(a->core);
    DT_RETIRE(a);
}

/* ---- checks, and assignments of given cores ---- */

dt_status *dt_topology_given(const dt_topology *t) {
    if (!t)
        return dt_fail(
            DT_E_TOPOLOGY, NULL,
            "no topology was given; get one from dt_tpu_initialize or dt_topology_create");
    return NULL;
}

/* Checks the shape of a core_assignment, which has `rank` dimensions. Fails with TOPOLOGY unless it
 * is [replicas][logical devices][4] with at most MOST_CORES logical devices in all. */
static dt_status *check_core_shape(const int64_t *shape, int rank) {
    int64_t n;
    dt_status *s = NULL;
    const dt_text text = dt_text_of_list(shape, rank < 0 ? 0 : rank < 8 ? rank : 8);
    if (rank != 3)
        s = dt_fail(
            DT_E_TOPOLOGY, NULL,
            "core_assignment must have the 3 dimensions [replicas, logical devices, 4], got %d: %s",
            rank, text.s);
    else if (shape[2] != 4)
        s = dt_fail(
            DT_E_TOPOLOGY, NULL,
            "the last dimension (-1) of core_assignment must be the 4 coordinates, got shape %s",
            text.s);
    else if (shape[0] < 0 || shape[1] < 0 || !dt_mul_fits(shape[0], shape[1], &n) || n > MOST_CORES)
        s = dt_fail(DT_E_TOPOLOGY, NULL,
                    "core_assignment can have 0 to %d logical devices, got shape %s", MOST_CORES,
                    text.s);
    return s;
}

/* Fails with COORDINATES (an IndexError in Python) if the core is outside the mesh, or its device
 * is missing. */
static dt_status *check_core(const dt_topology *t, const int64_t at[4], int64_t replica,
                             int64_t logical) {
    bool inside = true;
    for (int k = 0; k < 4; k++) inside = inside && at[k] >= 0 && at[k] < t->mesh[k];
    if (inside && dt_topology_has(t, (dt_coords){(int)at[0], (int)at[1], (int)at[2], (int)at[3]}))
        return NULL;
    dt_status *s = dt_fail(
        DT_E_COORDINATES, NULL, "replica %lld, logical device %lld: no core at %s in %s",
        (long long)replica, (long long)logical, dt_text_of_list(at, 4).s, dt_topology_name(t));
    for (int k = 0; k < 4 && !inside; k++)
        if (at[k] < 0 || at[k] >= t->mesh[k]) {
            s = dt_note(s, "= mesh %s: axis %d has size %d", dt_text_of_4(t->mesh).s, k,
                        t->mesh[k]);
            break;
        }
    return s;
}

DT_API dt_status *dt_device_assignment_create(dt_device_assignment **out, const dt_topology *t,
                                              const int64_t *core, const int64_t *shape, int rank) {
    DT_LIVE(t);
    DT_REQUIRE({out, "place for the assignment"});
    DT_TRY(dt_topology_given(t));
    if (!core || !shape)
        return dt_fail(
            DT_E_TOPOLOGY, NULL,
            "core_assignment must be given, with its shape [replicas, logical devices, 4]");
    DT_TRY(check_core_shape(shape, rank));
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        DT_TRY(check_core(t, &core[4 * i], i / shape[1], i % shape[1]));
    dt_assignment *a = assignment_new(t, (int)shape[0], (int)shape[1]);
    for (int64_t i = 0; i < 4 * shape[0] * shape[1]; i++) a->core[i / 4][i % 4] = (int)core[i];
    dt_device_assignment_unref(*out);
    *out = a;
    return NULL;
}

dt_assignment *dt_assignment_each_core(const dt_topology *t) {
    dt_assignment *a = assignment_new(t, t->tasks * t->devices, 1);
    memcpy(a->shape, (int[4]){1, 1, 1, 1}, sizeof a->shape);
    memcpy(a->core, t->coordinates, (size_t)a->replicas * sizeof *a->core);
    return a;
}

/* ---- building an assignment ---- */

/* A request to assign cores, after its checks. */
typedef struct plan {
    const dt_topology *topology;
    int shape[4], stride[4];
    /* the size of a replica's block in the mesh along each axis: shape * stride */
    int footprint[4];
    int count[4]; /* the number of replicas that fit along each axis of the mesh */
    int64_t most; /* the number of replicas that fit into the mesh: the product of `count` */
    int replicas, logical;
} plan;

/* ---- checks ---- */

static dt_status *check_rank(const char *name, int rank) {
    if (rank != 4)
        return dt_fail(DT_E_COMPUTATION_SHAPE, NULL,
                       "%s must have 4 numbers, [x, y, z, core], got %d", name, rank);
    return NULL;
}

static dt_status *check_positive(const char *name, const int64_t v[4]) {
    for (int k = 0; k < 4; k++)
        if (v[k] < 1) {
            return dt_fail(DT_E_COMPUTATION_SHAPE, NULL, "%s must be positive, got %s", name,
                           dt_text_of_list(v, 4).s);
        }
    return NULL;
}

/* Returns the number of replicas that fit into the mesh if each is a block of cores, `stride`
 * apart: the product over the axes of floor(mesh / (block * stride)) * stride, since strided blocks
 * interleave. Returns 0 if block * stride overflows. */
static int64_t room_for(const int mesh[4], const int64_t block[4], const int64_t stride[4]) {
    int64_t room = 1, footprint;
    for (int k = 0; k < 4; k++)
        room *= dt_mul_fits(block[k], stride[k], &footprint) && footprint <= mesh[k]
                    ? mesh[k] / footprint * stride[k]
                    : 0;
    return room;
}

/* Finds a block of `cores` cores that fits into the mesh at least `replicas` times, and writes its
 * sizes to block[4]. Blocks with more cores of each chip are preferred. Returns false if there is
 * none; `block` is then meaningless. */
static bool find_block(const int mesh[4], int64_t cores, const int64_t stride[4], int64_t replicas,
                       int64_t block[4]) {
    for (block[3] = mesh[3]; block[3] >= 1; block[3]--)
        for (block[2] = 1; block[2] <= mesh[2]; block[2]++)
            for (block[1] = 1; block[1] <= mesh[1]; block[1]++) {
                int64_t layer = block[3] * block[2] * block[1];
                block[0] = cores / layer;
                if (cores % layer == 0 && room_for(mesh, block, stride) >= replicas) return true;
            }
    return false;
}

/* Appends advice such as "use tpu: sim:v4-16 with cores_per_chip: 2, mesh [2,2,2,2]": the smallest
 * slice of these chips (NULL: of any chips) that has room for `blocks` blocks of the size
 * `footprint`. Appends nothing if no slice has. */
static void print_slice(dt_str *text, const dt_chip *chip, const int64_t footprint[4],
                        int64_t blocks) {
    dt_slice s;
    int devices;
    if (!dt_slice_with_room(chip, footprint, blocks, &s, &devices)) return;
    dt_str_printf(text, "use tpu: sim:%s", s.name);
    if (devices != s.chip->devices) dt_str_printf(text, " with cores_per_chip: %d", devices);
    dt_str_puts(text, ", mesh ");
    dt_list_print_4(text, (int[4]){s.chips[0], s.chips[1], s.chips[2], devices});
}

/* Adds to the error alternatives with room for all replicas: another block with the same number of
 * cores, or another slice. Whether they have enough memory is not considered. */
static dt_status *note_block(dt_status *s, const dt_topology *t, const int64_t shape[4],
                             const int64_t stride[4], int64_t replicas) {
    int64_t cores = 1, steps = 1, block[4], footprint[4];
    for (int k = 0; k < 4; k++)
        if (!dt_mul_fits(cores, shape[k], &cores) || !dt_mul_fits(steps, stride[k], &steps) ||
            !dt_mul_fits(shape[k], stride[k], &footprint[k]))
            return s;
    /* With strides, the blocks of several replicas interleave, so one footprint has room for as
     * many replicas as the product of the strides. */
    const int64_t blocks = replicas > steps ? (replicas + steps - 1) / steps : 1;
    dt_local_str text = {0}, slice = {0};
    if (find_block(t->mesh, cores, stride, replicas > 1 ? replicas : 1, block)) {
        dt_str_printf(&text, "%lld logical devices that fit: ", (long long)cores);
        dt_list_print(&text, block, 4);
    }
    print_slice(&slice, t->slice ? t->slice->chip : NULL, footprint, blocks);
    if (slice.size == 0) print_slice(&slice, NULL, footprint, blocks);
    if (text.size || slice.size)
        s = dt_note(s, "= %s%s%s", dt_str_text(&text), text.size && slice.size ? "; or " : "",
                    dt_str_text(&slice));
    return s;
}

/* Appends " with computation_stride [2,1,1,1], a footprint of [4,1,1,1],". The footprint is the
 * product of shape and stride along each axis; it is left out if one overflows. */
static void print_stride(dt_str *text, const int64_t shape[4], const int64_t stride[4]) {
    int64_t footprint[4];
    bool known = true;
    for (int k = 0; k < 4; k++) known = dt_mul_fits(shape[k], stride[k], &footprint[k]) && known;
    dt_str_puts(text, " with computation_stride ");
    dt_list_print(text, stride, 4);
    if (known) {
        dt_str_puts(text, ", a footprint of ");
        dt_list_print(text, footprint, 4);
        dt_str_putc(text, ',');
    }
}

/* Returns the error "computation_shape [1,2,2,2] does not fit v3-8, mesh [2,2,1,2]", with the size
 * along `axis`, which is too large, and alternatives (note_block). With strides, it also names the
 * product of shape and stride. */
static dt_status *does_not_fit(const dt_topology *t, const int64_t shape[4],
                               const int64_t stride[4], int64_t replicas, int axis) {
    static const char *const names[] = {"x", "y", "z", "core"};
    dt_local_str text = {0};
    dt_str_puts(&text, "computation_shape ");
    dt_list_print(&text, shape, 4);
    if (stride[0] != 1 || stride[1] != 1 || stride[2] != 1 || stride[3] != 1)
        print_stride(&text, shape, stride);
    dt_str_printf(&text, " does not fit %s, mesh ", dt_topology_name(t));
    dt_list_print_4(&text, t->mesh);
    dt_status *s = dt_fail(DT_E_COMPUTATION_SHAPE, NULL, "%s", dt_str_text(&text));
    int64_t size;
    if (dt_mul_fits(shape[axis], stride[axis], &size))
        s = dt_suggest(s, "%s is %lld, the slice has %d", names[axis], (long long)size,
                       t->mesh[axis]);
    return note_block(s, t, shape, stride, replicas);
}

static dt_status *check_footprint(const dt_topology *t, const int64_t shape[4],
                                  const int64_t stride[4], int64_t replicas) {
    for (int k = 0; k < 4; k++) {
        int64_t footprint;
        if (!dt_mul_fits(shape[k], stride[k], &footprint) || footprint > t->mesh[k])
            return does_not_fit(t, shape, stride, replicas, k);
    }
    return NULL;
}

static dt_status *too_many(const plan *p, int64_t replicas) {
    return dt_fail(DT_E_TOO_MANY_REPLICAS, NULL,
                   "requested %lld replicas but only %lld with computation_shape %s and "
                   "computation_stride %s fit %s, mesh %s",
                   (long long)replicas, (long long)p->most, dt_text_of_4(p->shape).s,
                   dt_text_of_4(p->stride).s, dt_topology_name(p->topology),
                   dt_text_of_4(p->topology->mesh).s);
}

static dt_status *check(const dt_topology *t, const dt_device_assignment_options *spec, plan *p) {
    static const int64_t ones[4] = {1, 1, 1, 1};
    const int64_t *shape = spec->computation_shape ? spec->computation_shape : ones;
    const int64_t *stride = spec->computation_stride ? spec->computation_stride : ones;
    DT_TRY(check_rank("computation_shape", spec->computation_shape ? spec->shape_rank : 4));
    DT_TRY(check_rank("computation_stride", spec->computation_stride ? spec->stride_rank : 4));
    DT_TRY(check_positive("computation_shape", shape));
    DT_TRY(check_positive("computation_stride", stride));
    DT_TRY(check_footprint(t, shape, stride, spec->num_replicas));
    *p = (plan){.topology = t, .most = 1, .logical = 1};
    for (int k = 0; k < 4; k++) {
        p->shape[k] = (int)shape[k];
        p->stride[k] = (int)stride[k];
        p->footprint[k] = p->shape[k] * p->stride[k];
        p->count[k] = t->mesh[k] / p->footprint[k] * p->stride[k];
        p->most *= p->count[k];
        p->logical *= p->shape[k];
    }
    if (spec->num_replicas > p->most) return too_many(p, spec->num_replicas);
    if (spec->num_replicas < 0)
        return dt_fail(DT_E_TOO_MANY_REPLICAS, NULL, "num_replicas must be at least 0, got %lld",
                       (long long)spec->num_replicas);
    p->replicas = (int)spec->num_replicas;
    return NULL;
}

/* ---- placing ---- */

static int *core_of(dt_assignment *a, int replica, int logical) {
    return a->core[(size_t)replica * (size_t)a->logical + (size_t)logical];
}

/* Returns the smallest s with s^power >= n. This is ceil(n^(1/power)), which rounding could make
 * one too large if it were computed with floats. */
static int64_t root_above(int64_t n, int power) {
    for (int64_t s = 1;; s++) {
        int64_t product = 1;
        for (int i = 0; i < power && product < n; i++) product *= s;
        if (product >= n) return s;
    }
}

/* Chooses the number of replicas along each axis, as close to a cube as possible. The axis with
 * room for the fewest replicas comes first; of equal axes, core comes before x, y and z. If r
 * replicas are left for n axes, an axis gets the n-th root of r, rounded up, but at most its room;
 * then r is divided by that and rounded up for the axes that follow. */
static void replica_grid(const plan *p, int grid[4]) {
    static const int visit[4] = {3, 0, 1, 2};
    bool done[4] = {false};
    int64_t left = p->replicas;
    for (int axes = 4; axes > 0; axes--) {
        int axis = -1;
        for (int i = 0; i < 4; i++)
            if (!done[visit[i]] && (axis < 0 || p->count[visit[i]] < p->count[axis]))
                axis = visit[i];
        done[axis] = true;
        int64_t side = root_above(left, axes);
        grid[axis] = side < p->count[axis] ? (int)side : p->count[axis];
        left = (left + grid[axis] - 1) / grid[axis];
    }
}

static bool rings_fit(const plan *p) {
    for (int k = 0; k < 4; k++)
        if (p->stride[k] != 1) return false;
    return p->shape[3] == p->topology->mesh[3] && p->replicas == p->most;
}

/* Places the blocks of replicas along a ring, and in each block chips along a ring with their
 * cores. */
static void place_on_rings(const plan *p, const int grid[4], dt_assignment *a) {
    const int chips = p->shape[0] * p->shape[1] * p->shape[2], cores = p->shape[3];
    int(*inner)[3] = dt_alloc((size_t)chips * sizeof *inner),
    (*outer)[3] = dt_alloc((size_t)p->replicas * sizeof *outer);
    dt_ring(p->shape, inner);
    dt_ring(grid, outer);
    for (int r = 0; r < p->replicas; r++)
        for (int l = 0; l < p->logical; l++) {
            int *at = core_of(a, r, l);
            for (int axis = 0; axis < 3; axis++)
                at[axis] = outer[r][axis] * p->shape[axis] + inner[l / cores][axis];
            at[3] = l % cores;
        }
    free(inner);
    free(outer);
}

/* Places replicas in the order of coordinates: core varies fastest, then x, y, z. Within a block x
 * varies slowest and core fastest. */
static void place_on_mesh(const plan *p, const int grid[4], dt_assignment *a) {
    static const int digit[4] = {3, 0, 1, 2};
    for (int r = 0; r < p->replicas; r++) {
        int offset[4], rest = r;
        for (int i = 0; i < 4; i++) {
            int k = digit[i], at = rest % grid[k];
            rest /= grid[k];
            offset[k] = at / p->stride[k] * p->footprint[k] + at % p->stride[k];
        }
        for (int l = 0; l < p->logical; l++) {
            int *at = core_of(a, r, l);
            rest = l;
            for (int k = 3; k >= 0; k--) {
                at[k] = offset[k] + rest % p->shape[k] * p->stride[k];
                rest /= p->shape[k];
            }
        }
    }
}

/* Places replicas on a topology that lacks devices. Blocks cannot be used then, so each replica is
 * a run of consecutive devices in the order of t->coordinates. Fails with MISSING_DEVICES if a
 * stride is not 1, or the replicas need more devices than there are. */
static dt_status *place_in_task_order(const plan *p, dt_assignment *a) {
    const dt_topology *t = p->topology;
    for (int k = 0; k < 4; k++)
        if (p->stride[k] != 1)
            return dt_fail(
                DT_E_MISSING_DEVICES, NULL,
                "%d positions of the mesh have no device; every computation_stride must be 1",
                t->missing);
    int64_t needed = (int64_t)p->replicas * p->logical, there = (int64_t)t->tasks * t->devices;
    if (needed > there)
        return dt_fail(
            DT_E_MISSING_DEVICES, NULL,
            "%d replicas with %d logical devices each need %lld devices, but the topology has %lld",
            p->replicas, p->logical, (long long)needed, (long long)there);
    memcpy(a->core, t->coordinates, (size_t)needed * sizeof *a->core);
    return NULL;
}

static dt_status *place(const plan *p, dt_device_order order, dt_assignment *a) {
    if (p->topology->missing) return place_in_task_order(p, a);
    bool rings = rings_fit(p);
    if (order == DT_ORDER_RING && !rings)
        return dt_fail(DT_E_DEVICE_ORDER, NULL,
                       "device_order_mode ring is not possible: the replicas do not fill all 3 "
                       "axes of %s with whole chips at stride 1; "
                       "use auto",
                       dt_topology_name(p->topology));
    if (p->replicas == 0) return NULL;
    int grid[4];
    replica_grid(p, grid);
    if (rings && order != DT_ORDER_MESH) place_on_rings(p, grid, a);
    else place_on_mesh(p, grid, a);
    return NULL;
}

DT_API dt_status *dt_device_assignment_build(dt_device_assignment **out, const dt_topology *t,
                                             const dt_device_assignment_options *options) {
    DT_LIVE(t);
    static const dt_device_assignment_options one = {.num_replicas = 1};
    const dt_device_assignment_options *spec = options ? options : &one;
    plan p;
    DT_REQUIRE({out, "place for the assignment"});
    DT_TRY(dt_topology_given(t));
    DT_TRY(check(t, spec, &p));
    dt_assignment *a = assignment_new(t, p.replicas, p.logical);
    memcpy(a->shape, p.shape, sizeof a->shape);
    memcpy(a->stride, p.stride, sizeof a->stride);
    a->order = spec->device_order_mode;
    dt_status *s = place(&p, spec->device_order_mode, a);
    if (s) {
        dt_device_assignment_unref(a);
        return s;
    }
    dt_device_assignment_unref(*out);
    *out = a;
    return NULL;
}
