/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterCoordinator: what scheduled functions do to variables happens once whoever dies, errors
 * cancel what has not begun, and a single worker without staleness computes what dt_strategy_run
 * does. */
#include "kit.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { WORKERS = 3 };

static const dt_parameter_server_options some = {
    .workers = WORKERS, .parameter_servers = 2, .elastic = true, .timeout = 20};

static void begin(const dt_parameter_server_options *o, dt_strategy **s, dt_coordinator **c) {
    OK(dt_parameter_server_strategy(s, o));
    OK(dt_coordinator_create(c, *s));
}

static dt_variable *counter(dt_strategy *s) {
    dt_variable *v = NULL;
    DT_SCOPE(s)
    OK(dt_variable_create(
        &v, NULL,
        &(dt_variable_options){
            .name = "total", .dtype = DT_INT64, .rank = 1, .shape = (int64_t[]){4}}));
    return v;
}

static int64_t at(dt_variable *v, int i) {
    dt_tensor *t = NULL;
    OK(dt_variable_value(v, &t));
    const int64_t x = ((const int64_t *)dt_tensor_data(t))[i];
    dt_tensor_unref(t);
    return x;
}

static dt_values *numbers(int64_t a, int64_t b, int64_t c, int64_t d) {
    dt_values *v = NULL;
    dt_tensor *t = NULL;
    OK(dt_tensor_create(&t, DT_INT64, 1, (int64_t[]){4}, (int64_t[]){a, b, c, d}));
    OK(dt_values_create(&v));
    OK(dt_values_set(v, "x", t));
    dt_tensor_unref(t);
    return v;
}

/* total += x; returns what total is for this worker. */
static void add(dt_trace *t, void *user) {
    dt_return(t, "now", dt_variable_assign_add(t, user, dt_arg(t, "x")));
}

static void twice(dt_trace *t, void *user) {
    dt_variable_assign_add(t, user, dt_arg(t, "x"));
    dt_variable_assign_sub(t, user, dt_arg(t, "x"));
}

/* Changes nothing. */
static void look(dt_trace *t, void *user) { dt_return(t, "total", dt_variable_read(t, user)); }

/* ---- data sets of workers ---- */

/* What the elements of a worker do besides being numbers. */
typedef struct trap {
    pid_t parent;
    int64_t dies, fails; /* at elements that these divide; 0: never */
    char once[64]; /* a worker that dies makes this file, and none dies any more; "": all do */
} trap;

/* Two workers may come here at the same time. */
static bool first_of_all(const trap *x) {
    const int fd = x->once[0] ? open(x->once, O_CREAT | O_EXCL, 0600) : -1;
    if (fd >= 0) close(fd);
    return fd >= 0 || !x->once[0];
}

static dt_status *spring(const dt_values *element, void *user, dt_values *result) {
    const trap *x = user;
    const int64_t i = *(const int64_t *)dt_tensor_data(dt_values_local(element, "value", 0));
    dt_tensor *t = NULL;
    const bool own = getpid() == x->parent;
    if (!own && x->dies && i % x->dies == 0 && first_of_all(x)) raise(SIGKILL);
    if (!own && x->fails && i % x->fails == 0)
        return dt_status_create(181, "element %lld is a trap", (long long)i);
    OK(dt_tensor_create(&t, DT_INT64, 1, (int64_t[]){4}, (int64_t[]){1, i, 0, -1}));
    dt_status *s = dt_values_set(result, "x", t);
    dt_tensor_unref(t);
    return s;
}

static dt_status *open_numbers(const dt_input_context *worker, void *user, dt_dataset **out) {
    static const dt_spec spec = {"x", DT_INT64, 1, {4}};
    OK(dt_dataset_range(out, 1 + worker->input_pipeline_id, 1000000, worker->num_input_pipelines));
    return dt_dataset_map(
        out, *out, &(dt_map_options){.fn = spring, .user = user, .spec = &spec, .n_spec = 1});
}

static dt_status *one_element(const dt_input_context *worker, void *user, dt_dataset **out) {
    OK(open_numbers(worker, user, out));
    return dt_dataset_take(out, *out, 1);
}

static dt_status *who(const dt_value_context *c, dt_values *out, void *user) {
    dt_tensor *t = NULL;
    (void)user;
    assert_int_equal(c->num_replicas_in_sync, WORKERS);
    OK(dt_tensor_create(&t, DT_INT64, 1, (int64_t[]){4},
                        (int64_t[]){1 + c->replica_id_in_sync_group, 1, 0, 0}));
    OK(dt_values_set(out, "x", t));
    dt_tensor_unref(t);
    return NULL;
}

static trap make_trap(int64_t dies, int64_t fails, const char *once) {
    trap x = {.parent = getpid(), .dies = dies, .fails = fails};
    if (once) snprintf(x.once, sizeof x.once, "/tmp/coordinator_test.%d.%s", (int)getpid(), once);
    return x;
}

/* ---- what must hold ---- */

static void test_every_addition_counts_once(void **state) {
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL, *g = NULL;
    dt_remote *remote = NULL;
    dt_values *out = NULL;
    dt_coordinator_counts n;
    bool done = false;
    (void)state;
    begin(&some, &s, &c);
    dt_variable *total = counter(s);
    OK(dt_function_create(&f, add, total));
    OK(dt_function_create(&g, look, total));
    for (int i = 1; i <= 100; i++) {
        dt_values *v = numbers(i, 1, -i, 0);
        OK(dt_coordinator_schedule(c, f, &(dt_closure_arguments){.values = v}, &remote));
        dt_values_unref(v);
    }
    OK(dt_remote_fetch(remote, &out));
    assert_true(dt_remote_state_of(remote) == DT_REMOTE_FINISHED &&
                dt_remote_staleness(remote) >= 0);
    assert_true(((const int64_t *)dt_tensor_data(dt_values_local(out, "now", 0)))[1] <= 100);
    OK(dt_coordinator_join(c));
    OK(dt_coordinator_done(c, &done));
    assert_true(done && at(total, 0) == 5050 && at(total, 1) == 100 && at(total, 2) == -5050 &&
                at(total, 3) == 0);
    /* a new function: new workers, which see what the old ones did */
    OK(dt_coordinator_schedule(c, g, NULL, &remote));
    OK(dt_remote_fetch(remote, &out));
    assert_int_equal(((const int64_t *)dt_tensor_data(dt_values_local(out, "total", 0)))[0], 5050);
    assert_int_equal(dt_remote_staleness(remote), -1);
    assert_true(dt_coordinator_count(c, &n));
    assert_true(n.workers == WORKERS && n.finished == 101 && n.failed == 0 && n.cancelled == 0 &&
                n.workers_lost == 0);
    int64_t updates = 0;
    for (int i = 0; i < DT_STALENESS_BINS; i++) updates += n.staleness[i];
    assert_int_equal(updates, 100);
    dt_values_unref(out);
    dt_remote_unref(remote);
    dt_function_unref(f);
    dt_function_unref(g);
    dt_variable_unref(total);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
}

/* A worker that dies in the middle of a function: another one computes it. */
static void test_death_changes_nothing(void **state) {
    static const struct {
        int64_t dies;
        const char *once;
        bool elastic;
    } rows[] = {{5, "first", false}, {7, "second", true}, {0, NULL, false}};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        dt_parameter_server_options o = some;
        dt_strategy *s = NULL;
        dt_coordinator *c = NULL;
        dt_function *f = NULL;
        dt_per_worker *own = NULL;
        dt_coordinator_counts n;
        trap x = make_trap(rows[r].dies, 0, rows[r].once);
        o.elastic = rows[r].elastic;
        begin(&o, &s, &c);
        dt_variable *total = counter(s);
        OK(dt_function_create(&f, add, total));
        OK(dt_coordinator_per_worker_dataset(c, open_numbers, &x, &own));
        for (int i = 0; i < 200; i++)
            OK(dt_coordinator_schedule(c, f, &(dt_closure_arguments){.per_worker = {own}}, NULL));
        OK(dt_coordinator_join(c));
        assert_true(at(total, 0) == 200 && at(total, 3) == -200);
        assert_true(dt_coordinator_count(c, &n) && n.finished == 200 && n.failed == 0);
        assert_int_equal(n.workers_lost, rows[r].dies ? 1 : 0);
        assert_int_equal(n.again, n.workers_lost);
        assert_int_equal(n.workers, WORKERS - (rows[r].dies && !rows[r].elastic));
        unlink(x.once);
        dt_per_worker_unref(own);
        dt_function_unref(f);
        dt_variable_unref(total);
        dt_coordinator_unref(c);
        dt_strategy_unref(s);
    }
}

static void test_an_error_cancels_what_waits(void **state) {
    enum { N = 60 };
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    dt_per_worker *own = NULL;
    dt_remote *remote[N] = {NULL};
    dt_values *out = NULL;
    trap x = make_trap(0, 10, NULL);
    int count[4] = {0}, scheduled = 0;
    dt_status *bad = NULL;
    (void)state;
    begin(&some, &s, &c);
    dt_variable *total = counter(s);
    OK(dt_function_create(&f, add, total));
    OK(dt_coordinator_per_worker_dataset(c, open_numbers, &x, &own));
    while (!bad && scheduled < N) {
        bad = dt_coordinator_schedule(c, f, &(dt_closure_arguments){.per_worker = {own}},
                                      &remote[scheduled]);
        scheduled += !bad;
    }
    if (!bad) bad = dt_coordinator_join(c);
    assert_non_null(bad);
    assert_non_null(strstr(dt_status_text(bad), "is a trap"));
    assert_int_equal(dt_status_number(bad), 181);
    dt_status_free(bad);
    OK(dt_coordinator_join(c)); /* the error was cleared */
    for (int i = 0; i < scheduled; i++) {
        count[dt_remote_state_of(remote[i])]++;
        bad = dt_remote_fetch(remote[i], &out);
        const int numbers_of[] = {-1, 0, 181, DT_E_CANCELLED};
        assert_int_equal(bad ? dt_status_number(bad) : 0,
                         numbers_of[dt_remote_state_of(remote[i])]);
        dt_status_free(bad);
    }
    assert_true(count[DT_REMOTE_PENDING] == 0 && count[DT_REMOTE_FAILED] >= 1 &&
                count[DT_REMOTE_FINISHED] == at(total, 0));
    OK(dt_coordinator_schedule(
        c, f,
        &(dt_closure_arguments){.values = (out = (dt_values_unref(out), numbers(1000, 0, 0, 0)))},
        &remote[0]));
    OK(dt_coordinator_join(c));
    assert_int_equal(at(total, 0), 1000 + count[DT_REMOTE_FINISHED]);
    for (int i = 0; i < N; i++) dt_remote_unref(remote[i]);
    dt_values_unref(out);
    dt_per_worker_unref(own);
    dt_function_unref(f);
    dt_variable_unref(total);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
}

/* Of a table of faults: what the call says, and that the coordinator can be used afterwards. */
static void test_faults_are_reported(void **state) {
    static const struct {
        dt_dataset_fn data;
        int64_t dies;
        void (*step)(dt_trace *t, void *user);
        const char *says;
        int number;
    } rows[] = {
        {open_numbers, 1, add, "all 3 workers are lost", 57},
        {one_element, 0, add, "has no more elements", 194},
        {open_numbers, 0, twice, "changes variable 'total' twice", 180},
    };
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        dt_parameter_server_options o = some;
        dt_strategy *s = NULL;
        dt_coordinator *c = NULL;
        dt_function *f = NULL, *good = NULL;
        dt_per_worker *own = NULL;
        dt_status *bad = NULL;
        trap x = make_trap(rows[r].dies, 0, NULL);
        o.elastic = false;
        begin(&o, &s, &c);
        dt_variable *total = counter(s);
        OK(dt_function_create(&f, rows[r].step, total));
        OK(dt_function_create(&good, add, total));
        OK(dt_coordinator_per_worker_dataset(c, rows[r].data, &x, &own));
        for (int i = 0; i < 10 && !bad; i++)
            bad = dt_coordinator_schedule(c, f, &(dt_closure_arguments){.per_worker = {own}}, NULL);
        if (!bad) bad = dt_coordinator_join(c);
        assert_non_null(bad);
        if (!strstr(dt_status_text(bad), rows[r].says)) fail_msg("%s", dt_status_text(bad));
        assert_int_equal(dt_status_number(bad), rows[r].number);
        dt_status_free(bad);
        const int64_t before = at(total, 0);
        dt_values *v = numbers(500, 0, 0, 0);
        OK(dt_coordinator_schedule(c, good, &(dt_closure_arguments){.values = v}, NULL));
        OK(dt_coordinator_join(c));
        assert_int_equal(at(total, 0), before + 500);
        dt_values_unref(v);
        dt_per_worker_unref(own);
        dt_function_unref(f);
        dt_function_unref(good);
        dt_variable_unref(total);
        dt_coordinator_unref(c);
        dt_strategy_unref(s);
    }
}

static void test_workers_have_values_of_their_own(void **state) {
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    dt_per_worker *own = NULL;
    (void)state;
    begin(&some, &s, &c);
    dt_variable *total = counter(s);
    OK(dt_function_create(&f, add, total));
    OK(dt_coordinator_per_worker_values(c, who, NULL, &own));
    for (int i = 0; i < 30; i++)
        OK(dt_coordinator_schedule(c, f, &(dt_closure_arguments){.per_worker = {own}}, NULL));
    OK(dt_coordinator_join(c));
    assert_true(at(total, 1) == 30 && at(total, 0) >= 30 && at(total, 0) <= 30 * WORKERS);
    dt_per_worker_unref(own);
    dt_function_unref(f);
    dt_variable_unref(total);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
}

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

/* What the program sets while nothing is scheduled is what functions read then. */
static void test_values_set_between(void **state) {
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    dt_tensor *t = NULL;
    (void)state;
    begin(&some, &s, &c);
    dt_variable *total = counter(s);
    OK(dt_function_create(&f, look, total));
    for (int64_t k = 1; k <= 5; k++) {
        dt_remote *remote = NULL;
        dt_values *out = NULL;
        OK(dt_tensor_create(&t, DT_INT64, 1, (int64_t[]){4}, (int64_t[]){k, k, k, k}));
        OK(dt_variable_set(total, DT_ASSIGN, t));
        OK(dt_coordinator_schedule(c, f, NULL, &remote));
        OK(dt_remote_fetch(remote, &out));
        assert_int_equal(*(const int64_t *)dt_tensor_data(dt_values_local(out, "total", 0)), k);
        dt_remote_unref(remote);
        dt_values_unref(out);
    }
    dt_tensor_unref(t);
    dt_function_unref(f);
    dt_variable_unref(total);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
}

/* Likewise while functions are scheduled: those that are given to a worker afterwards see it. */
static void test_values_set_meanwhile(void **state) {
    dt_parameter_server_options o = some;
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    dt_tensor *t = NULL;
    dt_remote *remote = NULL;
    dt_values *out = NULL;
    (void)state;
    o.workers = 1;
    begin(&o, &s, &c);
    dt_variable *total = counter(s);
    OK(dt_function_create(&f, look, total));
    for (int64_t k = 1; k <= 5; k++) {
        for (int i = 0; i < 3; i++) OK(dt_coordinator_schedule(c, f, NULL, NULL));
        OK(dt_tensor_create(&t, DT_INT64, 1, (int64_t[]){4}, (int64_t[]){k, k, k, k}));
        OK(dt_variable_set(total, DT_ASSIGN, t));
        OK(dt_coordinator_schedule(c, f, NULL, &remote));
        OK(dt_remote_fetch(remote, &out));
        assert_int_equal(*(const int64_t *)dt_tensor_data(dt_values_local(out, "total", 0)), k);
    }
    dt_remote_unref(remote);
    dt_values_unref(out);
    dt_tensor_unref(t);
    dt_function_unref(f);
    dt_variable_unref(total);
    dt_coordinator_unref(c);
    dt_strategy_unref(s);
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
    OK(dt_parameter_server_strategy(&s, &some));
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

/* ---- shards, and wrong options ---- */

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

static void test_misuse_is_refused(void **state) {
    static const dt_parameter_server_options bad[] = {
        {.workers = 65},
        {.workers = -1},
        {.parameter_servers = 17},
        {.partitioner = (dt_partitioner_kind)9},
        {.partitioner = DT_PARTITION_FIXED},
        {.partitioner = DT_PARTITION_MAX_SIZE},
        {.limit_staleness = true, .max_staleness = -1},
        {.timeout = -1},
        {.shards = -1},
        {.shard_bytes = -1},
    };
    dt_strategy *s = NULL, *other = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    dt_remote *remote = NULL;
    dt_per_worker *own = NULL;
    dt_values *out = NULL;
    bool done;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails(dt_parameter_server_strategy(&s, &bad[i]), DT_E_RANGE, "must be");
    fails(dt_parameter_server_strategy(NULL, NULL), DT_E_MISUSE, "");
    OK(dt_parameter_server_strategy(&s, NULL));
    OK(dt_mirrored_strategy(&other, NULL, 0));
    fails(dt_coordinator_create(&c, other), DT_E_MISUSE, "");
    fails(dt_coordinator_create(NULL, s), DT_E_MISUSE, "");
    fails(dt_coordinator_create(&c, NULL), DT_E_MISUSE, "");
    OK(dt_coordinator_create(&c, s));
    assert_ptr_equal(dt_coordinator_strategy(c), s);
    fails(dt_coordinator_schedule(c, NULL, NULL, NULL), DT_E_MISUSE, "");
    OK(dt_function_create(&f, add, NULL));
    fails(dt_coordinator_schedule(NULL, f, NULL, NULL), DT_E_MISUSE, "");
    /* it has no argument x */
    fails(dt_coordinator_schedule(c, f, NULL, &remote), DT_E_NO_ARGUMENT, "");
    fails(dt_coordinator_per_worker_dataset(c, NULL, NULL, &own), DT_E_MISUSE, "");
    fails(dt_coordinator_per_worker_values(c, who, NULL, NULL), DT_E_MISUSE, "");
    fails(dt_coordinator_done(c, NULL), DT_E_MISUSE, "");
    fails(dt_coordinator_done(NULL, &done), DT_E_MISUSE, "");
    fails(dt_coordinator_join(NULL), DT_E_MISUSE, "");
    fails(dt_remote_fetch(NULL, &out), DT_E_MISUSE, "");
    assert_false(dt_coordinator_count(NULL, NULL));
    assert_int_equal(dt_strategy_shards(other, NULL, NULL, 0), 0);
    OK(dt_coordinator_join(c));
    dt_function_unref(f);
    dt_coordinator_unref(c);
    dt_coordinator_unref(NULL);
    dt_strategy_unref(s);
    dt_strategy_unref(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_addition_counts_once),
        cmocka_unit_test(test_death_changes_nothing),
        cmocka_unit_test(test_an_error_cancels_what_waits),
        cmocka_unit_test(test_faults_are_reported),
        cmocka_unit_test(test_workers_have_values_of_their_own),
        cmocka_unit_test(test_no_staleness_is_one_process),
        cmocka_unit_test(test_values_set_between),
        cmocka_unit_test(test_values_set_meanwhile),
        cmocka_unit_test(test_rows_of_a_table),
        cmocka_unit_test(test_whole_gradients_of_a_table),
        cmocka_unit_test(test_numbers_that_nothing_looks_up),
        cmocka_unit_test(test_fit_with_workers),
        cmocka_unit_test(test_shards_are_the_partitioners),
        cmocka_unit_test(test_misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
