/* The table of chips: rows in topo/chips.h, each an object dt_chip_GENERATION that rows of slices point to. */
#include <strings.h>

#include "topo/chip_rows.h"

#define DT_CHIP(name, ...) const dt_chip dt_chip_##name = {.generation = #name, __VA_ARGS__};
#include "topo/chips.h"

static bool is_called(const dt_chip *c, const char *name)
{
    bool called = strcasecmp(c->generation, name) == 0;
    for (size_t i = 0; i < sizeof c->aliases / sizeof *c->aliases && c->aliases[i]; i++)
        called = called || strcasecmp(c->aliases[i], name) == 0;
    return called;
}

const dt_chip *dt_chip_find(const char *generation)
{
    static const dt_chip *const rows[] = {
#define DT_CHIP(name, ...) &dt_chip_##name,
#include "topo/chips.h"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_called(rows[i], generation))
            return rows[i];
    return NULL;
}
