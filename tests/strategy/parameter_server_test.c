/* SPDX-License-Identifier: Apache-2.0 */
/* Models and tables of a parameter server: workers without staleness compute what dt_strategy_run
 * does, functions look up single rows of a table, and variables are divided as partitioners say. */
#include "coordinator_kit.h"

/* ---- a model ---- */

typedef struct training {
    dt_model *model;
    dt_optimizer *optimizer;
    dt_loss *loss;
} training;

static void train_step(dt_trace *t, void *user) {
    const training *my = user;
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "y"),
                                 dt_model_call(my->model, dt_arg(t, "x"), DT_TRAINING));
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    dt_return(t, "loss", loss);
}

/* table: with a large embedding, of which a batch reads few rows. */
static training make_training(const char *optimizer, bool table) {
    training my = {0};
    OK(dt_model_create(&my.model,
                       "- Input: {name: x, shape: [6]}\n%s- Dense: {units: 5, activation: "
                       "tanh}\n- Dropout: {rate: 0.3}\n- Dense: {units: 1}\n",
                       table ? "- Embedding: {input_dim: 9000, output_dim: 8}\n- Flatten\n" : ""));
    OK(dt_optimizer_create(&my.optimizer, "%s", optimizer));
    OK(dt_loss_create(&my.loss, "MeanSquaredError"));
    return my;
}

static void release(training *my) {
    dt_model_unref(my->model);
    dt_optimizer_unref(my->optimizer);
    dt_loss_unref(my->loss);
}

static dt_values *batch(int k, bool per_replica, float scale) {
    float x[8][6], y[8];
    dt_values *v = NULL;
    dt_tensor *tx = NULL, *ty = NULL;
    for (int i = 0; i < 8; i++) {
        y[i] = (float)(i % 3);
        for (int j = 0; j < 6; j++) x[i][j] = (float)((i * 7 + j * 3 + k * 5) % 11) * scale;
    }
    OK(dt_tensor_create(&tx, DT_FLOAT32, 2, (int64_t[]){8, 6}, x));
    OK(dt_tensor_create(&ty, DT_FLOAT32, 2, (int64_t[]){8, 1}, y));
    OK(dt_values_create(&v));
    OK(per_replica ? dt_values_set_per_replica(v, "x", &tx, 1) : dt_values_set(v, "x", tx));
    OK(per_replica ? dt_values_set_per_replica(v, "y", &ty, 1) : dt_values_set(v, "y", ty));
    dt_tensor_unref(tx);
    dt_tensor_unref(ty);
    return v;
}

/* The weights' hash after ten steps, at a coordinator or by dt_strategy_run. */
static char *train(const char *optimizer, bool table, bool coordinated) {
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    training my = {0};
    begin(&(dt_parameter_server_options){.workers = 2,
                                         .limit_staleness = true,
                                         .partitioner = DT_PARTITION_FIXED,
                                         .shards = 3,
                                         .parameter_servers = 3},
          &s, &c);
    DT_SCOPE(s)
    my = make_training(optimizer, table);
    OK(dt_function_create(&f, train_step, &my));
    for (int k = 0; k < 10; k++) {
        dt_values *v = batch(k, true, table ? 800 : 1.0f / 11);
        if (coordinated)
            OK(dt_coordinator_schedule(c, f, &(dt_closure_arguments){.values = v}, NULL));
        else OK(dt_strategy_run(s, f, v, NULL));
        dt_values_unref(v);
    }
    OK(dt_coordinator_join(c));
    char *hash = strdup(dt_model_weights_sha256(my.model));
    release(&my);
    dt_function_unref(f);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
    return hash;
}

/* With staleness 0 each function sees what all before it did, so two workers do what one process
 * does. (Means of BatchNormalization move by differences, which are rounded.) */
static void test_no_staleness_is_one_process(void **state) {
    static const char *const optimizers[] = {"SGD: {learning_rate: 0.1}", "Adam",
                                             "RMSprop: {momentum: 0.5}",
                                             "Adam: {global_clipnorm: 0.1}"};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof optimizers / sizeof *optimizers; i++) {
        char *a = train(optimizers[i / 2], i % 2, false),
             *b = train(optimizers[i / 2], i % 2, true);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
}

/* Rows of a table: one function looks them up, then another one reads the table as a whole, and is
 * sent what the first one has made of it. */
static dt_variable *make_table(void) {
    dt_variable *v = NULL;
    OK(dt_variable_create(
        &v, NULL,
        &(dt_variable_options){
            .name = "table", .dtype = DT_FLOAT32, .rank = 2, .shape = (int64_t[]){9000, 8}}));
    return v;
}

static void look_rows_up(dt_trace *t, void *user) {
    dt_return(t, "rows", dt_gather(dt_variable_read(t, user), dt_arg(t, "x")));
}

static void add_up(dt_trace *t, void *user) {
    dt_return(t, "rows", dt_reduce_sum(dt_variable_read(t, user), 1));
}

static void set_all(dt_trace *t, void *user) {
    const dt_value x = dt_variable_read(t, user);
    dt_variable_assign_add(t, user, dt_like(x, 2));
    dt_return(t, "rows", dt_gather(x, dt_arg(t, "x")));
}

static float first_of(dt_coordinator *c, dt_function *f, int64_t row) {
    dt_values *v = numbers(row, 1, 2, 8999), *out = NULL;
    dt_remote *remote = NULL;
    OK(dt_coordinator_schedule(c, f, &(dt_closure_arguments){.values = v}, &remote));
    OK(dt_remote_fetch(remote, &out));
    const float x = *(const float *)dt_tensor_data(dt_values_local(out, "rows", 0));
    dt_remote_unref(remote);
    dt_values_unref(out);
    dt_values_unref(v);
    return x;
}

static void test_rows_of_a_table(void **state) {
    void (*const step[])(dt_trace *, void *) = {look_rows_up, set_all, look_rows_up, add_up};
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f[4] = {0};
    dt_variable *table = NULL;
    (void)state;
    begin(&some, &s, &c);
    DT_SCOPE(s)
    table = make_table();
    for (int i = 0; i < 4; i++) OK(dt_function_create(&f[i], step[i], table));
    assert_true(first_of(c, f[0], 8) == 0);
    assert_true(first_of(c, f[1], 8) == 0);
    assert_true(first_of(c, f[2], 8) == 2);
    assert_true(first_of(c, f[3], 8) == 16);
    assert_true(first_of(c, f[0], 0) == 2);
    dt_values *v = numbers(0, 1, 9000, 3);
    OK(dt_coordinator_schedule(c, f[0], &(dt_closure_arguments){.values = v}, NULL));
    fails(dt_coordinator_join(c), DT_E_ROW_NUMBER, "row number 9000");
    dt_values_unref(v);
    for (int i = 0; i < 4; i++) dt_function_unref(f[i]);
    dt_variable_unref(table);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
}

/* A function that applies gradients of the whole table without reading it, beside one that looks
 * rows up. */
typedef struct given {
    dt_variables table;
    dt_optimizer *optimizer;
} given;

static void apply_given(dt_trace *t, void *user) {
    given *my = user;
    dt_value gradient = dt_arg(t, "gradient");
    dt_optimizer_apply(my->optimizer,
                       (dt_gradients){.variables = &my->table, .value = &gradient, .trace = t});
}

static void test_whole_gradients_of_a_table(void **state) {
    static float gradient[9000 * 8];
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *rows = NULL, *f = NULL;
    dt_variable *table = NULL;
    dt_values *v = NULL;
    dt_tensor *t = NULL;
    given my = {{1, &table}, NULL};
    (void)state;
    begin(&some, &s, &c);
    DT_SCOPE(s) {
        table = make_table();
        OK(dt_optimizer_create(&my.optimizer, "SGD: {learning_rate: 1}"));
    }
    OK(dt_function_create(&rows, look_rows_up, table));
    OK(dt_function_create(&f, apply_given, &my));
    for (int i = 0; i < 9000 * 8; i++) gradient[i] = (float)-(i / 8);
    OK(dt_tensor_create(&t, DT_FLOAT32, 2, (int64_t[]){9000, 8}, gradient));
    OK(dt_values_create(&v));
    OK(dt_values_set(v, "gradient", t));
    for (int k = 1; k <= 3; k++) {
        OK(dt_coordinator_schedule(c, f, &(dt_closure_arguments){.values = v}, NULL));
        OK(dt_coordinator_join(c));
        assert_true(first_of(c, rows, 8999) == (float)k * 8999);
        assert_true(first_of(c, rows, 7) == (float)k * 7);
    }
    dt_tensor_unref(t);
    dt_values_unref(v);
    dt_function_unref(f);
    dt_function_unref(rows);
    dt_optimizer_unref(my.optimizer);
    dt_variable_unref(table);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
}

/* A gradient that needs no row of the table: nothing looks at the numbers, and those that the table
 * does not have add nothing, as in one process. */
static void apply_to_rows(dt_trace *t, void *user) {
    given *my = user;
    const dt_value rows = dt_gather(dt_variable_read(t, my->table.v[0]), dt_arg(t, "x"));
    dt_optimizer_apply(my->optimizer, dt_gradient(dt_reduce_sum(rows, DT_NO_AXIS), &my->table));
}

static void test_numbers_that_nothing_looks_up(void **state) {
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *rows = NULL, *f = NULL;
    dt_variable *table = NULL;
    given my = {{1, &table}, NULL};
    (void)state;
    begin(&some, &s, &c);
    DT_SCOPE(s) {
        table = make_table();
        OK(dt_optimizer_create(&my.optimizer, "SGD: {learning_rate: 1}"));
    }
    OK(dt_function_create(&rows, look_rows_up, table));
    OK(dt_function_create(&f, apply_to_rows, &my));
    dt_values *v = numbers(7, -1, 9000, 7);
    OK(dt_strategy_run(s, f, v, NULL));
    assert_true(first_of(c, rows, 7) == -2);
    OK(dt_coordinator_schedule(c, f, &(dt_closure_arguments){.values = v}, NULL));
    OK(dt_coordinator_join(c));
    assert_true(first_of(c, rows, 7) == -4);
    assert_true(first_of(c, rows, 8999) == 0);
    dt_values_unref(v);
    dt_function_unref(f);
    dt_function_unref(rows);
    dt_optimizer_unref(my.optimizer);
    dt_variable_unref(table);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
}

static void test_fit_with_workers(void **state) {
    dt_strategy *s = NULL;
    dt_model *m = NULL;
    dt_dataset *d = NULL;
    dt_history *h = NULL;
    dt_values *v = batch(1, false, 1.0f / 11);
    (void)state;
    make_strategy(&some, &s);
    DT_SCOPE(s)
    OK(dt_model_create(&m, "- Input: {name: x, shape: [6]}\n- Dense: {units: 1}\n"));
    OK(dt_model_compile(m, "{optimizer: {SGD: {learning_rate: 0.05}}, loss: MeanSquaredError}"));
    OK(dt_dataset_from_values(&d, v, "{global_batch_size: 2}"));
    OK(dt_model_fit(m, d, &h, "{epochs: 30}"));
    assert_true(dt_history_at(h, "loss", 29) < dt_history_at(h, "loss", 0));
    dt_history_unref(h);
    dt_dataset_unref(d);
    dt_values_unref(v);
    dt_model_unref(m);
    dt_strategy_unref(s);
}

/* ---- shards ---- */

static void test_shards_are_the_partitioners(void **state) {
    static const struct {
        dt_partitioner_kind kind;
        int64_t shards, bytes;
        int n;
        int64_t first, last;
    } rows[] = {
        {DT_PARTITION_NONE, 0, 0, 1, 10, 10},     {DT_PARTITION_FIXED, 3, 0, 3, 4, 3},
        {DT_PARTITION_FIXED, 99, 0, 10, 1, 1},    {DT_PARTITION_MIN_SIZE, 4, 120, 3, 4, 3},
        {DT_PARTITION_MIN_SIZE, 0, 4, 1, 10, 10}, {DT_PARTITION_MAX_SIZE, 0, 100, 5, 2, 2},
        {DT_PARTITION_MAX_SIZE, 2, 100, 2, 5, 5},
    };
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        dt_strategy *s = NULL;
        dt_variable *v = NULL;
        int64_t n[16] = {0};
        OK(dt_parameter_server_strategy(
            &s, &(dt_parameter_server_options){.partitioner = rows[r].kind,
                                               .shards = rows[r].shards,
                                               .shard_bytes = rows[r].bytes}));
        DT_SCOPE(s)
        OK(dt_variable_create(
            &v, NULL,
            &(dt_variable_options){.dtype = DT_FLOAT32, .rank = 2, .shape = (int64_t[]){10, 10}}));
        assert_int_equal(dt_strategy_shards(s, v, n, 16), rows[r].n);
        assert_int_equal(n[0], rows[r].first);
        assert_int_equal(n[rows[r].n - 1], rows[r].last);
        dt_variable_unref(v);
        dt_strategy_unref(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_staleness_is_one_process),
        cmocka_unit_test(test_rows_of_a_table),
        cmocka_unit_test(test_whole_gradients_of_a_table),
        cmocka_unit_test(test_numbers_that_nothing_looks_up),
        cmocka_unit_test(test_fit_with_workers),
        cmocka_unit_test(test_shards_are_the_partitioners),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!failed && has_zeromq()) { /* variables on tasks of type ps */
        setenv(TASKS, "2", true);
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
