/* SPDX-License-Identifier: Apache-2.0 */
/* Groups on slices, for tests: blocks of the mesh, or ranks as far apart as there are groups. */
#ifndef TESTS_COLL_SCENE_H
#define TESTS_COLL_SCENE_H

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coll/exchange.h"

typedef struct scene {
    dt_slice slice;
    dt_topology *topology;
    dt_collective_request x;
    int *place;
} scene;

typedef struct scene_spec {
    const char *generation;
    int chips[3];
    bool wrap[3];
    int group[4];                        /* ranks along x, y, z, core */
    enum { BLOCKS, APART, TWISTED } how; /* twisted: blocks of a twisted slice */
} scene_spec;

/* Group and rank of coordinates. */
static inline void scene_stand(scene *s, const scene_spec *spec, const int at[4]) {
    int g = 0, r = 0;
    for (int a = 3; a >= 0; a--) {
        const int blocks = s->topology->mesh[a] / spec->group[a];
        g = g * blocks + (spec->how == APART ? at[a] % blocks : at[a] / spec->group[a]);
        r = r * spec->group[a] + (spec->how == APART ? at[a] / blocks : at[a] % spec->group[a]);
    }
    memcpy(&s->place[4 * (g * s->x.ranks + r)], at, 4 * sizeof *at);
}

static inline void scene_set(scene *s, const scene_spec *spec) {
    s->slice = (dt_slice){
        .name = "scene", .chip = dt_chip_find(spec->generation), .twisted = spec->how == TWISTED};
    memcpy(s->slice.chips, spec->chips, sizeof spec->chips);
    memcpy(s->slice.wrap, spec->wrap, sizeof spec->wrap);
    s->topology = dt_topology_of_slice(&s->slice);
    const int *m = s->topology->mesh;
    const int all = m[0] * m[1] * m[2] * m[3],
              ranks = spec->group[0] * spec->group[1] * spec->group[2] * spec->group[3];
    s->place = dt_alloc((size_t)all * 4 * sizeof *s->place);
    s->x = (dt_collective_request){
        .topology = s->topology, .groups = all / ranks, .ranks = ranks, .place = s->place};
    for (int i = 0; i < all; i++)
        scene_stand(
            s, spec,
            (int[4]){i % m[0], i / m[0] % m[1], i / m[0] / m[1] % m[2], i / m[0] / m[1] / m[2]});
}

static inline void scene_drop(scene *s) {
    free(s->place);
    dt_topology_unref(s->topology);
}

static inline dt_exchange_price scene_price(scene *s, dt_collective c, double bytes) {
    dt_exchange_price p;
    s->x.collective = c;
    s->x.bytes = bytes;
    dt_exchange_price_of(&s->x, &p);
    return p;
}

#endif
