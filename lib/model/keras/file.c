/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes Keras' files. A .keras archive is a ZIP whose member config.json has the output
 * of to_json(). jansson reads the text within limits (file/json_read.h). Its values become a tree
 * like that of a YAML file, in which the location of a value is its path. Paths need memory, so
 * their total size is limited. Beyond the limit, a value has the location of the value that
 * contains it.
 */
#include <string.h>
#include <zlib.h>

#include "base/text.h"
#include "file/file.h"
#include "file/json_read.h"
#include "file/zip.h"
#include "model/keras/keras_impl.h"

enum {
    MOST_BYTES = 16 << 20,
    MOST_VALUES = 100000,
    MOST_WORDS = 16 << 20, /* bytes of locations; then values get their parent's */
    LONGEST_KEY = 80,
};
static const char member[] = "config.json";

static dt_status *read_archive(const char *path, dt_str *text) {
    bool found;
    DT_TRY(dt_zip_read_text(path, member, MOST_BYTES, text, &found));
    if (found) return NULL;
    return dt_suggest(dt_fail(DT_E_KERAS_MODEL, NULL, "%s: the archive has no %s", path, member),
                      "model.save(\"model.keras\") writes one that has");
}

typedef struct conversion {
    dt_arena *arena;
    const char *name; /* name of the file, for locations in error messages */
    dt_str path;
    int values;
    size_t words;
} conversion;

static dt_location location_of(conversion *c, const dt_location *around) {
    if (around && c->words > MOST_WORDS) return *around;
    dt_source *source = dt_arena_new(c->arena, dt_source);
    source->name = c->path.size
                       ? dt_arena_printf(c->arena, "%s: %s", c->name, dt_str_text(&c->path))
                       : c->name;
    c->words += c->path.size + strlen(c->name);
    return (dt_location){.source = source};
}

/* Whether a text can be written without quotes because it cannot be mistaken for another value: it
 * has only letters, digits and _, does not begin with a digit, and is not among the words
 * in `others`. */
static bool is_word(const char *text) {
    static const char *const others[] = {"true", "false", "null", "inf", "infinity", "nan"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(text, others[i]) == 0) return false;
    return *text && strspn(text, letters) == strlen(text) && (*text < '0' || *text > '9');
}

static void convert_scalar(conversion *c, const json_t *v, dt_tree *t) {
    dt_local_str number = {0};
    t->kind = json_is_null(v) ? DT_TREE_NULL : DT_TREE_SCALAR;
    t->quoted = json_is_string(v) && !is_word(json_string_value(v));
    if (json_is_integer(v))
        t->text = dt_arena_printf(c->arena, "%lld", (long long)json_integer_value(v));
    else if (json_is_string(v)) t->text = dt_arena_strdup(c->arena, json_string_value(v));
    else if (json_is_boolean(v)) t->text = json_is_true(v) ? "true" : "false";
    else if (json_is_null(v)) t->text = "null";
    else dt_str_double(&number, json_real_value(v));
    if (json_is_real(v)) t->text = dt_arena_strdup(c->arena, dt_str_text(&number));
}

static dt_tree *convert(conversion *c, const json_t *v, const dt_location *around);

/* Converts the value of a key, or an item of a list. */
static dt_tree *convert_child(conversion *c, const json_t *v, const dt_location *around,
                              const char *key, size_t i) {
    size_t before = c->path.size;
    if (key) dt_str_printf(&c->path, "%s%.*s", before ? "." : "", LONGEST_KEY, key);
    else dt_str_printf(&c->path, "[%zu]", i);
    dt_tree *t = convert(c, v, around);
    c->path.size = before;
    c->path.data[before] = '\0';
    return t;
}

static void convert_object(conversion *c, json_t *v, dt_tree *t) {
    const char *key;
    json_t *value;
    t->kind = DT_TREE_MAP;
    t->entry = dt_arena_array(c->arena, dt_entry, json_object_size(v) + 1);
    json_object_foreach(v, key, value) {
        dt_tree *child = convert_child(c, value, &t->at, key, 0);
        t->entry[t->n++] =
            (dt_entry){.key = dt_arena_strdup(c->arena, key), .key_at = child->at, .value = child};
    }
}

static void convert_array(conversion *c, const json_t *v, dt_tree *t) {
    size_t n = json_array_size(v);
    t->kind = DT_TREE_LIST;
    t->item = dt_arena_array(c->arena, dt_tree *, n + 1);
    for (size_t i = 0; i < n; i++)
        t->item[t->n++] = convert_child(c, json_array_get(v, i), &t->at, NULL, i);
}

/* Converts a value. Recursion is limited by the depth of the JSON. After MOST_VALUES values, others
 * are not converted. */
static dt_tree *convert(conversion *c, const json_t *v, const dt_location *around) {
    dt_tree *t = dt_arena_new(c->arena, dt_tree);
    t->at = location_of(c, around);
    if (++c->values > MOST_VALUES) return t;
    if (json_is_object(v)) convert_object(c, (json_t *)v, t);
    else if (json_is_array(v)) convert_array(c, v, t);
    else convert_scalar(c, v, t);
    return t;
}

static dt_status *parse(dt_arena *arena, const char *name, const dt_str *text, dt_tree **out) {
    json_t *root;
    DT_TRY(dt_json_parse(&(dt_json_text){.path = name,
                                         .part = "the file",
                                         .member = "key",
                                         .text = dt_str_text(text),
                                         .size = text->size,
                                         .fault = DT_E_KERAS_MODEL},
                         &root));
    conversion c = {.arena = arena, .name = name};
    *out = convert(&c, root, NULL);
    json_decref(root);
    dt_str_release(&c.path);
    if (c.values <= MOST_VALUES) return NULL;
    return dt_fail(DT_E_KERAS_MODEL, NULL, "%s: more than %d values", name, MOST_VALUES);
}

dt_status *dt_keras_file_read(dt_arena *arena, const char *path, dt_tree **out) {
    dt_local_str text = {0};
    bool archive = dt_zip_is(path);
    const dt_text_file file = {
        .path = path, .wanted = "a model of Keras (.json, .keras)", .fault = DT_E_KERAS_MODEL};
    const char *name =
        archive ? dt_arena_printf(arena, "%s/%s", path, member) : dt_arena_strdup(arena, path);
    DT_TRY(archive ? read_archive(path, &text) : dt_text_read(&file, MOST_BYTES, &text));
    return parse(arena, name, &text, out);
}

/* The text of metadata.json. The date is left out, so that equal models give equal files. */
static const char metadata[] = "{\"keras_version\": \"3.15.1\", \"date_saved\": \"\"}";

typedef struct file_member {
    uint32_t crc;
    int64_t bytes;
    dt_archive *to; /* the archive that bytes are written to; NULL: the bytes are only counted */
} file_member;

/* Writes bytes to the archive; without one, only counts them and adds them to the checksum, in
 * parts, because crc32 accepts lengths of 32 bits. */
static dt_status *put(void *user, const void *bytes, size_t n) {
    file_member *m = user;
    m->bytes += (int64_t)n;
    if (m->to) return dt_archive_put(m->to, bytes, n);
    for (size_t at = 0, step = 1 << 30; at < n; at += step)
        m->crc = (uint32_t)crc32(m->crc, (const Bytef *)bytes + at,
                                 (uInt)(n - at < step ? n - at : step));
    return NULL;
}

/* Writes model.weights.h5 into the archive. Its checksum precedes its bytes, so the file is
 * generated twice. */
static dt_status *put_weights(dt_archive *a, const dt_hdf5_item *item, int n) {
    file_member m = {0};
    DT_TRY(dt_hdf5_write(item, n, &(dt_hdf5_sink){put, &m}));
    DT_TRY(dt_archive_begin(a, "model.weights.h5", m.crc, m.bytes));
    m.to = a;
    return dt_hdf5_write(item, n, &(dt_hdf5_sink){put, &m});
}

static dt_status *put_text(dt_archive *a, const char *name, const char *text, size_t n) {
    DT_TRY(dt_archive_begin(a, name, (uint32_t)crc32(0, (const Bytef *)text, (uInt)n), (int64_t)n));
    return dt_archive_put(a, text, n);
}

static dt_status *put_all(dt_archive *a, const dt_str *config, const dt_hdf5_item *item, int n) {
    DT_TRY(put_text(a, "metadata.json", metadata, sizeof metadata - 1));
    DT_TRY(put_text(a, "config.json", dt_str_text(config), config->size));
    DT_TRY(put_weights(a, item, n));
    return dt_archive_put_directory(a);
}

dt_status *dt_keras_save(const dt_model *m, const dt_arrays *weights, const char *name,
                         const char *path) {
    dt_local_arena arena = dt_arena_create();
    dt_output o = {0};
    dt_archive a = {.file = &o.file};
    dt_local_str config = {0};
    dt_hdf5_item *item = NULL;
    int n = 0;
    dt_status *bad = dt_keras_config_print(arena, m, name, &config);
    if (!bad) bad = dt_keras_weights_list(arena, &m->spec, weights, &item, &n);
    if (!bad) bad = dt_output_open(&o, path);
    if (!bad) bad = put_all(&a, &config, item, n);
    if (!bad) bad = dt_output_finish(&o);
    dt_archive_release(&a);
    dt_output_close(&o);
    return bad;
}

static dt_status *put_in_file(void *user, const void *bytes, size_t n) {
    return dt_writer_put(&((dt_output *)user)->file, bytes, n);
}

dt_status *dt_keras_save_weights(const dt_model *m, const dt_arrays *weights, const char *path) {
    dt_local_arena arena = dt_arena_create();
    dt_output o = {0};
    dt_hdf5_item *item = NULL;
    int n = 0;
    dt_status *bad = dt_keras_weights_list(arena, &m->spec, weights, &item, &n);
    if (!bad) bad = dt_output_open(&o, path);
    if (!bad) bad = dt_hdf5_write(item, n, &(dt_hdf5_sink){put_in_file, &o});
    if (!bad) bad = dt_output_finish(&o);
    dt_output_close(&o);
    return bad;
}
