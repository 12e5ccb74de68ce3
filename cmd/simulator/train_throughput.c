/* SPDX-License-Identifier: Apache-2.0 */
/* Images a second of published runs: the batch over the step that is planned. Published blocks
 * contain their evaluation, 1 to 3 % of them. */
#include "planned.h"

static dt_prediction predict(const dt_rows *rows, const dt_row *row) {
    dt_row_model m;
    dt_planned p;
    dt_prediction why;
    if (!dt_row_model_of(rows, row, &m, &why) || !dt_row_model_plan(rows, &m, &p, &why)) return why;
    return dt_predicted_from(&p, m.batch / p.seconds);
}

const dt_row_kind dt_row_kind_train_throughput = {"train-throughput",
                                                  "examples a second of whole runs", predict};
