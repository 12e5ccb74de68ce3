/* SPDX-License-Identifier: Apache-2.0 */
/* record.jsonl of a run, line by line, against the events that the run told meanwhile: windows of
 * steps, attempts, torn lines, what was said before the start. */
#include <jansson.h>
#include <math.h>
#include <unistd.h>

#define HERE "build/tmp/job-record"
#include "kit.h"

#define RECORD HERE "/run/record.jsonl"

enum { MOST_STEPS = 4000, MOST_LINES = 8000 };

static const char job[] =
    "version: 1\nname: r\nseed: 5\nstrategy: {type: one_device, device: \"CPU:0\"}\n"
    "dataset: {format: synthetic, examples: 50, element: {x: {shape: [2]}, y: {shape: [1]}}, "
    "shuffle: true, global_batch_size: 8}\n"
    "model: {type: sequential, layers: [Input: {name: x, shape: [2]}, Dense: {units: 1, name: "
    "out}]}\n"
    "compile: {optimizer: {SGD: {learning_rate: 0.01}}, loss: MeanSquaredError}\nfit: {steps: "
    "10}\ncheckpoint: {save_freq: 500}\noutput: {dir: run}\n";

typedef struct told {
    int steps, epochs, checkpoints;
    double loss[MOST_STEPS];
    int64_t examples;
} told;

static void listen(const dt_event *e, void *user) {
    told *t = user;
    t->epochs += e->kind == DT_EVENT_EPOCH;
    t->checkpoints += e->kind == DT_EVENT_CHECKPOINT;
    if (e->kind != DT_EVENT_STEP || e->step > MOST_STEPS) return;
    t->steps++;
    t->examples += e->examples;
    t->loss[e->step - 1] = e->metrics[0].value;
}

static void fit(int steps, bool fresh, told *t) {
    char override[64];
    const char *overrides[] = {override};
    dt_job *j = NULL;
    snprintf(override, sizeof override, "fit.steps=%d", steps);
    *t = (told){0};
    ok(dt_job_open(&j, &(dt_job_source){.path = HERE "/job.yaml",
                                        .directory = HERE,
                                        .overrides = overrides,
                                        .n_overrides = 1}));
    ok(dt_job_fit(j, &(dt_run_options){.threads = 1,
                                       .resume = fresh ? DT_RESUME_NEVER : DT_RESUME_AUTO,
                                       .every_step = true,
                                       .event = listen,
                                       .user = t}));
    dt_job_unref(j);
}

/* Its lines; one that is no JSON is NULL. */
static int read_record(json_t **line) {
    dt_str all = {0};
    int n = 0;
    ok(dt_file_read(RECORD, 1 << 26, &all));
    assert_true(all.size > 0 && all.data[all.size - 1] == '\n');
    for (char *at = all.data, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        assert_true(n < MOST_LINES);
        line[n++] = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
    }
    dt_str_release(&all);
    return n;
}

static void release(json_t **line, int n) {
    for (int i = 0; i < n; i++) json_decref(line[i]);
}

static int64_t count_of(const json_t *line, const char *key) {
    const json_t *x = json_object_get(line, key);
    assert_true(json_is_integer(x));
    return json_integer_value(x);
}

static double number_of(const json_t *line, const char *key) {
    const json_t *x = json_object_get(line, key);
    assert_true(json_is_number(x));
    return json_number_value(x);
}

static bool is(const json_t *line, const char *event) {
    const char *text = json_string_value(json_object_get(line, "event"));
    return text && strcmp(text, event) == 0;
}

static int count_lines(json_t *const *line, int n, const char *event) {
    int found = 0;
    for (int i = 0; i < n; i++) found += is(line[i], event);
    return found;
}

/* A line of steps says the mean, the least and the greatest of their losses. */
static void check_window(const json_t *line, const told *t) {
    const int64_t last = count_of(line, "step"), n = count_of(line, "n");
    double sum = 0, least = INFINITY, most = -INFINITY;
    assert_true(n > 0 && last >= n);
    for (int64_t i = last - n; i < last; i++) {
        sum += t->loss[i];
        least = fmin(least, t->loss[i]);
        most = fmax(most, t->loss[i]);
    }
    assert_true(fabs(number_of(line, "loss") - sum / (double)n) <= 1e-12 * fabs(sum));
    assert_true(number_of(line, "loss_min") == least && number_of(line, "loss_max") == most);
    assert_true(fabs(number_of(line, "learning_rate") - 0.01) < 1e-8 &&
                number_of(line, "seconds") >= 0);
}

static void test_windows_add_up(void **state) {
    (void)state;
    static const int rows[] = {1, 7, 1000, 1001, 3500};
    static told t;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        json_t *line[MOST_LINES];
        int64_t steps = 0, examples = 0, before = 0;
        ok(dt_file_remove(RECORD));
        fit(rows[k], true, &t);
        const int n = read_record(line);
        for (int i = 0; i < n; i++) {
            if (!is(line[i], "steps")) continue;
            check_window(line[i], &t);
            steps += count_of(line[i], "n");
            examples += count_of(line[i], "examples");
            assert_int_equal(count_of(line[i], "step"), before + count_of(line[i], "n"));
            before = count_of(line[i], "step");
        }
        assert_int_equal(steps, rows[k]);
        assert_int_equal(examples, t.examples);
        assert_true(count_lines(line, n, "steps") <= 1000 + t.epochs + t.checkpoints);
        assert_int_equal(count_lines(line, n, "epoch"), t.epochs);
        assert_int_equal(count_lines(line, n, "checkpoint"), t.checkpoints);
        assert_true(is(line[0], "start") && is(line[n - 1], "end"));
        assert_int_equal(count_of(line[n - 1], "exit"), 0);
        release(line, n);
    }
}

/* What a killed attempt left swallows no line of the next one. */
static void test_attempts_and_torn_lines(void **state) {
    (void)state;
    static told t;
    json_t *line[MOST_LINES];
    dt_str all = {0};
    int starts = 0, torn = 0;
    ok(dt_file_remove(RECORD));
    fit(20, true, &t);
    ok(dt_file_read(RECORD, 1 << 26, &all));
    assert_int_equal(truncate(RECORD, (off_t)all.size - 30), 0);
    dt_str_release(&all);
    fit(30, false, &t);
    const int n = read_record(line);
    for (int i = 0; i < n; i++) {
        torn += line[i] == NULL;
        if (!is(line[i], "start")) continue;
        assert_int_equal(count_of(line[i], "step"), starts++ ? 20 : 0);
        assert_int_equal(count_of(line[i], "generation"), count_of(line[0], "generation"));
        assert_true(json_is_boolean(json_object_get(line[i], "resumed")) &&
                    json_is_true(json_object_get(line[i], "resumed")) == (starts == 2));
    }
    assert_int_equal(starts, 2);
    assert_int_equal(torn, 1);
    assert_true(is(line[n - 1], "end"));
    assert_int_equal(count_of(line[n - 1], "step"), 30);
    release(line, n);
}

static int set_up(void **state) {
    (void)state;
    if (system("rm -rf " HERE) != 0) return -1;
    ok(dt_dir_make(HERE));
    ok(dt_file_commit(HERE "/job.yaml", job, sizeof job - 1));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows_add_up),
                                       cmocka_unit_test(test_attempts_and_torn_lines)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
