/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Keras' callbacks decide on scripted metrics (tests/golden/callbacks.json, recorded from
 * Keras 3.15), decided again by ours: when to stop, what to learn at, what to save, what to write.
 * No step is trained: the moments of a run are called one after the other, as fit.c does.
 */
#define _GNU_SOURCE /* asprintf */
#define HERE "build/tmp/train-callback-golden"
#include "kit.h"

#include "train/hook.h"

#define RATE_LAYERS "[Input: {name: image, shape: [1]}, Dense: {units: 1, name: d}]"
#define RATE_DATA                                                                                  \
    "{format: synthetic, examples: 24, validation: 8, element: {image: {shape: [1]}, label: "      \
    "{shape: [1], dtype: float32}}, global_batch_size: 8}"

static const char *text_at(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_of(const json_t *value) {
    const char *text = json_string_value(value);
    if (text)
        return strcmp(text, "nan") == 0   ? (double)NAN
               : strcmp(text, "inf") == 0 ? INFINITY
                                          : -INFINITY;
    return json_number_value(value);
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* ---- a run without steps ---- */

typedef struct stage {
    setup made; /* its texts are freed once the stage is open */
    rig rig;
    outcome outcome;
    listener listener;
    dt_run_options options;
    dt_fit_request request;
    run run;
} stage;

/* {"EarlyStopping": {...}} as the only callback; paths of Keras get the ending that ours have. */
static char *fit_of(const json_t *c) {
    json_t *arguments = json_deep_copy(json_object_get(c, "arguments"));
    if (strcmp(text_at(c, "callback"), "CSVLogger") == 0)
        json_object_set_new(arguments, "filename", json_string("log.csv"));
    json_t *callback = json_pack("{s:o}", text_at(c, "callback"), arguments);
    json_t *fit =
        json_pack("{s:i, s:i, s:[o]}", "epochs", 100, "initial_epoch", 0, "callbacks", callback);
    char *text = json_dumps(fit, JSON_REAL_PRECISION(17));
    json_decref(fit);
    return text;
}

static char here[] = HERE;

static void open_stage(stage *s, const json_t *c) {
    char *fit_text = fit_of(c), *compile = NULL;
    *s = (stage){.options = {.event = listen}};
    assert_true(asprintf(&compile,
                         "{optimizer: {SGD: {learning_rate: %.17g}}, loss: MeanSquaredError, "
                         "metrics: [BinaryAccuracy: {name: accuracy}]}",
                         json_number_value(json_object_get(c, "learning_rate"))) > 0);
    s->made =
        (setup){.layers = RATE_LAYERS, .data = RATE_DATA, .compile = compile, .fit = fit_text};
    rig_make(&s->rig, &s->made);
    OK(rig_trainer(&s->rig, &s->made));
    s->listener = (listener){.s = &s->made, .o = &s->outcome};
    s->options.user = &s->listener;
    s->request = (dt_fit_request){.trainer = s->rig.trainer,
                                  .fit = &s->rig.fit,
                                  .directory = HERE,
                                  .name = "golden",
                                  .run = &s->options};
    s->run = (run){.q = &s->request,
                   .arena = dt_arena_create(),
                   .out = {.writes = true, .directory = {.path = here}},
                   .size = {.steps_per_epoch = 3, .steps = 300, .epochs = 100}};
    dt_trainer_parts(s->rig.trainer, &s->run.strategy, &s->run.model, &s->run.optimizer,
                     &s->run.data);
    s->run.at.epoch = json_integer_value(json_object_get(c, "initial_epoch"));
    dt_trainer_clear(s->rig.trainer, &s->run.at.sums);
    OK(dt_hooks_open(&s->run));
    OK(dt_hooks_begin(&s->run));
    free(fit_text);
    free(compile);
}

static void close_stage(stage *s) {
    assert_int_equal(access(HERE "/record.jsonl", F_OK), 0); /* not where the test was started */
    dt_hooks_close(&s->run);
    dt_sums_release(&s->run.at.sums);
    dt_arena_destroy(s->run.arena);
    outcome_free(&s->outcome);
    rig_free(&s->rig);
}

static void fill_weights(const stage *s, double value) {
    const dt_arrays a = dt_model_arrays_to_fill(s->run.model, s->run.arena);
    for (int i = 0; i < a.n; i++) *(float *)a.array[i].data = (float)value;
}

static dt_logs logs_of(const json_t *recorded, dt_metric *metric) {
    dt_logs logs = {.metric = metric};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)recorded, key, value) dt_logs_put(&logs, key, number_of(value));
    return logs;
}

/* The three steps of an epoch, and its end; what the callback remembers, as JSON. */
static json_t *play_epoch(stage *s, const json_t *recorded, double *rate_logged) {
    run *r = &s->run;
    dt_metric metric[DT_MAX_LOGS];
    dt_logs logs = logs_of(recorded, metric);
    const char *kept;
    const dt_example batch = {0};
    OK(dt_hooks_step_begin(r));
    fill_weights(s, (double)r->at.epoch);
    for (r->at.epoch_step = 1; r->at.epoch_step <= 3; r->at.epoch_step++, r->at.step++)
        OK(dt_hooks_step_end(r, &(dt_step_done){.batch = &batch, .logs = logs}));
    r->at.epoch_step = 3;
    OK(dt_hooks_epoch_end(r, &logs));
    dt_callbacks_emit(r);
    const double *rate = dt_logs_find(&logs, "learning_rate");
    *rate_logged = rate ? *rate : -1;
    OK(dt_hooks_save(r, r->arena, &kept));
    json_t *state = kept ? json_loads(kept, 0, NULL) : json_object(),
           *own = json_incref(json_object_get(state, r->hook[r->n_hooks - 1].key));
    json_decref(state);
    r->at.epoch++;
    r->at.epoch_step = 0;
    return own;
}

/* ---- against what was recorded ---- */

/* The paths that were told since, each behind "saving ". */
static void expect_saved(const char *id, const char *log, const json_t *saved) {
    size_t n = 0;
    for (const char *p = log; (p = strstr(p, "saving ")); n++) {
        p += strlen("saving ");
        const char *ought = json_string_value(json_array_get(saved, n));
        if (!ought || strncmp(p, ought, strlen(ought)) != 0 || p[strlen(ought)] != '\n')
            fail_msg("%s: saves %.40s, Keras %s", id, p, ought ? ought : "nothing");
    }
    if (n != json_array_size(saved))
        fail_msg("%s: saves %zu times, Keras %zu", id, n, json_array_size(saved));
}

static void expect_state(const char *id, const json_t *own, const json_t *ought) {
    const json_t *best = json_object_get(ought, "best"), *wait = json_object_get(ought, "wait"),
                 *cooldown = json_object_get(ought, "cooldown_counter");
    double is = 0;
    bool has = dt_kept_number(own, "best", &is);
    if (best && (has == json_is_null(best) || (has && !same(is, number_of(best)))))
        fail_msg("%s: best is %g, Keras %g", id, is, number_of(best));
    if (wait && json_integer_value(wait) != json_integer_value(json_object_get(own, "wait")))
        fail_msg("%s: waited %lld, Keras %lld", id,
                 json_integer_value(json_object_get(own, "wait")), json_integer_value(wait));
    if (cooldown &&
        json_integer_value(cooldown) != json_integer_value(json_object_get(own, "cooldown")))
        fail_msg("%s: cooldown %lld, Keras %lld", id,
                 json_integer_value(json_object_get(own, "cooldown")),
                 json_integer_value(cooldown));
}

static void expect_epoch(stage *s, const char *id, const json_t *ought, const json_t *own,
                         double rate_logged) {
    double rate;
    const json_t *log = json_object_get(ought, "log");
    OK(dt_run_rate(&s->run, &rate));
    if (s->run.stop_training != json_is_true(json_object_get(ought, "stop")))
        fail_msg("%s: %s, Keras does not", id, s->run.stop_training ? "stops" : "goes on");
    if (!same(rate, number_of(json_object_get(ought, "learning_rate"))))
        fail_msg("%s: learns at %.17g, Keras at %.17g", id, rate,
                 number_of(json_object_get(ought, "learning_rate")));
    if (json_is_number(log) ? !same(rate_logged, json_number_value(log)) : rate_logged != -1)
        fail_msg("%s: logs a rate of %.17g, Keras %.17g", id, rate_logged, json_number_value(log));
    expect_state(id, own, ought);
    if (json_object_get(ought, "saved"))
        expect_saved(id, dt_str_text(&s->outcome.log), json_object_get(ought, "saved"));
    dt_str_clear(&s->outcome.log);
}

static void expect_end(stage *s, const char *id, const json_t *c) {
    const char *text = text_at(c, "text");
    OK(dt_hooks_train_end(&s->run));
    dt_arrays model;
    OK(dt_model_arrays(s->run.model, s->run.arena, &model));
    const float weight = *(const float *)model.array[0].data;
    if ((double)weight != json_number_value(json_object_get(c, "weights")))
        fail_msg("%s: ends with the weights of epoch %g, Keras of %g", id, (double)weight,
                 json_number_value(json_object_get(c, "weights")));
    if (!*text) return;
    dt_str is = text_of_file(HERE "/log.csv");
    assert_string_equal(dt_str_text(&is), text);
    dt_str_release(&is);
}

static void play(const json_t *c, size_t number) {
    stage s;
    char id[96];
    size_t i;
    const json_t *epochs = json_object_get(c, "epochs");
    json_t *ought;
    open_stage(&s, c);
    json_array_foreach(epochs, i, ought) {
        double rate_logged;
        snprintf(id, sizeof id, "case %zu, %s, epoch %zu", number, text_at(c, "callback"), i);
        json_t *own = play_epoch(&s, json_array_get(json_object_get(c, "logs"), i), &rate_logged);
        expect_epoch(&s, id, ought, own, rate_logged);
        json_decref(own);
    }
    expect_end(&s, id, c);
    close_stage(&s);
}

static void test_decisions_are_those_of_keras(void **state) {
    (void)state;
    json_t *root = json_load_file("tests/golden/callbacks.json", 0, NULL), *c;
    size_t i;
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "cases"), i, c) play(c, i);
    assert_true(i >= 90);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions_are_those_of_keras),
    };
    return cmocka_run_group_tests_name("train/callback_golden", tests, clean_folder, NULL);
}
