/* SPDX-License-Identifier: Apache-2.0 */
/* A replay that is stopped says so, with an error of its own, and leaves nothing behind. What
 * replays find is in tests/cli/ckpt/replay.sh. */
#define HERE "build/tmp/job-replay"
#include <unistd.h>

#include "kit.h"

typedef struct stopper {
    int64_t at; /* the step after which it is stopped */
    int how;    /* as many signals */
    volatile int stop;
} stopper;

static void listen(const dt_event *e, void *user) {
    stopper *s = user;
    if (e->kind == DT_EVENT_STEP && e->step >= s->at) s->stop = s->how;
}

static void train(dt_job **job) {
    write_job("job.yaml", 0, tiny_job);
    ok(open_job(job, &(opening){.name = "job.yaml"}));
    ok(dt_job_fit(*job, &(dt_run_options){.resume = DT_RESUME_NEVER}));
}

static void test_a_stopped_replay_knows_nothing(void **state) {
    (void)state;
    static const stopper rows[] = {{1, 1, 0}, {5, 1, 0}, {11, 1, 0}, {1, 2, 0}, {5, 2, 0}};
    dt_job *job = NULL;

    setenv("TMPDIR", HERE "/scratch", 1);
    ok(dt_dir_make(HERE "/scratch"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stopper s = rows[i];
        char *text = NULL;
        train(&job);
        dt_status *stopped = dt_job_replay(
            job, 99, false,
            &(dt_run_options){.every_step = true, .event = listen, .user = &s, .stop = &s.stop},
            &text);
        if (dt_status_number(stopped) != DT_E_REPLAY_STOPPED || dt_status_code(stopped) != 75)
            fail_msg("row %zu: %s", i, stopped ? dt_status_text(stopped) : "not stopped");
        assert_string_equal(text, "");
        assert_int_equal(rmdir(HERE "/scratch"), 0); /* is empty */
        ok(dt_dir_make(HERE "/scratch"));
        dt_status_free(stopped);
        free(text);
        dt_job_unref(job);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stopped_replay_knows_nothing),
    };
    return cmocka_run_group_tests_name("job/replay", tests, make_here, NULL);
}
