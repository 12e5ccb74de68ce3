/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks: texts that a small model generates, whoever computes and whenever the run was
 * interrupted; what is refused. */
#define HERE "build/tmp/train-callback"
#include "kit.h"

/* 4 letters, a comma, a space and a line end; 111 examples of 4 and what comes next. */
#define TEXT HERE "/t.txt"
#define DATA                                                                                       \
    "{format: text, train: " TEXT ", element: {tokens: {shape: [4]}}, global_batch_size: 8, "      \
    "shuffle: true, validation_split: 0.2}"
#define MODEL                                                                                      \
    "[Input: {name: tokens, shape: [4], dtype: int32}, TokenAndPositionEmbedding: {name: e, "      \
    "vocabulary_size: 7, sequence_length: 4, embedding_dim: 8}, "                                  \
    "TransformerDecoder: {intermediate_dim: 8, num_heads: 2, dropout: 0.1}, Tied: {to: "           \
    "e/token_embedding}]"
#define FIT(callback) "{steps: 12, callbacks: [TerminateOnNaN, {GenerateText: " callback "}]}"

static int write_text(void **state) {
    (void)state;
    dt_status *s = dt_dir_make(HERE);
    FILE *f = s ? NULL : fopen(TEXT, "w");
    dt_status_free(s);
    for (int i = 0; f && i < 37; i++) fputs(i % 3 ? "abcd, abba, " : "dada, acdc\n ", f);
    return !f || fclose(f) != 0;
}

/* The texts of a run, a line each: "6 ab|cd" with | for line ends. */
static char *texts_of(const dt_str *log) {
    dt_str texts = {0};
    for (const char *line = dt_str_text(log); *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, "text step ", 10) == 0)
            dt_str_add(&texts, line + 10, strcspn(line + 10, "\n") + 1);
    return dt_str_take(&texts);
}

static char *texts(const setup *s) {
    outcome o = fit_well(s);
    char *is = texts_of(&o.log);
    outcome_free(&o);
    return is;
}

/* The n-th line. */
static const char *line_of(const char *text, int n) {
    while (n-- > 0) text += strcspn(text, "\n") + 1;
    return text;
}

#define SETUP(callback, ...)                                                                       \
    &(setup) { .layers = MODEL, .data = DATA, .fit = FIT(callback), .seed = 5, __VA_ARGS__ }

static void test_texts_come_in_their_turns(void **state) {
    (void)state;
    static const struct {
        const char *fit;
        int n, step[4];
    } cases[] = {
        {FIT("{every: 5, prompt: ab, max_tokens: 3}"), 2, {5, 10}},
        {FIT("{every: 12, prompt: \"abcd, ab\", max_tokens: 9}"), 1, {12}},
        {FIT("{every: 13, prompt: a}"), 0, {0}},
        {"{epochs: 3, callbacks: [{GenerateText: {every: 2, prompt: d, max_tokens: 1}}]}", 1, {22}},
        {"{steps: 3, callbacks: [{GenerateText: {every: 2, prompt: d}}, {GenerateText: {every: 3, "
         "prompt: a}}]}",
         2,
         {2, 3}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *is = texts(&(setup){.layers = MODEL, .data = DATA, .fit = cases[i].fit});
        int n = 0;
        for (const char *line = is; line && *line; line = line_of(line, 1), n++)
            assert_int_equal(atoi(line), cases[i].step[n]);
        assert_int_equal(n, cases[i].n);
        free(is);
    }
}

/* A text is the prompt and max_tokens characters of the vocabulary, also where both are longer than
 * the model's sequence. */
static void test_a_text_begins_with_the_prompt(void **state) {
    (void)state;
    static const struct {
        const char *callback, *prompt;
        size_t more;
    } cases[] = {
        {"{every: 12, prompt: ab, max_tokens: 1}", "ab", 1},
        {"{every: 12, prompt: \"a\", max_tokens: 20}", "a", 20},
        {"{every: 12, prompt: \"abcd, ab\", max_tokens: 2}", "abcd, ab", 2},
        {"{every: 12, prompt: \"abcd\"}", "abcd", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_str fit_text = {0};
        dt_str_printf(&fit_text, "{steps: 12, callbacks: [{GenerateText: %s}]}", cases[i].callback);
        char *is = texts(&(setup){.layers = MODEL, .data = DATA, .fit = dt_str_text(&fit_text)});
        const char *text = is + strlen("12 ");
        assert_int_equal(strncmp(text, cases[i].prompt, strlen(cases[i].prompt)), 0);
        assert_int_equal(strlen(text), strlen(cases[i].prompt) + cases[i].more + 1);
        assert_int_equal(strspn(text, "abcd, |"), strlen(text) - 1);
        free(is);
        dt_str_release(&fit_text);
    }
}

/* One text for any number of replicas, and again after a stop; another seed, another text. */
static void test_texts_depend_on_the_seed_alone(void **state) {
    (void)state;
    static const int replicas[] = {1, 4, 8};
    char *one = texts(SETUP("{every: 4, prompt: ab, max_tokens: 40}", .replicas = 0));
    for (size_t i = 0; i < sizeof replicas / sizeof *replicas; i++) {
        char *is = texts(SETUP("{every: 4, prompt: ab, max_tokens: 40}", .replicas = replicas[i]));
        assert_string_equal(is, one);
        free(is);
    }
    char *other = texts(&(setup){.layers = MODEL,
                                 .data = DATA,
                                 .fit = FIT("{every: 4, prompt: ab, max_tokens: 40}"),
                                 .seed = 6});
    assert_string_not_equal(other, one);
    free(other);
    forget(HERE "/run");
    /* stopped after step 6 */
    outcome first = fit(
        SETUP("{every: 4, prompt: ab, max_tokens: 40}", .directory = HERE "/run", .stop_at = 6));
    assert_int_equal(dt_status_code(first.status), 75);
    char *begun = texts_of(&first.log),
         *rest = texts(SETUP("{every: 4, prompt: ab, max_tokens: 40}", .directory = HERE "/run"));
    assert_int_equal(strncmp(one, begun, strlen(begun)), 0);
    assert_string_equal(rest, line_of(one, 1));
    outcome_free(&first);
    free(begun);
    free(rest);
    free(one);
}

/* At temperature 0 nothing is drawn: the same weights give the same text at any step; a high one
 * knows no favourites. */
static void test_temperature(void **state) {
    (void)state;
    char *cold =
        texts(&(setup){.layers = MODEL,
                       .data = DATA,
                       .compile = "{optimizer: {SGD: {learning_rate: 1e-30}}, loss: "
                                  "{SparseCategoricalCrossentropy: {from_logits: true}}}",
                       .fit = FIT("{every: 6, prompt: ab, max_tokens: 30, temperature: 0}"),
                       .seed = 5});
    assert_int_equal(strncmp(cold + 2, line_of(cold, 1) + 3, 32), 0);
    free(cold);
    char *hot =
        texts(SETUP("{every: 12, prompt: ab, max_tokens: 700, temperature: 1e9}", .replicas = 0));
    int seen[256] = {0};
    for (const char *p = hot + 5; *p && *p != '\n'; p++) seen[(unsigned char)*p]++;
    for (const char *letter = "abcd, |"; *letter; letter++)
        assert_true(seen[(unsigned char)*letter] > 60 && seen[(unsigned char)*letter] < 140);
    free(hot);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *layers, *data, *fit;
        int number, column;
        const char *text;
    } cases[] = {
        {NULL, NULL, FIT("{every: 2, prompt: ab}"), DT_E_FIT_KEYS, 42,
         "GenerateText needs data of format text, which defines the tokens; got synthetic"},
        {"[Input: {name: tokens, shape: [4], dtype: int32}, Embedding: {input_dim: 7, output_dim: "
         "7}, Flatten, Dense: {units: 28}, Reshape: {target_shape: [2, 14]}]",
         DATA, FIT("{every: 2, prompt: ab}"), DT_E_FIT_KEYS, 42,
         "GenerateText needs a model from integers (B, steps) to scores (B, steps, vocabulary)"},
        {MODEL, DATA, FIT("{every: 2, prompt: abx}"), DT_E_RANGE, 75,
         "character 2, U+0078, does not occur in the training text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        rig_make(&r,
                 &(setup){.layers = cases[i].layers, .data = cases[i].data, .fit = cases[i].fit});
        outcome o = {0};
        dt_status *s = dt_callbacks_check(
            &r.fit.callbacks, &(dt_callback_job){&r.model->spec, dt_dataset_spec_of(r.data),
                                                 &r.model->compile, false});
        if (!s) {
            OK(rig_trainer(&r, &(setup){0}));
            s = rig_fit(&r, &(setup){0}, &o);
        }
        assert_string_equal(dt_status_text(s), cases[i].text);
        assert_int_equal(dt_status_number(s), cases[i].number);
        assert_int_equal(dt_status_column(s), cases[i].column);
        dt_status_free(s);
        outcome_free(&o);
        rig_free(&r);
    }
}

static void test_faults_of_arguments(void **state) {
    (void)state;
    static const struct {
        const char *fit;
        int number;
        const char *text;
    } cases[] = {
        {"{steps: 1, callbacks: [{SwapEMAWeights: {every: 1}}]}", DT_E_UNKNOWN_KEY,
         "unknown key 'every' in SwapEMAWeights"},
        {"{steps: 1, callbacks: [BackupAndRestore: {backup_dir: b}]}", DT_E_CALLBACK,
         "no callback 'BackupAndRestore': every run backs itself up: 'checkpoint'"},
        {"{steps: 1, callbacks: [GenerateTxt]}", DT_E_UNKNOWN_NAME,
         "unknown callback 'GenerateTxt'"},
        {"{steps: 1, callbacks: [{GenerateText: {every: 1}}]}", DT_E_MISSING_KEY,
         "required key 'prompt' is missing in GenerateText"},
        {"{steps: 1, callbacks: [{GenerateText: {every: 0, prompt: a}}]}", DT_E_RANGE,
         "every must be in [1, 1e+15], got 0"},
        {"{steps: 1, callbacks: [{GenerateText: {every: 1, prompt: ''}}]}", DT_E_RANGE,
         "prompt must not be empty"},
        {"{steps: 1, callbacks: [{GenerateText: {every: 1, prompt: a, temperature: -1}}]}",
         DT_E_RANGE, "temperature must be at least 0, got -1"},
        {"{steps: 1, callbacks: [{TerminateOnNaN: {patience: 1}}]}", DT_E_UNKNOWN_KEY,
         "unknown key 'patience' in TerminateOnNaN"},
        {"{steps: 1, callbacks: {TerminateOnNaN: {}}}", DT_E_WRONG_TYPE,
         "callbacks: expected a list, got a mapping"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_arena *arena = dt_arena_create();
        dt_location at = {0};
        dt_fit_spec spec;
        dt_status *s = dt_fit_read(arena, parse(arena, "fit", cases[i].fit), &at, &spec);
        assert_string_equal(dt_status_text(s), cases[i].text);
        assert_int_equal(dt_status_number(s), cases[i].number);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_come_in_their_turns),
        cmocka_unit_test(test_a_text_begins_with_the_prompt),
        cmocka_unit_test(test_texts_depend_on_the_seed_alone),
        cmocka_unit_test(test_temperature),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_faults_of_arguments),
    };
    return cmocka_run_group_tests_name("callbacks", tests, write_text, NULL);
}
