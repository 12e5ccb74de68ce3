/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a slice's picture: its text (header, legend, lines below), and which part of the
 * slice is shown. */
#ifndef DT_TOPO_DRAW_H
#define DT_TOPO_DRAW_H

#include "topo/canvas.h"
#include "topo/topo.h"

enum { DT_MOST_LEGEND = 12 };

/* The part of an axis that is shown: its first chips and, if the axis is folded, its last chip. */
typedef struct dt_shown_axis {
    int n;       /* number of chips that are shown */
    bool folded; /* chips between the last two shown chips are left out */
    int size;    /* number of chips of the whole axis */
} dt_shown_axis;

/* The part of a topology that is drawn, and its position on the sheet. */
typedef struct dt_sketch {
    const dt_topology_picture *p;
    const dt_topology *t;
    char (*label)[24]; /* [core id]: text of the core; "": no replica uses it */
    int used;          /* number of cores with a replica */
    int label_width;
    bool roomy; /* drawn with space, "[ 0 | 1 ] -- [ 2 | 3 ]"; false: tightly, "0|1-2|3" */
    dt_shown_axis cut[3];
    int cell, gap;  /* widths in characters: of a chip, and of the link next to it */
    int margin;     /* number of columns before the planes, for labels such as "y=0" */
    int per_band;   /* number of planes side by side */
    int page, text; /* number of columns for planes, and for text */
    dt_canvas canvas;
} dt_sketch;

int dt_shown_at(const dt_shown_axis *c, int i); /* the coordinate of the i-th chip that is shown */

/* Chooses the style, and how many chips of long axes are shown, so that the planes fit into the
 * page's columns. */
void dt_sketch_fit(dt_sketch *k);
int dt_sketch_plane_width(const dt_sketch *k);
int dt_sketch_plane_lines(const dt_sketch *k);
int dt_sketch_bands(const dt_sketch *k);
/* The column of the i-th chip of a row, and of the i-th plane of a band. */
int dt_sketch_column(const dt_sketch *k, int i);
int dt_sketch_plane_column(const dt_sketch *k, int plane);

/* Writes the lines above the planes, at most that many columns wide. */
void dt_draw_header(const dt_topology_picture *p, int columns, dt_str *out);
/* Appends text with lines broken between words. Continuation lines are indented by `indent`
 * columns. */
void dt_draw_prose(dt_str *out, const char *text, int columns, int indent);
/* Writes the lines of the legend, which explain the marks; at most DT_MOST_LEGEND. */
int dt_draw_legend(const dt_sketch *k, dt_str line[DT_MOST_LEGEND]);
/* Describes below the drawing the positions of a replica's logical devices, and the links that
 * gradients use. */
void dt_draw_traffic(const dt_topology_picture *p, dt_str *out);

/* Parts of a cluster's picture (cluster.c): its first line; the traffic of its links; a line for
 * each host with its devices. */
void dt_cluster_header(const dt_topology *t, dt_str *out);
void dt_cluster_traffic(const dt_topology *t, dt_str *out);
void dt_cluster_draw(const dt_topology_picture *p, int columns, dt_str *out);

#endif
