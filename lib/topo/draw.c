/*
 * A slice as text: one plane of chips for each z, rows y, columns x; each chip shows its cores.
 *
 *     v3-8   4 chips (2x2)   8 cores   16 GiB HBM per core   1 host   mesh [x 2, y 2, z 1, core 2]
 *
 *                 x=0                  x=1
 *      y=0  [ r0.L0 | r0.L1 ] -- [ r1.L0 | r1.L1 ]      rN = replica N   LM = logical device M
 *                   |                    |              ...
 *      y=1  [ r3.L0 | r3.L1 ] -- [ r2.L0 | r2.L1 ]
 *
 * Every label has the width of the longest, so cells and links line up; the legend stands beside the first plane.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "topo/draw.h"

enum { MARGIN = 7, GAP = 4, MOST_LEGEND = 8 };

/* What is drawn: a label for each core, and how wide they are. */
typedef struct sketch {
    const dt_topology_picture *p;
    const dt_topology *t;
    char (*label)[24]; /* by id */
    int used;          /* cores with a replica */
    int label_width, cell;
    dt_str legend[MOST_LEGEND];
    int legend_lines, legend_shown;
    dt_str *out;
} sketch;

static const char *link_across(const sketch *k)
{
    return k->p->utf8 ? " \u2500\u2500 " : " -- ";
}

static const char *link_down(const sketch *k)
{
    return k->p->utf8 ? "\u2502" : "|";
}

/* ---- labels ---- */

static void label_devices(sketch *k)
{
    for (int i = 0; i < k->t->tasks * k->t->devices; i++) {
        int id = dt_topology_id(k->t, k->t->coordinates[i]);
        snprintf(k->label[id], sizeof *k->label, "%d", id);
    }
}

static void label_replicas(sketch *k, const dt_assignment *a)
{
    for (int r = 0; r < a->replicas; r++)
        for (int l = 0; l < a->logical; l++) {
            char *label = k->label[dt_topology_id(k->t, dt_assignment_at(a, r, l))];
            k->used += !*label;
            if (a->logical > 1)
                snprintf(label, sizeof *k->label, "r%d.L%d", r, l);
            else
                snprintf(label, sizeof *k->label, "r%d", r);
        }
}

static void label_cores(sketch *k)
{
    int n = k->t->mesh[0] * k->t->mesh[1] * k->t->mesh[2] * k->t->mesh[3];
    k->label = dt_alloc(dt_size_mul((size_t)n, sizeof *k->label));
    if (k->p->assignment)
        label_replicas(k, k->p->assignment);
    else
        label_devices(k);
    for (int id = 0; id < n; id++) {
        if (!*k->label[id])
            strcpy(k->label[id], "-");
        int width = (int)strlen(k->label[id]);
        if (width > k->label_width)
            k->label_width = width;
    }
    k->cell = k->t->mesh[3] * (k->label_width + 3) + 1; /* "[ a | b ]" */
}

/* ---- legend ---- */

static dt_str *legend(sketch *k)
{
    return &k->legend[k->legend_lines++];
}

static void explain_wraps(sketch *k)
{
    static const char *const axis[] = {"x", "y", "z"};
    dt_str text = {0};
    for (int i = 0; i < 3; i++)
        if (k->t->slice->wrap[i])
            dt_str_printf(&text, "%s%s", text.size ? ", " : "", axis[i]);
    if (text.size)
        dt_str_printf(legend(k), "wraps around: %s", dt_str_text(&text));
    dt_str_release(&text);
}

static void explain_replicas(sketch *k, const dt_assignment *a)
{
    int cores = dt_topology_cores(k->t);
    dt_str_puts(legend(k), a->logical > 1 ? "rN = replica N   LM = logical device M" : "rN = replica N");
    if (a->shape[0])
        dt_str_printf(legend(k), "computation_shape [%d,%d,%d,%d]   num_replicas %d", a->shape[0], a->shape[1], a->shape[2], a->shape[3],
                      a->replicas);
    if (k->used == cores)
        dt_str_printf(legend(k), "all %d cores used", cores);
    else
        dt_str_printf(legend(k), "%d of %d cores used, - is idle", k->used, cores);
}

static void explain(sketch *k)
{
    if (k->p->assignment)
        explain_replicas(k, k->p->assignment);
    else
        dt_str_puts(legend(k), k->t->tasks == 1 ? "N = device TPU:N" : "N = id of a core");
    if (k->t->tasks > 1) {
        const int *host = k->t->slice->chip->host;
        dt_str_printf(legend(k), "a host has %dx%d chips", host[0], host[1]);
    }
    if (k->t->mesh[2] > 1)
        dt_str_puts(legend(k), "a chip is also linked to the same place of the next z");
    explain_wraps(k);
}

/* ---- lines ---- */

/* Ends a line that began at byte `from`: a line of the legend beside it, no blanks at its end. */
static void end_line(sketch *k, size_t from)
{
    int width = MARGIN + k->t->mesh[0] * (k->cell + GAP) - GAP;
    if (k->legend_shown < k->legend_lines) {
        dt_str_pad(k->out, from, width + 6);
        dt_str_puts(k->out, dt_str_text(&k->legend[k->legend_shown++]));
    }
    while (k->out->size > from && k->out->data[k->out->size - 1] == ' ')
        k->out->data[--k->out->size] = '\0';
    dt_str_putc(k->out, '\n');
}

/* Column heads, centred above the chips. */
static void draw_heads(sketch *k)
{
    size_t from = k->out->size;
    for (int x = 0; x < k->t->mesh[0]; x++) {
        char head[16];
        int length = snprintf(head, sizeof head, "x=%d", x);
        dt_str_pad(k->out, from, MARGIN + x * (k->cell + GAP) + (k->cell - length) / 2);
        dt_str_puts(k->out, head);
    }
    dt_str_putc(k->out, '\n');
}

static void draw_chip(sketch *k, int x, int y, int z)
{
    for (int core = 0; core < k->t->mesh[3]; core++) {
        dt_str_puts(k->out, core ? " | " : "[ ");
        size_t from = k->out->size;
        dt_str_puts(k->out, k->label[dt_topology_id(k->t, (dt_coords){x, y, z, core})]);
        dt_str_pad(k->out, from, k->label_width);
    }
    dt_str_puts(k->out, " ]");
}

static void draw_row(sketch *k, int y, int z)
{
    size_t from = k->out->size;
    dt_str_printf(k->out, " y=%d", y);
    dt_str_pad(k->out, from, MARGIN);
    for (int x = 0; x < k->t->mesh[0]; x++) {
        dt_str_puts(k->out, x ? link_across(k) : "");
        draw_chip(k, x, y, z);
    }
    end_line(k, from);
}

static void draw_links_down(sketch *k)
{
    size_t from = k->out->size;
    for (int x = 0; x < k->t->mesh[0]; x++) {
        dt_str_pad(k->out, from, MARGIN + x * (k->cell + GAP) + k->cell / 2);
        dt_str_puts(k->out, link_down(k));
    }
    end_line(k, from);
}

static void draw_plane(sketch *k, int z)
{
    if (k->t->mesh[2] > 1)
        dt_str_printf(k->out, " z=%d\n", z);
    draw_heads(k);
    for (int y = 0; y < k->t->mesh[1]; y++) {
        if (y)
            draw_links_down(k);
        draw_row(k, y, z);
    }
    while (k->legend_shown < k->legend_lines)
        end_line(k, k->out->size);
    dt_str_putc(k->out, '\n');
}

static void draw_header(const dt_topology_picture *p, dt_str *out)
{
    const dt_topology *t = p->topology;
    const dt_slice *s = t->slice;
    int chips = dt_slice_chips(s);
    dt_str_printf(out, "%s   %d chip%s (%dx%d", s->name, chips, chips == 1 ? "" : "s", s->chips[0], s->chips[1]);
    if (s->chips[2] > 1)
        dt_str_printf(out, "x%d", s->chips[2]);
    dt_str_printf(out, ")   %d cores   %lld GiB HBM per core   %d host%s   mesh [x %d, y %d, z %d, core %d]\n",
                  dt_topology_cores(t), (long long)(dt_topology_device_cores(t) * s->chip->core_hbm >> 30), t->tasks, t->tasks == 1 ? "" : "s", t->mesh[0], t->mesh[1],
                  t->mesh[2], t->mesh[3]);
    if (p->why)
        dt_str_printf(out, "%s\n", p->why);
    dt_str_putc(out, '\n');
}

void dt_topology_draw(const dt_topology_picture *p, dt_str *out)
{
    sketch k = {.p = p, .t = p->topology, .out = out};
    draw_header(p, out);
    label_cores(&k);
    explain(&k);
    for (int z = 0; z < k.t->mesh[2]; z++)
        draw_plane(&k, z);
    dt_draw_traffic(p, out);
    for (int i = 0; i < k.legend_lines; i++)
        dt_str_release(&k.legend[i]);
    free(k.label);
}
