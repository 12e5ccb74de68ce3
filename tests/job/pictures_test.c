/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job on folders of pictures, from files to weights: half of them PNG, half JPEG, of two colours
 * that are two classes, which a small network tells apart; the same weights for any number of
 * replicas; what a broken file among them does to a run.
 */
#define HERE "build/tmp/job-pictures"
#include "kit.h"

#include <math.h>

#include <jpeglib.h>
#include <png.h>

enum { EACH = 20, LARGEST = 128 };

/* ---- drawing ---- */

typedef struct picture {
    /* the colour prevails: 0 red, 1 green, 2 blue, 3 none; every number is a little otherwise */
    int side, colour, number;
} picture;

static void draw(const picture *p, uint8_t *rgb) {
    for (int i = 0; i < p->side * p->side; i++)
        for (int c = 0; c < 3; c++)
            rgb[i * 3 + c] =
                (uint8_t)((c == p->colour ? 160 : 60) + (i * 7 + c * 13 + p->number * 29) % 64);
}

static void write_png(const char *path, int side, const uint8_t *rgb) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)side,
                       .height = (png_uint_32)side,
                       .format = PNG_FORMAT_RGB};
    assert_true(png_image_write_to_file(&image, path, 0, rgb, 0, NULL));
}

static void write_jpeg(const char *path, int side, const uint8_t *rgb) {
    struct jpeg_compress_struct j;
    struct jpeg_error_mgr errors;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    j.err = jpeg_std_error(&errors);
    jpeg_create_compress(&j);
    jpeg_stdio_dest(&j, f);
    j.image_width = j.image_height = (JDIMENSION)side;
    j.input_components = 3;
    j.in_color_space = JCS_RGB;
    jpeg_set_defaults(&j);
    jpeg_start_compress(&j, TRUE);
    for (int y = 0; y < side; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(rgb + y * side * 3);
        jpeg_write_scanlines(&j, &row, 1);
    }
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    fclose(f);
}

/* Folders of `each` pictures, by the names of their colours. */
static void write_part(const char *part, const char *const *classes, int side, int each) {
    static const char *const colours[] = {"red", "green", "blue", "grey"};
    static uint8_t rgb[LARGEST * LARGEST * 3];
    for (int k = 0; classes[k]; k++)
        for (int i = 0; i < each; i++) {
            picture p = {.side = side, .number = i};
            char path[256];
            while (strcmp(colours[p.colour], classes[k]) != 0) p.colour++;
            snprintf(path, sizeof path, HERE "/%s/%s", part, classes[k]);
            ok(dt_dir_make(path));
            draw(&p, rgb);
            snprintf(path, sizeof path, HERE "/%s/%s/%d.%s", part, classes[k], i,
                     i % 2 ? "png" : "jpg");
            (i % 2 ? write_png : write_jpeg)(path, side, rgb);
        }
}

static void write_pictures_job(void) {
    static const char job[] =
        "version: 1\n"
        "seed: 2\n"
        "strategy: {type: mirrored, replicas: 1}\n"
        "dataset:\n"
        "  format: image_folder\n"
        "  train: data/train\n"
        "  validation: data/val\n"
        "  element: {image: {shape: [16, 16, 3], dtype: uint8}, label: {num_classes: 2}}\n"
        "  map: {image: [cast: float32, rescale: {scale: 0.00784313725490196, offset: -1.0}]}\n"
        "  shuffle: {buffer_size: 512}\n"
        "  global_batch_size: 12\n"
        "model:\n"
        "  layers:\n"
        "    - Input: {name: image, shape: [16, 16, 3]}\n"
        "    - Repeat:\n"
        "        for: {i: [0, 1], filters: [4, 8]}\n"
        "        layers:\n"
        "          - Conv2D: {name: \"conv_{i}\", filters: \"{filters}\", kernel_size: 3, strides: "
        "2, padding: same, use_bias: false}\n"
        "          - BatchNormalization: {name: \"bn_{i}\", synchronized: true, momentum: 0.5}\n"
        "          - ReLU: {}\n"
        "    - GlobalAveragePooling2D: {}\n"
        "    - Dense: {units: 2, name: logits}\n"
        "compile: {optimizer: {SGD: {learning_rate: 0.1, momentum: 0.9, nesterov: true}},\n"
        "          loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: "
        "[accuracy]}\n"
        "fit: {epochs: 4}\n";
    ok(dt_file_commit(HERE "/job.yaml", job, sizeof job - 1));
}

static int write_all(void **state) {
    static const char *const two[] = {"blue", "red", NULL}, *const four[] = {"blue", "green",
                                                                             "grey", "red", NULL};
    (void)state;
    if (system("rm -rf " HERE) != 0) return -1;
    write_part("data/train", two, 16, EACH);
    write_part("data/val", two, 16, 4);
    write_part("slides/train", four, LARGEST, 6);
    write_part("slides/val", four, LARGEST, 2);
    write_pictures_job();
    return 0;
}

/* ---- running ---- */

typedef struct told {
    char sha[65];
    double accuracy, val_accuracy, loss[16]; /* loss of each step */
    int steps;
} told;

static void listen(const dt_event *e, void *user) {
    told *t = user;
    if (e->kind == DT_EVENT_END && e->weights_sha256)
        snprintf(t->sha, sizeof t->sha, "%s", e->weights_sha256);
    if (e->kind == DT_EVENT_STEP && t->steps < 16) t->loss[t->steps++] = e->metrics[0].value;
    for (int i = 0; e->kind == DT_EVENT_EPOCH && i < e->n_metrics; i++) {
        t->accuracy =
            strcmp(e->metrics[i].name, "accuracy") == 0 ? e->metrics[i].value : t->accuracy;
        t->val_accuracy =
            strcmp(e->metrics[i].name, "val_accuracy") == 0 ? e->metrics[i].value : t->val_accuracy;
    }
}

static dt_status *fit_job(const char *path, const char *const *overrides, int n, told *t) {
    dt_job *job = NULL;
    *t = (told){0};
    ok(dt_job_open(&job,
                   &(dt_job_source){
                       .path = path, .directory = HERE, .overrides = overrides, .n_overrides = n}));
    dt_status *s = dt_job_fit(job, &(dt_run_options){.threads = 2,
                                                     .resume = DT_RESUME_NEVER,
                                                     .every_step = true,
                                                     .event = listen,
                                                     .user = t});
    dt_job_unref(job);
    return s;
}

/* The job with the small pictures. */
static dt_status *fit(const char *override, told *t) {
    return fit_job(HERE "/job.yaml", &override, override ? 1 : 0, t);
}

static void test_pictures_are_told_apart(void **state) {
    (void)state;
    told t;
    ok(fit(NULL, &t));
    assert_true(t.accuracy > 0.9 && t.val_accuracy > 0.9);
}

static void test_one_hash_for_all_placements(void **state) {
    (void)state;
    static const char *const overrides[] = {
        "strategy.replicas=4", "strategy={type: default}",
        "strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}", "dataset.prefetch=1"};
    told one, t;
    ok(fit(NULL, &one));
    for (int i = 0; i < 4; i++) {
        ok(fit(overrides[i], &t));
        assert_string_equal(t.sha, one.sha);
    }
}

/* In the middle of an epoch; the run ends with the file's name, and the checkpoint of the epoch
 * before is there. */
static void test_a_broken_picture_ends_a_run(void **state) {
    (void)state;
    told t;
    dt_str whole = {0};
    ok(dt_file_read(HERE "/data/train/red/7.png", 1 << 20, &whole));
    ok(dt_file_commit(HERE "/data/train/red/7.png", whole.data, whole.size / 2));
    dt_status *s = fit(NULL, &t);
    assert_int_equal(dt_status_code(s), 65);
    assert_non_null(strstr(dt_status_text(s),
                           "data/train/red/7.png: broken PNG image: unexpected end of file"));
    assert_string_equal(dt_status_file(s), HERE "/job.yaml");
    assert_int_equal(dt_status_line(s), 6);
    dt_status_free(s);
    ok(dt_file_commit(HERE "/data/train/red/7.png", whole.data, whole.size));
    dt_str_release(&whole);
}

static void test_another_size_than_the_model_takes(void **state) {
    (void)state;
    told t;
    dt_status *s = fit("dataset.element.image.shape=[16, 15, 3]", &t);
    assert_int_equal(dt_status_code(s), 65);
    assert_non_null(strstr(dt_status_text(s), "has 16 rows of 16 pixels, 'image' has 16 of 15"));
    dt_status_free(s);
}

/* Its pictures made smaller; on eight devices and on one. */
static void test_the_spatial_config_follows_its_unpartitioned_self(void **state) {
    (void)state;
    static const char *const overrides[] = {
        "dataset.train=../" HERE "/slides/train",    "dataset.validation=../" HERE "/slides/val",
        "dataset.element.image.shape=[128, 128, 3]", "model.layers.0.Input.shape=[128, 128, 3]",
        "compile.optimizer.SGD.learning_rate=0.02",  "fit.epochs=2",
        "strategy={type: mirrored, replicas: 1}",
    };
    told eight, one;
    ok(fit_job("configs/spatial-cnn.yaml", overrides, 6, &eight));
    ok(fit_job("configs/spatial-cnn.yaml", overrides, 7, &one));
    assert_int_equal(eight.steps, 6);
    for (int i = 0; i < 6; i++)
        if (!(fabs(eight.loss[i] - one.loss[i]) <= 1e-4 * one.loss[i]))
            fail_msg("step %d: loss %.9g, unpartitioned %.9g", i + 1, eight.loss[i], one.loss[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_are_told_apart),
        cmocka_unit_test(test_one_hash_for_all_placements),
        cmocka_unit_test(test_a_broken_picture_ends_a_run),
        cmocka_unit_test(test_another_size_than_the_model_takes),
        cmocka_unit_test(test_the_spatial_config_follows_its_unpartitioned_self),
    };
    return cmocka_run_group_tests(tests, write_all, NULL);
}
