/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a plan: the row of each layer, groups of layers whose names differ only in a
 * number, and the layers with the most memory. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cost/cost_impl.h"

/* Returns the layer of a path. "decoder_0/self_attention/query" belongs to the layer decoder_0, and
 * "optimizer/decoder_0/..." to the layer optimizer. */
dt_plan_layer *dt_plan_layer_of(dt_plan *p, const char *path) {
    size_t n = strcspn(path, "/");
    const uint64_t hash = dt_hash_bytes(0, path, n);
    for (int i = dt_hash_index_first(&p->layers_at, hash); i >= 0;
         i = dt_hash_index_next(&p->layers_at, i))
        if (strncmp(p->layer[i].path, path, n) == 0 && p->layer[i].path[n] == '\0')
            return &p->layer[i];
    dt_hash_index_add(&p->layers_at, hash);
    p->layer[p->n_layers] =
        (dt_plan_layer){.path = dt_arena_printf(p->arena, "%.*s", (int)n, path), .times = 1};
    return &p->layer[p->n_layers++];
}

/* ---- groups ---- */

static int by_seconds(const void *a, const void *b) {
    const dt_plan_layer *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* Replaces the number in a name: "decoder_12" becomes "decoder_*", "conv2d_7" becomes "conv2d_*". A
 * number follows an underscore or is at the end. */
static const char *pattern_of(const char *path, dt_arena *arena) {
    char *out = dt_arena_strdup(arena, path), *to = out;
    for (const char *p = path; *p;) {
        size_t digits = strspn(p, "0123456789"), n = digits ? digits : 1;
        bool counts = digits && (p[digits] == '\0' || (p > path && p[-1] == '_'));
        if (counts) *to++ = '*';
        else to = (char *)memcpy(to, p, n) + n;
        p += n;
    }
    *to = '\0';
    return out;
}

static void add_layer(dt_plan_layer *to, const dt_plan_layer *l) {
    to->times += l->times;
    to->seconds += l->seconds;
    to->flops += l->flops;
    to->variables += l->variables;
    to->values += l->values;
    for (int b = 0; b < DT_BOUNDS; b++) to->by[b] += l->by[b];
}

static dt_plan_layer *groups_of(const dt_plan *p, dt_arena *arena, int *n) {
    dt_plan_layer *group = dt_arena_array(arena, dt_plan_layer, p->n_layers + 1);
    *n = 0;
    for (int i = 0; i < p->n_layers; i++) {
        const char *pattern = pattern_of(p->layer[i].path, arena);
        int k = 0;
        while (k < *n && strcmp(group[k].path, pattern) != 0) k++;
        if (k == *n) group[(*n)++] = (dt_plan_layer){.path = pattern};
        add_layer(&group[k], &p->layer[i]);
    }
    return group;
}

dt_plan_layer *dt_plan_layer_groups(const dt_plan *p, dt_arena *arena, int *n) {
    dt_plan_layer *group = groups_of(p, arena, n);
    qsort(group, (size_t)*n, sizeof *group, by_seconds);
    while (*n > 0 && group[*n - 1].seconds <= 0) --*n;
    return group;
}

/* ---- the layers with most memory ---- */

enum { LARGEST = 3 };

void dt_plan_put_largest(const dt_plan *p, bool values, dt_str *out) {
    dt_local_arena arena = dt_arena_create();
    int n;
    dt_plan_layer *group = groups_of(p, arena, &n);
    for (int i = 0; values && i < n; i++) group[i].variables = group[i].values;
    for (int shown = 0; shown < LARGEST && n > 0; shown++) {
        dt_plan_layer *most = group;
        for (int i = 1; i < n; i++)
            if (group[i].variables > most->variables) most = &group[i];
        if (most->variables <= 0) break;
        dt_str_printf(out, "%s%s ", shown ? ", " : "",
                      *most->path ? most->path : "(between layers)");
        if (most->times > 1) dt_str_printf(out, "x %g ", most->times);
        dt_str_bytes(out, most->variables);
        most->variables = 0;
    }
}
