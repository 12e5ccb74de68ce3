/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models that Keras wrote (tests/golden/keras, drawn by record_keras.py): what they become has
 * Keras' parameters and weights, and with its weights it gives what Keras gives. And files that are
 * no such models, each with the place and the word that the user gets.
 */
#include "../rig.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "file/zip.h"
#include "model/keras/keras.h"

#define MODELS "tests/golden/keras"
#define HERE "build/tmp/keras-import"

/* ---- recorded models ---- */

/* {keras_config: NAME} in a folder, imported. */
static dt_tree *imported(dt_arena *arena, const char *directory, const char *name) {
    dt_tree *tree = parse(arena, "job.yaml", dt_arena_printf(arena, "{keras_config: %s}", name));
    ok(dt_keras_import(arena, directory, tree));
    return tree;
}

static const dt_view *find_weight(const dt_model *m, const char *path, dt_view *out) {
    for (int i = 0; i < m->n_weights; i++)
        if (strcmp(m->spec.weight[i]->path, path) == 0) {
            *out = (dt_view){.type = m->weight[i]->type, .data = m->weight[i]->host_data};
            return out;
        }
    fail_msg("no weight '%s'", path);
    return NULL;
}

/* Keras' weights, all of them and no others; what counts the steps of layers that draw is of
 * another kind. */
static void take_weights(dt_model *m, const json_t *weights) {
    const char *path;
    json_t *value;
    int n = 0;
    for (int i = 0; i < m->n_weights; i++) n += dt_dtype_is_float(m->weight[i]->type.dtype);
    assert_int_equal(n, (int)json_object_size(weights));
    json_object_foreach((json_t *)weights, path, value) {
        dt_view own, given = view_of(value);
        find_weight(m, path, &own);
        if (!dt_type_equal(&own.type, &given.type)) fail_msg("%s is of another shape", path);
        memcpy(own.data, given.data, (size_t)dt_type_bytes(&own.type));
        free(given.data);
    }
}

static void check_outputs(const char *name, dt_model *m, const json_t *expected, double relative) {
    dt_trace *t = dt_trace_create("forward");
    dt_value in[DT_MAX_INPUTS], out[DT_MAX_OUTPUTS];
    feed feeds[DT_MAX_INPUTS];
    const json_t *outputs = json_object_get(expected, "outputs");
    assert_int_equal(m->spec.n_inputs, (int)json_object_size(json_object_get(expected, "inputs")));
    assert_int_equal(m->spec.n_outputs, (int)json_array_size(outputs));
    for (int i = 0; i < m->spec.n_inputs; i++) {
        const dt_input_spec *input = &m->spec.input[i];
        in[i] = dt_trace_declare(t, input->name, &input->type);
        feeds[i] =
            (feed){input->name,
                   view_of(json_object_get(json_object_get(expected, "inputs"), input->name))};
    }
    dt_model_emit_outputs(m, in, m->spec.n_inputs, DT_INFERENCE, out);
    for (int i = 0; i < m->spec.n_outputs; i++)
        dt_return(t, m->spec.output[i].name, dt_to_float32(out[i]));
    outcome o = run_graph(end_trace(t), 1, feeds, m->spec.n_inputs);
    for (int i = 0; i < m->spec.n_outputs; i++)
        assert_view(name, result_of(&o, 0, m->spec.output[i].name),
                    json_array_get(outputs, (size_t)i), relative, relative);
    finish(&o);
    dt_graph_destroy(o.graph);
    for (int i = 0; i < m->spec.n_inputs; i++) free(feeds[i].view.data);
}

static int64_t trainable(const dt_model *m) {
    int64_t n = 0;
    for (int i = 0; i < m->trainable.n; i++) n += dt_type_elements(&m->trainable.v[i]->type);
    return n;
}

static dt_model *model_of_tree(const dt_tree *tree) {
    dt_str text = {0};
    dt_tree_print(tree, &text); /* as a checkpoint holds it */
    dt_model *m = model_of(dt_str_text(&text), 1);
    dt_str_release(&text);
    return m;
}

static void check_recorded(const char *file) {
    char path[300];
    snprintf(path, sizeof path, MODELS "/expected/%s", file);
    json_t *expected = json_load_file(path, 0, NULL);
    assert_non_null(expected);
    dt_arena *arena = dt_arena_create();
    dt_model *m = model_of_tree(imported(arena, MODELS, file));
    if (m->spec.parameters != json_integer_value(json_object_get(expected, "parameters")))
        fail_msg("%s: %lld parameters", file, (long long)m->spec.parameters);
    assert_int_equal(trainable(m), json_integer_value(json_object_get(expected, "trainable")));
    take_weights(m, json_object_get(expected, "weights"));
    check_outputs(file, m, expected, strcmp(file, "narrow.json") == 0 ? 1e-2 : 1e-5);
    model_free(m);
    dt_arena_destroy(arena);
    json_decref(expected);
}

static void test_recorded_models_give_what_keras_gives(void **state) {
    (void)state;
    DIR *d = opendir(MODELS "/expected");
    int n = 0;
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            check_recorded(e->d_name);
            n++;
        }
    closedir(d);
    print_message("%d models\n", n);
    assert_true(n >= 11);
}

/* ---- other ways in ---- */

static char *read_text(const char *path) {
    dt_str text = {0};
    ok(dt_file_read(path, 1 << 20, &text));
    return dt_str_take(&text);
}

/* As model.save("model.keras") puts the same text into an archive. */
static void write_archive(const char *path, const char *text) {
    dt_writer w = {0};
    dt_archive a = {.file = &w};
    const uint32_t crc = (uint32_t)crc32(0, (const unsigned char *)text, (unsigned)strlen(text));
    ok(dt_writer_open(&w, path));
    ok(dt_archive_begin(&a, "metadata.json", 0, 0));
    ok(dt_archive_begin(&a, "config.json", crc, (int64_t)strlen(text)));
    ok(dt_archive_put(&a, text, strlen(text)));
    ok(dt_archive_put_directory(&a));
    ok(dt_writer_close(&w));
    dt_archive_release(&a);
}

static char *printed(dt_tree *t) {
    dt_str text = {0};
    dt_tree_print(t, &text);
    return dt_str_take(&text);
}

static void test_archives_hold_the_same(void **state) {
    (void)state;
    static const char path[] = HERE "/model.keras";
    char *text = read_text(MODELS "/branches.json");
    dt_arena *arena = dt_arena_create();
    ok(dt_dir_make(HERE));
    write_archive(path, text);
    char *archived = printed(imported(arena, HERE, "model.keras")),
         *plain = printed(imported(arena, MODELS, "branches.json"));
    assert_string_equal(archived, plain);
    unlink(path);
    free(archived);
    free(plain);
    free(text);
    dt_arena_destroy(arena);
}

/* In C a path is relative to the working directory; what is saved needs no file. */
static void test_programs_take_them(void **state) {
    (void)state;
    static const char saved[] = HERE "/saved";
    dt_model *m = NULL, *loaded = NULL;
    ok(dt_model_create(&m, "{keras_config: %s/mlp.json}", MODELS));
    assert_int_equal(dt_model_parameters(m), 44);
    ok(dt_dir_make(HERE));
    ok(dt_model_save(m, saved));
    ok(dt_model_load(&loaded, saved));
    char *sha = dt_strdup(dt_model_weights_sha256(m));
    assert_string_equal(dt_model_weights_sha256(loaded), sha);
    char *state_text = read_text(HERE "/saved/state.json");
    assert_null(strstr(state_text, "keras_config"));
    free(state_text);
    free(sha);
    ok(dt_dir_remove(saved));
    dt_model_unref(loaded);
    dt_model_unref(m);
}

/* ---- bad files ---- */

#define K "\"module\": \"keras.layers\", \"class_name\": "
#define INPUT                                                                                      \
    "{" K "\"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"dtype\": \"float32\", "      \
    "\"name\": \"x\"}, \"inbound_nodes\": []}"
#define DENSE "{" K "\"Dense\", \"config\": {\"name\": \"d\", \"units\": 2}, "
#define TENSOR(name)                                                                               \
    "{\"class_name\": \"__keras_tensor__\", \"config\": {\"keras_history\": [\"" name "\", 0, "    \
    "0]}}"
#define SEQUENTIAL(layers)                                                                         \
    "{\"module\": \"keras\", \"class_name\": \"Sequential\", \"config\": {\"layers\": [" layers    \
    "]}}"
#define OPERATION(class_name, config, operands)                                                    \
    "{\"module\": \"keras.src.ops.numpy\", \"class_name\": \"" class_name                          \
    "\", \"config\": {\"name\": \"r\"" config                                                      \
    "}, \"name\": \"r\", \"inbound_nodes\": [{\"args\": [" operands "], \"kwargs\": {}}]}"
#define FUNCTIONAL(layers, outputs)                                                                \
    "{\"module\": \"keras.models\", \"class_name\": \"Functional\", \"config\": {\"layers\": "     \
    "[" INPUT ", " layers "], "                                                                    \
    "\"output_layers\": " outputs "}}"
#define LAYER(class_name, config)                                                                  \
    "{" K "\"" class_name "\", \"config\": {\"name\": \"d\"" config "}}"

#define CALLED(class_name, config, args)                                                           \
    "{" K "\"" class_name "\", \"config\": {" config "}, \"inbound_nodes\": [{\"args\": [" args    \
    "], \"kwargs\": {}}]}"
#define HEADS(name, a, b)                                                                          \
    CALLED("MultiHeadAttention", "\"name\": \"" name "\", \"num_heads\": 1, \"key_dim\": 2",       \
           TENSOR(a) ", " TENSOR(b))
/* Attention of a sequence, which may be masked, to masked steps, and what follows it. */
#define ATTENDED(query, layers, output)                                                            \
    FUNCTIONAL(                                                                                    \
        CALLED("Reshape", "\"name\": \"r\", \"target_shape\": [2, 2]", TENSOR("x")) ", " CALLED(   \
            "Masking", "\"name\": \"m\"", TENSOR("r")) ", " HEADS("a", query, "m") ", " layers,    \
        "[\"" output "\", 0, 0]")
#define SUM CALLED("Add", "\"name\": \"s\"", "[" TENSOR("m") ", " TENSOR("a") "]")

static const struct bad {
    const char *json, *place, *text;
} bad[] = {
    {"", "job.yaml",
     "model.json: the file is not JSON (offset 0): unexpected token near end of file"},
    {"[]", "job.yaml", "model.json: the file is JSON but not an object"},
    {"{\"a\": 1, \"a\": 2}", "job.yaml", "model.json: key 'a' appears twice"},
    {"{}", "model.json", "missing key 'class_name' (Keras 3 always writes it)"},
    {"{\"module\": \"keras\", \"class_name\": 3}", "model.json: class_name",
     "'3' is neither a Sequential nor a Functional model"},
    {"{\"class_name\": \"Sequential\", \"keras_version\": \"2.12.0\", \"config\": {}}",
     "model.json: class_name", "'Sequential' has no module, which Keras 3 always writes"},
    {"{\"module\": \"mine\", \"class_name\": \"Net\", \"config\": {}}", "model.json: class_name",
     "'Net' is custom code, which dtrain does not have"},
    {"{\"module\": \"keras\", \"class_name\": \"Sequential\", \"config\": {}}",
     "model.json: config", "missing key 'layers' (Keras 3 always writes it)"},
    {"{\"module\": \"keras\", \"class_name\": \"Sequential\", \"config\": {\"layers\": 3}}",
     "model.json: config.layers", "layers: expected a list, got 3"},
    {SEQUENTIAL(DENSE "\"x\": 1}"), "model.json: config.layers[0]",
     "the model has no input: its first layer is not an InputLayer"},
    {SEQUENTIAL(INPUT ", 7"), "model.json: config.layers[1]",
     "a thing of Keras: expected a mapping, got 7"},
    {SEQUENTIAL(INPUT ", " LAYER("Dense", ", \"units\": 0")),
     "model.json: config.layers[1].config.units", "units must be at least 1, got 0"},
    {SEQUENTIAL(INPUT ", " LAYER("Dense", "")), "model.json: config.layers[1].config",
     "required key 'units' is missing in Dense"},
    {SEQUENTIAL(INPUT ", " LAYER("Dense", ", \"units\": 2, \"lora_rank\": 4")),
     "model.json: config.layers[1].config.lora_rank",
     "key 'lora_rank' in Dense is not implemented yet"},
    {SEQUENTIAL(INPUT ", " LAYER("Dense", ", \"units\": 2, \"kernel_constraint\": {\"module\": "
                                          "\"keras.constraints\", \"class_name\": \"MaxNorm\", "
                                          "\"config\": {\"max_value\": 2.0, \"axis\": null}}")),
     "model.json: config.layers[1].config.kernel_constraint.config.axis",
     "'axis' is null, which differs from the default here; write the value"},
    {SEQUENTIAL(INPUT ", " LAYER("Dense", ", \"units\": 2, \"bias_initializer\": null")),
     "model.json: config.layers[1].config.bias_initializer",
     "'bias_initializer' is null, which differs from the default here; write the value"},
    {FUNCTIONAL("{" K "\"Reshape\", \"config\": {\"name\": \"r\", \"target_shape\": [2, 2]}, "
                "\"inbound_nodes\": [{\"args\": [" TENSOR(
                    "x") "], \"kwargs\": {}}]}, "
                         "{" K "\"Masking\", \"config\": {\"name\": \"m\"}, \"inbound_nodes\": "
                         "[{\"args\": [" TENSOR(
                             "r") "], \"kwargs\": {}}]}, "
                                  "{\"module\": \"keras.src.ops.numpy\", \"class_name\": "
                                  "\"Add\", \"config\": {\"name\": \"a\"}, "
                                  "\"inbound_nodes\": [{\"args\": [" TENSOR("r") ", " TENSOR(
                                      "m") "], \"kwargs\": {}}]}",
                "[\"a\", 0, 0]"),
     "model.json: config.layers[3].inbound_nodes[0].args[1].config.keras_history[0]",
     "operation 'Add' loses the mask of 'm' in Keras; dtrain's layers pass it on"},
    {ATTENDED("m", SUM ", " HEADS("b", "s", "s"), "b"),
     "model.json: config.layers[5].inbound_nodes[0].args[0].config.keras_history[0]",
     "layer 'b' sees no mask of 's' in Keras, where MultiHeadAttention 'a' removes that of 'm'; "
     "dtrain keeps masks"},
    {ATTENDED("m", HEADS("b", "a", "m"), "b"),
     "model.json: config.layers[4].inbound_nodes[0].args[1].config.keras_history[0]",
     "layer 'b' sees no mask of 'm' in Keras, where MultiHeadAttention 'a' removes that of 'm'; "
     "dtrain keeps masks"},
    {ATTENDED("r", HEADS("b", "r", "m"), "b"),
     "model.json: config.layers[4].inbound_nodes[0].args[1].config.keras_history[0]",
     "layer 'b' sees no mask of 'm' in Keras, where MultiHeadAttention 'a' removes that of 'm'; "
     "dtrain keeps masks"},
    {ATTENDED(
         "m",
         CALLED("Concatenate", "\"name\": \"s\"", "[" TENSOR("m") ", " TENSOR("a") "]") ", " CALLED(
             "Attention", "\"name\": \"b\"", "[" TENSOR("a") ", " TENSOR("s") "]"),
         "b"),
     "model.json: config.layers[5].inbound_nodes[0].args[0][1].config.keras_history[0]",
     "layer 'b' sees no mask of 's' in Keras, where MultiHeadAttention 'a' removes that of 'm'; "
     "dtrain keeps masks"},
    {ATTENDED("m", CALLED("Multiply", "\"name\": \"b\"", "[" TENSOR("r") ", " TENSOR("m") "]"),
              "b"),
     "model.json: config.layers[4].inbound_nodes[0].args[0][1].config.keras_history[0]",
     "layer 'b' sees no mask of 'm' in Keras, where MultiHeadAttention 'a' removes that of 'm'; "
     "dtrain keeps masks"},
    {SEQUENTIAL(INPUT ", " LAYER("Dense", ", \"units\": 2, \"dtype\": \"float64\"")),
     "model.json: config.layers[1].config.dtype", "unknown dtype 'float64'"},
    {SEQUENTIAL(INPUT ", " LAYER("Desne", ", \"units\": 2")),
     "model.json: config.layers[1].class_name", "unknown layer 'Desne'"},
    {SEQUENTIAL(INPUT ", " LAYER("Dense", ", \"units\": 2, \"activation\": \"rleu\"")),
     "model.json: config.layers[1].config.activation", "unknown activation 'rleu'"},
    {SEQUENTIAL(INPUT ", " LAYER("Dense", ", \"units\": 2, \"activation\": {\"x\": {\"y\": 1}}")),
     "model.json: config.layers[1].config.activation.x", "unknown layer 'x'"},
    {SEQUENTIAL(
         "{" K
         "\"InputLayer\", \"config\": {\"batch_shape\": [null, 4, 2], \"name\": \"x\"}}, " LAYER(
             "LSTM", ", \"units\": 2, \"activation\": {" K
                     "\"LeakyReLU\", \"config\": {\"negative_slope\": 0.5}}")),
     "model.json: config.layers[1].config.activation",
     "the activation of LSTM is a layer; expected the name of an activation"},
    {SEQUENTIAL(
         "{" K "\"InputLayer\", \"config\": {\"batch_shape\": [null, 4, 4, 4, 2], \"name\": "
         "\"x\"}}, " LAYER("ConvLSTM2D", ", \"filters\": 2, \"kernel_size\": 3, \"activation\": {" K
                                         "\"LeakyReLU\", \"config\": {\"negative_slope\": 0.5}}")),
     "model.json: config.layers[1].config.activation",
     "the activation of ConvLSTM2D is a layer; expected the name of an activation"},
    {SEQUENTIAL(INPUT
                ", " LAYER("Dense", ", \"units\": 2, \"activation\": {\"module\": \"builtins\", "
                                    "\"class_name\": \"function\", \"config\": \"f\"}")),
     "model.json: config.layers[1].config.activation.class_name",
     "'function' is custom code, which dtrain does not have"},
    {SEQUENTIAL(INPUT ", " LAYER("Conv2D", ", \"filters\": 2, \"kernel_size\": 3")),
     "model.json: config.layers[1]",
     "input 0 of Conv2D must have 4 dimensions (B, height, width, channels), got 2: (B, 4)"},
    {SEQUENTIAL(INPUT ", " LAYER("Sequential", ", \"layers\": []")),
     "model.json: config.layers[1].config.layers", "the model has no layers"},
    {SEQUENTIAL("{" K "\"InputLayer\", \"config\": {\"batch_shape\": [32, 4], \"name\": \"x\"}}"),
     "model.json: config.layers[0].config.batch_shape[0]",
     "the Input fixes the batch size, which the job decides here"},
    {SEQUENTIAL("{" K
                "\"InputLayer\", \"config\": {\"batch_shape\": [null, null], \"name\": \"x\"}}"),
     "model.json: config.layers[0].config.batch_shape[1]",
     "shape[0]: expected an integer, got null"},
    {SEQUENTIAL("{" K "\"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"sparse\": true, "
                "\"name\": \"x\"}}"),
     "model.json: config.layers[0].config.sparse", "key 'sparse' in Input is not implemented yet"},
    {SEQUENTIAL("{" K "\"InputLayer\", \"config\": {\"batch_shape\": [],"
                "\"name\": \"x\"}}"),
     "model.json: config.layers[0].config.batch_shape",
     "batch_shape is empty; expected at least the batch dimension"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [{\"args\": [" TENSOR("y") "], \"kwargs\": {}}]}",
                "[\"d\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[0].args[0].config.keras_history[0]",
     "layer 'd' uses 'y', but no earlier layer has that name"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [[[\"x\", 0, 0, {}]]]}", "[\"d\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[0]", "a model of Keras 2, whose calls are lists"},
    {FUNCTIONAL(
         DENSE "\"inbound_nodes\": [{\"args\": [" TENSOR("x") "]}, {\"args\": [" TENSOR("e") "]}]}",
         "[\"d\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[1].args[0].config.keras_history[0]",
     "the model has no layer 'e'"},
    {FUNCTIONAL(
         DENSE "\"inbound_nodes\": [{\"args\": [" TENSOR("x") "]}, {\"args\": [" TENSOR("d") "]}]}",
         "[\"d\", 2, 0]"),
     "model.json: config.output_layers[1]", "layer 'd' has no call 2"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [{\"args\": [2.5], \"kwargs\": {}}]}", "[\"d\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[0].args[0]",
     "a layer is called with a value that is not the output of a layer"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [{\"args\": [], \"kwargs\": {}}]}", "[\"d\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[0]", "layer 'd' has no input"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [{\"args\": [" TENSOR(
                    "x") "], \"kwargs\": {\"training\": true}}]}",
                "[\"d\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[0].kwargs.training",
     "layer 'd' is called with 'training', which dtrain's Dense does not take"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [{\"args\": [" TENSOR(
                    "x") "], \"kwargs\": {\"mask\": " TENSOR("x") "}}]}",
                "[\"d\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[0].kwargs.mask",
     "layer 'd' is called with a mask that does not belong to its input"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [{\"args\": [" TENSOR("x") "], \"kwargs\": {}}]}",
                "[\"d\", 0, 1]"),
     "model.json: config.output_layers[0]", "layer 'd' has no output '1'"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [{\"args\": [" TENSOR("x") "], \"kwargs\": {}}]}",
                "[\"d\", 0, -1]"),
     "model.json: config.output_layers[2]", "tensor must be in [0, 1000], got -1"},
    {FUNCTIONAL(DENSE "\"inbound_nodes\": [{\"args\": [" TENSOR("x") "], \"kwargs\": {}}]}", "7"),
     "model.json: config.output_layers", "expected [LAYER, 0, 0], or several of them"},
    {FUNCTIONAL(OPERATION("Erf", "", TENSOR("x")), "[\"r\", 0, 0]"),
     "model.json: config.layers[1].class_name",
     "operation 'Erf' of Keras has no equivalent layer here"},
    {FUNCTIONAL(OPERATION("Divide", "", "2.0, " TENSOR("x")), "[\"r\", 0, 0]"),
     "model.json: config.layers[1].class_name",
     "operation 'Divide' of Keras has no equivalent layer here"},
    {FUNCTIONAL(OPERATION("Divide", "", TENSOR("x") ", 0"), "[\"r\", 0, 0]"),
     "model.json: config.layers[1].class_name",
     "operation 'Divide' of Keras has no equivalent layer here"},
    {FUNCTIONAL(OPERATION("Power", "", TENSOR("x") ", 3"), "[\"r\", 0, 0]"),
     "model.json: config.layers[1].class_name",
     "operation 'Power' of Keras has no equivalent layer here"},
    {FUNCTIONAL(OPERATION("Gelu", ", \"approximate\": true", TENSOR("x")), "[\"r\", 0, 0]"),
     "model.json: config.layers[1].config.approximate",
     "operation 'Gelu' with approximate has no equivalent layer"},
    {FUNCTIONAL(OPERATION("Add", "", TENSOR("x") ", true"), "[\"r\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[0].args[1]",
     "a layer is called with a value that is not the output of a layer"},
    {FUNCTIONAL(OPERATION("Relu", "", ""), "[\"r\", 0, 0]"),
     "model.json: config.layers[1].inbound_nodes[0]", "layer 'r' has no input"},
};

static dt_status *read_file(dt_arena *arena, const char *json) {
    ok(dt_file_commit(HERE "/model.json", json, strlen(json)));
    dt_tree *tree = parse(arena, "job.yaml", "keras_config: model.json");
    dt_model_spec spec;
    dt_status *s = dt_keras_import(arena, HERE, tree);
    if (!s) s = dt_model_read(arena, tree, &tree->at, &spec);
    unlink(HERE "/model.json");
    return s;
}

static const char *without_folder(const char *text) {
    size_t n = strlen(HERE "/");
    return text && strncmp(text, HERE "/", n) == 0 ? text + n : text;
}

static void test_bad_files_are_refused(void **state) {
    (void)state;
    int others = 0;
    ok(dt_dir_make(HERE));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_arena *arena = dt_arena_create();
        dt_status *s = read_file(arena, bad[i].json);
        if (!s) fail_msg("taken: %s", bad[i].json);
        const char *place = without_folder(dt_status_file(s)),
                   *text = without_folder(dt_status_text(s));
        bool as_told = strcmp(place, bad[i].place) == 0 && strcmp(text, bad[i].text) == 0;
        if (!as_told)
            print_error("'%s' '%s' instead of '%s' '%s'\n", place, text, bad[i].place, bad[i].text);
        others += !as_told;
        assert_int_equal(dt_status_code(s), 78);
        assert_null(dt_status_next(s));
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
    assert_int_equal(others, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_models_give_what_keras_gives),
        cmocka_unit_test(test_archives_hold_the_same),
        cmocka_unit_test(test_programs_take_them),
        cmocka_unit_test(test_bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
