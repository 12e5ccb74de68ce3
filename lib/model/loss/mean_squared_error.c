/* MeanSquaredError: (y - p)^2, averaged over the outputs of an example. */
#include "model/model.h"

struct error {
    int reduction;
};

static const char *const reductions[] = { "sum_over_batch_size", "mean", NULL };

static const dt_field fields[] = {
    DT_ENUM(struct error, reduction, reductions, .help = "over the global batch: sum of losses / number of examples"),
    DT_NOT_YET("name"),
    DT_NOT_YET("dtype"),
    DT_END
};

static dt_value rows(const dt_loss_call_args *c)
{
    dt_value error = dt_subtract(c->prediction, dt_targets_like(c->target, c->prediction));
    return dt_mean_per_example(dt_multiply(error, error));
}

const dt_loss_row dt_loss_mean_squared_error = {
    .kind = { "MeanSquaredError", "mean of (y - p)^2", fields, sizeof(struct error),
              (const char *const[]){ "mean_squared_error", "mse", NULL } },
    .check = dt_check_same_shape,
    .rows = rows,
};
