/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of type ps of a C program: what reads and sets variables reaches them, TF_CONFIG names
 * them, and a lost one is an error. coordinator_test and parameter_server_test run all their tests
 * with tasks, too. */
#include "coordinator_kit.h"

#include "base/arena.h"
#include "net/zmq_carrier.h"
#include "pass/graph_bytes.h"
#include "strategy/parameter_tasks.h"

static dt_variable *counter(dt_strategy *s, const char *name) {
    dt_variable *v = NULL;
    DT_SCOPE(s)
    OK(dt_variable_create(
        &v, NULL,
        &(dt_variable_options){
            .name = name, .dtype = DT_INT64, .rank = 1, .shape = (int64_t[]){4}}));
    return v;
}

typedef struct pair {
    dt_variable *a, *b;
} pair;

static void add_both(dt_trace *t, void *user) {
    const pair *my = user;
    dt_variable_assign_add(t, my->a, dt_arg(t, "x"));
    dt_variable_assign_sub(t, my->b, dt_arg(t, "x"));
}

static int64_t first_of(dt_variable *v) {
    dt_tensor *t = NULL;
    OK(dt_variable_value(v, &t));
    const int64_t x = *(const int64_t *)dt_tensor_data(t);
    dt_tensor_unref(t);
    return x;
}

static void schedule(dt_coordinator *c, dt_function *f, int64_t x, int times) {
    dt_values *v = numbers(x, 0, 0, 0);
    for (int i = 0; i < times; i++)
        OK(dt_coordinator_schedule(c, f, &(dt_closure_arguments){.values = v}, NULL));
    dt_values_unref(v);
}

/* What a checkpoint saves and restores while the tasks have the variables. */
static void test_a_checkpoint(void **state) {
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    dt_checkpoint *k = NULL;
    char dir[] = "/tmp/servers_test.XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/c", dir);
    setenv(TASKS, "3", true);
    begin(&some, &s, &c);
    pair my = {counter(s, "a"), counter(s, "b")};
    OK(dt_function_create(&f, add_both, &my));
    OK(dt_checkpoint_create(&k));
    OK(dt_checkpoint_add_variable(k, "a", my.a));
    OK(dt_checkpoint_add_variable(k, "b", my.b));
    schedule(c, f, 2, 20);
    OK(dt_coordinator_join(c));
    assert_true(first_of(my.a) == 40 && first_of(my.b) == -40);
    schedule(c, f, 2, 10);
    OK(dt_coordinator_join(c));
    OK(dt_checkpoint_save(k, path, 1, 0));
    char *newest = NULL;
    OK(dt_checkpoint_latest(path, &newest, NULL));
    schedule(c, f, 100, 5);
    OK(dt_coordinator_join(c));
    assert_true(first_of(my.a) == 560);
    OK(dt_checkpoint_restore(k, newest));
    free(newest);
    assert_true(first_of(my.a) == 60 && first_of(my.b) == -60);
    schedule(c, f, 1, 3);
    OK(dt_coordinator_join(c));
    dt_coordinator_unref(c); /* the variables come back */
    assert_true(first_of(my.a) == 63 && first_of(my.b) == -63);
    dt_checkpoint_unref(k);
    dt_function_unref(f);
    dt_variable_unref(my.a);
    dt_variable_unref(my.b);
    dt_strategy_unref(s);
}

/* A task that is killed: functions and reads that need it fail, and all that is not finished is
 * cancelled. */
static void test_a_lost_task(void **state) {
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    dt_tensor *t = NULL;
    tasks x = start_tasks(2);
    dt_parameter_server_options o = some;
    (void)state;
    for (int i = 0; i < x.n; i++) x.address[i] = x.text[i];
    o.ps = x.address;
    o.timeout = 5;
    OK(dt_parameter_server_strategy(&s, &o));
    OK(dt_coordinator_create(&c, s));
    pair my = {counter(s, "a"), counter(s, "b")};
    OK(dt_function_create(&f, add_both, &my));
    schedule(c, f, 1, 10);
    OK(dt_coordinator_join(c));
    kill(x.pid[1], SIGKILL);
    assert_int_equal(code_of(&x, 1), -SIGKILL);
    schedule(c, f, 1, 1);
    fails(dt_coordinator_join(c), DT_E_WORKER_GONE, "parameter server 1");
    assert_int_equal(first_of(my.a) / 10, 1);
    fails(dt_variable_value(my.b, &t), DT_E_WORKER_GONE, "parameter server");
    dt_function_unref(f);
    dt_coordinator_unref(c);
    fails(dt_variable_value(my.b, &t), DT_E_WORKER_GONE, "lost");
    dt_variable_unref(my.a);
    dt_variable_unref(my.b);
    dt_strategy_unref(s);
    assert_int_equal(code_of(&x, 0), 0);
}

/* Tasks have one coordinator: another one is refused, and the first one goes on. */
static void test_another_coordinator(void **state) {
    dt_strategy *s = NULL, *other = NULL;
    dt_coordinator *c = NULL, *second = NULL, *third = NULL;
    dt_function *f = NULL;
    tasks x = start_tasks(2);
    dt_parameter_server_options o = some;
    dt_values *v = numbers(1, 0, 0, 0);
    const dt_closure_arguments a = {.values = v};
    (void)state;
    for (int i = 0; i < x.n; i++) x.address[i] = x.text[i];
    o.ps = x.address;
    OK(dt_parameter_server_strategy(&s, &o));
    OK(dt_parameter_server_strategy(&other, &o));
    OK(dt_coordinator_create(&c, s));
    OK(dt_coordinator_create(&second, s));
    OK(dt_coordinator_create(&third, other));
    pair my = {counter(s, "a"), counter(s, "b")}, own = {counter(other, "a"), counter(other, "b")};
    OK(dt_function_create(&f, add_both, &my));
    schedule(c, f, 1, 10);
    fails(dt_coordinator_schedule(second, f, &a, NULL), DT_E_MISUSE, "another coordinator");
    dt_coordinator_unref(second);
    dt_function_unref(f);
    f = NULL;
    OK(dt_function_create(&f, add_both, &own));
    fails(dt_coordinator_schedule(third, f, &a, NULL), DT_E_LAUNCH, "another coordinator");
    dt_coordinator_unref(third);
    dt_strategy_unref(other);
    dt_function_unref(f);
    f = NULL;
    OK(dt_function_create(&f, add_both, &my));
    schedule(c, f, 1, 5);
    OK(dt_coordinator_join(c));
    dt_coordinator_unref(c);
    assert_true(first_of(my.a) == 15 && first_of(my.b) == -15 && first_of(own.a) == 0);
    dt_function_unref(f);
    dt_values_unref(v);
    dt_variable_unref(my.a);
    dt_variable_unref(my.b);
    dt_variable_unref(own.a);
    dt_variable_unref(own.b);
    dt_strategy_unref(s);
    for (int i = 0; i < x.n; i++) assert_int_equal(code_of(&x, i), 0);
}

static dt_status *read_programs(dt_strategy *s, const char *bytes, size_t n) {
    dt_ps_task t = {0};
    dt_arrival a = {.message = {.more = (int64_t)n}, .more = (char *)(uintptr_t)bytes};
    dt_arena *arena = dt_arena_create();
    dt_status *bad = dt_ps_read(&t, &a, s, arena);
    dt_ps_release(&t);
    for (int i = 0; i < t.n_state; i++) dt_variable_unref(t.state[i]);
    dt_arena_destroy(arena);
    return bad;
}

/* What a task refuses to take for programs: a part of them, and a variable that is sent by rows but
 * has none. */
static void test_no_programs(void **state) {
    static const int64_t shape[][2] = {{4, 2}, {0, 2}, {4, 0}};
    dt_strategy *s = NULL;
    (void)state;
    OK(dt_parameter_server_strategy(&s, &some));
    for (int i = 0; i < 4; i++) {
        const dt_type type =
            i < 3 ? dt_type_of(DT_FLOAT32, 2, shape[i]) : dt_scalar_type(DT_FLOAT32);
        dt_str m = {0};
        dt_bytes_put(&m, 1);
        dt_bytes_put(&m, 1);
        dt_bytes_put(&m, 0);
        dt_bytes_put_text(&m, "v");
        dt_bytes_put_type(&m, &type);
        dt_bytes_put(&m, DT_SENT_BY_ROWS);
        if (i == 0) OK(read_programs(s, dt_str_text(&m), m.size));
        for (size_t n = i ? m.size : 0; n < m.size + (i > 0); n++)
            fails(read_programs(s, dt_str_text(&m), n), DT_E_WORKERS_DISAGREE, "no programs");
        dt_str_release(&m);
    }
    dt_strategy_unref(s);
}

/* A push has no memory for a table that is sent by rows, so no program adds a difference to one. */
static void test_no_differences_of_rows(void **state) {
    const dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){4, 2});
    dt_strategy *s = NULL;
    (void)state;
    OK(dt_parameter_server_strategy(&s, &some));
    for (int moves = 0; moves < 2; moves++) {
        dt_str m = {0};
        for (int i = 0; i < 3; i++) dt_bytes_put(&m, 1); /* one variable, held; one program */
        dt_bytes_put_text(&m, "v");
        dt_bytes_put_type(&m, &type);
        dt_bytes_put(&m, DT_SENT_BY_ROWS);
        dt_bytes_put(&m, 0); /* no graph */
        dt_bytes_put(&m, moves);
        dt_bytes_put_text(&m, "");
        dt_bytes_put(&m, 0); /* no parts */
        if (!moves) OK(read_programs(s, dt_str_text(&m), m.size));
        else fails(read_programs(s, dt_str_text(&m), m.size), DT_E_WORKERS_DISAGREE, "no programs");
        dt_str_release(&m);
    }
    dt_strategy_unref(s);
}

/* Variables that no message can carry. */
static void test_large_variables(void **state) {
    dt_carrier *c = NULL;
    dt_byte_ranges e = {.bytes = DT_MOST_PART};
    (void)state;
    OK(dt_zmq_fits(&e));
    e.bytes++;
    const dt_zmq_carrier_spec at = {.address = "127.0.0.1:1", .slices = &e, .fingerprint = ""};
    fails(dt_zmq_carrier_open(&c, &at, 1), DT_E_RANGE, "1073741825 bytes");
}

/* TF_CONFIG names the task that has the variables; workers and tasks are no coordinators. */
static void test_tf_config(void **state) {
    char config[300];
    dt_strategy *s = NULL;
    dt_coordinator *c = NULL;
    dt_function *f = NULL;
    tasks x = start_tasks(1);
    (void)state;
    static const char *const type[] = {"worker", "ps", "chief"};
    for (int i = 0; i < 3; i++) {
        snprintf(config, sizeof config,
                 "{\"cluster\": {\"chief\": [\"127.0.0.1:9\"], \"worker\": [\"127.0.0.1:7\", "
                 "\"127.0.0.1:8\"], \"ps\": [\"%s\"]}, \"task\": {\"type\": \"%s\", \"index\": 0}}",
                 x.text[0], type[i]);
        setenv("TF_CONFIG", config, true);
        if (i < 2) fails(dt_parameter_server_strategy(&s, NULL), DT_E_LAUNCH, "only the chief");
    }
    fails(dt_server_join(NULL), DT_E_LAUNCH, "type ps");
    OK(dt_parameter_server_strategy(&s, NULL));
    OK(dt_coordinator_create(&c, s));
    pair my = {counter(s, "a"), counter(s, "b")};
    OK(dt_function_create(&f, add_both, &my));
    schedule(c, f, 1, 10);
    OK(dt_coordinator_join(c));
    dt_coordinator_counts n;
    assert_true(dt_coordinator_count(c, &n) && n.workers == 2);
    assert_true(first_of(my.a) == 10 && first_of(my.b) == -10);
    unsetenv("TF_CONFIG");
    dt_function_unref(f);
    dt_coordinator_unref(c);
    dt_variable_unref(my.a);
    dt_variable_unref(my.b);
    dt_strategy_unref(s);
    assert_int_equal(code_of(&x, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_checkpoint),
        cmocka_unit_test(test_a_lost_task),
        cmocka_unit_test(test_another_coordinator),
        cmocka_unit_test(test_no_programs),
        cmocka_unit_test(test_no_differences_of_rows),
        cmocka_unit_test(test_large_variables),
        cmocka_unit_test(test_tf_config),
    };
    return has_zeromq() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
