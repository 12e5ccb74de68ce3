/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 of a custom loop: a child trains and saves, is killed at a moment nobody chose, and
 * another one goes on under a strategy chosen at random. The last one ends with the bits of a loop
 * that nobody disturbed. All training is done in children, so that none of them inherits threads.
 */
#define HERE "build/tmp/train-loop-kill"
#include "loop_kit.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"

enum { KILLS = 8, MOST_CHILDREN = 40 };
#define RUN HERE "/run"

static const char *const strategies[] = {"one_device", "mirrored 2", "mirrored 4", "tpu sim:v3-8"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

/* Slow steps, so that kills hit them; a checkpoint after each second one. */
static dt_status *save_often(program *p, void *user) {
    const struct timespec pause = {.tv_nsec = 4000000};
    (void)user;
    nanosleep(&pause, NULL);
    return p->steps % 2 ? NULL : dt_checkpoint_save(p->checkpoint, RUN, p->steps, 2);
}

/* In a child: to the end, whose bits go into a file. */
_Noreturn static void train(const char *strategy, loop_data kind, const char *result) {
    char *path = NULL;
    program *p = loop_open(strategy, kind);
    OK(dt_checkpoint_latest(RUN, &path, NULL));
    OK(dt_checkpoint_restore(p->checkpoint, path));
    OK(loop_train(p, -1, save_often, NULL));
    dt_str text = loop_result(p);
    OK(dt_file_commit(result, text.data, text.size));
    dt_str_release(&text);
    free(path);
    loop_close(p); /* a sanitizer looks for threads that nobody joined */
    _exit(0);
}

static pid_t start(const char *strategy, loop_data kind, const char *result) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) train(strategy, kind, result);
    return child;
}

/* Whether it was killed before it came to its end. */
static bool ended_by_signal(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

static void kill_and_compare(loop_data kind, dt_random *r) {
    dt_str expected, found;
    int kills = 0;
    forget(RUN);
    int64_t since = dt_now_ns();
    assert_false(ended_by_signal(start("default", kind, HERE "/whole")));
    const uint64_t whole_us = (uint64_t)(dt_seconds_since(since) * 1e6);
    forget(RUN);
    for (int child = 0; kills < KILLS && child < MOST_CHILDREN && !is_there(HERE "/killed");
         child++) {
        const uint64_t us = dt_random_below(r, whole_us / 2 + 1000);
        pid_t pid = start(strategies[dt_random_below(r, STRATEGIES)], kind, HERE "/killed");
        nanosleep(&(struct timespec){.tv_sec = (time_t)(us / 1000000),
                                     .tv_nsec = (long)(us % 1000000) * 1000},
                  NULL);
        kill(pid, SIGKILL);
        kills += ended_by_signal(pid);
    }
    if (!is_there(HERE "/killed"))
        assert_false(ended_by_signal(
            start(strategies[dt_random_below(r, STRATEGIES)], kind, HERE "/killed")));
    expected = text_of_file(HERE "/whole");
    found = text_of_file(HERE "/killed");
    print_message("data %d: %d kills\n", (int)kind, kills);
    assert_true(kills > 0 && expected.size > 0);
    assert_string_equal(dt_str_text(&found), dt_str_text(&expected));
    dt_str_release(&expected);
    dt_str_release(&found);
    forget(HERE "/killed");
}

static void test_killed_loops_end_with_the_same_bits(void **state) {
    (void)state;
    const uint64_t seed = (uint64_t)dt_now_ns();
    dt_random r = dt_random_stream(seed, "kills", 0);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (loop_data kind = 0; kind < LOOP_KINDS; kind++) kill_and_compare(kind, &r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_loops_end_with_the_same_bits),
    };
    return cmocka_run_group_tests_name("train/loop_kill", tests, clean_folder, NULL);
}
