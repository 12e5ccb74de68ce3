/* SPDX-License-Identifier: Apache-2.0 */
/* OneDeviceStrategy: everything on one named device. */
#include "strategy/place.h"

struct one_device {
    dt_texts device;
};

static const dt_field fields[] = {DT_FIELD(ONE_OF, struct one_device, device,
                                           .forms = DT_FORMS(DT_FORM(DT_FIELD_TEXT, .lone = true)),
                                           .required = true, .as = DT_TREE_SCALAR,
                                           .help = "the device: \"CPU:0\""),
                                  DT_END};

static dt_status *read(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out) {
    const struct one_device *x = args;
    (void)t;
    return dt_strategy_devices(arena, &x->device, x->device.at, out);
}

const dt_strategy_row dt_strategy_one_device = {
    .kind = {.name = "one_device",
             .about = "one replica on one device",
             .fields = fields,
             .size = sizeof(struct one_device)},
    .read = read,
    .place = dt_place_cpus,
    .backend = "cpu",
    .plain = true,
};
