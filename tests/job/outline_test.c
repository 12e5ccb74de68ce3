/* SPDX-License-Identifier: Apache-2.0 */
/* Outlines of jobs: every step of a run cut into what a core does, replicas being an axis, and
 * nothing allocated that is as large as a tensor. */
#define HERE "build/tmp/job-outline"
#include <sys/resource.h>

#include "job/session.h"
#include "kit.h"

static dt_job *open_lines(int line, const char *with) {
    dt_job *j = NULL;
    write_job("job.yaml", line, with);
    ok(open_job(&j, &(opening){.name = "job.yaml"}));
    return j;
}

/* The axis of replicas is there wherever there are several, and a device's part of the rows is a
 * replica's. */
static void check_steps(dt_session *s, int replicas) {
    dt_outlined step[DT_MOST_OUTLINED];
    int n = dt_trainer_outlined(s->trainer, step);
    for (int i = 0; i < n; i++) {
        const dt_spmd *p = NULL, *again = NULL;
        ok(dt_trainer_priced(s->trainer, &step[i], &p));
        ok(dt_trainer_priced(s->trainer, &step[i], &again));
        assert_ptr_equal(p, again);
        assert_int_equal(dt_mesh_parts(&p->mesh, p->mesh.replicas), replicas);
        assert_int_equal(p->batch, (step[i].rows + replicas - 1) / replicas * replicas);
        assert_int_equal(p->local->batch_parts, replicas);
    }
}

/* 60 examples, 48 of them to train with, in batches of 9; 12 to validate with. */
static void test_steps_of_a_run(void **state) {
    static const struct {
        const char *name;
        int64_t rows, steps;
    } want[] = {{"train", 9, 5}, {"train", 3, 1}, {"evaluate", 9, 1}, {"evaluate", 3, 1}};
    dt_outlined step[DT_MOST_OUTLINED];
    dt_session s = {0};
    dt_job *j = open_lines(10, "  global_batch_size: 9");
    (void)state;
    ok(dt_session_outline(j, 0, &s));
    assert_int_equal(dt_trainer_outlined(s.trainer, step), 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(step[i].name, want[i].name);
        assert_int_equal(step[i].rows, want[i].rows);
        assert_int_equal(step[i].steps, want[i].steps);
    }
    check_steps(&s, 2);
    dt_session_close(&s);
    dt_job_unref(j);
}

static void test_any_number_of_replicas(void **state) {
    static const struct {
        const char *strategy;
        int replicas;
    } cases[] = {
        {"strategy: {type: one_device, device: \"CPU:0\"}", 1},
        {"strategy: {type: mirrored, replicas: 4}", 4},
        {"strategy: {type: tpu, cluster_resolver: {tpu: \"sim:v3-8\"}}", 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_session s = {0};
        dt_job *j = open_lines(4, cases[i].strategy);
        ok(dt_session_outline(j, 0, &s));
        check_steps(&s, cases[i].replicas);
        dt_session_close(&s);
        dt_job_unref(j);
    }
}

/* 400 billion parameters, and as many numbers twice more in slots: 4.8 TB of float32. */
static void test_large_models_are_not_allocated(void **state) {
    struct rusage use;
    dt_session s = {0};
    dt_spmd_bytes held;
    const dt_spmd *p = NULL;
    (void)state;
    write_job("job.yaml", 15,
              "    - Dense: {name: h, units: 500000}\n    - Dense: {units: 500000}\n    - Dense: "
              "{units: 300000}");
    dt_job *j = NULL;
    ok(open_job(&j, &(opening){.name = "job.yaml", .override = {"compile.optimizer=Adam"}}));
    ok(dt_session_outline(j, 0, &s));
    ok(dt_trainer_priced(s.trainer, &(dt_outlined){.name = "train", .rows = 8}, &p));
    held = dt_spmd_count_bytes(p);
    assert_true(held.weights > INT64_C(400000000000) * 4 && held.slots > INT64_C(800000000000) * 4);
    assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
    assert_in_range(use.ru_maxrss, 0, 1 << 20);
    dt_session_close(&s);
    dt_job_unref(j);
}

/* ---- rematerialisation, trained ---- */

typedef struct told {
    char sha[65];
    int64_t peak;
} told;

static void listen(const dt_event *e, void *user) {
    told *t = user;
    if (e->kind == DT_EVENT_START) t->peak = e->peak_bytes;
    if (e->kind == DT_EVENT_END) snprintf(t->sha, sizeof t->sha, "%s", e->weights_sha256);
}

static const char decoder_job[] =
    "version: 1\nstrategy: {type: mirrored, replicas: 2}\n"
    "dataset: {format: synthetic, examples: 32, element: {tokens: {shape: [16], num_classes: 30}, "
    "targets: {shape: [16], num_classes: 30}}, global_batch_size: 16}\n"
    "model:\n  layers:\n    - Input: {name: tokens, shape: [16], dtype: int32}\n    - Embedding: "
    "{input_dim: 30, output_dim: 16}\n"
    "    - Repeat:\n        for: {i: [0, 1, 2, 3, 4, 5]}\n        layers:\n"
    "          - TransformerDecoder: {name: \"decoder_{i}\", intermediate_dim: 64, num_heads: 2, "
    "dropout: 0.1, normalize_first: true}\n"
    "    - Dense: {units: 30}\n"
    "compile: {optimizer: {AdamW: {global_clipnorm: 1.0}}, loss: {SparseCategoricalCrossentropy: "
    "{from_logits: true}}}\n"
    "fit: {epochs: 1}\noutput: {dir: " HERE "/run}\n";

static told fit_with(const char *rematerialize) {
    told t = {0};
    dt_job *j = NULL;
    write_job("job.yaml", 0, decoder_job);
    ok(open_job(&j, &(opening){.name = "job.yaml", .override = {rematerialize}}));
    ok(dt_job_fit(j, &(dt_run_options){
                         .event = listen, .user = &t, .threads = 1, .resume = DT_RESUME_NEVER}));
    dt_job_unref(j);
    return t;
}

/* The same bits in less memory. */
static void test_rematerialised_training(void **state) {
    (void)state;
    told none = fit_with("model.rematerialize=none"), full = fit_with("model.rematerialize=full");
    assert_string_equal(none.sha, full.sha);
    assert_true(full.peak < none.peak);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_of_a_run),
        cmocka_unit_test(test_any_number_of_replicas),
        cmocka_unit_test(test_large_models_are_not_allocated),
        cmocka_unit_test(test_rematerialised_training),
    };
    return cmocka_run_group_tests_name("job/outline", tests, make_here, NULL);
}
