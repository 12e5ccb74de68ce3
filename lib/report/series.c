/* SPDX-License-Identifier: Apache-2.0 */
/* Named lists of points. There are about a dozen names and a thousand points, so every search is
 * linear. Names beyond MOST_NAMES are left out. */
#include <stdlib.h>
#include <string.h>

#include "report/run.h"

enum { MOST_NAMES = 400 };

const dt_series *dt_series_find(const dt_series_list *l, const char *name) {
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0) return &l->v[i];
    return NULL;
}

dt_series *dt_series_of(dt_series_list *l, const char *name) {
    dt_series *found = (dt_series *)(uintptr_t)dt_series_find(l, name);
    l->passed_over |= !found && l->n == MOST_NAMES;
    if (found || l->passed_over) return found;
    DT_GROW(l->v, l->cap, l->n + 1);
    l->v[l->n] = (dt_series){.name = dt_strdup(name)};
    return &l->v[l->n++];
}

void dt_series_add(dt_series *s, double x, double y) {
    while (s && s->n > 0 && s->p[s->n - 1].x >= x) s->n--;
    if (!s) return;
    DT_GROW(s->p, s->cap, s->n + 1);
    s->p[s->n++] = (dt_point){x, y};
}

void dt_series_cut(dt_series_list *l, double x) {
    for (int i = 0; i < l->n; i++)
        while (l->v[i].n > 0 && l->v[i].p[l->v[i].n - 1].x > x) l->v[i].n--;
}

double dt_series_sum(const dt_series_list *l, const char *name) {
    const dt_series *s = dt_series_find(l, name);
    double sum = 0;
    for (int i = 0; s && i < s->n; i++) sum += isfinite(s->p[i].y) ? s->p[i].y : 0;
    return sum;
}

void dt_series_release(dt_series_list *l) {
    for (int i = 0; i < l->n; i++) {
        free((char *)l->v[i].name);
        free(l->v[i].p);
        free(l->v[i].mean);
    }
    free(l->v);
    *l = (dt_series_list){0};
}
