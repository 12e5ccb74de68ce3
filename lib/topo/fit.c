/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a block of logical devices fits. For a given slice, lists the blocks with as many devices:
 * all that fit and, with the axis that is too short, those that do not (as text, at most 8 for each
 * axis). For each generation, the smallest slices with room are listed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "topo/draw.h"
#include "topo/topo.h"
#include "topo/topo_impl.h"

enum { HANDFUL = 5, MOST_MISFITS = 8, INDENT = 16, UNBROKEN = 1 << 20 };

static const char *const axis_name[] = {"x", "y", "z", "core"};

/* A block of logical devices, and how often it fits on the slice. */
typedef struct block {
    int64_t side[4];
    int64_t replicas; /* number of such blocks that fit; 0: the block does not fit */
    int axis;         /* if the block does not fit: the first axis that is too short */
} block;

typedef struct blocks {
    block *at;
    int n, cap;
} blocks;

static void count_replicas(const int mesh[4], block *b) {
    b->replicas = 1;
    for (int axis = 3; axis >= 0; axis--) {
        b->replicas *= mesh[axis] / b->side[axis];
        b->axis = b->side[axis] > mesh[axis] ? axis : b->axis;
    }
}

/* Returns all blocks with `devices` devices, even those that do not fit the mesh, with the most
 * cores per chip first. */
static blocks blocks_of(int64_t devices, const int mesh[4]) {
    blocks all = {0};
    for (int64_t core = devices; core >= 1; core--)
        for (int64_t z = 1; core * z <= devices && devices % core == 0; z++)
            for (int64_t y = 1; core * z * y <= devices && devices % (core * z) == 0; y++)
                if (devices % (core * z * y) == 0) {
                    DT_GROW(all.at, all.cap, all.n + 1);
                    all.at[all.n] = (block){.side = {devices / (core * z * y), y, z, core}};
                    count_replicas(mesh, &all.at[all.n++]);
                }
    return all;
}

static void print_replicas(dt_str *out, int64_t n) {
    dt_str_printf(out, "%lld replica%s", (long long)n, n == 1 ? "" : "s");
}

/* ---- blocks on a slice ---- */

static void print_fits(const blocks *all, const int64_t want[4], dt_str *out) {
    for (int i = 0; i < all->n; i++)
        if (all->at[i].replicas) {
            dt_str_puts(out, "  fits          ");
            dt_list_print(out, all->at[i].side, 4);
            dt_str_puts(out, "   ");
            print_replicas(out, all->at[i].replicas);
            dt_str_printf(
                out, "%s\n",
                memcmp(all->at[i].side, want, sizeof all->at[i].side) == 0 ? "   (requested)" : "");
        }
}

static void print_misfits(const blocks *all, const int mesh[4], int axis, int columns,
                          dt_str *out) {
    dt_local_str words = {0};
    int n = 0;
    for (int i = 0; i < all->n; i++)
        if (!all->at[i].replicas && all->at[i].axis == axis && n++ < MOST_MISFITS) {
            dt_str_puts(&words, words.size ? " " : "");
            dt_list_print(&words, all->at[i].side, 4);
        }
    if (n > MOST_MISFITS) dt_str_printf(&words, " and %d more", n - MOST_MISFITS);
    if (words.size) {
        dt_local_str whole = {0};
        dt_str_printf(&whole, "  does not fit  %s is larger than the slice's %d: %s",
                      axis_name[axis], mesh[axis], dt_str_text(&words));
        dt_draw_prose(out, dt_str_text(&whole), columns, INDENT);
    }
}

static void print_slice(const dt_topology *t, const int64_t want[4], int columns, dt_str *out) {
    const int64_t devices = want[0] * want[1] * want[2] * want[3];
    blocks all = blocks_of(devices, t->mesh);
    /* Appends "[1,2,2,2] does not fit v3-8, mesh [2,2,1,2]: z is 2, the slice has 1", or "[1,1,1,2]
     * fits v3-8, mesh [2,2,1,2], 4 times". */
    block b = {.side = {want[0], want[1], want[2], want[3]}};
    count_replicas(t->mesh, &b);
    dt_list_print(out, want, 4);
    dt_str_printf(out, " %s %s, mesh ", b.replicas ? "fits" : "does not fit", dt_topology_name(t));
    dt_list_print_4(out, t->mesh);
    if (b.replicas)
        dt_str_printf(out, ", %lld time%s\n\n", (long long)b.replicas, b.replicas == 1 ? "" : "s");
    else
        dt_str_printf(out, ": %s is %lld, the slice has %d\n\n", axis_name[b.axis],
                      (long long)want[b.axis], t->mesh[b.axis]);
    dt_str_printf(out, "blocks of %lld logical device%s\n", (long long)devices,
                  devices == 1 ? "" : "s");
    print_fits(&all, want, out);
    for (int axis = 0; axis < 4; axis++) print_misfits(&all, t->mesh, axis, columns, out);
    dt_str_putc(out, '\n');
    free(all.at);
}

/* ---- slices with room, and the whole text ---- */

/* A slice that has room for a block. */
typedef struct room {
    dt_slice slice;
    int devices;      /* the smallest number of devices that each chip must show for that */
    int64_t replicas; /* number of such blocks that fit */
} room;

static bool has_room(const dt_slice *s, const int64_t want[4], room *out) {
    for (int devices = s->chip->devices; devices <= s->chip->cores; devices++) {
        *out = (room){*s, devices, dt_slice_room(s, devices, want)};
        if (out->replicas) return true;
    }
    return false;
}

/* Finds the smallest slices of a generation with room for a block, at most HANDFUL, smallest first,
 * among those with an ordinary name (v4-16). If none of these has room, finds the smallest slice of
 * any shape (v4:2x2x2) instead. Returns the number of slices found, 0 to HANDFUL. */
static int find_rooms(const dt_chip *c, const int64_t want[4], room found[HANDFUL]) {
    int all, n = 0;
    DT_LOCAL dt_slice *slice = dt_slices_of(c, &all);
    for (int i = 0; i < all && n < HANDFUL; i++)
        if (!strchr(slice[i].name, ':')) n += has_room(&slice[i], want, &found[n]);
    for (int i = 0; i < all && n == 0; i++) n += has_room(&slice[i], want, &found[n]);
    return n;
}

static void print_generation(const dt_chip *c, const int64_t want[4], int columns, dt_str *out) {
    room found[HANDFUL];
    dt_local_str words = {0};
    const int n = find_rooms(c, want, found);
    dt_str_printf(&words, "  %-6s  ", c->generation);
    if (n && found[0].devices != c->devices)
        dt_str_printf(&words, "with cores_per_chip: %d  ", found[0].devices);
    for (int i = 0; i < n; i++) {
        dt_str_printf(&words, "%s%s (", i ? ", " : "", found[i].slice.name);
        if (i == 0) print_replicas(&words, found[i].replicas);
        else dt_str_printf(&words, "%lld", (long long)found[i].replicas);
        dt_str_putc(&words, ')');
    }
    dt_str_puts(&words, n ? "" : "none");
    dt_draw_prose(out, dt_str_text(&words), columns, 10);
}

void dt_topology_fit(const dt_topology *t, const int64_t want[4], int columns, dt_str *out) {
    int n;
    const dt_chip *const *chip = dt_chips(&n);
    columns = columns ? columns : UNBROKEN;
    if (t) print_slice(t, want, columns, out);
    dt_str_puts(out, "slices with room for ");
    dt_list_print(out, want, 4);
    dt_str_puts(out, ", the smallest of each generation\n");
    for (int i = 0; i < n; i++) print_generation(chip[i], want, columns, out);
}

/* ---- JSON ---- */

static void put_sides(dt_json *j, const char *key, const int64_t side[4]) {
    dt_json_open(j, key, '[');
    for (int axis = 0; axis < 4; axis++) dt_json_int(j, NULL, side[axis]);
    dt_json_close(j, ']');
}

static void put_blocks(dt_json *j, const dt_topology *t, const int64_t want[4]) {
    blocks all = blocks_of(want[0] * want[1] * want[2] * want[3], t->mesh);
    dt_json_string(j, "type", dt_topology_name(t));
    put_sides(j, "mesh_shape", (int64_t[4]){t->mesh[0], t->mesh[1], t->mesh[2], t->mesh[3]});
    dt_json_open(j, "shapes", '[');
    for (int i = 0; i < all.n; i++) {
        dt_json_open(j, NULL, '{');
        put_sides(j, "computation_shape", all.at[i].side);
        dt_json_int(j, "replicas", all.at[i].replicas);
        if (!all.at[i].replicas) dt_json_string(j, "too_short", axis_name[all.at[i].axis]);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
    free(all.at);
}

static void put_rooms(dt_json *j, const dt_chip *c, const int64_t want[4]) {
    room found[HANDFUL];
    const int n = find_rooms(c, want, found);
    for (int i = 0; i < n; i++) {
        dt_json_open(j, NULL, '{');
        dt_json_string(j, "type", found[i].slice.name);
        dt_json_int(j, "chips", dt_slice_chips(&found[i].slice));
        dt_json_int(j, "cores_per_chip", found[i].devices);
        dt_json_int(j, "replicas", found[i].replicas);
        dt_json_close(j, '}');
    }
}

void dt_topology_fit_json(const dt_topology *t, const int64_t want[4], dt_str *out) {
    int n;
    const dt_chip *const *chip = dt_chips(&n);
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    put_sides(&j, "computation_shape", want);
    if (t) put_blocks(&j, t, want);
    dt_json_open(&j, "slices", '[');
    for (int i = 0; i < n; i++) put_rooms(&j, chip[i], want);
    dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}
