/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables and kinds on a job file, over the catalogue of wrong keys and values: each case
 * changes one line of the sample. */
#include "sample_job.h"

#include "conf/conf_impl.h"

typedef struct job_case {
    const char *from, *to;
    expected fault;
} job_case;

static const job_case cases[] = {
    /* keys */
    {"seed", "sead", {"K01", DT_E_UNKNOWN_KEY, 3, 1, "unknown key 'sead'", "did you mean 'seed'?"}},
    {"learning_rate",
     "learnig_rate",
     {"K02", DT_E_UNKNOWN_KEY, 13, 22, "unknown key 'learnig_rate' in Adam",
      "did you mean 'learning_rate'?"}},
    {"layers",
     "layesr",
     {"K01, required: one fault, not two", DT_E_UNKNOWN_KEY, 9, 3, "unknown key 'layesr' in model",
      "did you mean 'layers'?"}},
    {"seed: 42",
     "frobnicate: 1",
     {"K03", DT_E_UNKNOWN_KEY, 3, 1, "unknown key 'frobnicate'",
      "known keys: version, name, seed, strategy, dataset, model, compile, fit, checkpoint, "
      "output"}},
    {"model:\n  layers:\n    - Flatten\n    - Dense: {units: 10, activation: softmax}\n",
     "",
     {"K04", DT_E_MISSING_KEY, 1, 1, "required key 'model' is missing", NULL}},
    {"dataset:\n  format: npy\n  global_batch_size: 64\n",
     "",
     {"K05", DT_E_MISSING_KEY, 1, 1, "required key 'dataset' is missing", NULL}},
    {"  loss: sparse_categorical_crossentropy\n",
     "",
     {"K06", DT_E_MISSING_KEY, 13, 3, "required key 'loss' is missing in compile", NULL}},
    {"units: 10, ",
     "",
     {"missing in flow", DT_E_MISSING_KEY, 11, 14, "required key 'units' is missing in Dense",
      NULL}},
    {"{units: 10, activation: softmax}",
     "",
     {"missing altogether", DT_E_MISSING_KEY, 11, 7, "required key 'units' is missing in Dense",
      NULL}},
    {"global_batch_size",
     "batch_size",
     {"batch_size", DT_E_UNKNOWN_KEY, 7, 3, "unknown key 'batch_size' in dataset",
      "write global_batch_size (all replicas together) or per_replica_batch_size"}},
    {"units: 10",
     "units: 10, hidden_size: 10",
     {"hidden_size", DT_E_UNKNOWN_KEY, 11, 26, "unknown key 'hidden_size' in Dense",
      "Keras' word is 'units'"}},
    {"units: 10",
     "units: 10, \"a\\x1b[2J\": 1",
     {"escape in a key", DT_E_UNKNOWN_KEY, 11, 26, "unknown key 'a\\x1b[2J' in Dense",
      "known keys: units, activation, use_bias"}},
    {"- Flatten",
     "- Flatten: {axis: 1}",
     {"key of a kind without any", DT_E_UNKNOWN_KEY, 10, 17, "unknown key 'axis' in Flatten",
      "known keys: none"}},
    /* shapes */
    {"fit:\n  epochs: 5",
     "fit: [1, 2]",
     {"K07", DT_E_WRONG_TYPE, 16, 6, "fit: expected a mapping, got a list", NULL}},
    {"fit:\n  epochs: 5",
     "fit: 3",
     {"number for a mapping", DT_E_WRONG_TYPE, 16, 6, "fit: expected a mapping, got 3", NULL}},
    {"fit:\n  epochs: 5",
     "fit:",
     {"required null", DT_E_WRONG_TYPE, 16, 5, "fit: expected a mapping, got null", NULL}},
    {"{type: mirrored, replicas: 2}",
     "null",
     {"K23", DT_E_WRONG_TYPE, 4, 11, "strategy: expected a mapping, got null", NULL}},
    {"[accuracy]",
     "{accuracy: 1}",
     {"K22", DT_E_WRONG_TYPE, 15, 12, "metrics: expected a list, got a mapping", NULL}},
    {"units: 10",
     "units: ~",
     {"required null in a kind", DT_E_WRONG_TYPE, 11, 22, "units: expected an integer, got null",
      NULL}},
    {"{units: 10, activation: softmax}",
     "64",
     {"number for arguments", DT_E_WRONG_TYPE, 11, 14, "Dense: expected a mapping, got 64",
      "write Dense: {units: 64}"}},
    {"dir: runs/mnist",
     "dir: [a]",
     {"list for text", DT_E_WRONG_TYPE, 19, 15, "dir: expected a string, got a list", NULL}},
    /* integers */
    {"epochs: 5",
     "epochs: ten",
     {"K08", DT_E_WRONG_TYPE, 17, 11, "epochs: expected an integer, got 'ten'", NULL}},
    {"epochs: 5",
     "epochs: -1",
     {"K09", DT_E_RANGE, 17, 11, "epochs must be at least 1, got -1", NULL}},
    {"epochs: 5",
     "epochs: 0",
     {"K10", DT_E_RANGE, 17, 11, "epochs must be at least 1, got 0", NULL}},
    {"epochs: 5",
     "epochs: 1.5",
     {"K11", DT_E_WRONG_TYPE, 17, 11, "epochs: expected an integer, got 1.5", NULL}},
    {"size: 64",
     "size: 0",
     {"K12", DT_E_RANGE, 7, 22, "global_batch_size must be in [1, 16777216], got 0", NULL}},
    {"size: 64",
     "size: -8",
     {"K13", DT_E_RANGE, 7, 22, "global_batch_size must be in [1, 16777216], got -8", NULL}},
    {"size: 64",
     "size: 1000000000000",
     {"K14", DT_E_RANGE, 7, 22, "global_batch_size must be in [1, 16777216], got 1000000000000",
      NULL}},
    {"seed: 42",
     "seed: 18446744073709551616",
     {"K18", DT_E_RANGE, 3, 7, "seed: 18446744073709551616 is out of range", NULL}},
    {"seed: 42",
     "seed: -1",
     {"only a lower limit of 0", DT_E_RANGE, 3, 7, "seed must be at least 0, got -1", NULL}},
    {"save_freq: 100",
     "save_freq: 0",
     {"K24", DT_E_RANGE, 18, 25, "save_freq must be at least 1, got 0", NULL}},
    {"max_to_keep: 3",
     "max_to_keep: 0",
     {"K25", DT_E_RANGE, 18, 43, "max_to_keep must be at least 1, got 0", NULL}},
    {"replicas: 2",
     "replicas: 18446744073709551617",
     {"S06", DT_E_RANGE, 4, 38, "replicas: 18446744073709551617 is out of range", NULL}},
    {"epochs: 5",
     "epochs: 010",
     {"Y27", DT_E_AMBIGUOUS, 17, 11, "epochs: '010' is ambiguous; write 10 or 8", NULL}},
    {"epochs: 5",
     "epochs: -089",
     {"leading zero, not octal", DT_E_AMBIGUOUS, 17, 11, "epochs: '-089' is ambiguous; write -89",
      NULL}},
    {"epochs: 5",
     "epochs: 99999999999999999999999999",
     {"Y30", DT_E_RANGE, 17, 11, "epochs: 99999999999999999999999999 is out of range", NULL}},
    {"epochs: 5",
     "epochs: 1e30",
     {"large power", DT_E_RANGE, 17, 11, "epochs: 1e30 is out of range", NULL}},
    {"epochs: 5",
     "epochs: 1e-3",
     {"small power", DT_E_WRONG_TYPE, 17, 11, "epochs: expected an integer, got 1e-3", NULL}},
    {"epochs: 5",
     "epochs: \"5\"",
     {"quoted digits", DT_E_WRONG_TYPE, 17, 11, "epochs: expected an integer, got '5'",
      "write it without quotes"}},
    {"epochs: 5",
     "epochs: 0x10",
     {"hexadecimal", DT_E_WRONG_TYPE, 17, 11, "epochs: expected an integer, got '0x10'", NULL}},
    {"epochs: 5",
     "epochs: .inf",
     {"infinite integer", DT_E_WRONG_TYPE, 17, 11, "epochs: expected an integer, got .inf", NULL}},
    /* reals */
    {"rate: 0.001",
     "rate: -0.1",
     {"K16", DT_E_RANGE, 13, 37, "learning_rate must be greater than 0, got -0.1", NULL}},
    {"rate: 0.001",
     "rate: fast",
     {"K17", DT_E_WRONG_TYPE, 13, 37, "learning_rate: expected a number, got 'fast'", NULL}},
    {"rate: 0.001",
     "rate: .nan",
     {"Y28", DT_E_RANGE, 13, 37, "learning_rate must be a finite number greater than 0, got nan",
      NULL}},
    {"rate: 0.001",
     "rate: .inf",
     {"Y29", DT_E_RANGE, 13, 37, "learning_rate must be a finite number greater than 0, got inf",
      NULL}},
    {"rate: 0.001",
     "rate: -Infinity",
     {"infinity in words", DT_E_RANGE, 13, 37,
      "learning_rate must be a finite number greater than 0, got -inf", NULL}},
    {"rate: 0.001",
     "rate: 1e999",
     {"beyond doubles", DT_E_RANGE, 13, 37, "learning_rate: 1e999 is out of range", NULL}},
    {"learning_rate: 0.001",
     "momentum: 2.0",
     {"M11", DT_E_RANGE, 13, 32, "momentum must be in [0, 1), got 2.0", NULL}},
    /* flags */
    {"units: 10",
     "units: 10, use_bias: yes",
     {"YAML 1.1 boolean", DT_E_WRONG_TYPE, 11, 36, "use_bias: expected true or false, got 'yes'",
      "write true"}},
    {"units: 10",
     "units: 10, use_bias: OFF",
     {"YAML 1.1 boolean", DT_E_WRONG_TYPE, 11, 36, "use_bias: expected true or false, got 'OFF'",
      "write false"}},
    {"units: 10",
     "units: 10, use_bias: \"true\"",
     {"quoted", DT_E_WRONG_TYPE, 11, 36, "use_bias: expected true or false, got 'true'",
      "write true"}},
    {"units: 10",
     "units: 10, use_bias: maybe",
     {"no boolean", DT_E_WRONG_TYPE, 11, 36, "use_bias: expected true or false, got 'maybe'",
      NULL}},
    /* names */
    {"Adam:",
     "adm:",
     {"K19", DT_E_UNKNOWN_NAME, 13, 15, "unknown optimizer 'adm'", "did you mean 'adam'?"}},
    {"Adam:",
     "Adm:",
     {"K19, the class", DT_E_UNKNOWN_NAME, 13, 15, "unknown optimizer 'Adm'",
      "did you mean 'Adam'?"}},
    {"sparse_categorical_crossentropy",
     "sparse_categorical_crssentropy",
     {"K20", DT_E_UNKNOWN_NAME, 14, 9, "unknown loss 'sparse_categorical_crssentropy'",
      "did you mean 'sparse_categorical_crossentropy'?"}},
    {"[accuracy]",
     "[accuacy]",
     {"K21", DT_E_UNKNOWN_NAME, 15, 13, "unknown metric 'accuacy'", "did you mean 'accuracy'?"}},
    {"sparse_categorical_crossentropy",
     "no",
     {"Y26", DT_E_UNKNOWN_NAME, 14, 9, "unknown loss 'no'",
      "known: SparseCategoricalCrossentropy"}},
    {"mirrored",
     "mirrred",
     {"S01", DT_E_UNKNOWN_NAME, 4, 18, "unknown strategy 'mirrred'", "did you mean 'mirrored'?"}},
    {"mirrored",
     "\"\\x1b[2J\"",
     {"Y23", DT_E_UNKNOWN_NAME, 4, 18, "unknown strategy '\\x1b[2J'",
      "known: default, one_device, mirrored, tpu"}},
    {"softmax",
     "reu",
     {"M05", DT_E_UNKNOWN_NAME, 11, 38, "unknown activation 'reu'", "did you mean 'relu'?"}},
    {"Dense",
     "Dese",
     {"M06", DT_E_UNKNOWN_NAME, 11, 7, "unknown layer 'Dese'", "did you mean 'Dense'?"}},
    {"Flatten",
     "[Flatten]",
     {"list for a kind", DT_E_WRONG_TYPE, 10, 7,
      "layer: expected a name or NAME: {...}, got a list", NULL}},
    {"Flatten",
     "",
     {"null for a kind", DT_E_WRONG_TYPE, 10, 6, "layer: expected a name or NAME: {...}, got null",
      NULL}},
    {"Flatten",
     "{Flatten: {}, Dense: {}}",
     {"two names", DT_E_WRONG_TYPE, 10, 7,
      "layer: expected a name or NAME: {...}, got a mapping of 2 keys", NULL}},
    {"Flatten",
     "{units: 3, Dense: {}}",
     {"an argument before its name", DT_E_WRONG_TYPE, 10, 7,
      "layer: expected a name or NAME: {...}, got a mapping of 2 keys",
      "move units into Dense: Dense.units"}},
    {"Flatten",
     "{units: 3, axis: [1]}",
     {"no name", DT_E_WRONG_TYPE, 10, 7,
      "layer: expected a name or NAME: {...}, got a mapping of 2 keys", NULL}},
    /* texts */
    {"dir: runs/mnist", "dir: \"\"", {"K26", DT_E_RANGE, 19, 15, "dir must not be empty", NULL}},
};

static void test_each_fault_is_named_at_its_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_arena *arena = dt_arena_create();
        char *text = sample_with(cases[i].from, cases[i].to);
        dt_source source = source_of(text);
        struct job job = {0};
        dt_status *s = read_job(arena, &source, &job);
        check_fault(s, &cases[i].fault);
        if (dt_status_count(s) != 1)
            fail_msg("%s: %d faults", cases[i].fault.id, dt_status_count(s));
        dt_status_free(s);
        free(text);
        dt_arena_destroy(arena);
    }
}

static void test_sample_is_read(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_source source = source_of(sample_text);
    struct job job;
    memset(&job, 0xaa, sizeof job);
    assert_null(read_job(arena, &source, &job));
    assert_int_equal(job.version, 1);
    assert_string_equal(job.name, "mnist");
    assert_int_equal(job.seed, 42);
    assert_int_equal(job.strategy.type, 2);
    assert_int_equal(job.strategy.replicas, 2);
    assert_true(job.strategy.replicas_given);
    assert_int_equal(job.dataset.format, 1);
    assert_int_equal(job.fit.epochs, 5);
    assert_int_equal(job.checkpoint.save_freq, 100);
    assert_string_equal(job.output.dir, "runs/mnist");
    dt_arena_destroy(arena);
}

/* Left out, null and `~` are one: the preset, or zero. */
static void test_defaults(void **state) {
    (void)state;
    static const char *const texts[] = {"", "checkpoint:\noutput: ~\nname: null\nseed:\n",
                                        "checkpoint: {}\noutput: {dir: }\n",
                                        "checkpoint: {save_freq: ~, max_to_keep: null}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dt_arena *arena = dt_arena_create();
        char *text = dt_arena_printf(
            arena,
            "version: 1\nstrategy: {type: tpu}\ndataset: {format: idx}\nmodel: {layers: []}\n"
            "compile: {optimizer: adam, loss: sparse_categorical_crossentropy}\nfit: {}\n%s",
            texts[i]);
        dt_source source = source_of(text);
        struct job job;
        memset(&job, 0xaa, sizeof job);
        assert_null(read_job(arena, &source, &job));
        assert_string_equal(job.name, "job");
        assert_int_equal(job.seed, 0);
        assert_int_equal(job.strategy.replicas, 1);
        assert_false(job.strategy.replicas_given);
        assert_int_equal(job.dataset.global_batch_size, 32);
        assert_null(job.compile.metrics);
        assert_int_equal(job.fit.epochs, 1);
        assert_int_equal(job.checkpoint.save_freq, 1000);
        assert_int_equal(job.checkpoint.max_to_keep, 3);
        assert_string_equal(job.output.dir, "runs");
        dt_arena_destroy(arena);
    }
}

static void test_missing_mapping_reports_required_fields_where_told(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_source source = source_of("a: 1\n  \n");
    dt_location at = {.source = &source, .line = 1, .col = 4, .width = 1};
    struct dense dense;
    dt_status *s = dt_fields_read(arena, dense_fields, NULL, &at, "Dense", &dense);
    check_fault(s, &(expected){"no mapping", DT_E_MISSING_KEY, 1, 4,
                               "required key 'units' is missing in Dense", NULL});
    assert_true(dense.use_bias);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* K28: everything that is wrong, in the order of the file, those of YAML first. */
static void test_all_faults_of_a_file_come_in_one_run(void **state) {
    (void)state;
    static const expected faults[] = {
        {"duplicate", DT_E_DUPLICATE_KEY, 8, 1, "duplicate key 'seed', first given at line 3",
         NULL},
        {"key", DT_E_UNKNOWN_KEY, 2, 1, "unknown key 'nam'", "did you mean 'name'?"},
        {"value", DT_E_RANGE, 4, 38, "replicas must be in [1, 65536], got 0", NULL},
        {"missing", DT_E_MISSING_KEY, 7, 10, "required key 'loss' is missing in compile", NULL},
        {"at the end", DT_E_MISSING_KEY, 1, 1, "required key 'model' is missing", NULL},
        {"kind", DT_E_UNKNOWN_NAME, 7, 22, "unknown optimizer 'SDG'", "did you mean 'SGD'?"},
    };
    dt_source source = source_of("version: 1\nnam: x\nseed: 1\nstrategy: {type: mirrored, "
                                 "replicas: 0}\ndataset: {format: idx}\n"
                                 "fit: {}\ncompile: {optimizer: SDG}\nseed: 2\n");
    dt_arena *arena = dt_arena_create();
    struct job job = {0};
    dt_status *s = read_job(arena, &source, &job);
    const dt_status *one = s;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++, one = dt_status_next(one))
        check_fault(one, &faults[i]);
    assert_null(one);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

static void test_twenty_faults_then_a_count(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_str text = {0};
    for (int i = 0; i < 5000; i++) dt_str_printf(&text, "key%d: 1\n", i);
    dt_source source = {"job.yaml", text.data, text.size};
    struct job job = {0};
    dt_status *s = read_job(arena, &source, &job);
    char *printed = dt_status_format(s);
    assert_non_null(strstr(printed, "unknown key 'key0'"));
    assert_non_null(strstr(printed, "unknown key 'key19'"));
    assert_null(strstr(printed, "unknown key 'key20'"));
    assert_non_null(strstr(printed, "and 4986 more\n")); /* and 6 keys are missing */
    free(printed);
    dt_status_free(s);
    dt_str_release(&text);
    dt_arena_destroy(arena);
}

/* ---- kinds ---- */

static void test_kinds_as_name_and_as_mapping(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int row;
        bool alias, arguments;
        double rate;
    } good[] = {
        {"Adam", 0, false, false, 0.01},
        {"sgd", 1, true, false, 0.01},
        {"\"SGD\"", 1, false, false, 0.01},
        {"{SGD: }", 1, false, false, 0.01},
        {"{adam: {learning_rate: 1e-4}}", 0, true, true, 1e-4},
        {"SGD: {learning_rate: 3}", 1, false, true, 3},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        dt_arena *arena = dt_arena_create();
        dt_source source = source_of(good[i].text);
        dt_tree *t;
        dt_named named;
        assert_null(dt_tree_parse(arena, &source, &t));
        assert_null(dt_named_read(arena, optimizers, 2, "optimizer", t, &named));
        assert_int_equal(named.row, good[i].row);
        assert_ptr_equal(named.kind, optimizers[good[i].row]);
        assert_int_equal(named.alias, good[i].alias);
        assert_int_equal(named.tree != NULL, good[i].arguments);
        assert_true(((struct optimizer *)named.args)->learning_rate == good[i].rate);
        assert_int_equal(named.at.line, 1);
        dt_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_is_read),
        cmocka_unit_test(test_each_fault_is_named_at_its_place),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_missing_mapping_reports_required_fields_where_told),
        cmocka_unit_test(test_all_faults_of_a_file_come_in_one_run),
        cmocka_unit_test(test_twenty_faults_then_a_count),
        cmocka_unit_test(test_kinds_as_name_and_as_mapping),
    };
    return cmocka_run_group_tests_name("conf/fields", tests, NULL, NULL);
}
