/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are examples as the data set stores them: formats of data sets x steps of `map` x formats of
 * rows. What a data set stores is written in each format; read as rows for `predict`, it is bit for
 * bit what `map` makes of the data set's own examples, whether the job declares what is stored or a
 * checkpoint says it. Cases are drawn: a failure names its seed.
 */
#define HERE "build/tmp/data-rows"
#include "files.h"

#include "base/random.h"
#include "data/inspect.h"
#include "data/stream.h"

enum { SEEDS = 40, MOST_ROWS = 12, ELEMENTS = 3 };

static uint64_t seed; /* of the case at hand */

/* What a data set's format calls x, k and t; the last is text, which arrays cannot hold. */
static const struct {
    const char *format, *train, *x, *k, *t;
} formats[] = {
    {"csv", HERE "/d.csv", "columns: [x_0, x_1, x_2, x_3, x_4, x_5], shape: [2, 3, 1], dtype: ",
     "column: k, vocabulary: [red, green, '7']", "column: t, dtype: string"},
    {"jsonl", HERE "/d.jsonl", "shape: [2, 3, 1], dtype: ", "vocabulary: [red, green, '7']",
     "dtype: string"},
    {"tfrecord", HERE "/d.tfrecord", "shape: [2, 3, 1], dtype: ", "dtype: int32", "dtype: string"},
    {"npy", "{x: " HERE "/d.npz/x, k: " HERE "/d.npz/k}", NULL, NULL, NULL},
};
enum { FORMATS = sizeof formats / sizeof *formats };
static const char *const row_files[] = {"r.csv", "r.jsonl", "r.tfrecord", "r.npz"};
enum { ROW_FILES = sizeof row_files / sizeof *row_files };

static const char *const dtypes[] = {"uint8", "int32", "float32"};
static const char *const x_steps[] = {"",
                                      "rescale: {scale: 0.5}",
                                      "cast: float32",
                                      "zero_padding: 1",
                                      "zero_padding: 1, cast: int32",
                                      "normalize",
                                      "center_crop: [1, 2]",
                                      "zero_padding: [1, 0], rescale: {scale: 0.25, offset: 1}"};
static const char *const k_steps[] = {"", "one_hot: {num_classes: 3}", "cast: float32",
                                      "one_hot: {num_classes: 4}, cast: int32"};
static const char *const t_steps[] = {
    "string_lookup: {vocabulary: [a dog, cat]}", "string_lookup",
    "text_vectorization: {output_sequence_length: 3}",
    "text_vectorization: {vocabulary: [cat, dog], output_sequence_length: 2}"};
#define DRAW(r, of) of[dt_random_below(r, sizeof of / sizeof *of)]

typedef struct drawn {
    const char *dtype, *x, *k, *t;
    int rows;
} drawn;

/* The drawn data, in format f, with its steps. */
static void open_as(dt_dataset **out, const drawn *c, int f) {
    dt_str text = {0};
    dt_str_printf(&text, "{format: %s, train: %s, global_batch_size: 4", formats[f].format,
                  formats[f].train);
    if (formats[f].x)
        dt_str_printf(&text, ", element: {x: {%s%s}, k: {%s}, t: {%s}}", formats[f].x, c->dtype,
                      formats[f].k, formats[f].t);
    dt_str_printf(&text, ", map: {x: [%s], k: [%s]", c->x, c->k);
    if (formats[f].t) dt_str_printf(&text, ", t: [%s]", c->t);
    dt_str_puts(&text, "}}");
    OK(dt_note(dt_dataset_open(out, "%s", dt_str_text(&text)), "seed %llu: %s",
               (unsigned long long)seed, dt_str_text(&text)));
    dt_str_release(&text);
}

static void write_csv(dt_random *r, const drawn *c) {
    static const char *const words[] = {"red", "green", "7"}, *const texts[] = {
                                                                  "a dog", "The CAT!",
                                                                  "\"so, \"\"a\"\" cat\"", ""};
    dt_str s = {0};
    const bool real = strcmp(c->dtype, "float32") == 0;
    dt_str_puts(&s, "t,x_5,x_4,x_3,x_2,x_1,x_0,k\n");
    for (int i = 0; i < c->rows; i++) {
        dt_str_puts(&s, i == 0 ? texts[0] : DRAW(r, texts));
        for (int v = 0; v < 6; v++)
            dt_str_printf(&s, real ? ",%.9g" : ",%.0f",
                          (double)dt_random_below(r, 200) * (real ? 0.1 : 1));
        dt_str_printf(&s, ",%s\n", DRAW(r, words));
    }
    write_str("d.csv", &s);
}

static void convert(dt_dataset *stored, const char *path) {
    dt_str files = {0};
    OK(dt_note(
        dt_dataset_convert(
            &(dt_conversion){.data = stored, .part = DT_PART_TRAIN, .output = path, .shards = 1},
            &files),
        "seed %llu", (unsigned long long)seed));
    dt_str_release(&files);
}

/* Every row of every input is what the data set makes of it. */
static void compare(dt_dataset *d, const dt_dataset_spec *job, const char *path, int f) {
    const dt_element_spec *all;
    const int n = dt_dataset_elements(d, &all);
    static double room[ELEMENTS][MOST_ROWS * 64];
    void *rows[ELEMENTS];
    dt_stream *s = NULL;
    int64_t got;
    for (int e = 0; e < n; e++) rows[e] = room[e];
    OK(dt_note(
        dt_stream_open(&s, &(dt_stream_request){.path = path, .job = job, .input = all, .n = n}),
        "seed %llu, %s of a data set of %s", (unsigned long long)seed, path, formats[f].format));
    OK(dt_note(dt_stream_next(s, MOST_ROWS, rows, &got), "seed %llu, %s of a data set of %s",
               (unsigned long long)seed, path, formats[f].format));
    assert_int_equal(got, dt_dataset_count(d, DT_PART_TRAIN));
    for (int e = 0; e < n; e++) {
        dt_type t;
        void *want = read_all(d, e, &t);
        if (memcmp(want, room[e], (size_t)dt_type_bytes(&t)) != 0)
            fail_msg("seed %llu: '%s' of %s differs from the data set of %s",
                     (unsigned long long)seed, all[e].name, path, formats[f].format);
        free(want);
    }
    dt_stream_close(s);
}

/* As a job has it that was trained: what was learned, and what a checkpoint keeps of the elements
 * where the format does not declare them. */
static dt_dataset_spec trained(const dt_dataset *d, dt_element_spec *stored) {
    dt_dataset_spec job = *dt_dataset_spec_of(d);
    const dt_element_spec *all;
    job.n_stored = dt_dataset_elements(d, &all);
    for (int e = 0; e < job.n_stored; e++) {
        const dt_element_spec *x = dt_dataset_stored(d, e);
        stored[e] = (dt_element_spec){
            .name = x->name, .type = x->type, .text = x->text, .vocabulary = x->vocabulary};
    }
    job.stored = stored;
    job.learned = dt_dataset_learned(d);
    return job;
}

static void check_format(const drawn *c, int f) {
    dt_dataset *d = NULL, *stored = NULL;
    dt_element_spec elements[ELEMENTS];
    open_as(&d, c, f);
    dt_dataset_spec as_stored = *dt_dataset_spec_of(d);
    as_stored.as_stored = true;
    OK(dt_dataset_create(&stored, &as_stored));
    const dt_dataset_spec job = trained(d, elements);
    for (int r = 0; r < ROW_FILES; r++) {
        char path[64];
        snprintf(path, sizeof path, HERE "/%s", row_files[r]);
        if (formats[f].t && strstr(path, ".npz")) continue; /* text */
        convert(stored, path);
        compare(d, &job, path, f);
    }
    dt_dataset_unref(stored);
    dt_dataset_unref(d);
}

static void write_formats(const drawn *c) {
    dt_dataset *d = NULL, *stored = NULL, *numbers = NULL;
    open_as(&d, c, 0);
    dt_dataset_spec spec = *dt_dataset_spec_of(d);
    spec.as_stored = true;
    OK(dt_dataset_create(&stored, &spec));
    convert(stored, HERE "/d.jsonl");
    convert(stored, HERE "/d.tfrecord");
    OK(dt_dataset_open(&numbers,
                       "{format: csv, train: " HERE "/d.csv, element: {x: {%s%s}, k: {%s}}, "
                       "global_batch_size: 4}",
                       formats[0].x, c->dtype, formats[0].k));
    convert(numbers, HERE "/d.npz");
    dt_dataset_unref(numbers);
    dt_dataset_unref(stored);
    dt_dataset_unref(d);
}

static void test_rows_of_each_format(void **state) {
    (void)state;
    print_message("seeds 1 to %d\n", SEEDS);
    for (seed = 1; seed <= SEEDS; seed++) {
        dt_random r = dt_random_stream(seed, "rows", 0);
        const drawn c = {.dtype = DRAW(&r, dtypes),
                         .x = DRAW(&r, x_steps),
                         .k = DRAW(&r, k_steps),
                         .t = DRAW(&r, t_steps),
                         .rows = 1 + (int)dt_random_below(&r, MOST_ROWS)};
        write_csv(&r, &c);
        write_formats(&c);
        for (int f = 0; f < FORMATS; f++) check_format(&c, f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_of_each_format)};
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
