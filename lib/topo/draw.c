/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a slice as text: one plane of chips for each z, with rows y and columns x; each chip shows
 * its cores.
 *
 *     v3-8   4 chips (2x2)   8 cores   16 GiB HBM per core   1 host   mesh [x 2, y 2, z 1, core 2]
 *
 *                 x=0                  x=1
 *      y=0  [ r0.L0 | r0.L1 ] -- [ r1.L0 | r1.L1 ]      rN = replica N   LM = logical device M
 *                   |                    |              ...
 *      y=1  [ r3.L0 | r3.L1 ] -- [ r2.L0 | r2.L1 ]
 *
 * In a slice of several hosts, links inside a host are double. Wraparound links are stubs at the
 * edges:
 *
 *              :   :   :   :          z=0 of v4-128, tightly
 *      y=0    ~0===1---2===3~
 *              ||  ||  ||  ||
 *      y=1    ~4===5---6===7~
 *
 * All cells have room for the longest label, so that they and the links line up. The legend stands
 * beside a single plane if there is room, otherwise below.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "topo/draw.h"

/* A sheet of characters: draw on it in any order, then print it line by line without trailing
 * blanks. */
typedef struct canvas {
    int lines, columns;
    uint32_t *at; /* [lines][columns] the code points of the characters; 0: blank */
} canvas;

/* The part of an axis that is shown: its first chips and, if the axis is folded, its last chip. */
typedef struct shown_axis {
    int n;       /* number of chips of the axis that are shown */
    bool folded; /* whether chips between the last two shown ones are left out */
    int size;    /* number of chips of the whole axis */
} shown_axis;

/* A picture in progress: which part of a topology it shows, and where each part of it is on the
 * sheet. */
typedef struct sketch {
    const dt_topology_picture *p;
    const dt_topology *t;
    char (*label)[24]; /* [core id] the text of each core; "": no replica uses the core */
    int used;          /* number of cores that have a replica */
    int label_width;
    /* whether chips have space between them, "[ 0 | 1 ] -- [ 2 | 3 ]"; false: none, "0|1-2|3" */
    bool roomy;
    shown_axis cut[3];
    int cell, gap;  /* cell: width of a chip in characters; gap: width of the link next to it */
    int margin;     /* number of columns to the left of the planes, for labels such as "y=0" */
    int per_band;   /* number of planes that are drawn side by side */
    int page, text; /* page: number of columns for planes; text: for lines of text */
    canvas canvas;
} sketch;

static canvas canvas_create(int lines, int columns) {
    canvas c = {.lines = lines, .columns = columns};
    c.at = dt_alloc(dt_size_mul(dt_size_mul((size_t)lines, (size_t)columns) + 1, sizeof *c.at));
    return c;
}

static void canvas_release(canvas *c) {
    free(c->at);
    *c = (canvas){0};
}

/* Writes UTF-8 text from a position to the right, cut off at the edge. Returns the number of
 * characters. */
static int canvas_put(canvas *c, int line, int column, const char *text) {
    int n = 0;
    uint32_t code;
    for (size_t left = strlen(text), size; left > 0; left -= size, text += size, n++) {
        size = dt_utf8_next(text, left, &code);
        size = size ? size : 1;
        if (line >= 0 && line < c->lines && column + n >= 0 && column + n < c->columns)
            c->at[line * c->columns + column + n] = code == ' ' ? 0 : code;
    }
    return n;
}

/* Writes the character `one`, as UTF-8, n times from a position to the right. */
static void canvas_fill(canvas *c, int line, int column, int n, const char *one) {
    for (int i = 0; i < n; i++) canvas_put(c, line, column + i, one);
}

/* Returns the number of columns up to the last character of a line. */
static int canvas_used(const canvas *c, int line) {
    int n = c->columns;
    while (n > 0 && !c->at[line * c->columns + n - 1]) n--;
    return n;
}

static void canvas_print_line(const canvas *c, int line, dt_str *out) {
    const int n = canvas_used(c, line);
    for (int i = 0; i < n; i++) {
        uint32_t code = c->at[line * c->columns + i];
        dt_str_utf8(out, code ? code : ' ');
    }
}

/*
 * Decides how much of a slice is shown, and how. Small slices are drawn with space around the
 * chips. Larger ones are drawn tightly, with their planes side by side and in bands below each
 * other. If even that is too large, each axis longer than a limit is folded to its first chips,
 * "...", and its last one. The limit is the largest that fits, and it is odd: hosts have two chips
 * a side and should not be cut in half.
 */
enum {
    MOST_LINES = 44,
    ROOMY_MARGIN = 7,
    TIGHT_MARGIN = 6,
    ROOMY_GAP = 4,
    TIGHT_COLUMN = 4,
    WIDE_GAP = 3,
    FOLD = 5,
    ROOMY_BETWEEN = 6,
    TIGHT_BETWEEN = 2,
    NO_LIMIT = 1 << 20
};

/* Returns the coordinate of the i-th chip that is shown. */
static int shown_at(const shown_axis *c, int i) {
    return c->folded && i == c->n - 1 ? c->size - 1 : i;
}

static void cut(sketch *k, int limit) {
    for (int axis = 0; axis < 3; axis++) {
        int size = k->t->mesh[axis];
        k->cut[axis] =
            (shown_axis){.n = size > limit ? limit : size, .folded = size > limit, .size = size};
    }
}

static void set_style(sketch *k, bool roomy, int least_gap) {
    const int cores = k->t->mesh[3];
    k->roomy = roomy;
    /* The width of a chip is that of "[ a | b ]", or of "a|b". */
    k->cell = roomy ? cores * (k->label_width + 3) + 1 : cores * (k->label_width + 1) - 1;
    k->gap = roomy ? ROOMY_GAP : dt_max(TIGHT_COLUMN - k->cell, least_gap);
    k->margin = roomy ? ROOMY_MARGIN : TIGHT_MARGIN;
}

/* Returns the column of the i-th chip of a row, counted from the beginning of its plane. */
static int sketch_column(const sketch *k, int i) {
    const shown_axis *x = &k->cut[0];
    int fold = x->folded && i == x->n - 1 ? dt_max(FOLD - k->gap, 0) : 0;
    return i * (k->cell + k->gap) + fold + dt_topology_wraps(k->t, 0) * (k->roomy ? 2 : 1);
}

static int sketch_plane_width(const sketch *k) {
    return sketch_column(k, k->cut[0].n - 1) + k->cell +
           dt_topology_wraps(k->t, 0) * (k->roomy ? 2 : 1);
}

static int between(const sketch *k) { return k->roomy ? ROOMY_BETWEEN : TIGHT_BETWEEN; }

static int sketch_plane_column(const sketch *k, int plane) {
    int fold = k->cut[2].folded && plane == k->cut[2].n - 1 && plane % k->per_band ? FOLD - 1 : 0;
    return k->margin + plane % k->per_band * (sketch_plane_width(k) + between(k)) + fold;
}

static int sketch_plane_lines(const sketch *k) {
    return 1 + (k->t->mesh[2] > 1) + 2 * k->cut[1].n - 1 + 2 * dt_topology_wraps(k->t, 1);
}

static int sketch_bands(const sketch *k) { return (k->cut[2].n + k->per_band - 1) / k->per_band; }

/* Puts as many planes side by side as fit on the page. Returns false if not even one plane fits, or
 * all bands of planes together have too many lines. */
static bool fits(sketch *k) {
    int width = sketch_plane_width(k),
        room = k->page - k->margin - (k->cut[2].folded ? FOLD - 1 : 0);
    k->per_band = dt_max((room + between(k)) / (width + between(k)), 1);
    /* Makes the bands as equal as possible. */
    k->per_band = (k->cut[2].n + sketch_bands(k) - 1) / sketch_bands(k);
    return width <= room && sketch_bands(k) * (sketch_plane_lines(k) + 1) <= MOST_LINES;
}

/* Chooses the style, and how many chips of long axes are shown, so that the planes fit into the
 * page's columns and MOST_LINES lines. If not even 3 chips of each axis fit, 3 are shown anyway. */
static void sketch_fit(sketch *k) {
    static const int limits[] = {NO_LIMIT, 17, 15, 13, 11, 9, 7, 5, 3};
    set_style(k, true, 0);
    cut(k, NO_LIMIT);
    if (fits(k)) return;
    set_style(k, false, 1);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        cut(k, limits[i]);
        if (fits(k)) {
            /* Widens the gaps between chips as long as that needs no further band. */
            const sketch tight = *k;
            set_style(k, false, WIDE_GAP);
            if (!fits(k) || sketch_bands(k) > sketch_bands(&tight)) *k = tight;
            return;
        }
    }
}

enum { PAGE = 80, LEGEND = 100, UNBROKEN = 1 << 20, BESIDE = 6 };

/* The characters with which the parts of a picture are drawn. */
typedef struct pen {
    const char *across, *down;             /* links between chips, to the right and down */
    const char *host_across, *host_down;   /* links inside a host, in a slice of several hosts */
    const char *round_across, *round_down; /* wraparound links, which close a ring */
    const char *fold, *fold_down;
} pen;

static const pen *pen_of(const sketch *k) {
    static const pen ascii = {"-", "|", "=", "||", "~", ":", "...", "."};
    static const pen utf8 = {
        "\u2500", "\u2502", "\u2550", "\u2551", "\u2504", "\u250a", "\u00b7\u00b7\u00b7", "\u22ee"};
    return k->p->utf8 ? &utf8 : &ascii;
}

/* ---- labels ---- */

static void label_devices(sketch *k) {
    for (int i = 0; i < k->t->tasks * k->t->devices; i++) {
        int id = dt_topology_id(k->t, k->t->coordinates[i]);
        snprintf(k->label[id], sizeof *k->label, "%d", id);
    }
}

static void label_replicas(sketch *k, const dt_assignment *a) {
    for (int r = 0; r < a->replicas; r++)
        for (int l = 0; l < a->logical; l++) {
            char *label = k->label[dt_topology_id(k->t, dt_assignment_at(a, r, l))];
            k->used += !*label;
            if (a->logical > 1) snprintf(label, sizeof *k->label, "r%d.L%d", r, l);
            else snprintf(label, sizeof *k->label, "r%d", r);
        }
}

static void label_cores(sketch *k) {
    int n = k->t->mesh[0] * k->t->mesh[1] * k->t->mesh[2] * k->t->mesh[3];
    k->label = dt_alloc(dt_size_mul((size_t)n, sizeof *k->label));
    k->label_width = 1;
    if (k->p->assignment) label_replicas(k, k->p->assignment);
    else label_devices(k);
    for (int id = 0; id < n; id++) {
        int width = (int)strlen(k->label[id]);
        if (width > k->label_width) k->label_width = width;
    }
}

/* ---- one plane ---- */

/* Where a plane is drawn on the sheet. */
typedef struct frame {
    /* z: of the plane; line, column: where its first row of chips is on the sheet */
    int z, line, column;
} frame;

static int column_of(const sketch *k, const frame *f, int i) {
    return f->column + sketch_column(k, i);
}

/* Sets `at` to the coordinates of the chip in the i-th shown column and j-th shown row. */
static void chip_at(const sketch *k, const frame *f, int i, int j, dt_coords at) {
    memcpy(at, (dt_coords){shown_at(&k->cut[0], i), shown_at(&k->cut[1], j), f->z, 0},
           sizeof(dt_coords));
}

/* Whether two neighbouring chips are on the same host, in a slice of several hosts. */
static bool same_host(const sketch *k, const dt_coords a, const dt_coords b) {
    return k->t->tasks > 1 && dt_topology_task(k->t, a) == dt_topology_task(k->t, b);
}

/* Draws a chip; returns its width in columns. */
static int draw_chip(sketch *k, const frame *f, int i, int j) {
    dt_coords at;
    chip_at(k, f, i, j, at);
    dt_local_str text = {0};
    for (; at[3] < k->t->mesh[3]; at[3]++) {
        const char *label = k->label[dt_topology_id(k->t, at)], *idle = k->roomy ? "-" : ".";
        dt_str_puts(&text, k->roomy ? at[3] ? " | " : "[ " : at[3] ? "|" : "");
        size_t from = text.size;
        dt_str_puts(&text, *label ? label : idle);
        if (k->roomy) dt_str_pad(&text, from, k->label_width);
    }
    dt_str_puts(&text, k->roomy ? " ]" : "");
    return canvas_put(&k->canvas, f->line + 2 * j, column_of(k, f, i), dt_str_text(&text));
}

/* Draws the link that leads from a chip, whose drawing ends at column `from`, to the next chip or
 * to the fold. */
static void draw_across(sketch *k, const frame *f, int i, int j, int from) {
    const pen *with = pen_of(k);
    dt_coords a, b;
    int line = f->line + 2 * j, to = column_of(k, f, i + 1), inset = k->roomy;
    chip_at(k, f, i, j, a);
    chip_at(k, f, i + 1, j, b);
    if (b[0] != a[0] + 1) canvas_put(&k->canvas, line, to - 4, with->fold);
    else
        canvas_fill(&k->canvas, line, from + inset, to - from - 2 * inset,
                    same_host(k, a, b) ? with->host_across : with->across);
}

static void draw_down(sketch *k, const frame *f, int i, int j) {
    const pen *with = pen_of(k);
    dt_coords a, b;
    int column = column_of(k, f, i) + (k->roomy ? k->cell / 2 : 0), line = f->line + 2 * j + 1;
    chip_at(k, f, i, j, a);
    chip_at(k, f, i, j + 1, b);
    canvas_put(&k->canvas, line, column,
               b[1] != a[1] + 1     ? with->fold_down
               : same_host(k, a, b) ? with->host_down
                                    : with->down);
}

static void draw_row(sketch *k, const frame *f, int j) {
    const int n = k->cut[0].n, line = f->line + 2 * j;
    int end = 0;
    for (int i = 0; i < n; i++) {
        end = column_of(k, f, i) + draw_chip(k, f, i, j);
        if (i + 1 < n) draw_across(k, f, i, j, end);
        if (j + 1 < k->cut[1].n) draw_down(k, f, i, j);
    }
    if (dt_topology_wraps(k->t, 0)) {
        canvas_put(&k->canvas, line, f->column, pen_of(k)->round_across);
        canvas_fill(&k->canvas, line, end + k->roomy,
                    f->column + sketch_plane_width(k) - end - k->roomy, pen_of(k)->round_across);
    }
}

/* Draws stubs of links that close rings, above the first row and below the last one. */
static void draw_rounds(sketch *k, const frame *f) {
    for (int i = 0; i < k->cut[0].n && dt_topology_wraps(k->t, 1); i++) {
        int column = column_of(k, f, i) + (k->roomy ? k->cell / 2 : 0);
        canvas_put(&k->canvas, f->line - 1, column, pen_of(k)->round_down);
        canvas_put(&k->canvas, f->line + 2 * k->cut[1].n - 1, column, pen_of(k)->round_down);
    }
}

/* Draws the coordinates of columns above the chips, "x=0 x=1", or "x=0 1" if drawn tightly, and
 * "z=0" in the line above if the slice has several planes. */
static void draw_heads(sketch *k, const frame *f, int line) {
    for (int i = 0; i < k->cut[0].n; i++) {
        char head[16];
        int length = snprintf(head, sizeof head, k->roomy || i == 0 ? "x=%d" : "%d",
                              shown_at(&k->cut[0], i));
        canvas_put(&k->canvas, line, column_of(k, f, i) + (k->roomy ? (k->cell - length) / 2 : 0),
                   head);
    }
    char head[16];
    snprintf(head, sizeof head, "z=%d", f->z);
    if (k->t->mesh[2] > 1) canvas_put(&k->canvas, line - 1, column_of(k, f, 0), head);
}

static void draw_plane(sketch *k, int plane, int top) {
    const int heads = 1 + (k->t->mesh[2] > 1);
    frame f = {.z = shown_at(&k->cut[2], plane),
               .line = top + heads + dt_topology_wraps(k->t, 1),
               .column = sketch_plane_column(k, plane)};
    draw_heads(k, &f, top + heads - 1);
    draw_rounds(k, &f);
    for (int j = 0; j < k->cut[1].n; j++) draw_row(k, &f, j);
    if (k->cut[2].folded && plane == k->cut[2].n - 1 && plane % k->per_band)
        canvas_put(&k->canvas, f.line + k->cut[1].n - 1, f.column - 5, pen_of(k)->fold);
    else if (k->cut[2].folded && plane == k->cut[2].n - 1)
        canvas_put(&k->canvas, top, 1, pen_of(k)->fold);
}

/* Draws labels such as "y=0" before each row of a band. */
static void draw_margin(sketch *k, int top) {
    const int first = top + 1 + (k->t->mesh[2] > 1) + dt_topology_wraps(k->t, 1);
    for (int j = 0; j < k->cut[1].n; j++) {
        char head[16];
        snprintf(head, sizeof head, "y=%d", shown_at(&k->cut[1], j));
        canvas_put(&k->canvas, first + 2 * j, 1, head);
    }
}

/* ---- the page ---- */

static void draw_planes(sketch *k) {
    const int bands = sketch_bands(k), lines = sketch_plane_lines(k) + 1;
    int wide = k->per_band < k->cut[2].n ? k->per_band : k->cut[2].n;
    k->canvas = canvas_create(bands * lines - 1,
                              sketch_plane_column(k, wide - 1) + sketch_plane_width(k) + 8);
    for (int z = 0; z < k->cut[2].n; z++) draw_plane(k, z, z / k->per_band * lines);
    for (int band = 0; band < bands; band++) draw_margin(k, band * lines);
}

/* Returns the column of a legend to the right of the planes; 0: it does not fit there, or the slice
 * has several planes. */
static int legend_column(const sketch *k, const dt_str *legend, int n) {
    int widest = 0, column = 0;
    for (int i = 0; i < n; i++) {
        int width = (int)dt_utf8_count(dt_str_text(&legend[i]), legend[i].size);
        widest = width > widest ? width : widest;
    }
    for (int line = 0; line < k->canvas.lines; line++)
        column = canvas_used(&k->canvas, line) > column ? canvas_used(&k->canvas, line) : column;
    column += BESIDE;
    return k->t->mesh[2] == 1 && column + widest <= (k->p->columns ? k->p->columns : LEGEND)
               ? column
               : 0;
}

/* Prints planes with the n lines of the legend to their right, from the second line on. */
static void print_planes(const sketch *k, const dt_str *legend, int n, int column, dt_str *out) {
    const int lines = n + 1 > k->canvas.lines ? n + 1 : k->canvas.lines;
    for (int line = 0; line < lines; line++) {
        size_t from = out->size;
        if (line < k->canvas.lines) canvas_print_line(&k->canvas, line, out);
        if (line > 0 && line <= n) {
            dt_str_pad(out, from, column);
            dt_str_puts(out, dt_str_text(&legend[line - 1]));
        }
        dt_str_putc(out, '\n');
    }
    dt_str_putc(out, '\n');
}

/* Prints the legend beside the planes or below them. */
static void print_page(sketch *k, dt_str *out) {
    dt_str legend[DT_MOST_LEGEND] = {{0}};
    const int n = dt_draw_legend(k->p, k->used, k->roomy, legend),
              column = legend_column(k, legend, n);
    print_planes(k, legend, column ? n : 0, column, out);
    for (int i = 0; i < n; i++) {
        if (!column) dt_draw_prose(out, dt_str_text(&legend[i]), k->text, 4);
        dt_str_release(&legend[i]);
    }
    if (!column) dt_str_putc(out, '\n');
}

void dt_topology_draw(const dt_topology_picture *p, dt_str *out) {
    sketch k = {.p = p,
                .t = p->topology,
                .page = p->columns ? p->columns : PAGE,
                .text = p->columns ? p->columns : UNBROKEN};
    dt_local_str words = {0};
    if (p->topology->slice->chip->is_host) {
        dt_cluster_draw(p, k.text, out);
        return;
    }
    dt_draw_header(p, k.text, out);
    label_cores(&k);
    sketch_fit(&k);
    draw_planes(&k);
    print_page(&k, out);
    dt_draw_traffic(p, &words);
    dt_draw_prose(out, dt_str_text(&words), k.text, 0);
    canvas_release(&k.canvas);
    free(k.label);
}
