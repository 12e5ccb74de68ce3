/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments from a list of cores, assignments with one replica per core, and the reference
 * counts of all. An assignment holds a reference to its topology. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "topo/list.h"
#include "topo/topo.h"

enum { MOST_CORES = 1 << 24 };

/* ---- creating and releasing ---- */

dt_assignment *dt_assignment_new(const dt_topology *t, int replicas, int logical) {
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
    /* a constant assignment is counted, too */
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

/* ---- assignments from a list of cores ---- */

dt_status *dt_topology_given(const dt_topology *t) {
    if (!t)
        return dt_fail(
            DT_E_TOPOLOGY, NULL,
            "no topology was given; get one from dt_tpu_initialize or dt_topology_create");
    return NULL;
}

/* Checks a shape that must be [replicas][logical devices][4]. */
static dt_status *check_core_shape(const int64_t *shape, int rank) {
    int64_t n;
    dt_status *s = NULL;
    dt_local_str text = {0};
    dt_list_print(&text, shape, rank < 0 ? 0 : rank < 8 ? rank : 8);
    if (rank != 3)
        s = dt_fail(
            DT_E_TOPOLOGY, NULL,
            "core_assignment must have the 3 dimensions [replicas, logical devices, 4], got %d: %s",
            rank, dt_str_text(&text));
    else if (shape[2] != 4)
        s = dt_fail(
            DT_E_TOPOLOGY, NULL,
            "the last dimension (-1) of core_assignment must be the 4 coordinates, got shape %s",
            dt_str_text(&text));
    else if (shape[0] < 0 || shape[1] < 0 || !dt_mul_fits(shape[0], shape[1], &n) || n > MOST_CORES)
        s = dt_fail(DT_E_TOPOLOGY, NULL,
                    "core_assignment can have 0 to %d logical devices, got shape %s", MOST_CORES,
                    dt_str_text(&text));
    return s;
}

/* Returns an error if the core does not exist: IndexError if it is outside the mesh, or if its
 * device is missing. */
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
    dt_assignment *a = dt_assignment_new(t, (int)shape[0], (int)shape[1]);
    for (int64_t i = 0; i < 4 * shape[0] * shape[1]; i++) a->core[i / 4][i % 4] = (int)core[i];
    dt_device_assignment_unref(*out);
    *out = a;
    return NULL;
}

dt_assignment *dt_assignment_each_core(const dt_topology *t) {
    dt_assignment *a = dt_assignment_new(t, t->tasks * t->devices, 1);
    memcpy(a->shape, (int[4]){1, 1, 1, 1}, sizeof a->shape);
    memcpy(a->core, t->coordinates, (size_t)a->replicas * sizeof *a->core);
    return a;
}
