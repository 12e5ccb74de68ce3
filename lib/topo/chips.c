/* SPDX-License-Identifier: Apache-2.0 */
/* The table of chips: one dt_chip object for each row of topo/chips.h. */
#include <strings.h>

#include "topo/topo.h"

#define DT_CHIP(name, ...) static const dt_chip chip_##name = {.generation = #name, __VA_ARGS__};
#include "topo/chips.h"

static bool is_called(const dt_chip *c, const char *name) {
    bool called =
        strcasecmp(c->generation, name) == 0 || (c->type && strcasecmp(c->type, name) == 0);
    for (size_t i = 0; i < sizeof c->aliases / sizeof *c->aliases && c->aliases[i]; i++)
        called = called || strcasecmp(c->aliases[i], name) == 0;
    return called;
}

static const dt_chip *const rows[] = {
#define DT_CHIP(name, ...) &chip_##name,
#include "topo/chips.h"
};
enum { ROWS = sizeof rows / sizeof *rows };

const dt_chip *const *dt_chips(int *n) {
    *n = ROWS;
    return rows;
}

const dt_chip *dt_chip_find(const char *generation) {
    for (int i = 0; i < ROWS; i++)
        if (is_called(rows[i], generation)) return rows[i];
    return NULL;
}
