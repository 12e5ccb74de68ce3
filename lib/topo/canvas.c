/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet of characters on which planes of chips and their links are drawn. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "topo/canvas.h"

dt_canvas dt_canvas_create(int lines, int columns) {
    dt_canvas c = {.lines = lines, .columns = columns};
    c.at = dt_alloc(dt_size_mul(dt_size_mul((size_t)lines, (size_t)columns) + 1, sizeof *c.at));
    return c;
}

void dt_canvas_release(dt_canvas *c) {
    free(c->at);
    *c = (dt_canvas){0};
}

int dt_canvas_put(dt_canvas *c, int line, int column, const char *text) {
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

void dt_canvas_fill(dt_canvas *c, int line, int column, int n, const char *one) {
    for (int i = 0; i < n; i++) dt_canvas_put(c, line, column + i, one);
}

int dt_canvas_used(const dt_canvas *c, int line) {
    int n = c->columns;
    while (n > 0 && !c->at[line * c->columns + n - 1]) n--;
    return n;
}

void dt_canvas_print_line(const dt_canvas *c, int line, dt_str *out) {
    const int n = dt_canvas_used(c, line);
    for (int i = 0; i < n; i++) {
        uint32_t code = c->at[line * c->columns + i];
        dt_str_utf8(out, code ? code : ' ');
    }
}
