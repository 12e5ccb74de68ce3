/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of this room share: a job like those of users, a way to say "this line instead of
 * that one", files to read it from. Functions are static inline, since each test is a program of
 * its own; each defines HERE, its folder below build/tmp.
 */
#ifndef TESTS_JOB_KIT_H
#define TESTS_JOB_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "job/job.h"
#include "../support/status.h"

static const char tiny_job[] = "version: 1\n"                              /*  1 */
                               "name: tiny\n"                              /*  2 */
                               "seed: 7\n"                                 /*  3 */
                               "strategy: {type: mirrored, replicas: 2}\n" /*  4 */
                               "dataset:\n"                                /*  5 */
                               "  format: synthetic\n"                     /*  6 */
                               "  examples: 60\n"                          /*  7 */
                               /* 8 */
                               "  element: {image: {shape: [8]}, label: {num_classes: 3}}\n"
                               "  validation_split: 0.2\n"                            /*  9 */
                               "  global_batch_size: 8\n"                             /* 10 */
                               "model:\n"                                             /* 11 */
                               "  type: sequential\n"                                 /* 12 */
                               "  layers:\n"                                          /* 13 */
                               "    - Input: {name: image, shape: [8]}\n"             /* 14 */
                               "    - Dense: {name: h, units: 4, activation: relu}\n" /* 15 */
                               "    - Dense: {units: 3}\n"                            /* 16 */
                               "compile:\n"                                           /* 17 */
                               "  optimizer: {SGD: {learning_rate: 0.05}}\n"          /* 18 */
                               /* 19 */
                               "  loss: {SparseCategoricalCrossentropy: {from_logits: true}}\n"
                               "  metrics: [accuracy]\n"                          /* 20 */
                               "fit: {epochs: 2}\n"                               /* 21 */
                               "checkpoint: {save_freq: epoch, max_to_keep: 3}\n" /* 22 */
                               "output: {dir: " HERE "/run}\n";                   /* 23 */

static inline const char *path_of(const char *name) {
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], HERE "/%s", name);
    return path[turn];
}

static inline void write_file(const char *name, const char *text, size_t n) {
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline int make_here(void **state) {
    (void)state;
    dt_status *s = dt_dir_make(HERE);
    dt_status_free(s);
    return s != NULL;
}

/* The tiny job with another line `line`, which may be several or none; line 0: `with` alone. */
static inline void write_job(const char *name, int line, const char *with) {
    dt_str text = {0};
    int at = 1;
    for (const char *p = tiny_job; line && *p; at++) {
        size_t n = strcspn(p, "\n") + 1;
        if (at != line) dt_str_add(&text, p, n);
        else if (*with) dt_str_printf(&text, "%s\n", with);
        p += n;
    }
    if (line == 0) dt_str_puts(&text, with);
    write_file(name, dt_str_text(&text), text.size);
    dt_str_release(&text);
}

/* Opens HERE/name with up to three overrides. */
typedef struct opening {
    const char *name;
    const char *override[3];
    dt_purpose purpose;
} opening;

static inline dt_status *open_job(dt_job **job, const opening *o) {
    dt_job_source source = {
        .path = path_of(o->name), .overrides = o->override, .purpose = o->purpose};
    while (source.n_overrides < 3 && o->override[source.n_overrides]) source.n_overrides++;
    *job = NULL;
    return dt_job_open(job, &source);
}

#endif
