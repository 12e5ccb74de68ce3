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

static void print_replicas(const dt_sketch *k, const dt_assignment *a, dt_str **line) {
    const int cores = dt_topology_cores(k->t);
    const char *what = dt_topology_device_cores(k->t) > 1 ? "devices" : "cores";
    dt_str_puts((*line)++,
                a->logical > 1 ? "rN = replica N   LM = logical device M" : "rN = replica N");
    if (a->shape[0])
        dt_str_printf((*line)++, "computation_shape [%d,%d,%d,%d]   num_replicas %d", a->shape[0],
                      a->shape[1], a->shape[2], a->shape[3], a->replicas);
    if (k->used == cores) dt_str_printf((*line)++, "all %d %s used", cores, what);
    else
        dt_str_printf((*line)++, "%d of %d %s used, %s is idle", k->used, cores, what,
                      k->roomy ? "-" : ".");
}

static void print_hosts(const dt_sketch *k, dt_str *line) {
    const dt_coords zero = {0};
    int side[3] = {1, 1, 1}; /* number of chips of the first host along each axis */
    for (int axis = 0; axis < 3; axis++) {
        dt_coords at = {0};
        while (++at[axis] < k->t->mesh[axis] &&
               dt_topology_task(k->t, at) == dt_topology_task(k->t, zero))
            side[axis]++;
    }
    dt_str_printf(line,
                  k->p->utf8
                      ? "\u2550 \u2551 inside a host of %dx%d chips   \u2500 \u2502 between hosts"
                      : "= || inside a host of %dx%d chips   - | between hosts",
                  side[0], side[1]);
}

static void print_wraps(const dt_sketch *k, dt_str *line) {
    const bool wrap[3] = {dt_topology_wraps(k->t, 0), dt_topology_wraps(k->t, 1),
                          dt_topology_wraps(k->t, 2)};
    if (wrap[0] || wrap[1])
        dt_str_puts(line, k->p->utf8 ? "\u2504 \u250a link to the opposite edge: "
                                     : "~ : link to the opposite edge: ");
    if (wrap[0] || wrap[1] || wrap[2]) {
        print_axes(wrap, line);
        dt_str_puts(line, wrap[0] + wrap[1] + wrap[2] > 1 ? " wrap around" : " wraps around");
    } else {
        dt_str_puts(line, "no axis wraps around");
    }
}

/* Explains a twist: "twisted: a full turn around x or y ends 4 chips further along z; no two chips
 * are more than 6 links apart (8 without the twist)". */
static void print_twist(const dt_sketch *k, dt_str *line) {
    dt_local_str shorts = {0};
    bool along[3] = {false};
    int by = 0, plain = 0;
    for (int axis = 0; axis < 3; axis++) {
        bool any = false;
        for (int to = 0; to < 3; to++) {
            int twist = dt_topology_twist(k->t, axis, to);
            along[to] = along[to] || twist;
            any = any || twist;
            by = twist ? twist : by;
        }
        if (any) dt_str_printf(&shorts, "%s%s", shorts.size ? " or " : "", axis_name[axis]);
        plain += k->t->mesh[axis] / 2;
    }
    dt_str_printf(line, "twisted: a full turn around %s ends %d chips further along ",
                  dt_str_text(&shorts), by);
    print_axes(along, line);
    dt_str_printf(line, "; no two chips are more than %d links apart (%d without the twist)",
                  dt_topology_diameter(k->t), plain);
}

enum { OTHERS = 4 };

static bool is_same(const dt_slice *a, const dt_slice *b) {
    return memcmp(a->chips, b->chips, sizeof a->chips) == 0 && a->twisted == b->twisted;
}

/* Lists other wirings, and other shapes with the same number of chips, beginning with those closest
 * to a cube. */
static void print_others(const dt_sketch *k, dt_str *line) {
    int n, others = 0, chips = dt_slice_chips(k->t->slice);
    DT_LOCAL dt_slice *all = dt_slices_of(k->t->slice->chip, &n);
    for (int i = 0; i < n; i++) {
        const dt_slice *s = &all[i];
        bool sorted = s->chips[0] <= s->chips[1] && s->chips[1] <= s->chips[2];
        if (dt_slice_chips(s) == chips && sorted && !is_same(s, k->t->slice) && others++ < OTHERS)
            dt_str_printf(line, "%s%s",
                          line->size ? ", " : "other slices with this number of chips: ", s->name);
    }
    if (others > OTHERS) dt_str_printf(line, " and %d more", others - OTHERS);
}

int dt_draw_legend(const dt_sketch *k, dt_str line[DT_MOST_LEGEND]) {
    const dt_topology *t = k->t;
    dt_str *next = line;
    if (k->p->assignment) print_replicas(k, k->p->assignment, &next);
    else
        dt_str_puts(next++, t->tasks == 1                     ? "N = device TPU:N"
                            : dt_topology_device_cores(t) > 1 ? "N = id of a device"
                                                              : "N = id of a core");
    if (t->tasks > 1) print_hosts(k, next++);
    if (t->mesh[2] > 1)
        dt_str_puts(next++, "each chip is also linked to the same position in the next z plane");
    if (t->mesh[0] > 2 || t->mesh[1] > 2 || t->mesh[2] > 2) print_wraps(k, next++);
    if (t->slice->twisted) print_twist(k, next++);
    print_others(k, next);
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
