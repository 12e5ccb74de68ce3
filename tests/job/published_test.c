/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of configs/published: what they train has exactly as many numbers as the models have
 * that were published, and opening one of half a trillion takes no memory for them. */
#define HERE "build/tmp/job-published"
#include "kit.h"

static int64_t trained(const dt_model_spec *m) {
    int64_t n = 0;
    for (int i = 0; i < m->n_weights; i++)
        n += m->weight[i]->trainable ? dt_type_elements(&m->weight[i]->type) : 0;
    return n;
}

static dt_status *open_published(const char *name, dt_job **out) {
    char path[128];
    *out = NULL;
    snprintf(path, sizeof path, "configs/published/%s.yaml", name);
    return dt_job_open(out, &(dt_job_source){.path = path, .purpose = DT_FOR_PLAN});
}

static void test_numbers_of_parameters(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t parameters, kept; /* kept: what is not trained, of floats */
    } rows[] = {
        /* Counted from the papers' tables; those of Llama, BERT (with its head for masked words),
         * ViT, ResNet and the U-Net are what their checkpoints hold. */
        {"llama3-8b", 8030261248, 0},
        {"llama3-70b", 70553706496, 0},
        {"mistral-7b", 7241732096, 0},
        {"llama3.1-405b", 405853388800, 0},
        {"gpt3-175b", 174604259328, 0},
        {"palm-540b", 540356474880, 0},
        {"bert-large", 335174458, 0},
        {"vit-b16", 86567656, 0},
        {"resnet50", 25557032, 53120},
        {"mixtral-8x7b", 46702792704, 0},
        {"deepseek-v3", 671026404352, 0},
        {"llama4-scout", 107769861120, 0},
        {"t5-xxl", 11135332352, 0},
        {"whisper-large", 1541570560, 1920000}, /* kept: sines and cosines of positions */
        {"stable-diffusion-2-unet", 865910724, 0},
        {"gpt-oss-20b", 20914757184, 0},
        {"gpt-oss-120b", 116829156672, 0},
        {"wan2.1-14b", 14288491584, 0},
        {"wan2.1-1.3b", 1418996800, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_job *job;
        ok(open_published(rows[i].name, &job));
        assert_string_equal(dt_job_name(job), rows[i].name);
        if (trained(&job->model) != rows[i].parameters)
            fail_msg("%s: %lld parameters are trained, expected %lld", rows[i].name,
                     (long long)trained(&job->model), (long long)rows[i].parameters);
        assert_int_equal(job->model.parameters - trained(&job->model), rows[i].kept);
        dt_job_unref(job);
    }
}

/* What one override must change together: sizes of layers, data, splits. */
static void test_a_decoder_of_any_size(void **state) {
    (void)state;
    static const char *const overrides[] = {
        "let.layers=3",    "let.width=64",       "let.intermediate=96", "let.heads=4",
        "let.kv_heads=2",  "let.head_dim=8",     "let.vocabulary=50",   "let.sequence=16",
        "let.gated=false", "let.slice=sim:v4-8", "let.replicas=2",      "let.block=[2, 1, 1, 1]",
        "let.tensor=2"};
    dt_job *job = NULL;
    ok(dt_job_open(&job, &(dt_job_source){.path = "configs/published/decoder.yaml",
                                          .purpose = DT_FOR_PLAN,
                                          .overrides = overrides,
                                          .n_overrides = sizeof overrides / sizeof *overrides}));
    /* two tables, and of a block: queries and outputs, keys and values, both halves of the second
     * half, both norms; the last norm */
    assert_int_equal(trained(&job->model),
                     2 * 50 * 64 + 3 * (2 * 64 * 4 * 8 + 2 * 64 * 2 * 8 + 2 * 64 * 96 + 2 * 64) +
                         64);
    assert_int_equal(job->model.output[0].type.dim[1], 16);
    dt_job_unref(job);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_of_parameters),
        cmocka_unit_test(test_a_decoder_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
