/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a slice as a standalone SVG file: a panel of chips for each z, with links, wraparound
 * links, hosts as tiles behind their chips, cores in the colour of their replica, and a legend. A
 * picture can be enlarged, so nothing is left out up to 1,024 chips; of larger slices the first
 * ones along each axis are drawn.
 *
 * The wraparound link of an axis runs back in the gap beside its row or column. In a twisted slice
 * those of the short axes end in another panel, so they are drawn as stubs with a label.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "topo/draw.h"
#include "topo/topo_impl.h"

enum {
    EDGE = 32,
    TITLE = 64,
    GAP = 24,
    PANEL_GAP = 44,
    HEAD = 30,
    CORE_HEIGHT = 22,
    INSET = 4,
    LEGEND_LINE = 20,
    MOST_CHIPS = 1024,
    SHOWN = 8 /* the number of chips that are drawn along each axis of a larger slice */
};

/* The sizes of the picture's parts, in SVG's units. */
typedef struct sheet {
    const dt_topology_picture *p;
    const dt_topology *t;
    dt_str *out;
    char (*label)[24]; /* [core id] the text of each core; "": no replica uses the core */
    int *owner; /* [core id] 1 + the replica that uses the core; 0: no replica, or no assignment */
    int core, chip; /* width of a core, and of a chip, in the picture */
    /* across: from the left edge of a chip to that of its right neighbour; down: from the top of a
     * chip to that of the one below */
    int across, down;
    int width, height; /* width and height of a panel */
    int panels;        /* number of panels side by side */
    /* The numbers of chips that are drawn along x, y and z: the first ones of each axis. */
    int shown[3];
} sheet;

/* ---- sizes ---- */

static int chip_height(void) { return CORE_HEIGHT + 2 * INSET; }

static int panel_rows(const sheet *s) { return (s->shown[2] + s->panels - 1) / s->panels; }

static bool is_cropped(const sheet *s, int axis) { return s->shown[axis] < s->t->mesh[axis]; }

static void crop(sheet *s) {
    const int *mesh = s->t->mesh;
    const bool large = (int64_t)mesh[0] * mesh[1] * mesh[2] > MOST_CHIPS;
    for (int axis = 0; axis < 3; axis++)
        s->shown[axis] = large && mesh[axis] > SHOWN ? SHOWN : mesh[axis];
}

/* Returns the number of panels side by side with which the picture is closest to 1.5 times as wide
 * as high. */
static int count_panels(const sheet *s) {
    int best = 1;
    double least = 1e9;
    for (int n = 1; n <= s->shown[2]; n++) {
        int rows = (s->shown[2] + n - 1) / n;
        double ratio = fabs(log((double)n * s->width / ((double)rows * s->height) / 1.5));
        if (ratio < least) {
            least = ratio;
            best = n;
        }
    }
    return best;
}

static void measure(sheet *s, int label_width) {
    const int *mesh = s->t->mesh;
    s->core = 7 * label_width + 12 > 26 ? 7 * label_width + 12 : 26;
    s->chip = mesh[3] * s->core + 2 * INSET;
    s->across = s->chip + GAP;
    s->down = chip_height() + GAP;
    s->width = s->shown[0] * s->across - GAP + PANEL_GAP;
    s->height = HEAD + s->shown[1] * s->down - GAP + PANEL_GAP;
    s->panels = count_panels(s);
}

static void chip_at(const sheet *s, int x, int y, int z, int at[2]) {
    at[0] = EDGE + z % s->panels * s->width + x * s->across + GAP / 2;
    at[1] = TITLE + z / s->panels * s->height + HEAD + y * s->down + GAP / 2;
}

/* ---- labels and colours ---- */

static int label_cores(sheet *s) {
    const dt_assignment *a = s->p->assignment;
    const int n = s->t->mesh[0] * s->t->mesh[1] * s->t->mesh[2] * s->t->mesh[3];
    int widest = 1;
    s->label = dt_alloc(dt_size_mul((size_t)n, sizeof *s->label));
    s->owner = dt_alloc(dt_size_mul((size_t)n, sizeof *s->owner));
    for (int id = 0; id < n && !a; id++) snprintf(s->label[id], sizeof *s->label, "%d", id);
    for (int i = 0; a && i < a->replicas * a->logical; i++) {
        int id = dt_topology_id(s->t, a->core[i]), r = i / a->logical;
        snprintf(s->label[id], sizeof *s->label, a->logical > 1 ? "r%d.L%d" : "r%d", r,
                 i % a->logical);
        s->owner[id] = 1 + r;
    }
    for (int id = 0; id < n; id++)
        widest = (int)strlen(s->label[id]) > widest ? (int)strlen(s->label[id]) : widest;
    return widest;
}

/* Prints the colour of a replica. Colours of neighbouring numbers differ strongly, since they are a
 * golden angle apart, and all are light enough for black text. */
static void print_color(int replica, dt_str *out) {
    double hue = fmod(replica * 137.50776, 360) / 60, light = 0.80, chroma = 0.17;
    int rgb[3];
    for (int i = 0; i < 3; i++) {
        double k = fmod(hue + (double[]){0, 4, 2}[i], 6), part = k < 1   ? k
                                                                 : k < 3 ? 1
                                                                 : k < 4 ? 4 - k
                                                                         : 0;
        rgb[i] = (int)(255 * (light + chroma * (1 - 2 * part)) + 0.5);
    }
    dt_str_printf(out, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

/* ---- parts ---- */

static void put_host(sheet *s, int x, int y, int z, const int host[3]) {
    int at[2];
    chip_at(s, x, y, z, at);
    dt_str_printf(
        s->out, "<rect class=\"host\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"9\"/>\n",
        at[0] - 8, at[1] - 8, host[0] * s->across - GAP + 16, host[1] * s->down - GAP + 16);
}

static void put_hosts(sheet *s) {
    int host[3];
    dt_slice_host(s->t->slice, host);
    for (int z = 0; z < s->shown[2]; z++)
        for (int y = 0; y < s->shown[1]; y += host[1])
            for (int x = 0; x < s->shown[0]; x += host[0]) put_host(s, x, y, z, host);
}

static void put_core(sheet *s, const dt_coords at, const int place[2]) {
    const int id = dt_topology_id(s->t, at), x = place[0] + INSET + at[3] * s->core;
    dt_str_printf(s->out,
                  "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"",
                  s->p->assignment && !s->owner[id] ? "idle" : "core", x + 1, place[1] + INSET,
                  s->core - 2, CORE_HEIGHT);
    if (s->owner[id]) {
        dt_str_puts(s->out, " fill=\"");
        print_color(s->owner[id] - 1, s->out);
        dt_str_putc(s->out, '"');
    }
    dt_str_printf(s->out, "/>\n<text x=\"%d\" y=\"%d\">%s</text>\n", x + s->core / 2,
                  place[1] + INSET + 15, s->label[id]);
}

static void put_chip(sheet *s, int x, int y, int z) {
    int place[2];
    chip_at(s, x, y, z, place);
    dt_str_printf(s->out,
                  "<rect class=\"chip\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>\n",
                  place[0], place[1], s->chip, chip_height());
    for (int core = 0; core < s->t->mesh[3]; core++) put_core(s, (dt_coords){x, y, z, core}, place);
}

static void put_line(sheet *s, const char *class, int x1, int y1, int x2, int y2) {
    dt_str_printf(s->out, "<path class=\"%s\" d=\"M%d %dL%d %d\"/>\n", class, x1, y1, x2, y2);
}

/* Draws the links of a chip to the right and downwards and, as ticks at two corners, those to the
 * previous and the next plane, as far as there are such links. */
static void put_links(sheet *s, int x, int y, int z) {
    int at[2];
    chip_at(s, x, y, z, at);
    const int middle = at[1] + chip_height() / 2, centre = at[0] + s->chip / 2;
    if (x + 1 < s->t->mesh[0])
        put_line(s, "link", at[0] + s->chip, middle, at[0] + s->across, middle);
    if (y + 1 < s->t->mesh[1])
        put_line(s, "link", centre, at[1] + chip_height(), centre, at[1] + s->down);
    if (z > 0 || dt_topology_wraps(s->t, 2))
        put_line(s, "link", at[0] + 2, at[1] + chip_height() - 2, at[0] - 4,
                 at[1] + chip_height() + 4);
    if (z + 1 < s->t->mesh[2] || dt_topology_wraps(s->t, 2))
        put_line(s, "link", at[0] + s->chip - 2, at[1] + 2, at[0] + s->chip + 4, at[1] - 4);
}

/* ---- wraparound links, and whole panels ---- */

static bool twists(const sheet *s, int axis) {
    return dt_topology_twist(s->t, axis, 0) || dt_topology_twist(s->t, axis, 1) ||
           dt_topology_twist(s->t, axis, 2);
}

/* Whether wraparound links are drawn as stubs, since they lead to another panel or to chips that
 * are not drawn. */
static bool are_stubs(const sheet *s, int axis) { return twists(s, axis) || is_cropped(s, axis); }

/* Draws the wraparound link of a row, in the gap above the row; as a stub at each end if are_stubs,
 * and at the left end only if the row is cropped. */
static void put_round_x(sheet *s, int y, int z) {
    int a[2], b[2];
    chip_at(s, 0, y, z, a);
    chip_at(s, s->shown[0] - 1, y, z, b);
    const int left = a[0], right = b[0] + s->chip, middle = a[1] + chip_height() / 2,
              top = a[1] - 7;
    if (are_stubs(s, 0)) {
        put_line(s, "round", left, middle, left - 11, middle);
        if (!is_cropped(s, 0)) put_line(s, "round", right, middle, right + 11, middle);
        return;
    }
    dt_str_printf(
        s->out,
        "<path class=\"round\" d=\"M%d %dh5q5 0 5 -5V%dq0 -5 -5 -5H%dq-5 0 -5 5V%dq0 5 5 5h5\"/>\n",
        right, middle, top + 5, left - 5, middle - 5);
}

/* Draws the wraparound link of a column, in the gap to the right of the column; as a stub at each
 * end if are_stubs, and at the top only if the column is cropped. */
static void put_round_y(sheet *s, int x, int z) {
    int a[2], b[2];
    chip_at(s, x, 0, z, a);
    chip_at(s, x, s->shown[1] - 1, z, b);
    const int top = a[1], bottom = b[1] + chip_height(), middle = a[0] + s->chip / 2 + 6,
              side = a[0] + s->chip + 7;
    if (are_stubs(s, 1)) {
        put_line(s, "round", middle - 6, top, middle - 6, top - 11);
        if (!is_cropped(s, 1)) put_line(s, "round", middle - 6, bottom, middle - 6, bottom + 11);
        return;
    }
    dt_str_printf(
        s->out,
        "<path class=\"round\" d=\"M%d %dv5q0 5 5 5H%dq5 0 5 -5V%dq0 -5 -5 -5H%dq-5 0 -5 5v5\"/>\n",
        middle, bottom, side - 5, top - 5, middle + 5);
}

/* Prints the label of a twisted link, which says where the link leads: "round x: y+4 z+4". */
static void put_twist(sheet *s, int axis, int x, int y) {
    static const char *const name[] = {"x", "y", "z"};
    dt_str_printf(s->out, "<text class=\"twist\" x=\"%d\" y=\"%d\">round %s:", x, y, name[axis]);
    for (int to = 0; to < 3; to++)
        if (dt_topology_twist(s->t, axis, to))
            dt_str_printf(s->out, " %s+%d", name[to], dt_topology_twist(s->t, axis, to));
    dt_str_puts(s->out, "</text>\n");
}

static void put_panel(sheet *s, int z) {
    int at[2];
    chip_at(s, 0, 0, z, at);
    if (s->t->mesh[2] > 1)
        dt_str_printf(s->out, "<text class=\"head\" x=\"%d\" y=\"%d\">z = %d</text>\n", at[0] - 8,
                      at[1] - 20, z);
    for (int axis = 0, right = at[0] + 60; axis < 2; axis++)
        if (twists(s, axis)) {
            put_twist(s, axis, right, at[1] - 20);
            right += 110;
        }
    for (int y = 0; y < s->shown[1] && dt_topology_wraps(s->t, 0); y++) put_round_x(s, y, z);
    for (int x = 0; x < s->shown[0] && dt_topology_wraps(s->t, 1); x++) put_round_y(s, x, z);
    for (int y = 0; y < s->shown[1] && !s->t->slice->chip->is_host; y++)
        for (int x = 0; x < s->shown[0]; x++) put_links(s, x, y, z);
    for (int y = 0; y < s->shown[1]; y++)
        for (int x = 0; x < s->shown[0]; x++) put_chip(s, x, y, z);
}

/* ---- the page ---- */

/* Writes lines of text below the panels, from number `line` on. Returns the number of the next
 * line. */
static int put_words(sheet *s, const char *text, int line) {
    for (; *text; line++) {
        size_t n = strcspn(text, "\n");
        dt_str_printf(s->out, "<text class=\"words\" x=\"%d\" y=\"%d\">", EDGE,
                      line * LEGEND_LINE + TITLE + panel_rows(s) * s->height + 12);
        for (size_t i = 0; i < n;) {
            size_t plain = i;
            while (plain < n && text[plain] != '<' && text[plain] != '&') plain++;
            dt_str_escaped(s->out, text + i, plain - i, n);
            if (plain < n) dt_str_puts(s->out, text[plain] == '<' ? "&lt;" : "&amp;");
            i = plain + 1;
        }
        dt_str_puts(s->out, "</text>\n");
        text += n + (text[n] == '\n');
    }
    return line;
}

static void legend(const sheet *s, int columns, dt_str *out) {
    dt_local_str words = {0};
    dt_str_puts(&words, s->t->slice->chip->is_host
                            ? "tile: a host, joined to others by a switch. "
                            : "grey tile: a host. line: a link in both directions. ");
    if (dt_topology_wraps(s->t, 0) || dt_topology_wraps(s->t, 1))
        dt_str_puts(&words, s->t->slice->twisted ? "dashed: a wraparound link to another plane. "
                                                 : "dashed: a wraparound link. ");
    if (is_cropped(s, 0) || is_cropped(s, 1) || is_cropped(s, 2))
        dt_str_printf(&words, "drawn: the first %d x %d x %d of %d x %d x %d chips. ", s->shown[0],
                      s->shown[1], s->shown[2], s->t->mesh[0], s->t->mesh[1], s->t->mesh[2]);
    if (s->t->mesh[2] > 1)
        dt_str_printf(&words, "ticks at the corners: links to the previous and next plane%s. ",
                      dt_topology_wraps(s->t, 2) ? ", the last to the first" : "");
    if (s->p->assignment) dt_str_puts(&words, "rN: replica N, each in its own colour. ");
    dt_str_putc(&words, '\n');
    dt_draw_traffic(s->p, &words);
    dt_draw_prose(out, dt_str_text(&words), columns, 0);
}

static void open_page(sheet *s, int width, int height) {
    static const char style[] =
        "<style>text{font:12px "
        "ui-monospace,Menlo,Consolas,monospace;fill:#1f2937;text-anchor:middle}"
        ".title{font:600 18px system-ui,sans-serif;text-anchor:start}.words,.sub{font:13px "
        "system-ui,sans-serif;text-anchor:start;fill:#4b5563}"
        ".head{font:600 13px system-ui,sans-serif;text-anchor:start;fill:#4b5563}"
        ".twist{font:11px system-ui,sans-serif;text-anchor:start;fill:#b45309}"
        ".host{fill:#f1f5f9;stroke:#cbd5e1}.chip{fill:#fff;stroke:#475569;stroke-width:1.2}.core{"
        "fill-opacity:1}.idle{fill:#f3f4f6}"
        ".link{stroke:#64748b;stroke-width:2.4;fill:none}.round{stroke:#d97706;stroke-width:1.3;"
        "stroke-dasharray:4 3;fill:none}</style>\n";
    dt_str_printf(s->out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" fill=\"#dbeafe\">\n",
                  width, height, width, height);
    dt_str_printf(s->out, "<title>%s</title>\n%s<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                  s->t->slice->name, style, width, height);
}

static void put_title(sheet *s) {
    dt_local_str head = {0};
    dt_draw_header(&(dt_topology_picture){.topology = s->t}, 1000, &head);
    const char *text = dt_str_text(&head), *rest = strstr(text, "   ");
    dt_str_printf(s->out, "<text class=\"title\" x=\"%d\" y=\"30\">%s%s</text>\n", EDGE,
                  s->t->slice->name, s->p->simulated ? " (simulated)" : "");
    dt_str_printf(s->out,
                  "<text class=\"sub\" x=\"%d\" y=\"52\" xml:space=\"preserve\">%.*s</text>\n",
                  EDGE, (int)strcspn(rest + 3, "\n"), rest + 3);
}

void dt_topology_svg(const dt_topology_picture *p, dt_str *out) {
    sheet s = {.p = p, .t = p->topology, .out = out};
    dt_local_str words = {0};
    crop(&s);
    measure(&s, label_cores(&s));
    int width = s.panels * s.width + 2 * EDGE - PANEL_GAP + GAP, lines = 1;
    width = width < 640 ? 640 : width;
    legend(&s, (width - 2 * EDGE) / 7, &words);
    for (const char *at = dt_str_text(&words); (at = strchr(at, '\n')); at++) lines++;
    open_page(&s, width, TITLE + panel_rows(&s) * s.height + lines * LEGEND_LINE + 12);
    put_title(&s);
    put_hosts(&s);
    for (int z = 0; z < s.shown[2]; z++) put_panel(&s, z);
    put_words(&s, dt_str_text(&words), 0);
    dt_str_puts(out, "</svg>\n");
    free(s.label);
    free(s.owner);
}
