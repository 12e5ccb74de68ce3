/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out within a library call is an error of that call, and the program may go on.
 * Each case runs in a child with little address space. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

enum { ROOM = 48 << 20, MOST = 1 << 20 };

/* More data sets than there is memory for. */
static dt_status *open_data(void) {
    static dt_dataset *set[MOST];
    dt_status *s = NULL;
    for (int i = 0; i < MOST && !s; i++) s = dt_dataset_range(&set[i], 0, i, 1);
    for (int i = 0; i < MOST; i++) dt_dataset_unref(set[i]);
    memset(set, 0, sizeof set);
    return s;
}

static void add_for_ever(dt_trace *t, void *user) {
    (void)user;
    dt_value x = dt_constant(t, 0);
    for (int i = 1; i < MOST; i++) x = dt_add(x, dt_constant(t, i));
    dt_return(t, "x", x);
}

/* A step function of more nodes than there is memory for. */
static dt_status *trace_step(void) {
    dt_strategy *one = NULL;
    dt_function *f = NULL;
    dt_values *out = NULL;
    OK(dt_default_strategy(&one));
    OK(dt_function_create(&f, add_for_ever, NULL));
    dt_status *s = dt_strategy_run(one, f, NULL, &out);
    dt_values_unref(out);
    dt_function_unref(f);
    dt_strategy_unref(one);
    return s;
}

static struct rlimit limit_to_room(void) {
    struct rlimit before, now;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + ROOM);
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
    return before;
}

/* 0: the call failed for want of memory, and the library works when there is some again. */
static int run_short_of_memory(dt_status *(*task)(void)) {
    dt_dataset *after = NULL;
    OK(dt_dataset_range(&after, 0, 1, 1)); /* from its first call the library has its reserve */
    dt_dataset_unref(after);
    const struct rlimit before = limit_to_room();
    dt_status *s = task();
    const int number = dt_status_number(s);
    if (number != DT_E_NO_MEMORY) print_error("got %s\n", s ? dt_status_text(s) : "no error");
    dt_status_free(s);
    setrlimit(RLIMIT_AS, &before);
    OK(dt_dataset_range(&after, 0, 4, 1));
    dt_dataset_unref(after);
    return number == DT_E_NO_MEMORY ? 0 : 1;
}

static void test_calls_report_it(void **state) {
    static const struct {
        const char *name;
        dt_status *(*task)(void);
    } rows[] = {{"data sets", open_data}, {"nodes", trace_step}};
    (void)state;
#ifdef SANITIZED
    skip(); /* a sanitizer's own address space is beyond any limit */
#endif
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int code = 0;
        pid_t child = fork();
        if (child == 0) _exit(run_short_of_memory(rows[i].task));
        assert_int_equal(waitpid(child, &code, 0), child);
        if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
            fail_msg("%s: exit %d, signal %d", rows[i].name, WEXITSTATUS(code),
                     WIFSIGNALED(code) ? WTERMSIG(code) : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls_report_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
