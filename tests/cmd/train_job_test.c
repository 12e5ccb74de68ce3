/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as jobs: what a row says of the model, the slice and the batch must stand in the job, and
 * what it does not say must be named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/plan.h"
#include "../../cmd/simulator/train_job.h"

#define DIMS                                                                                       \
    "\"dims\": {\"D\": 1024, \"F\": 4096, \"heads\": 8, \"kv_heads\": 2, \"head_dim\": 128, "      \
    "\"layers\": 6, \"vocab\": 32000, \"gated_mlp\": true}"

typedef struct scene {
    dt_rows rows;
    dt_row row;
    json_t *json;
} scene;

static dt_train_job job_of(scene *s, const char *config) {
    json_error_t error;
    s->rows = (dt_rows){.arena = dt_arena_create()};
    s->json = json_loads(config, 0, &error);
    assert_non_null(s->json);
    s->row = (dt_row){.id = "a", .kind = "train-step", .unit = "s", .config = s->json};
    return dt_train_job_of(&s->rows, &s->row);
}

static void close_scene(scene *s) {
    json_decref(s->json);
    dt_arena_destroy(s->rows.arena);
}

static void test_overrides(void **state) {
    (void)state;
    static const struct {
        const char *config;
        const char *want[6]; /* overrides */
    } cases[] = {
        {"{\"accelerator\": \"v4-128\", " DIMS
         ", \"per_device_batch\": 2, \"seq\": 2048, \"ici_fsdp\": 64, \"remat\": \"full\"}",
         {"let.slice=sim:v4-128", "let.layers=6", "let.replicas=64", "let.batch=128",
          "let.block=[1, 1, 1, 1]", "model.rematerialize=full"}},
        {"{\"accelerator\": \"v5p-128\", " DIMS
         ", \"per_device_batch\": 1, \"seq\": 512, \"ici_tensor\": 4, \"ici_fsdp\": 16, \"remat\": "
         "\"minimal\"}",
         {"let.tensor=4", "let.kv_parts=2", "let.replicas=16", "let.block=[1, 1, 4, 1]",
          "let.batch=64", "model.rematerialize=none"}},
        {"{\"accelerator\": \"v5litepod-256\", " DIMS
         ", \"per_device_batch\": 1, \"seq\": 512, \"ici_tensor\": 16, \"ici_fsdp\": 16, "
         "\"slices\": 2}",
         {"let.block=[1, 16, 1, 1]", "strategy.cluster_resolver.num_slices=2", "let.gated=true",
          "let.kv_heads=2", "let.shared=weights"}},
        {"{\"accelerator\": \"tpu7x-128\", \"topology\": \"4x4x4\", \"model\": \"llama3.1-8b\", "
         "\"global_batch\": 256, \"seq\": 8192}",
         {"let.replicas=128", "let.batch=256", "let.width=4096", "let.vocabulary=128256",
          "let.intermediate=14336", "let.slice=sim:tpu7x-128"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s;
        dt_train_job job = job_of(&s, cases[i].config);
        if (job.missing) fail_msg("case %zu: %s", i, job.missing);
        for (int k = 0; k < 6 && cases[i].want[k]; k++) {
            bool there = false;
            for (int n = 0; n < job.n; n++)
                there = there || strcmp(job.override[n], cases[i].want[k]) == 0;
            if (!there) fail_msg("case %zu: no %s", i, cases[i].want[k]);
        }
        close_scene(&s);
    }
}

static void test_missing(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{\"topology\": \"8x4x4\", " DIMS ", \"per_device_batch\": 1, \"seq\": 512}",
         "name the chips"},
        {"{\"accelerator\": \"v9-8\", " DIMS ", \"per_device_batch\": 1, \"seq\": 512}",
         "no slice"},
        {"{\"accelerator\": \"v4-8\", \"model\": \"Unheard-1B\", \"per_device_batch\": 1, \"seq\": "
         "512}",
         "sizes of Unheard-1B"},
        {"{\"accelerator\": \"v4-8\", \"dims\": {\"D\": 8}, \"per_device_batch\": 1, \"seq\": 512}",
         "size F"},
        {"{\"accelerator\": \"v4-8\", " DIMS ", \"seq\": 512}", "batch"},
        {"{\"accelerator\": \"v4-8\", " DIMS ", \"per_device_batch\": 1}", "length"},
        {"{\"accelerator\": \"v4-8\", " DIMS
         ", \"per_device_batch\": 1, \"seq\": 512, \"precision\": \"fp8\"}",
         "rate of fp8"},
        {"{\"accelerator\": \"v4-8\", " DIMS
         ", \"per_device_batch\": 1, \"seq\": 512, \"ici_fsdp\": 3}",
         "devices of the slice"},
        {"{\"accelerator\": \"v4-8\", " DIMS
         ", \"per_device_batch\": 1, \"seq\": 512, \"ici_tensor\": 1e30}",
         "devices of the slice"},
        {"{\"accelerator\": \"v4-8\", \"dims\": {\"D\": 8, \"F\": 8, \"heads\": 1, \"kv_heads\": "
         "1, \"head_dim\": 8, \"layers\": 1, \"vocab\": 8,"
         " \"experts\": 4}, \"per_device_batch\": 1, \"seq\": 512}",
         "experts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s;
        dt_train_job job = job_of(&s, cases[i][0]);
        if (!job.missing || !strstr(job.missing, cases[i][1]))
            fail_msg("case %zu: %s, not %s", i, job.missing ? job.missing : "nothing missing",
                     cases[i][1]);
        close_scene(&s);
    }
}

/* Of the chips' own rates; a chip whose 8-bit products are no faster computes them as bfloat16. */
static void test_product_rates(void **state) {
    (void)state;
    static const struct {
        const char *accelerator, *key, *word;
        double want;
    } cases[] = {
        {"tpu7x-8", "precision", "fp8", 2},
        {"tpu7x-8", "precision", "bf16", 1},
        {"v6e-8", "quantization", "int8", 2},
        {"v5p-8", "precision", "fp8", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s;
        char row[512];
        snprintf(row, sizeof row,
                 "{\"accelerator\": \"%s\", " DIMS
                 ", \"per_device_batch\": 1, \"seq\": 512, \"%s\": \"%s\"}",
                 cases[i].accelerator, cases[i].key, cases[i].word);
        dt_train_job job = job_of(&s, row);
        if (job.missing || job.product_rate < 0.99 * cases[i].want ||
            job.product_rate > 1.01 * cases[i].want)
            fail_msg("case %zu: %s, rate %g", i, job.missing ? job.missing : "planned",
                     job.product_rate);
        close_scene(&s);
    }
}

/* The planned model has the weights that the row's sizes give: its products, the embedding and the
 * norms' scales. */
static void test_parameters(void **state) {
    (void)state;
    scene s;
    dt_job *job = NULL;
    dt_job_plan *p = NULL;
    const char *overrides[DT_ROW_OVERRIDES];
    dt_train_job j =
        job_of(&s, "{\"accelerator\": \"v4-8\", " DIMS ", \"per_device_batch\": 1, \"seq\": 512}");
    int n = 0;
    for (int i = 0; i < j.n; i++)
        if (strncmp(j.override[i], "let.", 4) == 0) overrides[n++] = j.override[i];
    dt_status *f = dt_job_open(&job, &(dt_job_source){.path = "configs/published/decoder.yaml",
                                                      .purpose = DT_FOR_PLAN,
                                                      .overrides = overrides,
                                                      .n_overrides = n});
    if (!f) f = dt_job_plan_create(&p, job, NULL);
    if (f) fail_msg("%s", dt_status_text(f));
    double embedding = j.vocab * j.width, scales = (2 * j.layers + 1) * j.width;
    assert_true(p->parameters == dt_train_job_weights(&j) + embedding + scales);
    dt_job_plan_destroy(p);
    dt_job_unref(job);
    close_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overrides), cmocka_unit_test(test_missing),
        cmocka_unit_test(test_product_rates), cmocka_unit_test(test_parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
