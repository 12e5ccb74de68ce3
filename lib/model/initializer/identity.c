/* SPDX-License-Identifier: Apache-2.0 */
/* Identity: `gain` on the diagonal of a matrix, 0 elsewhere. */
#include "model/model.h"

struct identity {
    double gain;
};

static const dt_field fields[] = {
    DT_REAL(struct identity, gain, .preset = "1", .help = "value on the diagonal"), DT_END};

static dt_status *check(const dt_type *type) {
    return type->rank == 2 ? NULL
                           : dt_initializer_refuse("Identity needs exactly 2 dimensions", type);
}

static void fill(const void *args, const dt_draw *d, double *out) {
    double gain = ((const struct identity *)args)->gain;
    int64_t columns = d->type.rank == 2 ? d->type.dim[1] : 1;
    for (int64_t i = 0; i < d->n; i++)
        out[i] = (d->first + i) / columns == (d->first + i) % columns ? gain : 0;
}

const dt_initializer dt_initializer_identity = {
    .kind = {"Identity", "gain on the diagonal", fields, sizeof(struct identity),
             (const char *const[]){"identity", "IdentityInitializer", NULL}},
    .fill = fill,
    .check = check,
};
