/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of a whole run: its steps, each as planned. Starting, evaluating and stopping are in what
 * was published, and in no row's words. */
#include "planned.h"

static dt_prediction predict(const dt_rows *rows, const dt_row *row) {
    dt_row_model m;
    dt_planned p;
    dt_prediction why;
    double samples = dt_row_number(row, "train_samples_logged");
    if (samples < 1)
        return dt_not_sufficient(rows, "it does not say after how many examples the run was done");
    if (!dt_row_model_of(rows, row, &m, &why) || !dt_row_model_plan(rows, &m, &p, &why)) return why;
    return dt_predicted_from(&p, samples / m.batch * p.seconds);
}

const dt_row_kind dt_row_kind_time_to_train = {"time-to-train", "seconds of whole runs", predict};
