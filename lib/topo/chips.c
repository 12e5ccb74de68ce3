/* The table of chips: rows in topo/chips.h, each an object dt_chip_GENERATION that rows of slices point to. */
#include <strings.h>

#include "topo/chip_rows.h"

#define DT_CHIP(name, ...) const dt_chip dt_chip_##name = {.generation = #name, __VA_ARGS__};
#include "topo/chips.h"

const dt_chip *dt_chip_find(const char *generation)
{
    static const dt_chip *const rows[] = {
#define DT_CHIP(name, ...) &dt_chip_##name,
#include "topo/chips.h"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(rows[i]->generation, generation) == 0)
            return rows[i];
    return NULL;
}
