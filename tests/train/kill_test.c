/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9: a child trains, is killed at a moment nobody chose, and the same is begun again, twenty
 * times and until it is done. It ends with the bits and the history of the run that nobody
 * disturbed. All training is done in children, so that none of them inherits threads.
 */
#define HERE "build/tmp/train-kill"
#include "kit.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"

enum { KILLS = 20 };

/* Long enough for twenty kills: 30 epochs of 4 steps, a checkpoint after every third step and at
 * each end. */
static setup job(const char *directory) {
    return (setup){.fit = "{epochs: 30, validation_freq: 4}",
                   .directory = directory,
                   .replicas = 3,
                   .threads = 2,
                   .seed = 4,
                   .checkpoint = "{save_freq: 3, max_to_keep: 2}",
                   .layers = "[Input: {name: image, shape: [40]}, Dense: {units: 64, activation: "
                             "relu}, Dense: {units: 10}]",
                   .data = "{format: synthetic, examples: 100, validation: 20, element: {image: "
                           "{shape: [40]}, label: {num_classes: 10}}, "
                           "global_batch_size: 32, shuffle: true}"};
}

/* The steps of the children are slow, so that kills hit them: the work itself takes
 * microseconds. */
static void doze(const dt_event *e, void *user) {
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)user;
    if (e->kind == DT_EVENT_STEP) nanosleep(&pause, NULL);
}

/* In a child: train, write the hash where the parent finds it, end. */
_Noreturn static void train(const setup *s) {
    outcome o = fit(s);
    int code = dt_report(o.status);

    o.status = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s.sha", s->directory);
    if (code == 0) code = dt_report(dt_file_commit(path, o.sha, 64));
    outcome_free(&o);
    _exit(code);
}

static pid_t start(const setup *s) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) train(s);
    return child;
}

static void sleep_us(uint64_t us) {
    const struct timespec t = {.tv_sec = (time_t)(us / 1000000),
                               .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&t, NULL);
}

/* True: the child was killed; false: it had come to its end. */
static bool kill_after(pid_t child, uint64_t us) {
    int status;

    sleep_us(us);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

static void wait_for(pid_t child) {
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void expect_same_file(const char *a, const char *b) {
    dt_str x = text_of_file(a), y = text_of_file(b);

    assert_true(x.size > 0);
    assert_string_equal(dt_str_text(&x), dt_str_text(&y));
    dt_str_release(&x);
    dt_str_release(&y);
}

/* The step of the newest checkpoint below a directory; 0: none. */
static long newest(const char *directory) {
    char command[128];
    long step = 0;

    snprintf(command, sizeof command,
             "ls %s/ckpt 2>/dev/null | sed -n 's/^step-\\([0-9]*\\)$/\\1/p' | tail -n 1",
             directory);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    if (fscanf(f, "%ld", &step) != 1) step = 0;
    pclose(f);
    return step;
}

static void test_killed_runs_end_with_the_same_bits(void **state) {
    (void)state;
    uint64_t seed = (uint64_t)dt_now_ns();
    dt_random r = dt_random_stream(seed, "kills", 0);
    setup whole = job(HERE "/whole"), killed = job(HERE "/killed");
    int kills = 0, ends = 0, moves = 0;
    dt_str places = {0};

    print_message("seed %llu\n", (unsigned long long)seed);
    int64_t since = dt_now_ns();
    wait_for(start(&whole));
    uint64_t undisturbed_us = (uint64_t)(dt_seconds_since(since) * 1e6);
    killed.run = (dt_run_options){.event = doze, .every_step = true};
    for (long before = 0; (kills < KILLS || moves <= 2) && kills < 10 * KILLS && ends < 5;) {
        /* From "before the first step" to "a few checkpoints on": the whole takes longer than a
         * child ever has. On a machine that has become slower, children get longer. */
        const uint64_t most = 40000 + undisturbed_us / 8;
        uint64_t us = 1000 + dt_random_below(&r, most * (uint64_t)(1 + kills / KILLS));
        if (kill_after(start(&killed), us)) kills++;
        else if (ends++, ends < 5) forget(killed.directory); /* it was done too soon: once more */
        long now = newest(killed.directory);
        moves += now != before;
        dt_str_printf(&places, " %ld", before = now);
    }
    wait_for(start(&killed));
    print_message("%d kills, %d early ends, newest checkpoints:%s\n", kills, ends,
                  dt_str_text(&places));
    dt_str_release(&places);
    assert_true(kills >= KILLS);
    assert_true(moves > 2); /* they did not all come before the first checkpoint */
    expect_same_file(HERE "/whole.sha", HERE "/killed.sha");
    expect_same_file(HERE "/whole/history.jsonl", HERE "/killed/history.jsonl");
    assert_true(is_there(HERE "/killed/ckpt/step-00000120"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_runs_end_with_the_same_bits),
    };
    return cmocka_run_group_tests_name("train/kill", tests, clean_folder, NULL);
}
