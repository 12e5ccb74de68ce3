/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as an SVG picture: the memory that a device needs, by kind, beside what it has; one step
 * on the virtual clock, with kernels above, collectives and copies below; and the times of layers.
 */
#include <math.h>

#include "job/plan.h"

enum { WIDTH = 990, LEFT = 180, RIGHT = 960, BAR = 26, LAYERS = 10, SLOTS = 780 };

static const char *const bound_colour[DT_BOUNDS] = {"#3b6fb6", "#d98b2b", "#6a9f4b", "#8a8a8a",
                                                    "#b5476b"};

static void put_text(dt_str *out, double x, double y, const char *style, const char *text) {
    dt_str_printf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
    for (; *text; text++) switch (*text) {
        case '<': dt_str_puts(out, "&lt;"); break;
        case '>': dt_str_puts(out, "&gt;"); break;
        case '&': dt_str_puts(out, "&amp;"); break;
        default: dt_str_putc(out, *text);
        }
    dt_str_puts(out, "</text>\n");
}

static void put_box(dt_str *out, double x, double y, double w, const char *colour,
                    const char *title) {
    dt_str_printf(out,
                  "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" "
                  "fill=\"%s\"><title>%s</title></rect>\n",
                  x, y, w, BAR, colour, title);
}

/* ---- memory ---- */

static void put_memory(const dt_plan *p, double y, dt_str *out) {
    const struct {
        const char *name, *colour;
        int64_t bytes;
    } kinds[] = {
        {"weights", "#3b6fb6", p->bytes.weights}, {"gradients", "#7aa5d8", p->bytes.gradients},
        {"slots", "#6a9f4b", p->bytes.slots},     {"activations", "#d98b2b", p->bytes.activations},
        {"padding", "#c9c9c9", p->bytes.padding},
    };
    double most = (double)(p->bytes.total > p->bytes.usable ? p->bytes.total : p->bytes.usable),
           scale = (RIGHT - LEFT) / most, x = LEFT;
    dt_local_str line = {0};
    put_text(out, 20, y + 18, "class=\"l\"", "memory of a device");
    dt_str_printf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#eee\"/>\n",
                  LEFT, y, RIGHT - LEFT, BAR);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        dt_str_clear(&line);
        dt_str_printf(&line, "%s ", kinds[i].name);
        dt_str_bytes(&line, (double)kinds[i].bytes);
        put_box(out, x, y, (double)kinds[i].bytes * scale, kinds[i].colour, dt_str_text(&line));
        put_text(out, LEFT + (double)i * 156 + 14, y + 48, "class=\"s\"", dt_str_text(&line));
        dt_str_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\" fill=\"%s\"/>\n",
                      LEFT + (double)i * 156, y + 40, kinds[i].colour);
        x += (double)kinds[i].bytes * scale;
    }
    dt_str_printf(out, "<path d=\"M%.1f %.1fv%d\" stroke=\"#c00\" stroke-width=\"2\"/>\n",
                  LEFT + (double)p->bytes.usable * scale, y - 5, BAR + 10);
    dt_str_clear(&line);
    dt_str_puts(&line, "usable ");
    dt_str_bytes(&line, (double)p->bytes.usable);
    put_text(out, LEFT + (double)p->bytes.usable * scale - 4, y - 8,
             "class=\"s\" text-anchor=\"end\"", dt_str_text(&line));
}

/* ---- time ---- */

/* Draws the launches of a step on a track. There may be thousands. So the track is divided into
 * slots, each filled by the share of its time that launches take, instead of one box for each
 * launch. */
static void put_track(const dt_plan *p, bool link, double y, dt_str *out) {
    double busy[SLOTS] = {0}, slot = p->seconds / SLOTS;
    for (int i = 0; i < p->n_events; i++) {
        const dt_plan_event *e = &p->event[i];
        for (int k = (int)(e->start / slot);
             (e->unit != DT_UNIT_CHIP) == link && k < SLOTS && k * slot < e->end; k++)
            busy[k] += fmin(e->end, (k + 1) * slot) - fmax(e->start, k * slot);
    }
    put_text(out, 20, y + 18, "class=\"l\"", link ? "collectives" : "kernels");
    dt_str_printf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#eee\"/>\n",
                  LEFT, y, RIGHT - LEFT, BAR);
    for (int k = 0; k < SLOTS; k++)
        if (busy[k] > 0)
            dt_str_printf(out,
                          "<rect x=\"%d\" y=\"%.1f\" width=\"1.2\" height=\"%d\" fill=\"%s\" "
                          "opacity=\"%.2f\"/>\n",
                          LEFT + k, y, BAR, link ? bound_colour[DT_BOUND_LINKS] : "#555",
                          fmin(1, busy[k] / slot));
}

static void put_layers(const dt_plan *p, double y, dt_str *out) {
    dt_local_arena arena = dt_arena_create();
    dt_local_str line = {0};
    int n;
    const dt_plan_layer *l = dt_plan_layer_groups(p, arena, &n);
    for (int i = 0; i < n && i < LAYERS; i++, y += BAR + 6) {
        double x = LEFT, scale = (RIGHT - LEFT - 90) / l[0].seconds;
        put_text(out, 20, y + 18, "class=\"l\"", *l[i].path ? l[i].path : "(between layers)");
        for (int b = 0; b < DT_BOUNDS; b++) {
            put_box(out, x, y, l[i].by[b] * scale, bound_colour[b],
                    dt_plan_bound_name((dt_plan_bound)b));
            x += l[i].by[b] * scale;
        }
        dt_str_clear(&line);
        dt_put_seconds(&line, l[i].seconds);
        put_text(out, x + 6, y + 18, "class=\"s\"", dt_str_text(&line));
    }
}

static void put_legend(double y, dt_str *out) {
    for (int b = 0; b < DT_BOUNDS; b++) {
        dt_str_printf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"9\" height=\"9\" fill=\"%s\"/>\n",
                      LEFT + b * 156, y - 9, bound_colour[b]);
        put_text(out, LEFT + b * 156 + 14, y, "class=\"s\"", dt_plan_bound_name((dt_plan_bound)b));
    }
}

void dt_job_plan_svg(const dt_job_plan *p, dt_str *out) {
    const dt_plan *plan = p->plan[0];
    int n;
    dt_arena *arena = dt_arena_create();
    dt_local_str line = {0};
    dt_plan_layer_groups(plan, arena, &n);
    int height = 300 + (n < LAYERS ? n : LAYERS) * (BAR + 6);
    dt_arena_destroy(arena);
    dt_str_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\">\n",
                  WIDTH, height, WIDTH, height);
    dt_str_puts(out, "<style>text{font-family:sans-serif;fill:#222}.t{font-size:18px}.l{font-size:"
                     "13px}.s{font-size:12px;fill:#555}</style>\n"
                     "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    dt_str_printf(&line, "%s on %s: %d x %d devices, a step takes ", p->job->name,
                  dt_topology_name(dt_job_plan_topology(p)), p->replicas, p->logical);
    dt_put_seconds(&line, plan->seconds);
    dt_str_printf(&line, ", MFU %.1f %%", dt_plan_mfu(plan) * 100);
    put_text(out, 20, 34, "class=\"t\"", dt_str_text(&line));
    put_memory(plan, 76, out);
    put_track(plan, false, 158, out);
    put_track(plan, true, 158 + BAR + 6, out);
    put_legend(250, out);
    put_layers(plan, 268, out);
    dt_str_puts(out, "</svg>\n");
}
