/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step functions on workers in separate processes: what every one of them sees is what virtual
 * workers in one process compute: rows of all replicas, a value of each replica, sums, copies of
 * variables; also where batches are uneven and a worker has no rows.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"

enum { MOST_WORKERS = 3, EACH = 2, MOST = MOST_WORKERS * EACH, SEEN = 1024 };

/* What a process has seen, number by number. */
typedef struct seen {
    int n;
    double value[SEEN];
} seen;

static void see(seen *s, const dt_tensor *t) {
    for (int64_t i = 0; i < dt_type_elements(&t->type); i++) {
        assert_true(s->n < SEEN);
        s->value[s->n++] = get(t, i);
    }
}

/* ---- a step ---- */

typedef struct using {
    dt_variable *weight, *sum;
}
using;

static void step(dt_trace *t, void *user) {
    const using *my = user;
    dt_value x = dt_arg(t, "x"), w = dt_variable_read(t, my->weight);
    dt_value own = dt_reduce_sum(dt_reduce_sum(x, 1), 0), all = dt_all_reduce(DT_SUM, own);
    dt_return(t, "rows", dt_multiply(x, dt_like(x, 2)));
    dt_return(t, "own", own);
    dt_return(t, "all", all);
    dt_return(t, "id", dt_replica_id(t));
    dt_return(t, "against own", dt_subtract(x, own));
    dt_variable_assign_add(t, my->sum, own);
    dt_variable_assign(t, my->weight, dt_add(w, all));
}

/* Replica r of step k has that many rows of two numbers. */
static int rows_of(int k, int r) {
    static const int rows[][MOST] = {{2, 2, 2, 2, 2, 2}, {3, 1, 2, 1, 1, 1}, {2, 2, 1, 1, 0, 0}};
    return rows[k % 3][r];
}

static void one_step(dt_strategy *s, dt_function *f, int k, seen *out) {
    const int replicas = dt_strategy_replicas(s);
    dt_tensor *x[MOST] = {NULL};
    dt_values *args = NULL, *result = NULL;
    float at = 0;
    OK(dt_values_create(&args));
    for (int r = 0; r < replicas; r++) {
        float data[2 * 4];
        for (int i = 0; i < 2 * rows_of(k, r); i++) data[i] = (at += 0.3f) * (float)(k + 1);
        OK(dt_tensor_create(&x[r], DT_FLOAT32, 2, (int64_t[]){rows_of(k, r), 2}, data));
    }
    OK(dt_values_set_per_replica(args, "x", x, replicas));
    OK(dt_strategy_run(s, f, args, &result));
    static const char *const names[] = {"rows", "own", "all", "id", "against own"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int r = 0; r < dt_values_locals(result, names[i]); r++)
            see(out, dt_values_local(result, names[i], r));
    for (int r = 0; r < replicas; r++) dt_tensor_unref(x[r]);
    dt_values_unref(args);
    dt_values_unref(result);
}

static void work(int workers, seen *out) {
    dt_strategy *s = NULL;
    dt_function *f = NULL;
    dt_tensor *zero = NULL, *value = NULL;
    using my = {NULL, NULL};
    OK(dt_multi_worker_mirrored_strategy(
        &s, &(dt_multi_worker_options){.workers = workers, .devices_per_worker = EACH}));
    OK(dt_tensor_create(&zero, DT_FLOAT32, 0, NULL, &(float){0}));
    dt_scope scope = dt_scope_enter(s);
    OK(dt_variable_create(&my.weight, zero, NULL));
    OK(dt_variable_create(&my.sum, zero,
                          &(dt_variable_options){.synchronization = DT_SYNC_ON_READ,
                                                 .aggregation = DT_AGGREGATE_SUM}));
    dt_scope_leave(&scope);
    OK(dt_function_create(&f, step, &my));
    for (int k = 0; k < 5; k++) one_step(s, f, k, out);
    OK(dt_variable_value(my.weight, &value));
    see(out, value);
    OK(dt_variable_value(my.sum, &value));
    see(out, value);
    dt_tensor_unref(value);
    dt_tensor_unref(zero);
    dt_function_unref(f);
    dt_variable_unref(my.weight);
    dt_variable_unref(my.sum);
    dt_strategy_unref(s);
}

/* ---- processes ---- */

static void start(int workers, int fd[MOST_WORKERS][MOST_WORKERS], int rank, seen *out) {
    char text[64];
    int at = snprintf(text, sizeof text, "%d", rank);
    for (int b = 0; b < workers; b++)
        at += b == rank ? snprintf(text + at, sizeof text - (size_t)at, " -")
                        : snprintf(text + at, sizeof text - (size_t)at, " %d", fd[rank][b]);
    setenv("DTRAIN_WORKER", text, 1);
    work(rank == 0 ? 0 : workers, out); /* 0: as many as there are */
    _exit(0);
}

static void on_processes(int workers, seen *out) {
    int fd[MOST_WORKERS][MOST_WORKERS] = {{0}};
    for (int a = 0; a < workers; a++)
        for (int b = a + 1; b < workers; b++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            fd[a][b] = pair[0];
            fd[b][a] = pair[1];
        }
    pid_t child[MOST_WORKERS];
    for (int r = 0; r < workers; r++) {
        child[r] = fork();
        if (child[r] == 0) start(workers, fd, r, &out[r]);
    }
    for (int a = 0; a < workers; a++)
        for (int b = 0; b < workers; b++)
            if (a != b) close(fd[a][b]);
    for (int r = 0; r < workers; r++) {
        int status;
        assert_int_equal(waitpid(child[r], &status, 0), child[r]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void test_every_worker_sees_what_one_process_computes(void **state) {
    (void)state;
    seen *out = mmap(NULL, sizeof *out * MOST_WORKERS, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(out != MAP_FAILED);
    for (int workers = 2; workers <= MOST_WORKERS; workers++) {
        memset(out, 0, sizeof *out * MOST_WORKERS);
        on_processes(workers, out);
        seen alone = {0};
        work(workers, &alone);
        for (int w = 0; w < workers; w++) {
            assert_int_equal(out[w].n, alone.n);
            for (int i = 0; i < alone.n; i++)
                assert_float_equal(out[w].value[i], alone.value[i],
                                   1e-4 * (1 + fabs(alone.value[i])));
        }
    }
    munmap(out, sizeof *out * MOST_WORKERS);
}

static void test_another_number_of_workers(void **state) {
    (void)state;
    dt_strategy *s = NULL;
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    fails(dt_multi_worker_mirrored_strategy(&s, &(dt_multi_worker_options){.workers = 2}),
          DT_E_LAUNCH, "workers is 2, but OMPI_COMM_WORLD_SIZE says 3");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_worker_sees_what_one_process_computes),
        cmocka_unit_test(test_another_number_of_workers),
    };
    return cmocka_run_group_tests_name("step functions on workers", tests, NULL, NULL);
}
