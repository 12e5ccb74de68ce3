/* SPDX-License-Identifier: Apache-2.0 */
/* The default strategy, which is used if the program chooses no other: one replica, and nothing is
 * distributed. */
#include "strategy/place.h"

const dt_strategy_row dt_strategy_default_ = {
    .kind = {.name = "default", .about = "one replica, nothing distributed"},
    .place = dt_place_cpus,
    .backend = "cpu",
    .is_default = true,
    .plain = true,
};
