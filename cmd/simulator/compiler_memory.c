/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a device that the real compiler needs for a step: arguments and temporaries, our figure
 * for HBM at the peak. */
#include <string.h>

#include "planned.h"

static dt_prediction predict(const dt_rows *rows, const dt_row *row) {
    dt_row_model m;
    dt_planned p;
    dt_prediction why;
    if (strcmp(dt_row_text(row, "model"), "decoder") == 0)
        return dt_not_sufficient(
            rows, "it does not say which activations of a block are kept for the gradient");
    if (!dt_row_model_of(rows, row, &m, &why) || !dt_row_model_plan(rows, &m, &p, &why)) return why;
    return dt_predicted(p.bytes);
}

const dt_row_kind dt_row_kind_compiler_memory = {
    "compiler-memory", "bytes of a device for a step, as the real compiler plans them", predict};
