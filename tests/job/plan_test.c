/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one job under overrides: what must fall, stay or grow, whatever constants say. */
#define HERE "build/tmp/job-plan"
#include "job/plan.h"
#include "kit.h"

static const char small_job[] =
    "version: 1\nstrategy: {type: tpu, cluster_resolver: {tpu: \"sim:v3-8\"}}\n"
    "dataset: {format: synthetic, examples: 1024, element: {image: {shape: [64]}, label: "
    "{num_classes: 8}}, global_batch_size: 64}\n"
    "model:\n  layers:\n    - Input: {name: image, shape: [64]}\n    - Dense: {units: 256, "
    "activation: relu}\n    - Dense: {units: 8}\n"
    "compile: {optimizer: {SGD: {learning_rate: 0.1, momentum: 0.9}}, loss: "
    "{SparseCategoricalCrossentropy: {from_logits: true}}}\n"
    "fit: {epochs: 1}\n";

enum { PARAMETERS = 64 * 256 + 256 + 256 * 8 + 8, REPLICAS = 8 };

typedef struct planned {
    dt_plan_bytes bytes;
    double seconds, received;
} planned;

static dt_job_plan *plan_made(const char *path, const char *const *override, int n) {
    dt_job *j = NULL;
    dt_job_plan *p = NULL;
    dt_job_source source = {
        .path = path, .overrides = override, .n_overrides = n, .purpose = DT_FOR_PLAN};
    ok(dt_job_open(&j, &source));
    ok(dt_job_plan_create(&p, j, NULL));
    return p;
}

static void release(dt_job_plan *p) {
    dt_job *j = p->job;
    dt_job_plan_destroy(p);
    dt_job_unref(j);
}

static planned plan_of(const char *path, const char *const *override, int n) {
    dt_job_plan *p = plan_made(path, override, n);
    planned all = {.bytes = p->plan[0]->bytes,
                   .seconds = p->plan[0]->seconds,
                   .received = p->plan[0]->received};
    release(p);
    return all;
}

static planned plan_with(const char *first, const char *second) {
    const char *override[] = {first, second};
    write_job("job.yaml", 0, small_job);
    return plan_of(path_of("job.yaml"), override, (first != NULL) + (second != NULL));
}

/* SGD's slots: the velocities; what is counted beside them (steps, the rate) is small. */
static void expect_slots(int64_t slots, int64_t numbers) {
    assert_in_range(slots, numbers * 4, numbers * 4 + 64);
}

static void test_variables(void **state) {
    (void)state;
    planned p = plan_with(NULL, NULL);
    assert_int_equal(p.bytes.weights, 4 * PARAMETERS);
    assert_int_equal(p.bytes.gradients, 4 * PARAMETERS);
    expect_slots(p.bytes.slots, PARAMETERS);
}

static void test_over_replicas(void **state) {
    (void)state;
    planned none = plan_with(NULL, NULL),
            slots = plan_with("partition.over_replicas=optimizer", NULL),
            all = plan_with("partition.over_replicas=weights", NULL);
    assert_int_equal(slots.bytes.weights, none.bytes.weights);
    expect_slots(slots.bytes.slots, PARAMETERS / REPLICAS);
    assert_int_equal(all.bytes.weights, none.bytes.weights / REPLICAS);
    assert_int_equal(all.bytes.gradients, none.bytes.gradients / REPLICAS);
    expect_slots(all.bytes.slots, PARAMETERS / REPLICAS);
}

static void keep_line(void *user, const char *text) { dt_str_printf(user, "%s\n", text); }

/* Six replicas divide none of these sizes, two do: the warning names the rest, and a number of
 * replicas that divides. */
static void test_replicas_that_do_not_divide(void **state) {
    (void)state;
    const char *override[] = {
        "partition.over_replicas=weights",
        "strategy.device_assignment={computation_shape: [1, 1, 1, 1], num_replicas: 6}",
        "dataset.global_batch_size=96"};
    dt_str told = {0};
    write_job("job.yaml", 0, small_job);
    dt_job_plan *p = plan_made(path_of("job.yaml"), override, 3);
    assert_int_equal(p->plan[0]->bytes.weights, 4 * PARAMETERS / 2);
    dt_job_plan_warn(p, keep_line, &told);
    assert_non_null(strstr(dt_str_text(&told), "6 replicas do not divide the sizes of 8 variables "
                                               "evenly, 'dense/kernel' the largest: a device keeps "
                                               "48.7 KiB more than its share; "
                                               "8 replicas would divide it\n"));
    dt_str_release(&told);
    release(p);
}

/* Slots lie as their weights, whatever the values between them would: Adam keeps two of their size,
 * Adafactor one, and a row and a column. */
static void test_slots_lie_as_weights(void **state) {
    (void)state;
    static const struct {
        const char *optimizer;
        double times;
    } rows[] = {
        {"compile.optimizer={Adam: {learning_rate: '{rate}'}}", 2},
        {"compile.optimizer={Adafactor: {learning_rate: '{rate}'}}", 1},
        {"compile.optimizer={Adam: {learning_rate: '{rate}', use_ema: true}}", 3},
    };
    static const char *const splits[] = {"let.embed_split=[4,3]", "let.embed_split=[1,12]"};
    for (int i = 0; i < 3 * 2; i++) {
        const char *override[] = {rows[i / 2].optimizer,   splits[i % 2],
                                  "let.layers=1",          "let.width=1536",
                                  "let.intermediate=6144", "let.vocabulary=3072"};
        planned p = plan_of("configs/published/palm-540b.yaml", override, 6);
        double is = (double)p.bytes.slots / (double)p.bytes.weights;
        assert_true(is >= rows[i / 2].times * 0.99 && is < rows[i / 2].times + 0.4);
    }
}

static void test_batches(void **state) {
    (void)state;
    static const char *const batch[] = {"dataset.global_batch_size=64",
                                        "dataset.global_batch_size=128",
                                        "dataset.global_batch_size=512"};
    planned before = {.seconds = 0};
    for (size_t i = 0; i < sizeof batch / sizeof *batch; i++) {
        planned p = plan_with(batch[i], NULL);
        assert_true(p.bytes.activations > before.bytes.activations && p.seconds >= before.seconds);
        assert_true(i == 0 || p.bytes.weights == before.bytes.weights);
        before = p;
    }
}

/* Layers compute in 16 bits; variables, their gradients' sums and slots are what they were. */
static void test_mixed_precision(void **state) {
    (void)state;
    planned wide = plan_with("dataset.global_batch_size=1024", NULL),
            mixed = plan_with("dataset.global_batch_size=1024", "compile.precision=mixed_bfloat16");
    assert_int_equal(mixed.bytes.weights, wide.bytes.weights);
    assert_int_equal(mixed.bytes.slots, wide.bytes.slots);
    const int64_t narrow = mixed.bytes.activations + mixed.bytes.shared,
                  all = wide.bytes.activations + wide.bytes.shared;
    assert_true(narrow < all && narrow * 2 >= all);
    assert_true(mixed.seconds <= wide.seconds);
}

/* A slice's own batch being the same, a network between slices only adds. */
static void test_slices(void **state) {
    (void)state;
    planned one = plan_with("dataset.global_batch_size=64", NULL),
            two = plan_with("dataset.global_batch_size=128",
                            "strategy.cluster_resolver.num_slices=2");
    assert_int_equal(two.bytes.total, one.bytes.total);
    assert_true(two.seconds >= one.seconds);
}

/* The estimate depends on no layer's name, not even on one that begins as a part of the step does. */
static void test_names_of_layers(void **state) {
    (void)state;
    static const char *const names[] = {"lossy", "metrics_head", "optimizer_in"};
    const planned plain =
        plan_with("model.layers.1.Dense.name=first", "compile.precision=mixed_bfloat16");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        snprintf(name, sizeof name, "model.layers.1.Dense.name=%s", names[i]);
        const planned p = plan_with(name, "compile.precision=mixed_bfloat16");
        assert_int_equal(p.bytes.total, plain.bytes.total);
        assert_int_equal(p.bytes.activations, plain.bytes.activations);
        assert_true(p.seconds >= plain.seconds && p.seconds <= plain.seconds);
    }
}

/* Evaluation of many examples needs more than training on few, so it decides what would fit. */
static void test_evaluation_decides(void **state) {
    (void)state;
    static const char job[] =
        "version: 1\nstrategy: {type: tpu, cluster_resolver: {tpu: \"sim:v3-8\"}}\n"
        "dataset: {format: synthetic, examples: 1040, validation_split: 0.99, element: {image: "
        "{shape: [64]}, label: {num_classes: 512}}, global_batch_size: 1024}\n"
        "model:\n  layers:\n    - Input: {name: image, shape: [64]}\n"
        "    - Dense: {units: 512, activation: relu}\n    - Dense: {units: 512}\n"
        "compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}\n"
        "fit: {epochs: 1}\n";
    dt_local_str text = {0};
    dt_json json = {.out = &text};
    write_job("job.yaml", 0, job);
    dt_job_plan *all = plan_made(path_of("job.yaml"), NULL, 0), *p = NULL;
    const char *weights = "partition.over_replicas=weights";
    dt_job_plan *divided = plan_made(path_of("job.yaml"), &weights, 1);
    const double needed = dt_job_plan_bytes(divided);
    assert_true(needed > (double)divided->plan[0]->bytes.total);
    assert_true(needed < dt_job_plan_bytes(all));
    ok(dt_job_plan_create(&p, all->job, &(dt_plan_options){.budget = (int64_t)needed}));
    dt_json_open(&json, NULL, '{');
    dt_job_plan_fitting_json(p, &json);
    dt_json_close(&json, '}');
    char total[64];
    snprintf(total, sizeof total, "\"total\": %lld", (long long)needed);
    assert_non_null(strstr(dt_str_text(&text), weights));
    assert_non_null(strstr(dt_str_text(&text), total));
    dt_job_plan_destroy(p);
    release(divided);
    release(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_over_replicas),
        cmocka_unit_test(test_replicas_that_do_not_divide),
        cmocka_unit_test(test_slots_lie_as_weights),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_mixed_precision),
        cmocka_unit_test(test_names_of_layers),
        cmocka_unit_test(test_evaluation_decides),
        cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests_name("job/plan", tests, make_here, NULL);
}
