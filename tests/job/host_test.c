/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two figures of memory that `plan` gives, against runs of the same jobs: the host's arena is
 * what fit says when it starts, and a device's HBM is the smallest ceiling under which fit runs.
 * Both to the byte.
 */
#define HERE "build/tmp/job-host"
#include <jansson.h>

#include "kit.h"

typedef struct figures {
    int64_t host, hbm;
} figures;

static const char *const heads[] = {
    "version: 1\nseed: 3\nstrategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}}\n",
    "version: 1\nseed: 3\nreproducible: {shards: 8}\nstrategy: {type: tpu, cluster_resolver: {tpu: "
    "sim:v3-8}}\n",
    "version: 1\nseed: 3\nstrategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}, "
    "device_assignment: {computation_shape: [1, 1, 1, 2]}, spmd_partitioning: true}\n",
    ("version: 1\nseed: 3\nstrategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8, numerics: "
     "chip}, device_assignment: {computation_shape: [1, 1, 1, 2]}, "
     "spmd_partitioning: true}\n"),
};
enum { WHOLE, SHARDS, LOGICAL, CHIP };

static const char mlp[] =
    "dataset: {format: synthetic, examples: 100, element: {image: {shape: [20]}, label: "
    "{num_classes: 3}}, validation_split: 0.2, global_batch_size: 32}\n"
    "model:\n  layers:\n    - Input: {name: image, shape: [20]}\n    - Dense: {name: h, units: 24, "
    "activation: relu}\n    - Dropout: {rate: 0.1}\n"
    "    - Dense: {name: logits, units: 3}\n"
    "compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, "
    "metrics: [accuracy]}\nfit: {epochs: 1}\noutput: {dir: " HERE "/run}\n";
static const char cnn[] =
    "dataset: {format: synthetic, examples: 64, element: {image: {shape: [16, 16, 3]}, label: "
    "{num_classes: 4}}, global_batch_size: 16}\n"
    "model:\n  layers:\n    - Input: {name: image, shape: [16, 16, 3]}\n    - Conv2D: {filters: 8, "
    "kernel_size: 3, padding: same, activation: relu}\n"
    "    - MaxPooling2D: {}\n    - Conv2D: {filters: 12, kernel_size: 3, strides: 2}\n    - "
    "GlobalAveragePooling2D: {}\n    - Dense: {units: 4}\n"
    "compile: {optimizer: {SGD: {learning_rate: 0.1, momentum: 0.9}}, loss: "
    "{SparseCategoricalCrossentropy: {from_logits: true}}}\nfit: {epochs: 1}\n"
    "output: {dir: " HERE "/run}\n";
static const char gpt[] =
    "dataset: {format: synthetic, examples: 32, element: {tokens: {shape: [16], num_classes: 30}, "
    "targets: {shape: [16], num_classes: 30}}, global_batch_size: 16}\n"
    "model:\n  layers:\n    - Input: {name: tokens, shape: [16], dtype: int32}\n"
    "    - TokenAndPositionEmbedding: {name: embed, vocabulary_size: 30, sequence_length: 16, "
    "embedding_dim: 16}\n"
    "    - Repeat:\n        for: {i: [0, 1]}\n        layers:\n"
    "          - TransformerDecoder: {name: \"decoder_{i}\", intermediate_dim: 32, num_heads: 2, "
    "activation: gelu, normalize_first: true}\n"
    "    - LayerNormalization: {name: final_norm}\n    - Tied: {name: logits, to: "
    "embed/token_embedding}\n"
    "compile: {optimizer: {AdamW: {global_clipnorm: 1.0}}, loss: {SparseCategoricalCrossentropy: "
    "{from_logits: true}}, metrics: [accuracy]}\n"
    "fit: {epochs: 1}\noutput: {dir: " HERE "/run}\n";

#define SPLIT_MLP "partition: {image: replicate, label: replicate, h: {split: [1, 2]}}\n"
#define SPLIT_CNN "partition: {image: {split: [1, 2, 1, 1]}, label: replicate}\n"
#define SPLIT_GPT "partition: {tokens: replicate, targets: replicate}\n"

static const struct {
    const char *name;
    int head;
    const char *partition, *body;
} cases[] = {
    {"mlp", WHOLE, "", mlp},
    {"mlp in shards", SHARDS, "", mlp},
    {"mlp of logical devices", LOGICAL, SPLIT_MLP, mlp},
    {"mlp as the chip computes", CHIP, SPLIT_MLP, mlp},
    {"cnn", WHOLE, "", cnn},
    {"cnn in shards", SHARDS, "", cnn},
    {"cnn of logical devices", LOGICAL, SPLIT_CNN, cnn},
    {"gpt", WHOLE, "", gpt},
    {"gpt in shards", SHARDS, "", gpt},
    {"gpt of logical devices", LOGICAL, SPLIT_GPT, gpt},
    {"gpt as the chip computes", CHIP, SPLIT_GPT, gpt},
};
enum { CASES = sizeof cases / sizeof *cases };

static dt_job *open_case(size_t i, dt_purpose purpose) {
    dt_str text = {0};
    dt_job *j = NULL;
    dt_str_puts(&text, heads[cases[i].head]);
    dt_str_puts(&text, cases[i].partition);
    dt_str_puts(&text, cases[i].body);
    write_job("job.yaml", 0, dt_str_text(&text));
    dt_str_release(&text);
    ok(open_job(&j, &(opening){.name = "job.yaml", .purpose = purpose}));
    return j;
}

/* ---- what plan says ---- */

static figures planned(size_t i, int threads) {
    char *text = NULL;
    dt_job *j = open_case(i, DT_FOR_PLAN);
    ok(dt_plan_text(&(dt_plan_request){.jobs = &j,
                                       .labels = (const char *const[]){""},
                                       .n_jobs = 1,
                                       .form = DT_PLAN_JSON,
                                       .threads = threads},
                    &text, NULL));
    json_t *o = json_loads(text, 0, NULL);
    const figures f = {
        .host = json_integer_value(json_object_get(o, "host_arena_bytes")),
        .hbm = json_integer_value(json_object_get(json_object_get(o, "logical_device"), "total"))};
    json_decref(o);
    free(text);
    dt_job_unref(j);
    return f;
}

/* ---- what fit does ---- */

static void listen(const dt_event *e, void *user) {
    if (e->kind == DT_EVENT_START) *(int64_t *)user = e->peak_bytes;
}

/* Its arena; -1: it did not fit. */
static int64_t fitted(size_t i, int threads, int64_t hbm) {
    char ceiling[64];
    const char *inject[] = {ceiling};
    int64_t peak = 0;
    dt_job *j = open_case(i, DT_FOR_FIT);
    snprintf(ceiling, sizeof ceiling, "hbm=%lld", (long long)hbm);
    dt_status *s = dt_job_fit(j, &(dt_run_options){.event = listen,
                                                   .user = &peak,
                                                   .threads = threads,
                                                   .resume = DT_RESUME_NEVER,
                                                   .max_steps = 1,
                                                   .inject = inject,
                                                   .n_inject = hbm > 0});
    dt_job_unref(j);
    if (s && dt_status_code(s) == 78) {
        dt_status_free(s);
        return -1;
    }
    ok(s);
    return peak;
}

static void test_host_arena(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++)
        for (int threads = 1; threads <= 2; threads++) {
            int64_t want = fitted(i, threads, 0), got = planned(i, threads).host;
            if (got != want || want <= 0)
                fail_msg("%s, %d threads: planned %lld, allocated %lld", cases[i].name, threads,
                         (long long)got, (long long)want);
        }
}

static void test_hbm_ceiling(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        int64_t hbm = planned(i, 1).hbm;
        if (fitted(i, 1, hbm) < 0 || fitted(i, 1, hbm - 1) >= 0)
            fail_msg("%s: planned %lld are not the smallest ceiling", cases[i].name,
                     (long long)hbm);
    }
}

/* Steps of ten thousands of nodes are planned for their slice all the same. */
static void test_too_large(void **state) {
    (void)state;
    const char *overrides[] = {"compile.precision=float32"}; /* what could be run here */
    char *text = NULL;
    dt_job *j = NULL;
    ok(dt_job_open(&j, &(dt_job_source){.path = "configs/published/llama3.1-405b.yaml",
                                        .overrides = overrides,
                                        .n_overrides = 1,
                                        .purpose = DT_FOR_PLAN}));
    ok(dt_plan_text(&(dt_plan_request){.jobs = &j,
                                       .labels = (const char *const[]){""},
                                       .n_jobs = 1,
                                       .form = DT_PLAN_JSON,
                                       .threads = 1},
                    &text, NULL));
    assert_non_null(strstr(text, "\"host_arena_bytes\": null"));
    free(text);
    dt_job_unref(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_host_arena),
                                       cmocka_unit_test(test_hbm_ceiling),
                                       cmocka_unit_test(test_too_large)};
    return cmocka_run_group_tests_name("job/host", tests, make_here, NULL);
}
