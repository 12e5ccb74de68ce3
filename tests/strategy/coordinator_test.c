/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterCoordinator: what scheduled functions do to variables happens once whichever worker dies,
 * and errors cancel what has not begun. */
#include "coordinator_kit.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

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
    for (int64_t k = 1; k <= 50; k++) {
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
        cmocka_unit_test(test_values_set_between),
        cmocka_unit_test(test_values_set_meanwhile),
        cmocka_unit_test(test_misuse_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!failed && has_zeromq()) { /* variables on tasks of type ps */
        setenv(TASKS, "2", true);
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
