/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TPUStrategy: one replica on each core of a slice. The slice is looked up and replicas are placed
 * while the job is read. So an error, such as a block that does not fit, has a source location in
 * the job file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/place.h"

/*
 * TPU strategies: places replicas on the cores of a slice, and answers queries about their devices
 * and hosts.
 *
 *     replica r, logical device l  --assignment-->  coordinates  --topology-->
 *         /job:worker/replica:0/task:T/device:TPU:D
 *
 * Logical device 0 represents its replica: it is the replica's worker device, and its host feeds
 * the replica.
 */

/* ---- placing ---- */

static char *name_of(const dt_strategy *s, int task, int device) {
    dt_device_name d = {.type = DT_DEVICE_TPU, .task = task, .index = device};
    memcpy(d.job, s->resolver->job, sizeof d.job);
    return dt_full_name(&d);
}

/* Names devices by the number of their core. Coordinates would not be unique, because several
 * devices may have the same ones. */
static void name_cores(dt_strategy *s, const dt_topology *t) {
    for (int r = 0; r < s->replicas; r++)
        s->device_name[r] = name_of(s, r / t->devices, r % t->devices);
}

static void name_assigned(dt_strategy *s, const dt_topology *t) {
    s->logical = s->assignment->logical;
    s->logical_name =
        dt_alloc(dt_size_mul((size_t)s->replicas * (size_t)s->logical, sizeof *s->logical_name));
    for (int i = 0; i < s->replicas * s->logical; i++) {
        const int *at = s->assignment->core[i];
        s->logical_name[i] = name_of(s, dt_topology_task(t, at), dt_topology_device(t, at));
    }
    for (int r = 0; r < s->replicas; r++)
        s->device_name[r] = dt_strdup(s->logical_name[r * s->logical]);
}

static bool same_topology(const dt_topology *a, const dt_topology *b) {
    return a == b || (memcmp(a->mesh, b->mesh, sizeof a->mesh) == 0 && a->tasks == b->tasks &&
                      a->devices == b->devices &&
                      memcmp(a->coordinates, b->coordinates,
                             sizeof *a->coordinates * (size_t)a->tasks * (size_t)a->devices) == 0);
}

static dt_status *check_assignment(const dt_assignment *a, const dt_topology *t) {
    if (!same_topology(a->topology, t))
        return dt_fail(
            DT_E_REPLICAS, NULL,
            "the device assignment was built for a different topology than the resolver's (%s, %s)",
            dt_topology_name(a->topology), dt_topology_name(t));
    if (a->logical < 1)
        return dt_fail(DT_E_REPLICAS, NULL,
                       "the replicas of the device assignment have no logical devices");
    return NULL;
}

/* Places one replica on each core of the resolver's slice, or follows the assignment. */
static dt_status *place_slice(dt_strategy *s, const dt_strategy_spec *spec) {
    const dt_topology *t = spec->resolver->topology;
    dt_str what = {0};

    if (!t)
        return dt_fail(DT_E_TOPOLOGY, NULL,
                       "the resolver's cluster has no TPU system; make one with dt_tpu_resolver");
    /* The cast drops const, but only the count of references changes. */
    s->resolver = dt_resolver_ref((dt_resolver *)spec->resolver);
    if (spec->assignment) DT_TRY(check_assignment(spec->assignment, t));
    s->assigned = spec->assignment != NULL;
    s->assignment = s->assigned ? dt_assignment_ref(spec->assignment) : dt_assignment_each_core(t);
    if (s->assignment->replicas < 1 || s->assignment->replicas > DT_MAX_REPLICAS)
        return dt_fail(DT_E_REPLICAS, NULL,
                       "a TPU strategy can have 1 to %d replicas, but the %s %d", DT_MAX_REPLICAS,
                       s->assigned ? "device assignment has" : "topology has cores for",
                       s->assignment->replicas);
    s->replicas = s->assignment->replicas;
    s->device_name = dt_alloc(dt_size_mul((size_t)s->replicas, sizeof *s->device_name));
    s->spmd = spec->spmd;
    dt_str_printf(&what, "%s%s", s->resolver->simulated ? "sim:" : "", dt_topology_name(t));
    s->what = dt_str_take(&what);
    (s->assigned ? name_assigned : name_cores)(s, t);
    return NULL;
}

/* ---- constructors ---- */

dt_status *dt_tpu_strategy(dt_strategy **out, dt_resolver *r, const dt_tpu_options *options) {
    DT_LIVE(r);
    static const dt_tpu_options none;
    const dt_tpu_options *o = options ? options : &none;
    dt_resolver *local = NULL;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_launched_alone());
    DT_TRY(dt_want_live(o->device_assignment, "dt_tpu_strategy", "device assignment"));
    if (!r && o->device_assignment)
        DT_TRY(dt_tpu_resolver_of_topology(&local, NULL, o->device_assignment->topology));
    else if (!r) DT_TRY(dt_tpu_resolver(&local, "local"));
    dt_status *s = dt_strategy_open(out, &(dt_strategy_spec){.row = &dt_strategy_tpu,
                                                             .resolver = r ? r : local,
                                                             .assignment = o->device_assignment,
                                                             .spmd = o->spmd});
    dt_resolver_unref(local);
    return s;
}

dt_status *dt_experimental_tpu_strategy(dt_strategy **out, dt_resolver *r,
                                        const dt_device_assignment *device_assignment) {
    DT_LIVE(r);
    DT_LIVE(device_assignment);
    return dt_tpu_strategy(out, r, &(dt_tpu_options){.device_assignment = device_assignment});
}

/* ---- queries, and keys ---- */

int dt_strategy_logical_devices(const dt_strategy *s) {
    DT_LIVE(s);
    return s ? s->logical : 0;
}

const dt_device_assignment *dt_strategy_device_assignment(const dt_strategy *s) {
    DT_LIVE(s);
    return s && s->assigned ? s->assignment : NULL;
}

bool dt_strategy_spmd(const dt_strategy *s) {
    DT_LIVE(s);
    return s && s->spmd;
}

dt_status *dt_strategy_logical_device(const dt_strategy *s, int replica, int logical,
                                      const char **name) {
    DT_LIVE(s);
    DT_TRY(dt_status_kept());
    if (!s)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL,
                       "cannot look up a logical device: no strategy was given");
    DT_TRY(dt_want(name, "dt_strategy_logical_device", "place for the name"));
    if (!dt_strategy_has_devices(s))
        return dt_fail(
            DT_E_NO_WORKER_DEVICES, NULL,
            "the default strategy has no devices; use another one, such as dt_one_device_strategy");
    if (replica < 0 || replica >= s->replicas)
        return dt_fail(DT_E_COORDINATES, NULL, "no replica %d: the strategy has %d", replica,
                       s->replicas);
    if (logical >= s->logical)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL, "no logical device %d: a replica has %d", logical,
                       s->logical);
    if (logical < -s->logical)
        return dt_fail(DT_E_COORDINATES, NULL,
                       "no logical device %d: axis 1 of [replica][logical device] has size %d",
                       logical, s->logical);
    int l = logical < 0 ? logical + s->logical : logical;
    *name = s->logical_name ? s->logical_name[replica * s->logical + l] : s->device_name[replica];
    return NULL;
}

int dt_strategy_num_hosts(const dt_strategy *s) {
    DT_LIVE(s);
    if (!s) return 0;
    return s->assignment && !s->assigned ? s->resolver->topology->tasks : s->hosts;
}

int dt_strategy_replicas_per_host(const dt_strategy *s) {
    DT_LIVE(s);
    if (!s) return 0;
    if (!s->assignment) return s->replicas / s->hosts;
    int cores = s->resolver->topology->devices;
    if (!s->assigned) return cores;
    return s->replicas < cores / s->logical ? s->replicas : cores / s->logical;
}

const char *dt_strategy_host_device(const dt_strategy *s) {
    DT_LIVE(s);
    return s ? s->host_name[0] : NULL;
}

struct resolver {
    const char *tpu;
    int numerics; /* a value of dt_numerics, which says how sums and products are rounded */
    int64_t cores_per_chip, num_slices;
    bool has_cores;
};

struct assignment {
    dt_ints computation_shape, computation_stride;
    int64_t num_replicas;
    int device_order_mode; /* a value of dt_device_order */
    bool given;
};

struct tpu {
    struct resolver cluster_resolver;
    struct assignment device_assignment;
    bool spmd_partitioning;
};

static const char *const numerics[] = {
    [DT_NUMERICS_EXACT] = "exact", [DT_NUMERICS_CHIP] = "chip", NULL};
static const char *const orders[] = {"auto", "ring", "mesh", NULL};

static const dt_field resolver_fields[] = {
    DT_TEXT(struct resolver, tpu, .preset = "",
            .help = "TPU slice: sim:v3-8, sim:v3-32, ...; \"\": the TPU of this machine"),
    DT_ENUM(
        struct resolver, numerics, numerics,
        .help =
            "exact: float32, same results as one device; chip: products rounded as on the chip"),
    DT_INT(struct resolver, cores_per_chip, .min = 1, .max = 2,
           .set = 1 + offsetof(struct resolver, has_cores),
           .help = "devices per chip; default: v4 and v5p show both cores as one"),
    DT_INT(struct resolver, num_slices, .min = 1, .max = 4096, .preset = "1",
           .help = "number of slices that share the batch over a network; for plan only"),
    DT_END};

static const dt_field assignment_fields[] = {
    DT_INTS(struct assignment, computation_shape,
            .help = "[x, y, z, core]: block of cores of one replica"),
    DT_INTS(struct assignment, computation_stride,
            .help = "[x, y, z, core]: stride between the cores of a block"),
    DT_INT(struct assignment, num_replicas, .min = 1, .max = DT_MAX_REPLICAS, .preset = "1",
           .help = "number of replicas"),
    DT_ENUM(struct assignment, device_order_mode, orders, .help = "order of replicas on the mesh"),
    DT_END};

static const dt_field fields[] = {
    DT_TABLE(struct tpu, cluster_resolver, resolver_fields, .help = "the TPU slice"),
    DT_ONE_OF(device_assignment,
              DT_FORMS(DT_TABLE(struct tpu, device_assignment, assignment_fields)),
              .as = DT_TREE_MAP, DT_SET(struct tpu, device_assignment.given),
              .help = "placement of replicas; default: one on each core"),
    DT_FLAG(struct tpu, spmd_partitioning, .help = "split values over a replica's logical devices"),
    DT_INSTEAD("tpu", "write cluster_resolver: {tpu: ...}"),
    DT_INSTEAD("topology", "write cluster_resolver: {tpu: ...}"),
    DT_INSTEAD("experimental_device_assignment", "write 'device_assignment'"),
    DT_INSTEAD("experimental_spmd_xla_partitioning", "write 'spmd_partitioning'"),
    DT_END};

/* ---- cluster_resolver ---- */

/* Writes the name of this machine's TPU, made of the generation and the shape of the plug-in's
 * devices: "v4:2x2x1". The name is "" if the back end takes no plug-in, if the plug-in may not be
 * opened (spec->sealed), or if its devices are not TPUs of a known kind; then the environment names
 * the slice. */
static dt_status *find_tpu(const dt_strategy_spec *spec, char name[32]) {
    static const struct {
        const char *kind, *generation;
        bool flat;
    } rows[] = {
        {"TPU v2", "v2", true},       {"TPU v3", "v3", true},       {"TPU v4", "v4", false},
        {"TPU v5 lite", "v5e", true}, {"TPU v5e", "v5e", true},     {"TPU v5", "v5p", false},
        {"TPU v5p", "v5p", false},    {"TPU v6 lite", "v6e", true}, {"TPU v6e", "v6e", true},
        {"TPU7x", "tpu7x", false},
    };
    dt_accelerators all;
    int64_t size[3] = {1, 1, 1};

    *name = 0;
    if (!dt_backend_takes_plugin(spec->backend) || spec->sealed) return NULL;
    DT_TRY(dt_accelerators_find(spec->plugin, spec->settings, &all));
    for (int i = 0; i < all.n; i++)
        for (int d = 0; d < 3 && d < all.device[i].n_coordinates; d++)
            size[d] =
                all.device[i].coordinate[d] >= size[d] ? all.device[i].coordinate[d] + 1 : size[d];
    for (size_t k = 0; k < sizeof rows / sizeof *rows && all.n; k++)
        if (strcmp(all.device[0].kind, rows[k].kind) == 0 && all.device[0].n_coordinates >= 3)
            snprintf(name, 32, rows[k].flat ? "%s:%lldx%lld" : "%s:%lldx%lldx%lld",
                     rows[k].generation, (long long)size[0], (long long)size[1],
                     (long long)size[2]);
    dt_accelerators_release(&all);
    return NULL;
}

static dt_status *open_resolver(const struct resolver *x, const dt_strategy_spec *spec,
                                const dt_location *at, dt_resolver **out) {
    const bool here = !*x->tpu || strcmp(x->tpu, "local") == 0;
    char name[32] = "";

    if (here) DT_TRY(find_tpu(spec, name));
    DT_TRY(dt_resolver_open(out, *name ? name : x->tpu, DT_E_UNKNOWN_SLICE, at));
    (*out)->simulated = !*name;
    if (*name && *x->tpu) strcpy((*out)->job, "localhost");
    return NULL;
}

static dt_status *read_resolver(const struct resolver *x, const dt_tree *t,
                                const dt_strategy_spec *spec, dt_resolver **out) {
    const dt_tree *map = dt_tree_get(t, "cluster_resolver");
    const dt_location *at = map && map->kind == DT_TREE_MAP ? dt_tree_value_at(map, "tpu") : &t->at;
    dt_status *faults = open_resolver(x, spec, at, out);

    if (*out) (*out)->numerics = (dt_numerics)x->numerics;
    if (*out && x->has_cores)
        dt_status_append(&faults, dt_resolver_show_cores(*out, x->cores_per_chip,
                                                         dt_tree_value_at(map, "cores_per_chip")));
    return faults;
}

/* ---- device_assignment ---- */

static const dt_location *location_of(const dt_tree *t, const dt_status *s) {
    switch (dt_status_number(s)) {
    case DT_E_TOO_MANY_REPLICAS: return dt_tree_value_at(t, "num_replicas");
    case DT_E_DEVICE_ORDER: return dt_tree_value_at(t, "device_order_mode");
    default:
        return dt_tree_value_at(t, dt_tree_get(t, "computation_shape") ? "computation_shape"
                                                                       : "computation_stride");
    }
}

/* Returns the source location of an error in an assignment: if a block does not fit, that of the
 * number that is too large. */
static const dt_location *size_place(const dt_tree *t, const struct assignment *x,
                                     const dt_topology *slice, const dt_status *s) {
    const dt_tree *shape = dt_tree_get(t, "computation_shape"),
                  *stride = dt_tree_get(t, "computation_stride");
    const dt_tree *list = shape ? shape : stride;
    for (int k = 0; k < 4 && dt_status_number(s) == DT_E_COMPUTATION_SHAPE && list && list->n == 4;
         k++) {
        int64_t size = 1;
        bool fits = (!shape || dt_mul_fits(size, x->computation_shape.v[k], &size)) &&
                    (!stride || x->computation_stride.n != 4 ||
                     dt_mul_fits(size, x->computation_stride.v[k], &size));
        if (!fits || size > slice->mesh[k]) return &list->item[k]->at;
    }
    return location_of(t, s);
}

static dt_status *build_assignment(const struct assignment *x, const dt_tree *t,
                                   const dt_topology *slice, dt_device_assignment **out) {
    dt_status *s =
        dt_device_assignment_build(out, slice,
                                   &(dt_device_assignment_options){
                                       .computation_shape = x->computation_shape.v,
                                       .shape_rank = x->computation_shape.n,
                                       .computation_stride = x->computation_stride.v,
                                       .stride_rank = x->computation_stride.n,
                                       .num_replicas = x->num_replicas,
                                       .device_order_mode = (dt_device_order)x->device_order_mode,
                                   });
    return s ? dt_at(s, size_place(t, x, slice, s)) : NULL;
}

/* ---- the row ---- */

static dt_status *read(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out) {
    (void)arena;
    const struct tpu *x = args;
    dt_resolver *resolver = NULL;
    dt_device_assignment *assignment = NULL;
    dt_status *faults = read_resolver(&x->cluster_resolver, t, out, &resolver);

    out->resolver = resolver;
    out->spmd = x->spmd_partitioning;
    out->slices = x->cluster_resolver.num_slices;
    if (resolver && x->device_assignment.given)
        dt_status_append(&faults, build_assignment(&x->device_assignment,
                                                   dt_tree_get(t, "device_assignment"),
                                                   resolver->topology, &assignment));
    out->assignment = assignment;
    return faults;
}

const dt_strategy_row dt_strategy_tpu = {
    .kind = {.name = "tpu",
             .about = "one replica on each core of a TPU slice, real or simulated",
             .fields = fields,
             .size = sizeof(struct tpu)},
    .read = read,
    .place = place_slice,
    .backend = "sim",
    .feeds_by_host = true,
};
