/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes and layouts: see mesh.h. */
#include "op/mesh.h"

#include <string.h>

#include "op/op.h"

int dt_mesh_parts(const dt_mesh *m, dt_mesh_axes axes) {
    int parts = 1;
    for (int a = 0; a < m->n; a++) parts *= axes >> a & 1 ? m->size[a] : 1;
    return parts;
}

int dt_mesh_devices(const dt_mesh *m) { return dt_mesh_parts(m, ~(dt_mesh_axes)0); }

int dt_mesh_logical(const dt_mesh *m) { return dt_mesh_parts(m, ~(m->time | m->replicas)); }

/* Sets coordinate[a] to the coordinate of the device on axis a, for all axes of the mesh. */
static void coordinates(const dt_mesh *m, int device, int *coordinate) {
    for (int a = m->n - 1; a >= 0; a--) {
        coordinate[a] = device % m->size[a];
        device /= m->size[a];
    }
}

int dt_mesh_rank(const dt_mesh *m, int device, dt_mesh_axes axes) {
    int at[DT_MAX_AXES], rank = 0;
    coordinates(m, device, at);
    for (int a = 0; a < m->n; a++)
        if (axes >> a & 1) rank = rank * m->size[a] + at[a];
    return rank;
}

int dt_mesh_peer(const dt_mesh *m, int device, dt_mesh_axes axes, int rank) {
    int at[DT_MAX_AXES], peer = 0;
    coordinates(m, device, at);
    for (int a = m->n - 1; a >= 0; a--)
        if (axes >> a & 1) {
            at[a] = rank % m->size[a];
            rank /= m->size[a];
        }
    for (int a = 0; a < m->n; a++) peer = peer * m->size[a] + at[a];
    return peer;
}

void dt_mesh_print_axes(dt_mesh_axes axes, dt_str *out) {
    const char *before = "{";
    for (int a = 0; a < DT_MAX_AXES; a++)
        if (axes >> a & 1) {
            dt_str_printf(out, "%s%d", before, a);
            before = ",";
        }
    dt_str_putc(out, '}');
}

/* ---- layouts ---- */

bool dt_layout_equal(const dt_layout *a, const dt_layout *b) {
    return memcmp(a->axes, b->axes, sizeof a->axes) == 0 && a->on == b->on &&
           a->partial == b->partial && (!a->partial || a->kind == b->kind);
}

dt_mesh_axes dt_layout_axes(const dt_layout *l) {
    dt_mesh_axes all = 0;
    for (int d = 0; d < DT_MAX_RANK; d++) all |= l->axes[d];
    return all;
}

dt_type dt_layout_type(const dt_type *whole, const dt_layout *l, const dt_mesh *m, int64_t parts) {
    dt_type t = *whole;
    for (int d = 0; d < t.rank; d++)
        t.dim[d] = (t.dim[d] < 0 ? t.dim[d] * parts : t.dim[d]) / dt_mesh_parts(m, l->axes[d]);
    return t;
}

void dt_layout_print(const dt_layout *l, int rank, dt_str *out) {
    static const char *const kinds[] = {
        [DT_REDUCE_SUM] = "sum", [DT_REDUCE_MAX] = "maximum", [DT_REDUCE_MIN] = "minimum"};
    if (!dt_layout_axes(l)) dt_str_puts(out, "whole");
    for (int d = 0; dt_layout_axes(l) && d < rank; d++) {
        dt_str_puts(out, d ? ", " : "[");
        if (l->axes[d]) dt_mesh_print_axes(l->axes[d], out);
        else dt_str_putc(out, '-');
    }
    dt_str_puts(out, dt_layout_axes(l) ? "]" : "");
    if (l->partial) {
        dt_str_printf(out, ", partial %s over ", kinds[l->kind]);
        dt_mesh_print_axes(l->partial, out);
    }
}
