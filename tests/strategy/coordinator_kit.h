/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of ClusterCoordinator share: a strategy of three workers, its coordinator, tasks of
 * type ps, and an argument x of four integers. */
#ifndef TESTS_STRATEGY_COORDINATOR_KIT_H
#define TESTS_STRATEGY_COORDINATOR_KIT_H

#include "kit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/free_port.h"
#include "net/messages.h"

enum { WORKERS = 3 };

static const dt_parameter_server_options some = {
    .workers = WORKERS, .parameter_servers = 2, .elastic = true, .timeout = 20};

/* The number of tasks of type ps that strategies of this program have. */
#define TASKS "DTRAIN_TEST_TASKS"
enum { MOST_TASKS = 4 };
typedef struct tasks {
    int n;
    pid_t pid[MOST_TASKS];
    char text[MOST_TASKS][32];
    const char *address[MOST_TASKS + 1];
} tasks;

KIT bool has_zeromq(void) {
    dt_messenger *m = NULL;
    dt_status *s = dt_messenger_open(&m, &(dt_messenger_spec){.name = "a try", .silence_s = 10});
    dt_messenger_close(m);
    dt_status_free(s);
    return m != NULL && !s;
}

KIT int serve(const char *address) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(300);
    dt_status *s = dt_server_join(
        &(dt_server_options){.address = address, .timeout = 20, .start_timeout = 60});
    const int code = s ? dt_status_code(s) : 0;
    if (s && !getenv("DTRAIN_TEST_QUIET")) fprintf(stderr, "a task: %s\n", dt_status_text(s));
    dt_status_free(s);
    return code;
}

KIT tasks start_tasks(int n) {
    tasks x = {.n = n};
    for (int i = 0; i < n; i++) {
        snprintf(x.text[i], sizeof x.text[i], "127.0.0.1:%d", free_port());
        fflush(NULL);
        x.pid[i] = fork();
        if (x.pid[i] == 0) _exit(serve(x.text[i]));
    }
    return x;
}

/* The exit code of task i, when it has ended. */
KIT int code_of(const tasks *x, int i) {
    int status = 0;
    assert_int_equal(waitpid(x->pid[i], &status, 0), x->pid[i]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The tasks end by themselves when the strategy is released. */
KIT void make_strategy(const dt_parameter_server_options *o, dt_strategy **s) {
    dt_parameter_server_options own = *o;
    const char *n = getenv(TASKS);
    tasks x = start_tasks(n ? atoi(n) : 0);
    for (int i = 0; i < x.n; i++) x.address[i] = x.text[i];
    if (x.n) own.ps = x.address;
    OK(dt_parameter_server_strategy(s, &own));
}

KIT void begin(const dt_parameter_server_options *o, dt_strategy **s, dt_coordinator **c) {
    make_strategy(o, s);
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
