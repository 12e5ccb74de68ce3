/* The table that scripts/expected-error makes from `dtrain bench --simulator`. */
#include "cost/expected_error.h"

#include <stddef.h>
#include <string.h>

static const dt_expected_error table[] = {
#define DT_EXPECTED_ERROR(kind, generation, rows, median, worst) {kind, generation, rows, median, worst},
#include "cost/expected_errors.h"
#undef DT_EXPECTED_ERROR
};

const dt_expected_error *dt_expected_error_of(const char *kind, const char *generation)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].kind, kind) == 0 && strcmp(table[i].generation, generation) == 0)
            return &table[i];
    return NULL;
}
