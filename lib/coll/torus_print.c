/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Torus schedules as drawings: a line for each colour, a column for each phase, in it a row of the axis and what goes along it. An all-reduce of
 * 16 MiB on a torus of 4 x 4:
 *
 *     all_reduce by torus 4 colours 2 phases: 16 ranks, 4 colours of 4.0 MiB
 *                 phase 1, 4.0 MiB    phase 2, 1.0 MiB
 *     colour 1    x o>o>o>o>          y o>o>o>o>
 *     colour 2    y o>o>o>o>          x o>o>o>o>
 *     colour 3    x o<o<o<o<          y o<o<o<o<
 *     colour 4    y o<o<o<o<          x o<o<o<o<
 */
#include <string.h>

#include "coll/exchange.h"
#include "coll/torus.h"

enum { SHOWN = 8, COLUMN = 12 }; /* chips of a row */

/* What stands between two ranks of a row, and behind the last one of a ring. */
static const char *arrow_of(const dt_phase *p)
{
    if (strcmp(p->algorithm->name, "ring") == 0)
        return p->down ? "<" : ">";
    return strcmp(p->algorithm->name, "halving") == 0 ? "=" : "-";
}

static void print_row(const dt_grid *g, const dt_phase *p, dt_str *out)
{
    static const char *const names[DT_GRID_AXES] = {"x", "y", "z", "cores"};
    const dt_grid_axis *a = &g->axis[p->axis];
    const char *arrow = arrow_of(p);
    const int shown = a->ranks > SHOWN ? SHOWN - 2 : a->ranks;
    dt_str_printf(out, "%s ", names[p->axis]);
    for (int i = 0; i < shown; i++)
        dt_str_printf(out, "%so", i ? arrow : "");
    if (shown < a->ranks)
        dt_str_printf(out, "%s..%so %d", arrow, arrow, a->ranks);
    if (a->ring)
        dt_str_puts(out, arrow);
    if (a->ranks > 1 && a->stride > 1)
        dt_str_printf(out, " every %d", a->stride);
}

static int width_of(const dt_torus *s)
{
    size_t widest = 16;
    for (int c = 0; c < s->colors; c++)
        for (int i = 0; i < s->color[c].phases; i++) {
            dt_str cell = {0};
            print_row(&s->view[s->color[c].view], &s->color[c].phase[i], &cell);
            widest = cell.size > widest ? cell.size : widest;
            dt_str_release(&cell);
        }
    return (int)widest + 4;
}

static void print_heads(const dt_torus *s, double bytes, int width, dt_str *out)
{
    const size_t from = out->size;
    const dt_color *c = &s->color[0];
    for (int i = 0; i < c->phases; i++) {
        dt_str_pad(out, from, COLUMN + i * width);
        dt_str_printf(out, "phase %d, ", i + 1);
        dt_str_bytes(out, bytes);
        bytes /= s->view[c->view].axis[c->phase[i].axis].ranks;
    }
    dt_str_putc(out, '\n');
}

void dt_torus_print(const dt_torus *s, dt_collective c, double bytes, dt_str *out)
{
    const int width = width_of(s), ranks = s->view[0].ranks;
    dt_str_printf(out, "%s by %s: %d rank%s, %d colour%s of ", dt_collective_name(c), s->name, ranks, ranks == 1 ? "" : "s", s->colors,
                  s->colors == 1 ? "" : "s");
    dt_str_bytes(out, bytes / s->colors);
    dt_str_putc(out, '\n');
    print_heads(s, bytes / s->colors, width, out);
    for (int i = 0; i < s->colors; i++) {
        const size_t from = out->size;
        dt_str_printf(out, "colour %d", i + 1);
        for (int p = 0; p < s->color[i].phases; p++) {
            dt_str_pad(out, from, COLUMN + p * width);
            print_row(&s->view[s->color[i].view], &s->color[i].phase[p], out);
        }
        dt_str_putc(out, '\n');
    }
}

void dt_exchange_draw(const dt_exchange *x, dt_str *out)
{
    dt_exchange_price p;
    dt_grid grid;
    dt_torus way[DT_TORUS_WAYS];
    dt_exchange_price_of(x, &p);
    int n = p.schedule[0] && dt_grid_find(x->topology, x->groups, x->ranks, x->place, &grid) ? dt_torus_ways(x->topology, &grid, way) : 0;
    for (int i = 0; i < n; i++)
        if (strcmp(way[i].name, p.schedule) == 0) {
            dt_torus_print(&way[i], x->collective, x->bytes, out);
            return;
        }
    dt_str_printf(out, "%s by %s: %d rank%s\n", dt_collective_name(x->collective), p.schedule[0] ? p.schedule : "nothing", x->ranks,
                  x->ranks == 1 ? "" : "s");
}
