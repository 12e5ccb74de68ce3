/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers in layers: see noise.h. */
#include "model/layer/noise.h"

dt_status *dt_noise_weight(dt_layer_build *b, const char *within) {
    const char *name =
        within ? dt_arena_printf(b->arena, "%s/" DT_SEED_COUNTER, within) : DT_SEED_COUNTER;
    return dt_layer_weight(
        b, &(dt_weight_request){.name = name, .dtype = DT_INT64, .preset = "zeros", .fixed = true});
}

static uint64_t key_of(const dt_layer_call *c, const dt_noise *n) {
    dt_local_str purpose = {0};
    dt_str_printf(&purpose, "draws of %s", n->has_seed ? "a layer" : c->name);
    return dt_random_stream(n->has_seed ? (uint64_t)n->seed : c->seed, dt_str_text(&purpose), 0)
        .key;
}

dt_value dt_noise_draw(const dt_layer_call *c, const dt_noise *n, dt_random_kind kind,
                       const dt_type *type) {
    dt_value step = dt_read(c->trace, c->variable[n->counter]);
    const dt_random_attr attr = {.type = *type, .kind = kind, .key = key_of(c, n)};
    dt_assign(c->trace, c->variable[n->counter], dt_add(step, dt_like(step, 1)));
    return dt_random_numbers(step, &attr);
}

dt_value dt_noise_drop(const dt_layer_call *c, const dt_noise *n, dt_value x, double rate,
                       const dt_type *mask) {
    dt_type type = dt_type_of_value(x);
    if (rate == 0) return x;
    if (rate >= 1) return dt_like(x, 0);
    /* In place of numbers of 16 bits, which would often be equal to `rate`, float32 is drawn. */
    dt_type wide = *mask;
    wide.dtype = dt_dtype_is_narrow(mask->dtype) ? DT_FLOAT32 : mask->dtype;
    dt_value drawn = dt_noise_draw(c, n, DT_RANDOM_UNIFORM, &wide);
    dt_value kept = dt_select(dt_compare(drawn, dt_like(drawn, rate), DT_GE),
                              dt_like(drawn, 1 / (1 - rate)), dt_like(drawn, 0));
    return dt_multiply(x, dt_broadcast_to(dt_convert(kept, type.dtype), &type));
}
