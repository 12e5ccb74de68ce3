/* SPDX-License-Identifier: Apache-2.0 */
/* split, assign and replicate: the documents' programs, and that the numbers are those of the same
 * step without annotations. */
#define _GNU_SOURCE
#include "../strategy/kit.h"

typedef struct placed {
    dt_strategy *s;
    dt_model *m;
    dt_loss *loss;
    int mode; /* of the step at hand */
} placed;
enum { PLAIN, ASSIGN, REPLICATE, SPLIT };

/* A mesh of 2 x 2 x 2 chips of 2 cores on 2 hosts, where the documents' [1, 2, 2, 2] fits. */
static dt_strategy *cube(const int64_t block[4], int replicas, bool spmd) {
    static const int64_t mesh[4] = {2, 2, 2, 2}, shape[3] = {2, 8, 4};
    int64_t at[64];
    const dt_topology *lent = NULL;
    dt_topology *t = NULL;
    dt_device_assignment *a = NULL;
    dt_resolver *r = NULL;
    dt_strategy *s = NULL;

    for (int i = 0; i < 16; i++)
        for (int d = 0; d < 4; d++)
            at[4 * i + d] = d == 3 ? i & 1 : d == 2 ? i >> 3 : (i >> (d + 1)) & 1;
    OK(dt_topology_create(&t, &(dt_topology_options){mesh, 4, at, shape, 3}));
    OK(dt_tpu_resolver_of_topology(&r, "worker", t));
    OK(dt_tpu_connect(r));
    OK(dt_tpu_initialize(r, &lent));
    OK(dt_device_assignment_build(&a, lent,
                                  &(dt_device_assignment_options){.computation_shape = block,
                                                                  .shape_rank = 4,
                                                                  .num_replicas = replicas}));
    OK(dt_tpu_strategy(&s, r, &(dt_tpu_options){.device_assignment = a, .spmd = spmd}));
    dt_strategy_set_engine(s, 2, DT_KERNELS_AUTO);
    dt_device_assignment_unref(a);
    dt_resolver_unref(r);
    dt_topology_unref(t);
    return s;
}

/* ---- the documents' programs ---- */

/* features, _ = inputs; output = tf.add(features, features), on logical device 0 */
static void add_on_device_0(dt_trace *t, void *user) {
    placed *my = user;
    dt_value x = dt_arg(t, "features"), y = dt_add(x, x);
    dt_sharding where;

    if (my->mode == ASSIGN) y = dt_strategy_assign_to_logical_device(my->s, y, 0);
    if (my->mode == REPLICATE) y = dt_strategy_replicate_to_logical_devices(my->s, y);
    if (my->mode != PLAIN) {
        assert_true(dt_sharding_of(y, &where));
        assert_int_equal(where.kind,
                         my->mode == ASSIGN ? DT_SHARDING_MAXIMAL : DT_SHARDING_REPLICATED);
        assert_int_equal(where.first_device, 0);
    }
    dt_return(t, "output", y);
}

static void test_assign_and_replicate_keep_the_value(void **state) {
    static const int64_t pair[4] = {1, 1, 1, 2};

    (void)state;
    for (int replicas = 1; replicas <= 4; replicas *= 4)
        for (int mode = PLAIN; mode <= REPLICATE; mode++) {
            placed my = {.s = cube(pair, replicas, false), .mode = mode};
            dt_values *args = values(), *out = NULL;
            dt_function *f = NULL;
            int64_t rows[4] = {2, 2, 2, 2};
            give_rows(args, "features", rows, replicas);
            OK(dt_function_create(&f, add_on_device_0, &my));
            OK(dt_strategy_run(my.s, f, args, &out));
            for (int r = 0; r < replicas; r++)
                is_local(out, "output", r, SHAPE(2), X(4 * r, 4 * r + 2));
            dt_values_unref(out);
            dt_values_unref(args);
            dt_function_unref(f);
            dt_strategy_unref(my.s);
        }
}

/* images split [1, 2, 4, 1], labels and logits replicated, a loss and its gradients. */
static void loss_step(dt_trace *t, void *user) {
    placed *my = user;
    dt_value images = dt_arg(t, "images"), labels = dt_arg(t, "labels"), logits, loss;

    if (my->mode == SPLIT)
        images =
            dt_strategy_split_to_logical_devices(my->s, images, (const int64_t[]){1, 2, 4, 1}, 4);
    logits = dt_model_call(my->m, images, DT_TRAINING);
    if (my->mode == SPLIT) {
        labels = dt_strategy_replicate_to_logical_devices(my->s, labels);
        logits = dt_strategy_replicate_to_logical_devices(my->s, logits);
    }
    loss = dt_loss_call(my->loss, labels, logits);
    dt_gradients g = dt_gradient(loss, dt_model_trainable(my->m));
    dt_return(t, "logits", logits);
    dt_return(t, "loss", loss);
    for (int i = 0; i < dt_variables_count(g.variables); i++)
        dt_return(t, dt_variables_path(g.variables, i), g.value[i]);
}

/* The step's results; the images are 2 of 4 x 8 x 3. */
static dt_values *run_loss_step(dt_strategy *s, int mode) {
    placed my = {.s = s, .mode = mode};
    dt_values *args = values(), *out = NULL;
    dt_function *f = NULL;
    double x[2 * 4 * 8 * 3];

    for (int i = 0; i < 2 * 4 * 8 * 3; i++) x[i] = (i * 37 % 101) / 50.0 - 1;
    dt_tensor *images = tensor(DT_FLOAT32, 4, (int64_t[]){2, 4, 8, 3}, x),
              *labels = tensor(DT_INT32, 1, (int64_t[]){2}, X(1, 4));
    give_each(args, "images", &images, 1);
    give_each(args, "labels", &labels, 1);
    DT_SCOPE(s)
    OK(dt_model_create(&my.m, "- Input: {shape: [4, 8, 3]}\n- Conv2D: {filters: 4, kernel_size: 3, "
                              "padding: same, activation: relu}\n"
                              "- MaxPooling2D: {pool_size: 2}\n- Flatten\n- Dense: {units: 5}\n"));
    OK(dt_loss_create(&my.loss, "SparseCategoricalCrossentropy: {from_logits: true}"));
    OK(dt_function_create(&f, loss_step, &my));
    OK(dt_strategy_run(s, f, args, &out));
    dt_values_unref(args);
    dt_function_unref(f);
    dt_loss_unref(my.loss);
    dt_model_unref(my.m);
    return out;
}

static void test_split_computes_what_one_device_does(void **state) {
    static const int64_t block[4] = {1, 2, 2, 2};
    dt_strategy *one = mirrored(1);
    dt_values *want = run_loss_step(one, PLAIN);

    (void)state;
    assert_true(dt_tensor_item(dt_values_local(want, "loss", 0)) > 0);
    for (int spmd = 0; spmd < 2; spmd++) {
        dt_strategy *s = cube(block, 1, spmd);
        assert_int_equal(dt_strategy_logical_devices(s), 8);
        dt_values *got = run_loss_step(s, SPLIT);
        assert_int_equal(dt_values_count(got), dt_values_count(want));
        for (int i = 0; i < dt_values_count(want); i++) {
            const char *name = dt_values_name(want, i);
            const dt_tensor *a = dt_values_local(want, name, 0), *b = dt_values_local(got, name, 0);
            assert_int_equal(dt_tensor_elements(a), dt_tensor_elements(b));
            for (int64_t k = 0; k < dt_tensor_elements(a); k++)
                assert_float_equal(get(a, k), get(b, k), 1e-5);
        }
        dt_values_unref(got);
        dt_strategy_unref(s);
    }
    dt_values_unref(want);
    dt_strategy_unref(one);
}

/* Tile i holds rows and columns [begin, begin + size): 2 parts of the width, 4 of the height. */
static void tiles_step(dt_trace *t, void *user) {
    placed *my = user;
    dt_value x = dt_strategy_split_to_logical_devices(my->s, dt_arg(t, "images"),
                                                      (const int64_t[]){1, 2, 4, 1}, 4);
    int64_t begin[8], size[8];

    for (int i = 0; i < 8; i++) {
        assert_true(dt_tile_of(x, i, begin, size));
        assert_int_equal(begin[1], 2 * (i / 4));
        assert_int_equal(begin[2], 2 * (i % 4));
        assert_int_equal(size[1], 2);
        assert_int_equal(size[2], 2);
        assert_int_equal(size[3], 3);
    }
    assert_false(dt_tile_of(x, 8, begin, size));
    dt_return(t, "images", x);
}

static void test_split_is_two_by_four_tiles(void **state) {
    static const int64_t block[4] = {1, 2, 2, 2};
    placed my = {.s = cube(block, 1, true)};
    dt_values *args = values(), *out = NULL;
    dt_function *f = NULL;
    double x[4 * 8 * 3];

    (void)state;
    for (int i = 0; i < 4 * 8 * 3; i++) x[i] = i;
    dt_tensor *image = tensor(DT_FLOAT32, 4, (int64_t[]){1, 4, 8, 3}, x);
    give_each(args, "images", &image, 1);
    OK(dt_function_create(&f, tiles_step, &my));
    OK(dt_strategy_run(my.s, f, args, &out));
    is_local(out, "images", 0, SHAPE(1, 4, 8, 3), x);
    dt_values_unref(out);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(my.s);
}

/* ---- what raises ---- */

typedef struct refused_run {
    placed p;
    int parts; /* of split; 0: assign to `device` */
    int64_t by[4];
    int device;
} refused_run;

static void refused_step(dt_trace *t, void *user) {
    const refused_run *my = user;
    dt_value x = dt_arg(t, "x");
    dt_return(t, "x",
              my->parts ? dt_strategy_split_to_logical_devices(my->p.s, x, my->by, my->parts)
                        : dt_strategy_assign_to_logical_device(my->p.s, x, my->device));
}

static void test_value_errors_of_the_documents(void **state) {
    static const int64_t pair[4] = {1, 1, 1, 2};
    static const struct row {
        bool spmd;
        int parts;
        int64_t by[4];
        int device;
        const char *text;
    } rows[] = {
        {false, 0, {0}, 2, "2"}, {false, 0, {0}, -1, "-1"}, {true, 0, {0}, 0, "spmd"},
        {true, 1, {2}, 0, "1"},  {true, 2, {1, 1}, 0, "2"}, {true, 2, {1, 2}, 0, "3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        refused_run my = {.p = {.s = cube(pair, 1, rows[i].spmd)},
                          .parts = rows[i].parts,
                          .device = rows[i].device};
        dt_values *args = values();
        dt_function *f = NULL;
        dt_tensor *x = tensor(DT_FLOAT32, 2, (int64_t[]){2, 3}, X(1, 2, 3, 4, 5, 6));
        memcpy(my.by, rows[i].by, sizeof my.by);
        give_each(args, "x", &x, 1);
        OK(dt_function_create(&f, refused_step, &my));
        dt_status *bad = dt_strategy_run(my.p.s, f, args, NULL);
        assert_non_null(bad);
        assert_string_equal(dt_status_kind(bad), "ValueError");
        if (!strcasestr(dt_status_text(bad), rows[i].text))
            fail_msg("row %zu: no '%s' in '%s'", i, rows[i].text, dt_status_text(bad));
        dt_status_free(bad);
        dt_values_unref(args);
        dt_function_unref(f);
        dt_strategy_unref(my.p.s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assign_and_replicate_keep_the_value),
        cmocka_unit_test(test_split_computes_what_one_device_does),
        cmocka_unit_test(test_split_is_two_by_four_tiles),
        cmocka_unit_test(test_value_errors_of_the_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
