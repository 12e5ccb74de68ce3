/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that were measured: matrix products and copies on one device, collectives on a slice.
 * What was measured is said by the unit: seconds, or a rate, which is what the operation does by
 * definition over the seconds:
 *
 *     product        2 m k n
 *     copy           2 V: read and written
 *     all-gather, reduce-scatter, all-to-all     V (N - 1) / N: what a device must receive or send
 *     all-reduce     twice that
 */
#include <stdlib.h>
#include <string.h>

#include "coll/exchange.h"
#include "device.h"
#include "operation.h"

static const struct {
    const char *unit;
    double scale;
    bool rate;
} units[] = {
    {"s", 1, false},         {"ms", 1e-3, false}, {"us", 1e-6, false}, {"FLOP/s", 1, true},
    {"TFLOP/s", 1e12, true}, {"B/s", 1, true},    {"GB/s", 1e9, true},
};

/* In the row's unit: seconds, or `done` over seconds. */
static dt_prediction in_unit(const dt_rows *rows, const dt_row *row, double seconds, double done) {
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].unit, row->unit) == 0)
            return dt_predicted((units[i].rate ? done / seconds : seconds) / units[i].scale);
    return dt_not_sufficient(rows, "'%s' is no unit of time or of a rate", row->unit);
}

static dt_dtype dtype_of(const dt_written *a) {
    return a->element >= 4 ? DT_FLOAT32 : a->element >= 2 ? DT_FLOAT16 : DT_INT8;
}

/* ---- on one device ---- */

static dt_prediction matmul(const dt_rows *rows, const dt_row *row, const dt_operation *op,
                            const dt_core *core) {
    const dt_written *x = &op->array[0], *w = &op->array[1];
    if (op->arrays < 2 || dt_written_elements(x) <= 0 || dt_written_elements(w) <= 0 ||
        x->element <= 0)
        return dt_not_sufficient(rows, "it does not say the sizes and the dtype of both operands");
    double k = w->size[0], m = dt_written_elements(x) / k / op->data,
           n = dt_written_elements(w) / k / op->model;
    dt_cost work;
    if (x->size[x->rank - 1] < k || x->size[x->rank - 1] > k ||
        !dt_matmul_work(dtype_of(x), m, k, n, &work))
        return dt_not_sufficient(rows, "the operands' sizes do not go together");
    return in_unit(rows, row, dt_core_time(core, &work).seconds, work.flops);
}

static dt_prediction copy(const dt_rows *rows, const dt_row *row, const dt_operation *op,
                          const dt_core *core) {
    double bytes = dt_written_bytes(&op->array[0]);
    if (bytes <= 0)
        return dt_not_sufficient(rows, "it does not say the size and the dtype of what is copied");
    const dt_cost work = {.bytes = 2 * bytes};
    return in_unit(rows, row, dt_core_time(core, &work).seconds, work.bytes);
}

/* ---- on a slice ---- */

/* Axes of the mesh that take part, "Y" or all, as the slice has them: a mesh X8 Y4 is a slice of
 * 4x8 with its axes exchanged. */
static void taking_part(const dt_operation *op, const dt_placement *mesh, const dt_slice *slice,
                        bool part[3]) {
    const double x = mesh->side[0];
    bool exchanged = x > 0 && (x < slice->chips[0] || x > slice->chips[0]);
    int last = slice->chip->dims - 1;
    for (int i = 0; i < 3; i++) {
        int axis = exchanged && i <= last ? last - i : i;
        part[axis] = !op->axes[0] || strchr(op->axes, "XYZ"[i]);
    }
}

/* Coordinates of the groups, rank by rank: axes that take part run within a group. Cores of a chip
 * that are devices of their own always do. */
static int *places_of(const dt_topology *t, const bool part[3], int *groups, int *ranks) {
    const int *mesh = t->mesh;
    int n[4] = {mesh[0], mesh[1], mesh[2], mesh[3]},
        *place = dt_alloc(4 * sizeof *place * (size_t)(n[0] * n[1] * n[2] * n[3]));
    *groups = *ranks = 1;
    for (int axis = 0; axis < 4; axis++) *(axis == 3 || part[axis] ? ranks : groups) *= n[axis];
    int at[4];
    for (at[0] = 0; at[0] < n[0]; at[0]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++)
            for (at[2] = 0; at[2] < n[2]; at[2]++)
                for (at[3] = 0; at[3] < n[3]; at[3]++) {
                    int group = 0, rank = 0;
                    for (int axis = 0; axis < 4; axis++) {
                        int *number = axis == 3 || part[axis] ? &rank : &group;
                        *number = *number * n[axis] + at[axis];
                    }
                    memcpy(&place[4 * (group * *ranks + rank)], at, sizeof at);
                }
    return place;
}

static const struct {
    dt_operation_kind kind;
    dt_collective collective;
    double done; /* times V (N - 1) / N */
} collectives[] = {
    {DT_OPERATION_ALL_GATHER, DT_ALL_GATHER, 1},
    {DT_OPERATION_REDUCE_SCATTER, DT_REDUCE_SCATTER, 1},
    {DT_OPERATION_ALL_REDUCE, DT_ALL_REDUCE, 2},
    {DT_OPERATION_ALL_TO_ALL, DT_ALL_TO_ALL, 1},
};

/* What one group has: axes that do not take part cut the array. */
static double group_bytes(const dt_operation *op, const dt_placement *mesh) {
    double bytes = dt_written_bytes(&op->array[0]);
    for (int d = 0; d < op->array[0].rank; d++)
        for (const char *axis = op->array[0].axes[d]; *axis; axis++)
            if (!strchr(op->axes, *axis) && *axis >= 'X' && *axis <= 'Z' &&
                mesh->side[*axis - 'X'] > 0)
                bytes /= mesh->side[*axis - 'X'];
    return bytes;
}

static dt_prediction exchange(const dt_rows *rows, const dt_row *row, const dt_operation *op,
                              const dt_placement *mesh) {
    dt_slice slice;
    bool part[3] = {false};
    double bytes = group_bytes(op, mesh);
    if (!dt_slice_read(dt_row_text(row, "slice"), &slice))
        return dt_not_sufficient(rows, "it does not name a slice on which the collective runs");
    if (bytes <= 0)
        return dt_not_sufficient(rows, "it does not say the size and the dtype of the array");
    taking_part(op, mesh, &slice, part);
    dt_topology *t = dt_topology_of_slice(&slice);
    dt_exchange x = {.topology = t, .bytes = bytes};
    dt_exchange_price price;
    double done = 0;
    int *place = places_of(t, part, &x.groups, &x.ranks);
    x.place = place;
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (collectives[i].kind == op->kind) {
            x.collective = collectives[i].collective;
            done = collectives[i].done * bytes * (x.ranks - 1) / x.ranks;
        }
    dt_exchange_price_of(&x, &price);
    free(place);
    dt_topology_unref(t);
    return in_unit(rows, row, price.seconds, done);
}

static dt_prediction predict_with(const dt_rows *rows, const dt_row *row, const char *where,
                                  const dt_placement *mesh) {
    dt_core core = {0};
    const dt_operation op = dt_operation_read(dt_row_text(row, "op"));
    if (op.kind == DT_OPERATION_NONE)
        return dt_not_sufficient(rows, "it names no operation that is known");
    if (!dt_device_read(where, &core)) return dt_not_sufficient(rows, "it names no chip");
    if (op.kind == DT_OPERATION_MATMUL) return matmul(rows, row, &op, &core);
    return op.kind == DT_OPERATION_COPY ? copy(rows, row, &op, &core)
                                        : exchange(rows, row, &op, mesh);
}

static dt_prediction predict(const dt_rows *rows, const dt_row *row) {
    const char *where =
        *dt_row_text(row, "chip") ? dt_row_text(row, "chip") : dt_row_text(row, "slice");
    const dt_placement mesh = dt_placement_read(where);
    return predict_with(rows, row, where, &mesh);
}

const dt_row_kind dt_row_kind_measured_op = {
    "measured-op", "products, copies and collectives that were measured", predict};
