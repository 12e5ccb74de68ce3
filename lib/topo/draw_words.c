/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a slice's picture: its header, its legend, and lines wrapped to the page. */
#include <string.h>

#include "base/arena.h"
#include "topo/draw.h"

/* ---- header ---- */

static void print_sides(const dt_slice *s, dt_str *out) {
    dt_str_printf(out, "%dx%d", s->chips[0], s->chips[1]);
    if (s->chips[2] > 1) dt_str_printf(out, "x%d", s->chips[2]);
}

/* Prints devices: "8 cores 16 GiB HBM per core", "4 devices of 2 cores 32 GiB HBM per device". */
static void print_devices(const dt_topology *t, dt_str *out) {
    const int cores = dt_topology_device_cores(t), n = dt_topology_cores(t);
    const char *what = cores > 1 ? "device" : "core";
    dt_str_printf(out, "%d %s%s", n, what, n == 1 ? "" : "s");
    if (cores > 1) dt_str_printf(out, " of %d cores", cores);
    dt_str_printf(out, "   %g GiB HBM per %s",
                  (double)(cores * t->slice->chip->core_hbm) / (1 << 30), what);
}

void dt_draw_header(const dt_topology_picture *p, int columns, dt_str *out) {
    const dt_topology *t = p->topology;
    const int chips = dt_slice_chips(t->slice);
    dt_local_str head = {0}, mesh = {0};
    if (t->slice->chip->is_host) {
        dt_cluster_header(t, out);
        return;
    }
    dt_str_printf(&head, "%s   %d chip%s (", t->slice->name, chips, chips == 1 ? "" : "s");
    print_sides(t->slice, &head);
    dt_str_puts(&head, ")   ");
    print_devices(t, &head);
    dt_str_printf(&head, "   %d host%s", t->tasks, t->tasks == 1 ? "" : "s");
    dt_str_printf(&mesh, "mesh [x %d, y %d, z %d, core %d]", t->mesh[0], t->mesh[1], t->mesh[2],
                  t->mesh[3]);
    dt_str_printf(&head, "%s%s\n", (int)(head.size + mesh.size) + 3 <= columns ? "   " : "\n",
                  dt_str_text(&mesh));
    if (p->why) dt_str_puts(&head, p->why);
    dt_draw_prose(out, dt_str_text(&head), columns, 0);
    dt_str_putc(out, '\n');
}

/* ---- legend ---- */

static const char *const axis_name[] = {"x", "y", "z"};

/* Prints the selected axes: "x", "x and y", "x, y and z". */
static void print_axes(const bool which[3], dt_str *out) {
    int left = which[0] + which[1] + which[2];
    for (int axis = 0; axis < 3; axis++)
        if (which[axis]) {
            left--;
            dt_str_printf(out, "%s%s", axis_name[axis], left > 1 ? ", " : left == 1 ? " and " : "");
        }
}

static void print_replicas(const dt_topology_picture *p, int used, bool roomy, dt_str **line) {
    const dt_assignment *a = p->assignment;
    const int cores = dt_topology_cores(p->topology);
    const char *what = dt_topology_device_cores(p->topology) > 1 ? "devices" : "cores";
    dt_str_puts((*line)++,
                a->logical > 1 ? "rN = replica N   LM = logical device M" : "rN = replica N");
    if (a->shape[0])
        dt_str_printf((*line)++, "computation_shape [%d,%d,%d,%d]   num_replicas %d", a->shape[0],
                      a->shape[1], a->shape[2], a->shape[3], a->replicas);
    if (used == cores) dt_str_printf((*line)++, "all %d %s used", cores, what);
    else
        dt_str_printf((*line)++, "%d of %d %s used, %s is idle", used, cores, what,
                      roomy ? "-" : ".");
}

static void print_hosts(const dt_topology_picture *p, dt_str *line) {
    const dt_coords zero = {0};
    int side[3] = {1, 1, 1}; /* number of chips of the first host along each axis */
    for (int axis = 0; axis < 3; axis++) {
        dt_coords at = {0};
        while (++at[axis] < p->topology->mesh[axis] &&
               dt_topology_task(p->topology, at) == dt_topology_task(p->topology, zero))
            side[axis]++;
    }
    dt_str_printf(line,
                  p->utf8
                      ? "\u2550 \u2551 inside a host of %dx%d chips   \u2500 \u2502 between hosts"
                      : "= || inside a host of %dx%d chips   - | between hosts",
                  side[0], side[1]);
}

static void print_wraps(const dt_topology_picture *p, dt_str *line) {
    const bool wrap[3] = {dt_topology_wraps(p->topology, 0), dt_topology_wraps(p->topology, 1),
                          dt_topology_wraps(p->topology, 2)};
    if (wrap[0] || wrap[1])
        dt_str_puts(line, p->utf8 ? "\u2504 \u250a link to the opposite edge: "
                                  : "~ : link to the opposite edge: ");
    if (wrap[0] || wrap[1] || wrap[2]) {
        print_axes(wrap, line);
        dt_str_puts(line, wrap[0] + wrap[1] + wrap[2] > 1 ? " wrap around" : " wraps around");
    } else {
        dt_str_puts(line, "no axis wraps around");
    }
}

/* Writes what a twist does: "twisted: a full turn around x or y ends 4 chips further along z; no
 * two chips are more than 6 links apart (8 without the twist)". */
static void print_twist(const dt_topology_picture *p, dt_str *line) {
    dt_local_str shorts = {0};
    bool along[3] = {false};
    int by = 0, plain = 0;
    for (int axis = 0; axis < 3; axis++) {
        bool any = false;
        for (int to = 0; to < 3; to++) {
            int twist = dt_topology_twist(p->topology, axis, to);
            along[to] = along[to] || twist;
            any = any || twist;
            by = twist ? twist : by;
        }
        if (any) dt_str_printf(&shorts, "%s%s", shorts.size ? " or " : "", axis_name[axis]);
        plain += p->topology->mesh[axis] / 2;
    }
    dt_str_printf(line, "twisted: a full turn around %s ends %d chips further along ",
                  dt_str_text(&shorts), by);
    print_axes(along, line);
    dt_str_printf(line, "; no two chips are more than %d links apart (%d without the twist)",
                  dt_topology_diameter(p->topology), plain);
}

enum { OTHERS = 4 };

static bool is_same(const dt_slice *a, const dt_slice *b) {
    return memcmp(a->chips, b->chips, sizeof a->chips) == 0 && a->twisted == b->twisted;
}

/* Lists the names of up to OTHERS other wirings of the slice's shape and other shapes with the same
 * number of chips, those closest to a cube first, and how many more there are. Of shapes that
 * differ only in the order of sides, only the one with ascending sides counts. */
static void print_others(const dt_topology_picture *p, dt_str *line) {
    int n, others = 0, chips = dt_slice_chips(p->topology->slice);
    DT_LOCAL dt_slice *all = dt_slices_of(p->topology->slice->chip, &n);
    for (int i = 0; i < n; i++) {
        const dt_slice *s = &all[i];
        bool sorted = s->chips[0] <= s->chips[1] && s->chips[1] <= s->chips[2];
        if (dt_slice_chips(s) == chips && sorted && !is_same(s, p->topology->slice) &&
            others++ < OTHERS)
            dt_str_printf(line, "%s%s",
                          line->size ? ", " : "other slices with this number of chips: ", s->name);
    }
    if (others > OTHERS) dt_str_printf(line, " and %d more", others - OTHERS);
}

int dt_draw_legend(const dt_topology_picture *p, int used, bool roomy,
                   dt_str line[DT_MOST_LEGEND]) {
    const dt_topology *t = p->topology;
    dt_str *next = line;
    if (p->assignment) print_replicas(p, used, roomy, &next);
    else
        dt_str_puts(next++, t->tasks == 1                     ? "N = device TPU:N"
                            : dt_topology_device_cores(t) > 1 ? "N = id of a device"
                                                              : "N = id of a core");
    if (t->tasks > 1) print_hosts(p, next++);
    if (t->mesh[2] > 1)
        dt_str_puts(next++, "each chip is also linked to the same position in the next z plane");
    if (t->mesh[0] > 2 || t->mesh[1] > 2 || t->mesh[2] > 2) print_wraps(p, next++);
    if (t->slice->twisted) print_twist(p, next++);
    print_others(p, next);
    next += next->size > 0;
    return (int)(next - line);
}

/* ---- lines ---- */

void dt_draw_prose(dt_str *out, const char *text, int columns, int indent) {
    for (int used = 0; *text;) {
        size_t word = strcspn(text, " \n"), blanks = strspn(text + word, " ");
        int width = (int)dt_utf8_count(text, word);
        if (used > indent && used + width > columns) {
            while (out->data[out->size - 1] == ' ') out->data[--out->size] = '\0';
            dt_str_printf(out, "\n%*s", indent, "");
            used = indent;
        }
        dt_str_add(out, text, word + blanks);
        used += width + (int)blanks;
        text += word + blanks;
        if (*text == '\n' || !*text) {
            dt_str_putc(out, '\n');
            used = 0;
            text += *text == '\n';
        }
    }
}

/* Rings with more replicas than this are not listed replica by replica. */
enum { LONGEST_RING = 16 };

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

/* ---- gradients, and all traffic ---- */

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
