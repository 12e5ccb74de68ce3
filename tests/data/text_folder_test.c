/* SPDX-License-Identifier: Apache-2.0 */
/* The format text_folder: order and labels as Keras recorded them; texts and folders that are
 * refused. */
#define HERE "build/tmp/data-text-folder"
#include "files.h"

#include <jansson.h>

/* ---- against Keras ---- */

static void clear(void) { assert_int_equal(system("rm -rf " HERE), 0); }

static void write_text(const char *name, const char *text) {
    char folder[256];
    snprintf(folder, sizeof folder, HERE "/%s", name);
    *strrchr(folder, '/') = '\0';
    OK(dt_dir_make(folder));
    write_file(name, text, strlen(text));
}

/* ["a", "b"] as JSON, which YAML reads. */
static char *listed(const json_t *list) {
    char *text = json_dumps(list, JSON_ENSURE_ASCII);
    assert_non_null(text);
    return text;
}

/* Opens the recorded folder; a text becomes the index of its file in the recorded list. */
static dt_dataset *open_case(const json_t *root, const json_t *c) {
    const json_t *names = json_object_get(c, "names");
    char *files = listed(json_object_get(root, "files")), *classes = NULL, label[256];
    dt_dataset *d = NULL;
    snprintf(label, sizeof label, "num_classes: %zu",
             json_array_size(json_object_get(c, "classes")));
    if (json_is_array(names)) {
        classes = listed(names);
        snprintf(label, sizeof label, "class_names: %s", classes);
    }
    OK(dt_dataset_open(&d,
                       "{format: text_folder, train: " HERE "/keras, global_batch_size: 4, "
                       "element: {label: {%s}, text: {dtype: string}}, map: {text: "
                       "[string_lookup: {vocabulary: %s, num_oov_indices: 0}]}}",
                       label, files));
    free(files);
    free(classes);
    return d;
}

static void expect_case(const json_t *root, const json_t *c) {
    const json_t *examples = json_object_get(c, "examples");
    dt_dataset *d = open_case(root, c);
    dt_type type;
    assert_int_equal(dt_dataset_examples(d), json_array_size(examples));
    int32_t *text = read_all(d, dt_dataset_find(d, "text"), &type),
            *label = read_all(d, dt_dataset_find(d, "label"), &type);
    for (size_t i = 0; i < json_array_size(examples); i++) {
        const json_t *example = json_array_get(examples, i),
                     *file = json_array_get(json_object_get(root, "files"), (size_t)text[i]);
        assert_string_equal(json_string_value(file), json_string_value(json_array_get(example, 0)));
        assert_int_equal(label[i], json_integer_value(json_array_get(example, 1)));
    }
    free(text);
    free(label);
    dt_dataset_unref(d);
}

static void test_order_and_labels_of_keras(void **state) {
    (void)state;
    json_t *root = json_load_file("tests/data/text_folder.json", 0, NULL), *value;
    size_t i;
    assert_non_null(root);
    clear();
    json_array_foreach(json_object_get(root, "files"), i, value) {
        char name[128];
        snprintf(name, sizeof name, "keras/%s", json_string_value(value));
        write_text(name, json_string_value(value));
    }
    write_text("keras/.hidden/x.txt", "x");
    assert_int_equal(json_array_size(json_object_get(root, "cases")), 2);
    json_array_foreach(json_object_get(root, "cases"), i, value) expect_case(root, value);
    json_decref(root);
}

/* ---- what is refused ---- */

#define TRAIN "{format: text_folder, train: " HERE "/bad, global_batch_size: 2, element: "
#define MAP ", map: {text: [text_vectorization: {output_sequence_length: 4}]}}"

static void expect_bad(const char *id, const char *keys, int number, int code, const char *text) {
    dt_dataset *d = NULL;
    expect_fault(id, dt_dataset_open(&d, "%s", keys), number, code, text);
    dt_dataset_unref(d);
}

static void test_texts_that_are_refused(void **state) {
    (void)state;
    static const char two[] =
        TRAIN "{text: {dtype: string, max_bytes: 8}, label: {num_classes: 2}}" MAP;
    clear();
    write_text("bad/a/1.txt", "one two");
    write_text("bad/b/1.txt", "gr\xfc\xdf");
    expect_bad("Latin-1", two, DT_E_DATA_FILE, 65, "bad/b/1.txt:1:3: byte 0xfc is not UTF-8");
    write_file("bad/b/1.txt", "a\nb\0", 4);
    expect_bad("NUL", two, DT_E_DATA_FILE, 65, "bad/b/1.txt:2:2: NUL byte");
    write_text("bad/b/1.txt", "123456789");
    expect_bad("long", two, DT_E_DATA_FILE, 65,
               "bad/b/1.txt: has 9 bytes, and 'text' takes texts of at most 8");
    write_text("bad/b/1.txt", "\xef\xbb\xbf"
                              "12345678");
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d, two)); /* a byte order mark is not counted */
    dt_dataset_unref(d);
    assert_int_equal(truncate(HERE "/bad/b/1.txt", 2 << 20), 0);
    expect_bad("sparse", two, DT_E_TOO_LARGE, 65, "bad/b/1.txt: larger than the limit of 1.0 MiB");
    assert_int_equal(unlink(HERE "/bad/b/1.txt"), 0);
    assert_int_equal(system("mkfifo " HERE "/bad/b/1.txt"), 0);
    expect_bad("FIFO", two, DT_E_NOT_REGULAR, 66, "bad/b/1.txt: not a regular file");
}

static void test_folders_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *keys;
        int number, code;
        const char *text;
    } cases[] = {
        {TRAIN "{text: {dtype: string}, label: {num_classes: 3}}" MAP, DT_E_DATA_FILE, 65,
         "has 2 folders, one per class, but 'label' has 3 classes"},
        {TRAIN "{text: {dtype: string}, label: {class_names: [a, c]}}" MAP, DT_E_DATA_FILE, 65,
         "has no folder 'c'"},
        {TRAIN "{text: {dtype: string}, label: {class_names: [a, a]}}" MAP, DT_E_DATASET_KEYS, 78,
         "'a' appears twice in class_names"},
        {TRAIN "{text: {dtype: string}, label: {class_names: [a], num_classes: 1}}" MAP,
         DT_E_DATASET_KEYS, 78, "either num_classes or class_names"},
        {TRAIN "{text: {dtype: string}, label: {}}" MAP, DT_E_DATASET_KEYS, 78,
         "either num_classes or class_names"},
        {TRAIN "{text: {dtype: string}}" MAP, DT_E_DATASET_KEYS, 78, "has two elements"},
        {TRAIN "{text: {dtype: string, num_classes: 2}, label: {num_classes: 2}}" MAP,
         DT_E_DATASET_KEYS, 78, "'text' is the text, and so has no classes"},
        {TRAIN "{text: {dtype: string}, label: {class_names: [b]}}" MAP, DT_E_DATA_EMPTY, 65,
         "no texts (.txt)"},
        {"{format: text_folder, train: " HERE "/none, global_batch_size: 2, element: {text: "
         "{dtype: string}, label: {num_classes: 1}}" MAP,
         DT_E_NO_INPUT, 66, "none: no such file"},
        {"{format: text_folder, train: " HERE "/bad, validation: " HERE
         "/more, global_batch_size: 2, element: {text: {dtype: string}, label: {num_classes: "
         "2}}" MAP,
         DT_E_DATA_FILE, 65, "more/z: the training data has no class 'z'"},
    };
    clear();
    write_text("bad/a/1.txt", "one");
    write_text("bad/b/note.md", "two");
    write_text("more/z/1.txt", "three");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_bad(cases[i].keys, cases[i].keys, cases[i].number, cases[i].code, cases[i].text);
}

/* A link to a folder could lead to the folder itself. */
static void test_linked_folders_are_not_followed(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    clear();
    write_text("bad/a/1.txt", "one");
    assert_int_equal(symlink("..", HERE "/bad/a/up"), 0);
    OK(dt_dataset_open(&d, TRAIN "{text: {dtype: string}, label: {num_classes: 1}}" MAP));
    assert_int_equal(dt_dataset_examples(d), 1);
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_labels_of_keras),
        cmocka_unit_test(test_texts_that_are_refused),
        cmocka_unit_test(test_folders_that_are_refused),
        cmocka_unit_test(test_linked_folders_are_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
