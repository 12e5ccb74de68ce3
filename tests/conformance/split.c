/* SPDX-License-Identifier: Apache-2.0 */
/* split, assign and replicate, traced; and which device a logical one is. */
#include "placement.h"

#include <stdlib.h>
#include <string.h>

/* What the step does with x, and what it found recorded there. */
typedef struct probe {
    const golden_case *c;
    dt_strategy *strategy;
    bool seen;
    dt_sharding sharding;
    json_t *tiles;
} probe;

static dt_value annotate(const probe *p, dt_value x) {
    const json_t *parts = json_object_get(p->c->in, "partition_dimensions");
    const json_t *device = json_object_get(p->c->in, "logical_device_id");
    nest list = nest_of(parts);
    dt_value y =
        json_is_array(parts)
            ? dt_strategy_split_to_logical_devices(p->strategy, x, list.data, (int)list.shape[0])
        : device
            ? dt_strategy_assign_to_logical_device(p->strategy, x, (int)json_integer_value(device))
            : dt_strategy_replicate_to_logical_devices(p->strategy, x);

    free(list.data);
    return y;
}

static json_t *list_of(const int64_t *v, int n) {
    json_t *list = json_array();

    for (int i = 0; i < n; i++) json_array_append_new(list, json_integer(v[i]));
    return list;
}

static void step(dt_trace *t, void *user) {
    probe *p = user;
    dt_value y = annotate(p, dt_arg(t, "x"));
    int64_t begin[8], size[8];

    p->seen = dt_sharding_of(y, &p->sharding);
    p->tiles = json_array();
    for (int l = 0; dt_tile_of(y, l, begin, size) && l < p->sharding.n_devices; l++)
        json_array_append_new(p->tiles, json_pack("{s:i, s:o, s:o}", "logical_device", l, "begin",
                                                  list_of(begin, p->sharding.rank), "size",
                                                  list_of(size, p->sharding.rank)));
    dt_return(t, "y", y);
}

/* ---- arguments ---- */

/* Only the first dimension of a traced value can be unknown: another one gets a size that can be
 * cut as asked. */
static int64_t known_size(const golden_case *c, int d) {
    const json_t *part = json_array_get(json_object_get(c->in, "partition_dimensions"), (size_t)d);
    return json_is_integer(part) && json_integer_value(part) > 0 ? json_integer_value(part) : 1;
}

static dt_values *argument_of(const golden_case *c, verdict *v, const dt_strategy *s) {
    const json_t *shape = json_object_get(c->in, "tensor_shape");
    int rank = (int)json_array_size(shape), n = dt_strategy_replicas(s);
    bool unknown = json_is_null(json_array_get(shape, 0));
    dt_tensor **t = calloc((size_t)n, sizeof *t);
    dt_values *values = NULL;
    int64_t dim[8] = {0};

    for (int d = 0; d < rank && d < 8; d++) {
        const json_t *size = json_array_get(shape, (size_t)d);
        dim[d] = json_is_integer(size) ? json_integer_value(size) : known_size(c, d);
    }
    expect_ok(v, "values", dt_values_create(&values));
    for (int r = 0; r < n; r++)
        expect_ok(v, "a tensor", dt_tensor_create(&t[r], DT_FLOAT32, rank, dim, NULL));
    if (unknown) /* one per replica, whose rows are unknown while tracing */
        expect_ok(v, "values", dt_values_set_per_replica(values, "x", t, n));
    else expect_ok(v, "values", dt_values_set(values, "x", t[0]));
    for (int r = 0; r < n; r++) dt_tensor_unref(t[r]);
    free(t);
    return values;
}

/* ---- cases ---- */

static json_t *json_of_sharding(const dt_sharding *s) {
    static const char *const kinds[] = {"NONE", "OTHER", "MAXIMAL", "REPLICATED"};
    json_t *devices = json_array();

    for (int i = 0; i < s->n_devices; i++)
        json_array_append_new(devices, json_integer(s->first_device + i));
    return json_pack("[{s:s, s:o, s:o}]", "type", kinds[s->kind], "tile_assignment_dimensions",
                     list_of(s->tile_dimensions, s->rank), "tile_assignment_devices", devices);
}

static void judge(const golden_case *c, verdict *v, const probe *p, dt_status *s) {
    const char *type = json_string_value(json_object_get(c->error, "type"));
    const json_t *parts = json_object_get(c->in, "partition_dimensions");

    if (type && strcmp(type, "TypeError") == 0 && json_is_array(parts) &&
        json_array_size(parts) == 0) {
        expect_ok(v, "a scalar on one device", s); /* the original stumbles over its empty list */
    } else if (type && strcmp(type, "ZeroDivisionError") == 0) {
        expect_error_kind(v, s, "ValueError");
    } else if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "the step", s);
        if (json_object_get(c->out, "num_logical_devices"))
            expect_int(v, "num_logical_devices", json_object_get(c->out, "num_logical_devices"),
                       dt_strategy_logical_devices(p->strategy));
        expect_json(v, "sharding", json_object_get(c->out, "sharding"),
                    json_of_sharding(&p->sharding), EXACT);
        if (json_object_get(c->out, "tiles"))
            expect_json(v, "tiles", json_object_get(c->out, "tiles"), json_incref(p->tiles), EXACT);
    }
}

static void run_annotation(const golden_case *c, verdict *v) {
    probe p = {.c = c, .strategy = strategy_of(v, json_object_get(c->in, "strategy"))};
    dt_function *f = NULL;

    if (!p.strategy) return;
    dt_values *x = argument_of(c, v, p.strategy);
    expect_ok(v, "the function", dt_function_create(&f, step, &p));
    dt_status *s = dt_strategy_run(p.strategy, f, x, NULL);
    judge(c, v, &p, s);
    json_decref(p.tiles);
    dt_values_unref(x);
    dt_function_unref(f);
    dt_strategy_unref(p.strategy);
}

/* Outside of a step there is no value to annotate; the original gives its AttributeError, ours
 * waits for the next call. */
static void run_eager(const golden_case *c, verdict *v) {
    probe p = {.c = c, .strategy = strategy_of(v, json_object_get(c->in, "strategy"))};
    dt_values *next = NULL;

    annotate(&p, (dt_value){0});
    expect_error_kind(v, dt_values_create(&next), "ValueError");
    dt_values_unref(next);
    dt_strategy_unref(p.strategy);
}

static void run_logical_device(const golden_case *c, verdict *v) {
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    int id = (int)json_integer_value(json_object_get(c->in, "logical_device_id"));
    json_t *devices = json_array();
    dt_status *bad = NULL;
    const char *name;

    for (int r = 0; !bad && s && r < dt_strategy_replicas(s); r++) {
        bad = dt_strategy_logical_device(s, r, id, &name);
        if (!bad) json_array_append_new(devices, json_string(name));
    }
    if (c->error) {
        expect_error(v, bad);
        json_decref(devices);
    } else {
        expect_ok(v, "logical devices", bad);
        expect_json(v, "worker_devices", json_object_get(c->out, "worker_devices"), devices, EXACT);
    }
    dt_strategy_unref(s);
}

const golden_op split_ops[] = {
    {"split_to_logical_devices", run_annotation, NULL},
    {"assign_to_logical_device", run_annotation, NULL},
    {"replicate_to_logical_devices", run_annotation, NULL},
    {"replicate_eager", run_eager, NULL},
    {"split_eager", run_eager, NULL},
    {"assign_eager", run_eager, NULL},
    {"experimental_logical_device", run_logical_device, NULL},
    {0},
};
