/* SPDX-License-Identifier: Apache-2.0 */
/* Images and their masks: class numbers against Pillow's, and steps that move both against Keras'
 * layers, from tests/data/pairs.json. */
#define HERE "build/tmp/data-pairs"
#include "files.h"
#include "mapped.h"

#include "file/image/layout.h"

static void each(const char *key, void (*body)(const json_t *row)) {
    json_t *file = json_load_file("tests/data/pairs.json", 0, NULL), *row;
    size_t i;
    assert_non_null(file);
    assert_true(json_array_size(json_object_get(file, key)) > 0);
    json_array_foreach(json_object_get(file, key), i, row) body(row);
    json_decref(file);
}

static const char *text(const json_t *row, const char *key) {
    return json_string_value(json_object_get(row, key));
}

/* ---- decoding ---- */

static bool is_installed(const char *id) {
    const char *name = strncmp(id, "TIFF", 4) == 0   ? "libtiff.so.6"
                       : strncmp(id, "WebP", 4) == 0 ? "libwebp.so.7"
                                                     : NULL;
    void *library = NULL;
    if (name) OK(dt_library_open(&library, (const char *const[]){name, NULL}, 2, NULL));
    return !name || library;
}

static void decode(const json_t *row) {
    enum { MOST = 256 };
    const json_t *numbers = json_object_get(row, "numbers"),
                 *colors = json_object_get(row, "colors");
    const char *id = text(row, "id");
    const int64_t size[] = {json_integer_value(json_object_get(row, "rows")),
                            json_integer_value(json_object_get(row, "columns"))};
    uint8_t out[MOST] = {0}, color[8][3];
    dt_str file = {0};
    if (!is_installed(id)) {
        print_message("skipped: %s: its library is not installed\n", id);
        return;
    }
    for (const char *c = text(row, "file"); *c; c += 2)
        dt_str_putc(&file, (char)strtol((char[]){c[0], c[1], 0}, NULL, 16));
    for (size_t i = 0; i < json_array_size(colors); i++)
        for (size_t k = 0; k < 3; k++)
            color[i][k] = (uint8_t)json_integer_value(json_array_get(json_array_get(colors, i), k));
    const dt_image_layout l = {.type = dt_type_of(DT_UINT8, 2, size),
                               .interpolation = DT_NEAREST,
                               .suffix = "",
                               .n_colors = (int)json_array_size(colors),
                               .color = (const uint8_t(*)[3])color};
    const dt_image_name name = {id, "mask"};
    dt_status *s = dt_image_fit(&l, &name, file.data, file.size, out);
    if (s) fail_msg("%s", dt_status_text(s));
    for (size_t i = 0; i < json_array_size(numbers); i++)
        if (out[i] != json_integer_value(json_array_get(numbers, i)))
            fail_msg("%s: pixel %zu is %d", id, i, out[i]);
    for (size_t n = 0; n < file.size; n++) /* cut off: an error that names the file */
        if ((s = dt_image_fit(&l, &name, file.data, n, out))) {
            assert_int_equal(dt_status_code(s), 65);
            assert_memory_equal(dt_status_text(s), id, strlen(id));
            dt_status_free(s);
        }
    dt_str_release(&file);
}

static void test_class_numbers_are_those_of_pillow(void **state) {
    (void)state;
    each("files", decode);
}

/* ---- steps ---- */

static const dt_map_plan *plan_of(dt_arena *arena, const char *steps, const dt_type *in,
                                  bool is_mask) {
    const char *const names[] = {"image", "mask"};
    const dt_map *m;
    const dt_map_plan *out = NULL;
    dt_tree *tree;
    dt_source *source = dt_arena_new(arena, dt_source);
    *source = (dt_source){.name = "map", .text = dt_arena_printf(arena, "{image: [%s]}", steps)};
    source->size = strlen(source->text);
    OK(dt_tree_parse(arena, source, &tree));
    OK(dt_map_read(arena, tree, &(dt_texts){.n = 2, .v = (const char **)names}, &m));
    const dt_element_spec stored = {
        .name = names[is_mask], .type = *in, .follows = is_mask ? "image" : NULL, .file = "x"};
    OK(dt_map_plan_make(arena, &(dt_map_request){.map = m, .stored = &stored}, &out));
    return out;
}

/* Runs the step of a case for an example. Returns the outcomes that it matches, as bits. */
static unsigned outcomes(const json_t *row, bool is_mask, int64_t example) {
    enum { MOST = 1024 };
    static char out[4 * MOST], scratch[8 * MOST];
    const json_t *all = json_object_get(row, "out");
    dt_arena *arena = dt_arena_create();
    dt_type in, made;
    double *x = read_tensor(json_object_get(row, is_mask ? "mask" : "image"), &in), got[MOST];
    const int64_t n = dt_type_elements(&in);
    char stored[4 * MOST];
    unsigned matched = 0;
    dt_cast(DT_FLOAT64, in.dtype, x, stored, n);
    const dt_map_plan *p = plan_of(arena, text(row, "step"), &in, is_mask);
    const dt_map_at at = {.seed = 1, .example = example, .training = true};
    OK(dt_map_run(p, &at, stored, out, scratch));
    dt_cast(dt_map_plan_type(p)->dtype, DT_FLOAT64, out, got,
            dt_type_elements(dt_map_plan_type(p)));
    if (is_mask) assert_int_equal(dt_map_plan_type(p)->dtype, DT_UINT8);
    for (size_t i = 0; i < json_array_size(all); i++) {
        double *y = read_tensor(json_array_get(json_array_get(all, i), is_mask), &made);
        bool same = dt_type_elements(&made) == dt_type_elements(dt_map_plan_type(p));
        for (int64_t k = 0; same && k < dt_type_elements(&made); k++)
            same = fabs(got[k] - y[k]) <= (is_mask ? 0 : 1e-5);
        matched |= same ? 1u << i : 0;
        free(y);
    }
    free(x);
    dt_arena_destroy(arena);
    return matched;
}

/* Every outcome is drawn by some example, and the image and the mask of each have the same one. */
static void run_step(const json_t *row) {
    unsigned seen = 0;
    for (int64_t e = 0; e < 60; e++) {
        const unsigned image = outcomes(row, false, e), mask = outcomes(row, true, e);
        if (!(image & mask)) fail_msg("%s: image %x, mask %x", text(row, "step"), image, mask);
        seen |= image & mask;
    }
    assert_int_equal(seen, (1u << json_array_size(json_object_get(row, "out"))) - 1);
}

static void test_steps_are_those_of_keras(void **state) {
    (void)state;
    each("steps", run_step);
}

/* Steps with too many outcomes to list: a mask is moved, in the same way each time, and keeps its
 * class numbers; outside of training it stays as it is. */
static void test_masks_move_with_their_images(void **state) {
    (void)state;
    enum { SIDE = 9, PIXELS_ = SIDE * SIDE };
    static const char *const steps[] = {"random_shear: [0.5, 0.3]",
                                        "random_zoom: 0.4, random_flip, random_erasing: 0.9",
                                        "rand_augment: {num_ops: 3, interpolation: nearest}"};
    const dt_type mask = {.dtype = DT_UINT8, .rank = 2, .dim = {SIDE, SIDE}};
    uint8_t x[PIXELS_], out[PIXELS_], again[PIXELS_];
    char scratch[16384];
    for (int i = 0; i < PIXELS_; i++) x[i] = (uint8_t)(i * 31 % 7);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        dt_arena *arena = dt_arena_create();
        const dt_map_plan *p = plan_of(arena, steps[k], &mask, true);
        int moved = 0;
        for (int64_t e = 0; e < 40; e++) {
            dt_map_at at = {.seed = 5, .example = e, .training = true};
            OK(dt_map_run(p, &at, x, out, scratch));
            OK(dt_map_run(p, &at, x, again, scratch));
            assert_memory_equal(out, again, sizeof out);
            for (int i = 0; i < PIXELS_; i++) assert_true(out[i] < 7);
            moved += memcmp(out, x, sizeof x) != 0;
            at.training = false;
            OK(dt_map_run(p, &at, x, out, scratch));
            assert_memory_equal(out, x, sizeof x);
        }
        assert_true(moved > 10);
        dt_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_numbers_are_those_of_pillow),
        cmocka_unit_test(test_steps_are_those_of_keras),
        cmocka_unit_test(test_masks_move_with_their_images),
    };
    return cmocka_run_group_tests_name("pairs", tests, NULL, NULL);
}
