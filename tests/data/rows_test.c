/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are examples as the data set stores them: formats of data sets x steps of `map` x formats of
 * rows. What a data set stores is written in each format; read as rows for `predict`, it is bit for
 * bit what `map` makes of the data set's own examples, whether the job declares what is stored or a
 * checkpoint says it. Batches have the rows that the order of the epoch names, wherever a feed
 * begins. Cases are drawn: a failure names its seed.
 */
#define HERE "build/tmp/data-rows"
#include "files.h"
#include "order.h"

#include "base/hash.h"
#include "base/random.h"
#include "data/inspect.h"
#include "data/rows_file.h"

enum { SEEDS = 40, JOBS = 200, MOST_ROWS = 12, ELEMENTS = 3 };

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
    const char *keys; /* of the data set, each behind a comma; NULL: none */
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
    dt_str_printf(&text, "}%s}", c->keys ? c->keys : "");
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

/* Every row of every input is what the data set makes of it, read once or found again. */
static void compare(dt_dataset *d, const dt_dataset_spec *job, const char *path, int f) {
    const dt_element_spec *all;
    const int n = dt_dataset_elements(d, &all);
    for (int once = 0; once < 2; once++) {
        dt_dataset *rows = NULL;
        dt_iterator *feed = NULL;
        dt_example b;
        const dt_rows_request q = {
            .path = path, .job = job, .input = all, .n = n, .once = once == 1};
        OK(dt_note(dt_rows_open(&rows, &q), "seed %llu, %s of a data set of %s",
                   (unsigned long long)seed, path, formats[f].format));
        OK(dt_iterator_open_batches(&feed, rows, &(dt_batch_options){.batch = MOST_ROWS}));
        OK(dt_note(dt_iterator_next_batch(feed, &b), "seed %llu, %s of a data set of %s",
                   (unsigned long long)seed, path, formats[f].format));
        assert_int_equal(b.rows, dt_dataset_count(d, DT_PART_TRAIN));
        for (int e = 0; e < n; e++) {
            dt_type t;
            void *want = read_all(d, e, &t);
            if (memcmp(want, b.tensor[e]->data, (size_t)dt_type_bytes(&t)) != 0)
                fail_msg("seed %llu: '%s' of %s differs from the data set of %s",
                         (unsigned long long)seed, all[e].name, path, formats[f].format);
            free(want);
        }
        OK(dt_iterator_next_batch(feed, &b));
        assert_int_equal(b.rows, 0);
        dt_iterator_close(feed);
        dt_dataset_unref(rows);
    }
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

/* The rows of d.csv in format f. */
static void write_format(const drawn *c, int f) {
    static const char *const files[] = {NULL, HERE "/d.jsonl", HERE "/d.tfrecord", HERE "/d.npz"};
    dt_dataset *d = NULL, *stored = NULL;
    if (f == 0) return;
    if (formats[f].t) {
        open_as(&d, c, 0);
        dt_dataset_spec spec = *dt_dataset_spec_of(d);
        spec.as_stored = true;
        OK(dt_dataset_create(&stored, &spec));
    } else
        OK(dt_dataset_open(&stored,
                           "{format: csv, train: " HERE "/d.csv, element: {x: {%s%s}, k: {%s}}, "
                           "global_batch_size: 4}",
                           formats[0].x, c->dtype, formats[0].k));
    convert(stored, files[f]);
    dt_dataset_unref(stored);
    dt_dataset_unref(d);
}

static drawn draw(dt_random *r) {
    return (drawn){.dtype = DRAW(r, dtypes),
                   .x = DRAW(r, x_steps),
                   .k = DRAW(r, k_steps),
                   .t = DRAW(r, t_steps),
                   .rows = 1 + (int)dt_random_below(r, MOST_ROWS)};
}

static void test_rows_of_each_format(void **state) {
    (void)state;
    print_message("seeds 1 to %d\n", SEEDS);
    for (seed = 1; seed <= SEEDS; seed++) {
        dt_random r = dt_random_stream(seed, "rows", 0);
        const drawn c = draw(&r);
        write_csv(&r, &c);
        for (int f = 0; f < FORMATS; f++) write_format(&c, f);
        for (int f = 0; f < FORMATS; f++) check_format(&c, f);
    }
}

/* ---- batches ---- */

/* What a feed of the drawn data is opened with, and all rows after `map`, in the order of files. */
typedef struct walk {
    dt_dataset *d;
    dt_batch_options o;
    ordering order;
    int64_t count, steps; /* of an epoch */
    int n;
    char *row[ELEMENTS];
    dt_type type[ELEMENTS];
    dt_sha256 *all; /* of all batches of all jobs */
} walk;

static char *draw_keys(dt_random *r, int rows) {
    static const char *const shuffles[] = {"", ", shuffle: true",
                                           ", shuffle: {seed: 3, reshuffle_each_iteration: false}"};
    dt_str s = {0};
    dt_str_printf(&s, ", repeat: %d, take: %d%s", 1 + (int)dt_random_below(r, 3),
                  (int)dt_random_below(r, 2) ? 1 + (int)dt_random_below(r, (uint64_t)rows + 2) : -1,
                  DRAW(r, shuffles));
    if (dt_random_below(r, 2)) dt_str_puts(&s, ", last_batch: drop_remainder");
    return dt_str_take(&s);
}

static void draw_walk(dt_random *r, dt_dataset *d, walk *w) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(d);
    const dt_element_spec *all;
    w->d = d;
    w->n = dt_dataset_elements(d, &all);
    w->count = dt_dataset_count(d, DT_PART_TRAIN);
    w->o = (dt_batch_options){.batch = 1 + (int64_t)dt_random_below(r, 6),
                              .last = spec->last_batch,
                              .shuffle = spec->shuffle,
                              .epoch = (int64_t)dt_random_below(r, 3),
                              .epochs = 1 + (int64_t)dt_random_below(r, 2),
                              .threads = 1 + (int)dt_random_below(r, 3)};
    w->steps = dt_steps_per_epoch(w->count, w->o.batch, w->o.last);
    w->o.first_step = (int64_t)dt_random_below(r, (uint64_t)w->steps + 1);
    w->order = (ordering){spec->shuffle_seed, w->count / spec->repeat, spec->repeat, spec->shuffle,
                          spec->reshuffle};
}

static void check_batch(walk *w, const dt_example *b, int64_t number) {
    const int64_t at = w->o.first_step + number, step = at % w->steps, first = step * w->o.batch;
    assert_int_equal(b->epoch, w->o.epoch + at / w->steps);
    assert_int_equal(b->step, step);
    assert_int_equal(b->rows, w->count - first < w->o.batch ? w->count - first : w->o.batch);
    for (int e = 0; e < w->n; e++) {
        const size_t bytes = (size_t)(dt_type_bytes(&w->type[e]) / w->type[e].dim[0]);
        const char *row = b->tensor[e]->data;
        for (int64_t i = 0; i < b->rows; i++) {
            const int64_t of = order_at(&w->order, b->epoch, first + i);
            if (memcmp(row + (size_t)i * bytes, w->row[e] + (size_t)of * bytes, bytes) != 0)
                fail_msg("seed %llu: row %lld of batch %lld is not example %lld",
                         (unsigned long long)seed, (long long)i, (long long)at, (long long)of);
        }
        dt_sha256_add(w->all, row, (size_t)b->rows * bytes);
    }
}

static void check_walk(walk *w) {
    dt_iterator *f = NULL;
    dt_example b;
    OK(dt_iterator_open_batches(&f, w->d, &w->o));
    for (int64_t i = 0; i < w->o.epochs * w->steps - w->o.first_step; i++) {
        OK(dt_iterator_next_batch(f, &b));
        check_batch(w, &b, i);
    }
    OK(dt_iterator_next_batch(f, &b));
    assert_int_equal(b.rows, 0);
    dt_iterator_close(f);
}

static void check_job(dt_random *r, drawn *c, dt_sha256 *all) {
    dt_dataset *d = NULL;
    walk w = {.all = all};
    char *keys = draw_keys(r, c->rows);
    const int f = (int)dt_random_below(r, FORMATS);
    write_format(c, f);
    c->keys = keys;
    open_as(&d, c, f);
    draw_walk(r, d, &w);
    for (int e = 0; e < w.n; e++) w.row[e] = read_all(d, e, &w.type[e]);
    check_walk(&w);
    for (int e = 0; e < w.n; e++) free(w.row[e]);
    free(keys);
    dt_dataset_unref(d);
}

/* The digest was recorded when feeds were the only readers of data sets: all bits stay. */
static void test_batches_of_random_jobs(void **state) {
    (void)state;
    dt_sha256 *all = dt_sha256_create();
    print_message("seeds %d to %d\n", SEEDS + 1, SEEDS + JOBS);
    for (seed = SEEDS + 1; seed <= SEEDS + JOBS; seed++) {
        dt_random r = dt_random_stream(seed, "rows", 0);
        drawn c = draw(&r);
        write_csv(&r, &c);
        check_job(&r, &c, all);
    }
    const dt_digest digest = dt_sha256_end(all);
    assert_string_equal(digest.hex,
                        "2068dce661b95e66655590dc7c71dd6a27554e34c862f7369e10e324dbda855d");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_of_each_format),
                                       cmocka_unit_test(test_batches_of_random_jobs)};
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
