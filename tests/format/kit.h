/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of this room share: a small model whose weights tell their step, and scratch
 * directories below build/tmp. Each test program includes it once, behind cmocka.
 */
#ifndef TESTS_FORMAT_KIT_H
#define TESTS_FORMAT_KIT_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "format/format.h"

#define KIT static inline __attribute__((unused))

KIT void assert_ok(dt_status *s) {
    if (s) dt_report(s);
    assert_null(s);
}

/* The first error has this number, and all of them together this text. */
KIT void assert_fails(dt_status *s, dt_error id, const char *part) {
    char *text = dt_status_format(s);
    if (dt_status_number(s) != (int)id || !strstr(text, part))
        fail_msg("expected DT%d '%s', got: %s", (int)id, part, text);
    free(text);
    dt_status_free(s);
}

/* Makes `dir` and empties it. */
KIT void fresh(const char *dir) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    assert_ok(dt_dir_make(dir));
}

KIT void write_file(const char *path, const void *bytes, size_t n) {
    dt_writer w;
    assert_ok(dt_writer_open(&w, path));
    assert_ok(dt_writer_put(&w, bytes, n));
    assert_ok(dt_writer_close(&w));
}

KIT bool is_there(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

/* One byte of a file, changed by exclusive or. */
KIT void flip(const char *path, int64_t at, unsigned char bits) {
    unsigned char c;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &c, 1, at), 1);
    c ^= bits;
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

/* The exit code of a child, -1 if a signal ended it. */
KIT int wait_for(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- a model ---- */

enum { KERNEL = 6, BIAS = 3, MODEL = 3, SLOTS = 2 };

typedef struct toy {
    float kernel[KERNEL], bias[BIAS], momentum[KERNEL]; /* (2, 3), (3), (2, 3) */
    int64_t seen, iterations;
    dt_named_view array[MODEL + SLOTS];
    dt_arrays model, optimizer;
} toy;

/* Weights that no other step has. */
KIT void toy_fill(toy *t, int64_t step) {
    for (int i = 0; i < KERNEL; i++) {
        t->kernel[i] = (float)step + (float)i / 16;
        t->momentum[i] = -(float)step - (float)i / 32;
    }
    for (int i = 0; i < BIAS; i++) t->bias[i] = (float)step * 3 + (float)i;
    t->seen = step * 1000;
    t->iterations = step;
}

KIT void toy_make(toy *t, int64_t step) {
    memset(t, 0, sizeof *t);
    t->array[0] =
        (dt_named_view){"dense/kernel", dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 3}), t->kernel};
    t->array[1] = (dt_named_view){"dense/bias", dt_type_of(DT_FLOAT32, 1, (int64_t[]){3}), t->bias};
    t->array[2] = (dt_named_view){"norm/seen", dt_type_of(DT_INT64, 0, NULL), &t->seen};
    t->array[3] = (dt_named_view){"optimizer/dense/kernel/momentum",
                                  dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 3}), t->momentum};
    t->array[4] =
        (dt_named_view){"optimizer/iterations", dt_type_of(DT_INT64, 0, NULL), &t->iterations};
    t->model = (dt_arrays){MODEL, t->array};
    t->optimizer = (dt_arrays){SLOTS, t->array + MODEL};
    toy_fill(t, step);
}

KIT bool toy_is(const toy *t, int64_t step) {
    toy want;
    toy_make(&want, step);
    return memcmp(t->kernel, want.kernel, sizeof want.kernel) == 0 &&
           memcmp(t->bias, want.bias, sizeof want.bias) == 0 &&
           memcmp(t->momentum, want.momentum, sizeof want.momentum) == 0 && t->seen == want.seen &&
           t->iterations == want.iterations;
}

KIT dt_state_file toy_state(int64_t step) {
    static double sums[] = {295, 0.1};
    return (dt_state_file){
        .step = step,
        .epoch = step / 10,
        .epoch_step = step % 10,
        .seed = 42,
        .job = "{\"version\": 1, \"seed\": 42}",
        .job_sha256 = "3f9c",
        .weights_sha256 = "8c1e",
        .kernels = "openblas test",
        .n_sums = 2,
        .sum = sums,
        .wall_s = 1.5,
    };
}

KIT dt_status *toy_save(const dt_run_dir *r, int64_t step, int max_to_keep) {
    toy t;
    char *path = NULL;
    toy_make(&t, step);
    dt_state_file state = toy_state(step);
    dt_status *s = dt_run_dir_save(r, &state, &t.model, &t.optimizer, max_to_keep, &path);
    free(path);
    return s;
}

/* The newest checkpoint that verifies holds what was saved as its step: that step; -1: there is
 * none. Warnings are counted. */
KIT int64_t newest_step(const char *dir, int *n_warnings) {
    toy t;
    dt_saved c;
    dt_status *warnings = NULL;
    toy_make(&t, 0);
    assert_ok(dt_saved_newest(&c, dir, &warnings));
    if (n_warnings) *n_warnings = dt_status_count(warnings);
    dt_status_free(warnings);
    if (!c.path) return -1;
    int64_t step = c.state.step;
    assert_ok(dt_saved_load(&c, &t.model, &t.optimizer));
    assert_true(toy_is(&t, step));
    assert_int_equal(c.state.epoch, step / 10);
    dt_saved_release(&c);
    return step;
}

#endif
