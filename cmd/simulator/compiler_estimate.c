/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles that the real compiler estimates for the fusion of a matrix product. */
#include <string.h>

#include "device.h"
#include "rows.h"

static const char *text_of(const dt_row *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row->config, key));
    return text ? text : "";
}

static dt_prediction predict(const dt_rows *rows, const dt_row *row)
{
    static const char *const sizes[] = {"m", "k", "n"};
    double size[3];
    dt_dtype dtype;
    const dt_chip *chip = dt_chip_find(text_of(row, "gen"));
    if (!chip)
        return dt_not_sufficient(rows, "it names no generation of chips");
    if (!dt_dtype_read(text_of(row, "dtype"), &dtype))
        return dt_not_sufficient(rows, "it names no dtype");
    dt_cost work;
    for (int i = 0; i < 3; i++)
        size[i] = json_number_value(json_object_get(row->config, sizes[i]));
    if (!dt_matmul_work(dtype, size[0], size[1], size[2], &work))
        return dt_not_sufficient(rows, "it does not say the sizes m, k and n");
    const dt_core core = {.chip = chip, .cores = strstr(text_of(row, "device"), "one TensorCore") ? 1 : chip->cores};
    return dt_predicted(dt_core_estimated_cycles(&core, &work.product[0]));
}

const dt_row_kind dt_row_kind_compiler_estimate = {"compiler-estimate", "cycles of matrix products as the real compiler estimates them", predict};
