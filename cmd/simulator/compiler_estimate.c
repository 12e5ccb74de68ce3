/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles that the real compiler estimates for the fusion of a matrix product. */
#include <string.h>

#include "device.h"
#include "rows.h"

static dt_prediction predict(const dt_rows *rows, const dt_row *row) {
    static const char *const sizes[] = {"m", "k", "n"};
    double size[3];
    dt_dtype dtype;
    const dt_chip *chip = dt_chip_find(dt_row_text(row, "gen"));
    if (!chip) return dt_not_sufficient(rows, "it names no generation of chips");
    if (!dt_dtype_read(dt_row_text(row, "dtype"), &dtype))
        return dt_not_sufficient(rows, "it names no dtype");
    dt_cost work;
    for (int i = 0; i < 3; i++) size[i] = dt_row_number(row, sizes[i]);
    if (!dt_matmul_work(dtype, size[0], size[1], size[2], &work))
        return dt_not_sufficient(rows, "it does not say the sizes m, k and n");
    const dt_core core = {
        .chip = chip,
        .cores = strstr(dt_row_text(row, "device"), "one TensorCore") ? 1 : chip->cores};
    return dt_predicted(dt_core_estimated_cycles(&core, &work.product[0]));
}

const dt_row_kind dt_row_kind_compiler_estimate = {
    "compiler-estimate", "cycles of matrix products as the real compiler estimates them", predict};
