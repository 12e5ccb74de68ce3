/* SPDX-License-Identifier: Apache-2.0 */
/* The text below a drawing: the distances between the logical devices of a replica, and the ring
 * that gradients use. */

#include "base/arena.h"
#include "topo/draw.h"

enum { LONGEST_RING = 16 }; /* rings with more replicas are not listed one by one */

/* ---- links; the link upwards from a chip along an axis has the index 3 * chip + axis ---- */

static double link_GBps(const dt_topology *t) { return t->slice->chip->link_Bps / 1e9; }

static void mark(const dt_topology *t, const dt_coords a, const dt_coords b, dt_link *links,
                 bool *used) {
    int n = dt_topology_route(t, a, b, links);
    for (int i = 0; i < n; i++)
        used[3 * (links[i].up ? links[i].from : links[i].to) + links[i].axis] = true;
}

/* ---- traffic within replicas ---- */

static int count_chips(const dt_topology *t, const dt_assignment *a, int replica) {
    DT_LOCAL bool *seen = dt_alloc((size_t)(t->mesh[0] * t->mesh[1] * t->mesh[2]) * sizeof *seen);
    int n = 0;
    for (int l = 0; l < a->logical; l++) {
        bool *chip = &seen[dt_topology_id(t, dt_assignment_at(a, replica, l)) / t->mesh[3]];
        n += !*chip;
        *chip = true;
    }
    return n;
}

static void print_logical(const dt_topology *t, const dt_assignment *a, dt_str *out) {
    int far = 0, chips = count_chips(t, a, 0);
    for (int r = 0; r < a->replicas; r++)
        for (int l = 1; l < a->logical; l++) {
            int hops =
                dt_topology_hops(t, dt_assignment_at(a, r, l - 1), dt_assignment_at(a, r, l));
            far = hops > far ? hops : far;
        }
    if (far == 0 && a->logical == 2) dt_str_puts(out, "L0<->L1 share a chip (no link crossed). ");
    else if (far == 0)
        dt_str_printf(out, "L0..L%d share a chip (no link crossed). ", a->logical - 1);
    else
        dt_str_printf(out, "L0..L%d span %d chips; neighbours are at most %d link%s apart. ",
                      a->logical - 1, chips, far, far == 1 ? "" : "s");
}

/* ---- gradients ---- */

static void name_ring(const int *order, int n, dt_str *out) {
    int shown = n > LONGEST_RING ? 4 : n;
    for (int i = 0; i < shown; i++) dt_str_printf(out, "%sr%d", i ? "-" : "", order[i]);
    if (shown < n) dt_str_printf(out, "-...-r%d", order[n - 1]);
}

static int count_used(const dt_topology *t, const dt_assignment *a, const int *order) {
    int n = 3 * t->mesh[0] * t->mesh[1] * t->mesh[2], count = 0;
    DT_LOCAL bool *used = dt_alloc((size_t)n);
    DT_LOCAL dt_link *links =
        dt_alloc((size_t)(t->mesh[0] + t->mesh[1] + t->mesh[2]) * sizeof *links);
    for (int i = 0; i < a->replicas; i++)
        for (int l = 0; l < a->logical; l++)
            mark(t, dt_assignment_at(a, order[i], l),
                 dt_assignment_at(a, order[(i + 1) % a->replicas], l), links, used);
    for (int i = 0; i < n; i++) count += used[i];
    return count;
}

static void print_gradients(const dt_topology *t, const dt_assignment *a, dt_str *out) {
    DT_LOCAL int *order = dt_alloc((size_t)a->replicas * sizeof *order);
    dt_assignment_ring(a, t, order);
    dt_str_puts(out, "Gradients: ring ");
    name_ring(order, a->replicas, out);
    dt_str_puts(out, ", ");
    int least = 1 << 30, most = 0;
    for (int i = 0; i < a->replicas * a->logical; i++) {
        int r = i / a->logical, l = i % a->logical;
        int hops = dt_topology_hops(t, dt_assignment_at(a, order[r], l),
                                    dt_assignment_at(a, order[(r + 1) % a->replicas], l));
        least = hops < least ? hops : least;
        most = hops > most ? hops : most;
    }
    if (most == 0) dt_str_puts(out, "all in one chip");
    else if (most == 1)
        dt_str_puts(out, least == 1 ? "every hop is one link"
                                    : "every hop is one link or stays in a chip");
    else dt_str_printf(out, "hops of up to %d links", most);
    dt_str_printf(out, " (%d of %d links, %g GB/s each way).", count_used(t, a, order),
                  dt_topology_links(t), link_GBps(t));
}

void dt_draw_traffic(const dt_topology_picture *p, dt_str *out) {
    const dt_topology *t = p->topology;
    const dt_assignment *a = p->assignment;
    if (t->slice->chip->is_host) {
        dt_cluster_traffic(t, out);
        return;
    }
    if (a && a->replicas && a->logical > 1) print_logical(t, a, out);
    if (a && a->replicas > 1) print_gradients(t, a, out);
    else if (a) dt_str_puts(out, "Gradients: one replica, so nothing to sum.");
    else dt_str_printf(out, "%d links, %g GB/s each way.", dt_topology_links(t), link_GBps(t));
}
