/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies, assignments and strategies of recorded cases, through the public API. */
#include "placement.h"

#include <stdlib.h>
#include <string.h>

int64_t *ints_of(const json_t *j, int *n, int64_t *into) {
    int64_t *v = into;

    if (json_is_integer(j)) {
        v = realloc(v, sizeof *v * (size_t)(*n + 1));
        v[(*n)++] = json_integer_value(j);
    }
    for (size_t i = 0; json_is_array(j) && i < json_array_size(j); i++)
        v = ints_of(json_array_get(j, i), n, v);
    return v;
}

nest nest_of(const json_t *j) {
    nest x = {.rank = 0};
    int n = 0;

    x.data = ints_of(j, &n, malloc(sizeof *x.data));
    for (; json_is_array(j) && x.rank < 8; j = json_array_get(j, 0))
        x.shape[x.rank++] = (int64_t)json_array_size(j);
    return x;
}

dt_status *topology_of(const json_t *j, dt_topology **out) {
    nest mesh = nest_of(json_object_get(j, "mesh_shape")),
         at = nest_of(json_object_get(j, "device_coordinates"));
    dt_status *s = dt_topology_create(out, &(dt_topology_options){.mesh_shape = mesh.data,
                                                                  .mesh_rank = (int)mesh.shape[0],
                                                                  .device_coordinates = at.data,
                                                                  .coordinates_shape = at.shape,
                                                                  .coordinates_rank = at.rank});

    free(mesh.data);
    free(at.data);
    return s;
}

static dt_device_order order_of(const json_t *name) {
    const char *order = json_is_string(name) ? json_string_value(name) : "AUTO";
    return strcmp(order, "RING") == 0   ? DT_ORDER_RING
           : strcmp(order, "MESH") == 0 ? DT_ORDER_MESH
                                        : DT_ORDER_AUTO;
}

dt_status *assignment_of(const json_t *in, const dt_topology *t, dt_device_assignment **out) {
    const json_t *shape = json_object_get(in, "computation_shape"),
                 *stride = json_object_get(in, "computation_stride");
    const json_t *replicas = json_object_get(in, "num_replicas");
    nest a = nest_of(shape), b = nest_of(stride);
    dt_status *s = dt_device_assignment_build(
        out, t,
        &(dt_device_assignment_options){
            .computation_shape = json_is_array(shape) ? a.data : NULL,
            .shape_rank = (int)a.shape[0],
            .computation_stride = json_is_array(stride) ? b.data : NULL,
            .stride_rank = (int)b.shape[0],
            .num_replicas = json_is_integer(replicas) ? json_integer_value(replicas) : 1,
            .device_order_mode = order_of(json_object_get(in, "device_order_mode"))});

    free(a.data);
    free(b.data);
    return s;
}

dt_strategy *tpu_strategy_of(verdict *v, const json_t *in) {
    const json_t *shape = json_object_get(in, "computation_shape"),
                 *replicas = json_object_get(in, "num_replicas");
    dt_topology *t = NULL;
    dt_resolver *r = NULL;
    dt_device_assignment *a = NULL;
    dt_strategy *s = NULL;

    expect_ok(v, "the topology", topology_of(json_object_get(in, "topology"), &t));
    expect_ok(v, "the resolver",
              dt_tpu_resolver_of_topology(&r, json_string_value(json_object_get(in, "job")), t));
    if (!json_is_null(shape) || !json_is_null(replicas))
        expect_ok(v, "the assignment", assignment_of(in, t, &a));
    expect_ok(v, "the strategy",
              dt_tpu_strategy(&s, r,
                              &(dt_tpu_options){.device_assignment = a,
                                                .spmd = json_is_true(json_object_get(
                                                    in, "experimental_spmd_xla_partitioning"))}));
    dt_device_assignment_unref(a);
    dt_resolver_unref(r);
    dt_topology_unref(t);
    return s;
}

json_t *json_of_ints(const int *v, int n) {
    json_t *list = json_array();

    for (int i = 0; i < n; i++) json_array_append_new(list, json_integer(v[i]));
    return list;
}

void expect_name(verdict *v, const char *what, const json_t *want, dt_status *s, char **name) {
    expect_ok(v, what, s);
    expect_text(v, what, want, *name);
    free(*name);
    *name = NULL;
}
