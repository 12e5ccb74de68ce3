/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of ClusterCoordinator share: a strategy of three workers, its coordinator, and an
 * argument x of four integers. */
#ifndef TESTS_STRATEGY_COORDINATOR_KIT_H
#define TESTS_STRATEGY_COORDINATOR_KIT_H

#include "kit.h"

enum { WORKERS = 3 };

static const dt_parameter_server_options some = {
    .workers = WORKERS, .parameter_servers = 2, .elastic = true, .timeout = 20};

KIT void begin(const dt_parameter_server_options *o, dt_strategy **s, dt_coordinator **c) {
    OK(dt_parameter_server_strategy(s, o));
    OK(dt_coordinator_create(c, *s));
}

KIT dt_values *numbers(int64_t a, int64_t b, int64_t c, int64_t d) {
    dt_values *v = NULL;
    dt_tensor *t = NULL;
    OK(dt_tensor_create(&t, DT_INT64, 1, (int64_t[]){4}, (int64_t[]){a, b, c, d}));
    OK(dt_values_create(&v));
    OK(dt_values_set(v, "x", t));
    dt_tensor_unref(t);
    return v;
}

#endif
