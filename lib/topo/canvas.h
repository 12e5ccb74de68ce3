/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet of characters: draw on it in any order, then print it line by line without trailing
 * blanks. */
#ifndef DT_TOPO_CANVAS_H
#define DT_TOPO_CANVAS_H

#include "base/str.h"

typedef struct dt_canvas {
    int lines, columns;
    uint32_t *at; /* [lines][columns]: code points; 0: blank */
} dt_canvas;

dt_canvas dt_canvas_create(int lines, int columns);
void dt_canvas_release(dt_canvas *c);
/* Writes UTF-8 text from a position to the right, cut off at the edge. Returns the number of
 * characters. */
int dt_canvas_put(dt_canvas *c, int line, int column, const char *text);
/* Writes the same character n times. */
void dt_canvas_fill(dt_canvas *c, int line, int column, int n, const char *one);
/* The number of columns up to the last character of a line. */
int dt_canvas_used(const dt_canvas *c, int line);
void dt_canvas_print_line(const dt_canvas *c, int line, dt_str *out);

#endif
