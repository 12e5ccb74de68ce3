/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of all layers, activations and so on, from the rows in layers.h, activations.h, rates.h,
 * losses.h, metrics.h, optimizers.h, regularizers.h, constraints.h and initializers.h. */
#include "model/model.h"

#define COUNT(rows) ((int)(sizeof(rows) / sizeof *(rows)))

const dt_kind *const *dt_layers(int *n) {
#define DT_LAYER_ROW(name) &dt_layer_##name.kind,
    static const dt_kind *const rows[] = {
#include "model/layers.h"
    };
#undef DT_LAYER_ROW
    *n = COUNT(rows);
    return rows;
}

const dt_kind *const *dt_activation_kinds(int *n) {
#define DT_ACTIVATION_ROW(row, name) &dt_activation_##row.kind,
#define DT_ACTIVATION_CALL_ROW(row) &dt_activation_##row.kind,
    static const dt_kind *const rows[] = {
#include "model/activations.h"
    };
#undef DT_ACTIVATION_CALL_ROW
#undef DT_ACTIVATION_ROW
    *n = COUNT(rows);
    return rows;
}

const dt_kind *const *dt_losses(int *n) {
#define DT_LOSS_ROW(name) &dt_loss_##name.kind,
    static const dt_kind *const rows[] = {
#include "model/losses.h"
    };
#undef DT_LOSS_ROW
    *n = COUNT(rows);
    return rows;
}

const dt_kind *const *dt_metrics(int *n) {
#define DT_METRIC_ROW(name) &dt_metric_##name.kind,
    static const dt_kind *const rows[] = {
#include "model/metrics.h"
    };
#undef DT_METRIC_ROW
    *n = COUNT(rows);
    return rows;
}

const dt_kind *const *dt_rates(int *n) {
#define DT_RATE_ROW(name) &dt_rate_##name.kind,
    static const dt_kind *const rows[] = {
#include "model/rates.h"
    };
#undef DT_RATE_ROW
    *n = COUNT(rows);
    return rows;
}

const dt_kind *const *dt_optimizers(int *n) {
#define DT_OPTIMIZER_ROW(name) &dt_optimizer_##name.kind,
    static const dt_kind *const rows[] = {
#include "model/optimizers.h"
    };
#undef DT_OPTIMIZER_ROW
    *n = COUNT(rows);
    return rows;
}

const dt_kind *const *dt_regularizers(int *n) {
#define DT_REGULARIZER_ROW(name) &dt_regularizer_##name.kind,
    static const dt_kind *const rows[] = {
#include "model/regularizers.h"
    };
#undef DT_REGULARIZER_ROW
    *n = COUNT(rows);
    return rows;
}

const dt_kind *const *dt_constraints(int *n) {
#define DT_CONSTRAINT_ROW(name) &dt_constraint_##name.kind,
    static const dt_kind *const rows[] = {
#include "model/constraints.h"
    };
#undef DT_CONSTRAINT_ROW
    *n = COUNT(rows);
    return rows;
}

const dt_kind *const *dt_initializers(int *n) {
#define DT_INITIALIZER_ROW(name) &dt_initializer_##name.kind,
    static const dt_kind *const rows[] = {
#include "model/initializers.h"
    };
#undef DT_INITIALIZER_ROW
    *n = COUNT(rows);
    return rows;
}
