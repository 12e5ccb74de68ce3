/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets of tensors that a program provides. */
#include <stdlib.h>

#include "strategy/values.h"

static dt_status *collect(const dt_values *v, dt_named_view *out) {
    for (int i = 0; i < v->n; i++) {
        const dt_value_entry *e = &v->entry[i];
        if (dt_entry_is_distributed(e))
            return dt_fail(DT_E_ARGUMENT, NULL,
                           "'%s' has a value per replica; give the examples as one tensor",
                           e->name);
        const dt_tensor *t = dt_entry_local(e, 0);
        out[i] = (dt_named_view){.name = e->name, .type = t->type, .data = t->data};
    }
    return NULL;
}

dt_status *dt_dataset_from_values(dt_dataset **out, const dt_values *examples, const char *format,
                                  ...) {
    DT_LIVE(examples);
    va_list args;

    DT_TRY(dt_status_kept());
    if (!out || !examples || !format)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "dt_dataset_from_values needs values, keys and a handle to fill");
    dt_named_view *held = dt_alloc(dt_size_mul((size_t)examples->n + 1, sizeof *held));
    va_start(args, format);
    dt_status *s = collect(examples, held);
    if (!s) s = dt_dataset_hold(out, held, examples->n, format, args);
    va_end(args);
    free(held);
    return s;
}
