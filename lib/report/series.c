/* Lists of points under names. There are a dozen names and a thousand points, so everything is looked for from the start. */
#include <stdlib.h>
#include <string.h>

#include "report/run.h"

const dt_series *dt_series_find(const dt_series_list *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0)
            return &l->v[i];
    return NULL;
}

dt_series *dt_series_of(dt_series_list *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0)
            return &l->v[i];
    DT_GROW(l->v, l->cap, l->n + 1);
    l->v[l->n] = (dt_series){.name = dt_strdup(name)};
    return &l->v[l->n++];
}

void dt_series_add(dt_series *s, double x, double y)
{
    while (s->n > 0 && s->p[s->n - 1].x >= x)
        s->n--;
    DT_GROW(s->p, s->cap, s->n + 1);
    s->p[s->n++] = (dt_point){x, y};
}

void dt_series_cut(dt_series_list *l, double x)
{
    for (int i = 0; i < l->n; i++)
        while (l->v[i].n > 0 && l->v[i].p[l->v[i].n - 1].x > x)
            l->v[i].n--;
}

void dt_series_release(dt_series_list *l)
{
    for (int i = 0; i < l->n; i++) {
        free((char *)l->v[i].name);
        free(l->v[i].p);
    }
    free(l->v);
    *l = (dt_series_list){0};
}
