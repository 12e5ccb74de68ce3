/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 of a custom loop: a child trains and saves, is killed at a moment nobody chose, and
 * another one goes on under a strategy chosen at random. Those to be killed wait at their end, so
 * that each kill meets one. The last one ends with the bits of a loop that nobody disturbed. All training is done in children, so that none of them inherits threads.
 */
#define HERE "build/tmp/train-loop-kill"
#include "loop_kit.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"

enum { KILLS = 8 };
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

/* In a child: to the end, whose bits go into a file. NULL: it waits there to be killed. */
_Noreturn static void train(const char *strategy, loop_data kind, const char *result) {
    char *path = NULL;
    program *p = loop_open(strategy, kind);
    OK(dt_checkpoint_latest(RUN, &path, NULL));
    OK(dt_checkpoint_restore(p->checkpoint, path));
    OK(loop_train(p, -1, save_often, NULL));
    while (!result) pause();
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

static void finish(const char *strategy, loop_data kind, const char *result) {
    int status;
    const pid_t child = start(strategy, kind, result);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void kill_one(const char *strategy, loop_data kind, uint64_t us) {
    int status;
    const pid_t child = start(strategy, kind, NULL);
    nanosleep(&(struct timespec){.tv_sec = (time_t)(us / 1000000),
                                 .tv_nsec = (long)(us % 1000000) * 1000},
              NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) fail_msg("it ended with %d before it was killed", WEXITSTATUS(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* The kills are spread over the time that the whole takes. */
static void kill_and_compare(loop_data kind, dt_random *r) {
    forget(RUN);
    const int64_t since = dt_now_ns();
    finish("default", kind, HERE "/whole");
    const uint64_t whole_us = (uint64_t)(dt_seconds_since(since) * 1e6);
    forget(RUN);
    for (int i = 0; i < KILLS; i++)
        kill_one(strategies[dt_random_below(r, STRATEGIES)], kind,
                 dt_random_below(r, 2 * whole_us / KILLS + 1000));
    finish(strategies[dt_random_below(r, STRATEGIES)], kind, HERE "/killed");
    dt_str expected = text_of_file(HERE "/whole"), found = text_of_file(HERE "/killed");
    assert_true(expected.size > 0);
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
