/* SPDX-License-Identifier: Apache-2.0 */
/* Logical devices: TPU strategies over assignments, what can be asked of them, and values split,
 * replicated and assigned within a step. */
#include "kit.h"

#include "op/op.h"
#include "strategy/split.h"

/* A v3-8 whose replicas have a chip each: 4 replicas of 2 logical devices. */
static dt_strategy *chips(bool spmd) {
    const dt_topology *t = NULL;
    dt_resolver *r = NULL;
    dt_device_assignment *a = NULL;
    dt_strategy *s = NULL;

    OK(dt_tpu_resolver(&r, "sim:v3-8"));
    OK(dt_tpu_connect(r));
    OK(dt_tpu_initialize(r, &t));
    OK(dt_device_assignment_build(
        &a, t,
        &(dt_device_assignment_options){
            .computation_shape = (int64_t[]){1, 1, 1, 2}, .shape_rank = 4, .num_replicas = 4}));
    OK(dt_tpu_strategy(&s, r, &(dt_tpu_options){.spmd = spmd, .device_assignment = a}));
    OK(dt_tpu_shutdown(r));
    dt_device_assignment_unref(a);
    dt_resolver_unref(r);
    dt_strategy_set_engine(s, 2, DT_KERNELS_AUTO);
    return s;
}

/* ---- strategies ---- */

static void test_devices_of_an_assignment(void **state) {
    (void)state;
    static const int ordinal[4][2] = {{0, 1}, {2, 3}, {6, 7}, {4, 5}};
    dt_strategy *s = chips(true);
    const char *name = NULL;

    assert_int_equal(dt_strategy_replicas(s), 4);
    assert_int_equal(dt_strategy_logical_devices(s), 2);
    assert_int_equal(dt_strategy_num_hosts(s), 1);
    assert_int_equal(dt_strategy_replicas_per_host(s), 4);
    assert_true(dt_strategy_spmd(s));
    assert_int_equal(dt_device_assignment_replicas(dt_strategy_device_assignment(s)), 4);
    for (int r = 0; r < 4; r++)
        for (int l = 0; l < 2; l++) {
            char want[64];
            snprintf(want, sizeof want, "/job:worker/replica:0/task:0/device:TPU:%d",
                     ordinal[r][l]);
            OK(dt_strategy_logical_device(s, r, l, &name));
            assert_string_equal(name, want);
            OK(dt_strategy_logical_device(s, r, l - 2, &name)); /* counted from the last */
            assert_string_equal(name, want);
        }
    fails(dt_strategy_logical_device(s, 0, 2, &name), DT_E_LOGICAL_DEVICE,
          "no logical device 2: a replica has 2");
    fails(dt_strategy_logical_device(s, 0, -3, &name), DT_E_COORDINATES, "no logical device -3");
    fails(dt_strategy_logical_device(s, 4, 0, &name), DT_E_COORDINATES, "no replica 4");
    assert_string_equal(dt_strategy_host_device(s), "/job:worker/replica:0/task:0/device:CPU:0");
    const dt_resolver *r = dt_strategy_cluster_resolver(s);
    assert_string_equal(dt_resolver_master(r), "v3-8");
    assert_int_equal(dt_resolver_accelerators(r), 8);
    assert_true(dt_resolver_simulated(r));
    dt_strategy_unref(s);
}

static void test_local_and_older_forms(void **state) {
    (void)state;
    const int64_t mesh[4] = {1, 1, 1, 2}, at[8] = {0, 0, 0, 0, 0, 0, 0, 1}, shape[3] = {1, 2, 4};
    dt_topology *t = NULL;
    dt_device_assignment *a = NULL;
    dt_strategy *s = NULL;

    OK(dt_tpu_strategy(&s, NULL, NULL));
    assert_string_equal(dt_strategy_device(s, 0), "/job:localhost/replica:0/task:0/device:TPU:0");
    OK(dt_topology_create(&t, &(dt_topology_options){mesh, 4, at, shape, 3}));
    OK(dt_device_assignment_build(&a, t,
                                  &(dt_device_assignment_options){.computation_shape = mesh,
                                                                  .shape_rank = 4,
                                                                  .num_replicas = 1}));
    OK(dt_experimental_tpu_strategy(&s, NULL, a));
    dt_topology_unref(t);
    dt_device_assignment_unref(a);
    assert_int_equal(dt_strategy_logical_devices(s), 2);
    assert_false(dt_strategy_spmd(s));
    dt_strategy_unref(s);
}

static void test_strategies_made_wrongly(void **state) {
    (void)state;
    dt_topology *t = NULL;
    dt_resolver *r = NULL;
    dt_device_assignment *a = NULL;
    dt_strategy *s = NULL, *workers = NULL;
    const dt_topology *lent = NULL;

    OK(dt_tpu_resolver(&r, "v3-8"));
    OK(dt_tpu_initialize(r, &lent));
    OK(dt_device_assignment_build(&a, lent, &(dt_device_assignment_options){.num_replicas = 0}));
    fails(dt_tpu_strategy(&s, r, &(dt_tpu_options){.device_assignment = a}), DT_E_REPLICAS,
          "1 to 65536 replicas, but the device assignment has 0");
    OK(dt_topology_create(&t, &(dt_topology_options){(int64_t[]){1, 1, 1, 1}, 4, (int64_t[4]){0},
                                                     (int64_t[]){1, 1, 4}, 3}));
    OK(dt_device_assignment_build(&a, t, NULL));
    fails(dt_tpu_strategy(&s, r, &(dt_tpu_options){.device_assignment = a}), DT_E_REPLICAS,
          "built for a different topology");
    fails(dt_tpu_resolver_of_topology(&r, "no/job", t), DT_E_DEVICE_NAME, "no/job");
    fails(dt_tpu_resolver_of_topology(&r, "", t), DT_E_DEVICE_NAME, "1 to 31 characters");
    /* Parts of a device's name, which a name of a job must not bring along: this one has a job of
     * 31 characters. */
    fails(dt_tpu_resolver_of_topology(
              &r, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/replica:0000000000/task:0000000000", t),
          DT_E_DEVICE_NAME, "invalid job name");
    fails(dt_tpu_resolver_of_topology(&r, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", t), DT_E_DEVICE_NAME,
          "1 to 31 characters");
    fails(dt_tpu_resolver_of_topology(NULL, "worker", t), DT_E_MISUSE, "no place for the resolver");
    fails(dt_tpu_resolver_of_topology(&r, NULL, NULL), DT_E_TOPOLOGY, "no topology");
    fails(dt_tpu_connect(NULL), DT_E_TOPOLOGY, "no resolver");
    fails(dt_tpu_shutdown(NULL), DT_E_TOPOLOGY, "no resolver");
    OK(dt_multi_worker_mirrored_strategy(&workers, NULL));
    dt_resolver *cluster = dt_resolver_ref((dt_resolver *)dt_strategy_cluster_resolver(workers));
    fails(dt_tpu_initialize(cluster, &lent), DT_E_TOPOLOGY, "no TPU system");
    fails(dt_tpu_strategy(&s, cluster, NULL), DT_E_TOPOLOGY, "no TPU system");
    assert_null(s);
    dt_resolver_unref(cluster);
    dt_strategy_unref(workers);
    dt_device_assignment_unref(a);
    dt_resolver_unref(r);
    dt_topology_unref(t);
}

/* ---- steps ---- */

typedef struct annotation {
    dt_strategy *s;
    int64_t parts[4];
    int n, device; /* n < 0: replicate; device >= 0: assign */
    dt_sharding seen;
    int64_t begin[8], size[8];
} annotation;

static dt_value annotate(const annotation *a, dt_value x) {
    return a->device >= 0 ? dt_strategy_assign_to_logical_device(a->s, x, a->device)
           : a->n < 0     ? dt_strategy_replicate_to_logical_devices(a->s, x)
                          : dt_strategy_split_to_logical_devices(a->s, x, a->parts, a->n);
}

static void annotated(dt_trace *t, void *user) {
    annotation *a = user;
    dt_value x = annotate(a, dt_arg(t, "x"));

    dt_sharding_of(x, &a->seen);
    dt_tile_of(x, 1, a->begin, a->size);
    dt_value y = dt_multiply(annotate(a, dt_add(x, x)), x);
    dt_return(t, "y", y);
    dt_return(t, "sum", dt_all_reduce(DT_SUM, dt_reduce_sum(y, 0)));
}

static dt_status *run_one(annotation *a, const dt_values *args, dt_values **out) {
    dt_function *f = NULL;

    OK(dt_function_create(&f, annotated, a));
    dt_status *s = dt_strategy_run(a->s, f, args, out);
    dt_function_unref(f);
    return s;
}

/* Rows differ between replicas; what is computed is what would be computed without a word about
 * devices. */
static void test_annotated_steps_compute_the_same(void **state) {
    (void)state;
    annotation rows[] = {
        {.parts = {2}, .n = 1, .device = -1}, {.n = -1, .device = -1}, {.device = 1}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_values *args = values(), *out = NULL;
        rows[i].s = chips(false);
        give_rows(args, "x", (const int64_t[]){2, 2, 2, 0}, 4);
        OK(run_one(&rows[i], args, &out));
        is_local(out, "y", 1, SHAPE(2), X(8, 18));
        is_local(out, "sum", 3, SCALAR, X(110));
        dt_values_unref(out);
        dt_values_unref(args);
        dt_strategy_unref(rows[i].s);
    }
    assert_int_equal(rows[0].seen.kind, DT_SHARDING_OTHER);
    assert_int_equal(rows[0].seen.n_devices, 2);
    assert_int_equal(rows[0].begin[0], -1); /* of rows that are not known yet */
    assert_int_equal(rows[1].seen.kind, DT_SHARDING_REPLICATED);
    assert_int_equal(rows[2].seen.kind, DT_SHARDING_MAXIMAL);
    assert_int_equal(rows[2].seen.first_device, 1);
}

static void stacked(dt_trace *t, void *user) {
    annotation *a = user;
    dt_value x = dt_reduce_sum(dt_arg(t, "x"), 0); /* one number of each replica */
    dt_value pair = dt_broadcast_to(x, &(dt_type){.dtype = DT_FLOAT32, .rank = 1, .dim = {2}});

    dt_return(t, "y", annotate(a, pair));
}

static void test_values_of_each_replica_can_be_annotated(void **state) {
    (void)state;
    annotation a = {.s = chips(false), .parts = {2}, .n = 1, .device = -1};
    dt_values *args = values(), *out = NULL;
    dt_function *f = NULL;

    give_rows(args, "x", (const int64_t[]){1, 1, 1, 1}, 4);
    OK(dt_function_create(&f, stacked, &a));
    OK(dt_strategy_run(a.s, f, args, &out));
    is_local(out, "y", 3, SHAPE(2), X(3, 3));
    dt_function_unref(f);
    dt_values_unref(out);
    dt_values_unref(args);
    dt_strategy_unref(a.s);
}

static void test_annotations_that_are_refused(void **state) {
    (void)state;
    static const struct {
        annotation a;
        bool spmd;
        dt_error id;
        const char *part;
    } rows[] = {
        {{.parts = {2, 1}, .n = 2, .device = -1},
         false,
         DT_E_SPLIT,
         "partition_dimensions [2,1] has 2 numbers, but the value of shape (4) has 1 dimension"},
        {{.parts = {3}, .n = 1, .device = -1},
         false,
         DT_E_SPLIT,
         "partition_dimensions[0] is 3, but dimension 0 of the value of shape (4) cannot be "
         "divided into 3 equal parts"},
        {{.parts = {4}, .n = 1, .device = -1},
         false,
         DT_E_SPLIT,
         "[4] makes 4 parts, but a replica has 2 logical devices: the value is of shape (4)"},
        {{.parts = {0}, .n = 1, .device = -1}, false, DT_E_SPLIT, "must be at least 1, got 0"},
        {{.device = 2},
         false,
         DT_E_LOGICAL_DEVICE,
         "no logical device 2 to assign a value to: a replica has 2"},
        {{.device = 2},
         true,
         DT_E_LOGICAL_DEVICE,
         "a value cannot be assigned to a single logical device with SPMD partitioning"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        annotation a = rows[i].a;
        dt_values *args = values();
        a.s = chips(rows[i].spmd);
        give(args, "x", count_from(0, 4));
        fails(run_one(&a, args, NULL), rows[i].id, rows[i].part);
        dt_values_unref(args);
        dt_strategy_unref(a.s);
    }
}

static void test_annotations_out_of_place(void **state) {
    (void)state;
    annotation a = {.s = mirrored(2), .n = -1, .device = -1};
    dt_values *args = values(), *next = NULL;
    dt_sharding seen;
    int64_t begin[8], size[8];

    give(args, "x", count_from(0, 4));
    fails(run_one(&a, args, NULL), DT_E_LOGICAL_DEVICE,
          "a mirrored strategy has no logical devices");
    dt_strategy *other = a.s;
    a.s = NULL;
    assert_null(annotate(&a, (dt_value){0}).trace);
    fails(dt_values_create(&next), DT_E_TRACE_VALUE, "only in a step function");
    assert_false(dt_sharding_of((dt_value){0}, &seen));
    assert_false(dt_tile_of((dt_value){0}, 0, begin, size));
    dt_values_unref(args);
    dt_strategy_unref(other);
}

/* ---- variables ---- */

static dt_variable *weight(dt_strategy *s, int64_t n) {
    dt_variable *v = NULL;
    dt_tensor *t = count_from(1, n);
    dt_scope in = dt_scope_enter(s);

    OK(dt_variable_create(&v, t,
                          &(dt_variable_options){.name = "w", .aggregation = DT_AGGREGATE_MEAN}));
    dt_scope_leave(&in);
    dt_tensor_unref(t);
    return v;
}

/* y = x w, w -= d sum(y) / dw: reads w three times. */
typedef struct learner {
    dt_variable *w;
    int traced, first, second; /* nodes of the reads, ... */
    dt_sharding seen;
} learner;

static void learn(dt_trace *t, void *user) {
    learner *l = user;
    dt_value w = dt_variable_read(t, l->w), again = dt_variable_read(t, l->w), g = {0};
    dt_value y = dt_multiply(dt_arg(t, "x"), w);

    l->traced++;
    l->first = w.node;
    l->second = again.node;
    dt_sharding_of(w, &l->seen);
    dt_gradients_of(dt_reduce_sum(y, DT_NO_AXIS), &w, 1, &g);
    dt_return(t, "y", y);
    dt_variable_assign_sub(t, l->w, g);
}

static void learn_once(dt_strategy *s, dt_function *f, const double *want) {
    dt_values *args = values(), *out = NULL;

    give(args, "x", count_from(0, 4));
    OK(dt_strategy_run(s, f, args, &out));
    is_local(out, "y", 1, SHAPE(4), want);
    dt_values_unref(args);
    dt_values_unref(out);
}

static void test_variables_are_read_through_one_note(void **state) {
    (void)state;
    const int64_t two = 2;
    dt_strategy *s = chips(true);
    learner l = {.w = weight(s, 4)};
    dt_function *f = NULL;

    OK(dt_function_create(&f, learn, &l));
    learn_once(s, f, X(0, 2, 6, 12));
    assert_int_equal(l.seen.kind, DT_SHARDING_NONE);
    /* what was compiled without knowing is compiled anew */
    OK(dt_strategy_split_variable(s, l.w, &two, 1));
    learn_once(s, f, X(0, 1, 2, 3));
    assert_int_equal(l.traced, 2);
    assert_int_equal(l.seen.kind, DT_SHARDING_OTHER);
    assert_int_equal(l.seen.tile_dimensions[0], 2);
    assert_int_equal(l.first, l.second);
    learn_once(s, f, X(0, 0, -2, -6));
    assert_int_equal(l.traced, 2);
    OK(dt_strategy_replicate_variable(s, l.w)); /* the last word counts */
    learn_once(s, f, X(0, -1, -6, -15));
    assert_int_equal(l.traced, 3);
    assert_int_equal(l.seen.kind, DT_SHARDING_REPLICATED);
    dt_function_unref(f);
    dt_variable_unref(l.w);
    dt_strategy_unref(s);
}

/* Gradient and update of a variable in a trace for so many logical devices: how many notes. */
static int count_notes(dt_variable *v, int logical) {
    dt_trace *t = dt_trace_create("step");
    dt_graph *g = NULL;
    dt_value din = {0};
    int notes = 0;

    dt_trace_set_logical(t, logical);
    dt_value w = dt_read(t, v);
    dt_gradients_of(dt_reduce_sum(dt_multiply(w, w), DT_NO_AXIS), &w, 1, &din);
    dt_assign(t, v, dt_subtract(dt_read(t, v), din));
    dt_return(t, "before", dt_read_first(t, v));
    OK(dt_trace_end(t, &g));
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op == &dt_op_sharding) {
            notes++;
            assert_int_equal(g->node[i].in[0], g->state[0].node);
            assert_int_equal(g->result[0].node, i);
            assert_string_equal(g->node[i].path, "");
        }
    dt_graph_destroy(g);
    return notes;
}

static void test_notes_stand_straight_on_variables(void **state) {
    (void)state;
    const int64_t two = 2;
    dt_strategy *s = chips(false);
    dt_variable *v = weight(s, 4);

    assert_int_equal(count_notes(v, 2), 0);
    OK(dt_strategy_split_variable(s, v, &two, 1));
    assert_int_equal(count_notes(v, 2), 1);
    assert_int_equal(count_notes(v, 4), 0); /* said for replicas of two devices */
    assert_int_equal(count_notes(v, 1), 0);
    OK(dt_strategy_assign_variable(s, v, 1));
    assert_int_equal(count_notes(v, 2), 1);
    assert_int_equal(count_notes(v, 1), 0);
    OK(dt_strategy_replicate_variable(s, v));
    assert_int_equal(count_notes(v, 2), 1);
    dt_variable_unref(v);
    dt_strategy_unref(s);
}

static void test_weights_of_models_are_plain_variables(void **state) {
    (void)state;
    const int64_t parts[2] = {1, 2};
    dt_strategy *s = chips(true);
    dt_variable *plain = NULL;
    dt_type type = dt_type_of(DT_FLOAT32, 2, (const int64_t[]){3, 4});

    OK(dt_variable_alloc(&plain, "dense/kernel", &type, true));
    OK(dt_strategy_split_variable(s, plain, parts, 2));
    assert_int_equal(count_notes(plain, 2), 1);
    dt_variable_unref(plain);
    dt_strategy_unref(s);
}

static void test_splits_of_variables_that_are_refused(void **state) {
    (void)state;
    dt_strategy *s = chips(true), *other = chips(true), *cpus = mirrored(2);
    dt_variable *v = weight(s, 6);

    fails(
        dt_strategy_split_variable(s, v, (const int64_t[]){2, 1}, 2), DT_E_SPLIT,
        "partition_dimensions [2,1] has 2 numbers, but variable 'w' of shape (6) has 1 dimension");
    fails(dt_strategy_split_variable(s, v, (const int64_t[]){4}, 1), DT_E_SPLIT,
          "partition_dimensions[0] is 4, but dimension 0 of variable 'w' of shape (6) cannot be "
          "divided into 4 equal parts");
    fails(dt_strategy_split_variable(s, v, (const int64_t[]){3}, 1), DT_E_SPLIT,
          "partition_dimensions [3] makes 3 parts, but a replica has 2 logical devices: variable "
          "'w' is of shape (6)");
    fails(dt_strategy_split_variable(s, v, NULL, 1), DT_E_SPLIT,
          "must be given, 1 numbers of at least 1");
    fails(dt_strategy_assign_variable(s, v, 0), DT_E_LOGICAL_DEVICE,
          "a value cannot be assigned to a single logical device with SPMD partitioning");
    fails(dt_strategy_replicate_variable(other, v), DT_E_LOGICAL_DEVICE,
          "variable 'w' was made in the scope of another strategy (sim:v3-8)");
    fails(dt_strategy_replicate_variable(cpus, v), DT_E_LOGICAL_DEVICE,
          "a mirrored strategy has no logical devices");
    fails(dt_strategy_replicate_variable(NULL, v), DT_E_LOGICAL_DEVICE, "no strategy was given");
    fails(dt_strategy_replicate_variable(s, NULL), DT_E_MISUSE,
          "dt_strategy_replicate_variable got no variable");
    assert_int_equal(count_notes(v, 2), 0);
    dt_variable_unref(v);
    dt_strategy_unref(cpus);
    dt_strategy_unref(other);
    dt_strategy_unref(s);
}

/* ---- ways to split ---- */

static void test_ways_to_split(void **state) {
    (void)state;
    static const struct {
        int64_t dim[4];
        int rank, logical, rows;
        const char *text;
    } rows[] = {
        {{32, 64, 64, 3},
         4,
         8,
         0,
         "10 ways to split (32, 64, 64, 3) into 8: [2,2,2,1], [1,2,4,1], [1,4,2,1], [2,1,4,1], "
         "..."},
        {{DT_BATCH, 64, 64, 3},
         4,
         8,
         32,
         "4 ways to split (32, 64, 64, 3) into 8: [1,2,4,1], [1,4,2,1], [1,1,8,1], [1,8,1,1]"},
        {{DT_BATCH, 64, 64, 3},
         4,
         8,
         0,
         "4 ways to split (B, 64, 64, 3) into 8: [1,2,4,1], [1,4,2,1], [1,1,8,1], [1,8,1,1]"},
        {{384, 6, 64}, 3, 2, 0, "3 ways to split (384, 6, 64) into 2: [1,1,2], [1,2,1], [2,1,1]"},
        {{65, 384}, 2, 2, 0, "1 way to split (65, 384) into 2: [1,2]"},
        {{65}, 1, 2, 0, "(65) cannot be split into 2 parts; replicate it"},
        {{DT_BATCH}, 1, 2, 0, "1 way to split (B) into 2: [2]"},
        {{DT_BATCH, 3}, 2, 2, 4, "1 way to split (4, 3) into 2: [2,1]"},
        {{DT_BATCH, 3}, 2, 2, 5, "(5, 3) cannot be split into 2 parts; replicate it"},
        {{0}, 0, 2, 0, "() cannot be split into 2 parts; replicate it"},
        {{12}, 1, 12, 0, "1 way to split (12) into 12: [12]"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_type type = dt_type_of(DT_FLOAT32, rows[i].rank, rows[i].dim);
        dt_str text = {0};
        dt_split_ways(&type, rows[i].rows, rows[i].logical, &text);
        assert_string_equal(dt_str_text(&text), rows[i].text);
        dt_str_release(&text);
    }
}

/* ---- in the graph ---- */

static void test_annotations_are_in_the_graph_and_its_gradient(void **state) {
    (void)state;
    const int64_t two = 2;
    dt_trace *t = dt_trace_create("step");
    dt_type rows = dt_type_of(DT_FLOAT32, 1, &two);
    dt_value x = dt_trace_declare(t, "x", &rows), din = {0};
    dt_value y = dt_annotate(x, &(dt_sharding_attr){.kind = DT_SHARDING_MAXIMAL, .device = 1});
    dt_graph *g = NULL, *bare = NULL, *same = NULL;
    dt_str text = {0};

    dt_gradients_of(dt_reduce_sum(dt_multiply(y, y), 0), &x, 1, &din);
    dt_return(t, "dx", din);
    OK(dt_trace_end(t, &g));
    dt_graph_print(g, &text);
    const char *first = strstr(dt_str_text(&text), "custom_call(%0) @Sharding {maximal device=1}");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "@Sharding {maximal device=1}"));
    OK(dt_simplify(g, &same));
    dt_str_clear(&text);
    dt_graph_print(same, &text);
    assert_non_null(strstr(dt_str_text(&text), "@Sharding"));
    OK(dt_unannotate(same, &bare));
    dt_str_clear(&text);
    dt_graph_print(bare, &text);
    assert_null(strstr(dt_str_text(&text), "@Sharding"));
    dt_graph_destroy(same);
    OK(dt_unannotate(bare, &same));
    assert_null(same); /* nothing to do */
    dt_str_release(&text);
    dt_graph_destroy(bare);
    dt_graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_of_an_assignment),
        cmocka_unit_test(test_local_and_older_forms),
        cmocka_unit_test(test_strategies_made_wrongly),
        cmocka_unit_test(test_annotated_steps_compute_the_same),
        cmocka_unit_test(test_values_of_each_replica_can_be_annotated),
        cmocka_unit_test(test_annotations_that_are_refused),
        cmocka_unit_test(test_annotations_out_of_place),
        cmocka_unit_test(test_variables_are_read_through_one_note),
        cmocka_unit_test(test_notes_stand_straight_on_variables),
        cmocka_unit_test(test_weights_of_models_are_plain_variables),
        cmocka_unit_test(test_splits_of_variables_that_are_refused),
        cmocka_unit_test(test_ways_to_split),
        cmocka_unit_test(test_annotations_are_in_the_graph_and_its_gradient),
    };
    return cmocka_run_group_tests_name("logical", tests, NULL, NULL);
}
