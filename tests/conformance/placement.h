/* SPDX-License-Identifier: Apache-2.0 */
/* What the areas topology, device_assignment, split and tpu_strategy have in common. */
#ifndef TESTS_CONFORMANCE_PLACEMENT_H
#define TESTS_CONFORMANCE_PLACEMENT_H

#include "conformance.h"

/* A nest of lists of integers, flat; its shape is that of the first items. Free data. */
typedef struct nest {
    int rank;
    int64_t shape[8];
    int64_t *data;
} nest;
nest nest_of(const json_t *j);
/* All integers below j appended to into[*n]; returns it, perhaps moved. */
int64_t *ints_of(const json_t *j, int *n, int64_t *into);
json_t *json_of_ints(const int *v, int n);

/* {"mesh_shape", "device_coordinates": [task][device][4]} */
dt_status *topology_of(const json_t *j, dt_topology **out);
/* {"computation_shape", "computation_stride", "num_replicas", "device_order_mode"}; null is what
 * the original has by default. */
dt_status *assignment_of(const json_t *in, const dt_topology *t, dt_device_assignment **out);
/* {"type": "TPUStrategy", "topology", "job", what assignment_of reads,
 * "experimental_spmd_xla_partitioning"}; strategy_of calls it. */
dt_strategy *tpu_strategy_of(verdict *v, const json_t *in);
/* A name that a call gave away; it is freed. */
void expect_name(verdict *v, const char *what, const json_t *want, dt_status *s, char **name);

#endif
