/* MeanAbsoluteError: |y - p|, averaged over the outputs of an example. */
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
    return dt_mean_per_example(dt_abs(dt_subtract(c->prediction, dt_targets_like(c->target, c->prediction))));
}

const dt_loss_row dt_loss_mean_absolute_error = {
    .kind = { "MeanAbsoluteError", "mean of |y - p|", fields, sizeof(struct error),
              (const char *const[]){ "mean_absolute_error", "mae", NULL } },
    .check = dt_check_same_shape,
    .rows = rows,
};
