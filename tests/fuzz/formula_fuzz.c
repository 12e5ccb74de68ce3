/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of published rows, and the facts that their words say: a formula, then lines of words. */
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "validation/facts.h"

FUZZ_TARGET(formula)
{
    char unknown[64] = "";
    double x;
    char *formula = (char *)(uintptr_t)fuzz_string(data, size), *words = formula + strcspn(formula, "\n");
    if (*words)
        *words++ = '\0';
    dt_arena *arena = dt_arena_create();
    dt_facts facts = {.arena = arena};
    dt_facts_of_text(&facts, words);
    if (!dt_formula(&facts, formula, &x, unknown, sizeof unknown))
        FUZZ_CHECK(strlen(unknown) < sizeof unknown, "a name that is not terminated");
    dt_facts_release(&facts);
    dt_arena_destroy(arena);
    return 0;
}
