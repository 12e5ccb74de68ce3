/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a slice's picture that are text: its header, its legend, the lines below it. The SVG
 * file uses the header and these lines, too. */
#ifndef DT_TOPO_DRAW_H
#define DT_TOPO_DRAW_H

#include "topo/topo.h"

enum { DT_MOST_LEGEND = 12 };

/* Writes the lines above the planes, in lines of at most `columns` characters. */
void dt_draw_header(const dt_topology_picture *p, int columns, dt_str *out);
/* Appends text, with lines of more than `columns` characters broken between words. Continuation
 * lines are indented by `indent` columns. A line break is added at the end if there is none. */
void dt_draw_prose(dt_str *out, const char *text, int columns, int indent);
/* Writes the lines of the legend, which explain the marks, and returns their number, at most
 * DT_MOST_LEGEND. `used`: number of cores with a replica. `roomy`: the slice is drawn with space,
 * "[ 0 | 1 ] -- [ 2 | 3 ]"; false: tightly, "0|1-2|3". */
int dt_draw_legend(const dt_topology_picture *p, int used, bool roomy, dt_str line[DT_MOST_LEGEND]);
/* Writes the text below the picture. With an assignment: how far apart a replica's logical devices
 * are, and which links gradients use; without: the number and the rate of links. For a cluster: the
 * rates of dt_cluster_traffic. */
void dt_draw_traffic(const dt_topology_picture *p, dt_str *out);

/* Parts of a cluster's picture (cluster.c). dt_cluster_header appends its first line, and
 * dt_cluster_traffic the rates at which devices and hosts exchange data. dt_cluster_draw appends
 * the whole picture: both, and a line for each host with its devices (of more than 16 hosts, or
 * devices, only the first two and the last). */
void dt_cluster_header(const dt_topology *t, dt_str *out);
void dt_cluster_traffic(const dt_topology *t, dt_str *out);
void dt_cluster_draw(const dt_topology_picture *p, int columns, dt_str *out);

#endif
