/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts in folders, one folder per class, as text_dataset_from_directory of Keras reads them:
 *
 *     dataset:
 *       format: text_folder
 *       train: aclImdb/train                      # train/neg/0_3.txt, train/pos/0_9.txt, ...
 *       test: aclImdb/test
 *       element:
 *         text: {dtype: string}
 *         label: {class_names: [neg, pos]}        # or {num_classes: 2} for all folders
 *
 * Examples are .txt files, also those in folders of a class's folder. They are in the order of
 * Keras without shuffling: by class, then by folder, then by name. Folders and names are sorted by
 * bytes; class_folders.h has the order of classes, and that for validation_split. Other files and
 * hidden ones are skipped; linked folders in a class's folder are not followed. A text is UTF-8 and
 * is read when its example is needed.
 *
 * Rows to predict are one .txt file, the files of a folder, or those that match a pattern.
 */
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "file/class_folders.h"

enum { LARGEST_TEXT = 1 << 20, MARK = 3 /* MARK: number of bytes of a byte order mark */ };

/* ---- the job's keys ---- */

struct text_folder {
    const dt_tree *element;
};

static const char *const dtype_names[] = {"string", NULL};

struct element {
    int dtype;
    bool has_dtype;
    int64_t max_bytes, num_classes;
    dt_texts class_names;
};

static const dt_field element_fields[] = {
    DT_ENUM(struct element, dtype, dtype_names, .set = 1 + offsetof(struct element, has_dtype),
            .help = "marks the text"),
    DT_INT(struct element, max_bytes, .min = 1, .max = LARGEST_TEXT, .preset = "65535",
           .help = "longest text allowed"),
    DT_INT(struct element, num_classes, .min = 1, .max = 1 << 24,
           .help = "marks the label; labels are in [0, num_classes)"),
    DT_TEXTS(struct element, class_names,
             .help = "instead: the folders that are classes, in the order of the labels; other "
                     "folders are skipped"),
    DT_END};

static const dt_field fields[] = {
    DT_ELEMENTS(struct text_folder, element_fields,
                .help = "{text: {dtype: string}, label: {num_classes: N} or {class_names: [...]}}"),
    DT_END};

/* The two elements, which may be in either order and have any names. */
typedef struct layout {
    int text, label; /* positions in `element`; -1: missing */
    int64_t max_bytes, classes;
    dt_texts names; /* names of the classes; n 0: all folders are classes */
} layout;

static dt_status *read_label(const dt_entry *e, const struct element *x, layout *out) {
    if ((x->num_classes > 0) == (x->class_names.n > 0))
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s' needs dtype: string for the text, or either num_classes or "
                       "class_names for the label",
                       e->key);
    out->names = x->class_names;
    out->classes = x->class_names.n > 0 ? x->class_names.n : x->num_classes;
    for (int i = 0; i < x->class_names.n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(x->class_names.v[i], x->class_names.v[k]) == 0)
                return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                               "'%.80s' appears twice in class_names", x->class_names.v[i]);
    return NULL;
}

static dt_status *read_element(dt_arena *arena, const dt_tree *element, int i, layout *out) {
    const dt_entry *e = &element->entry[i];
    struct element x;
    DT_TRY(dt_tree_expect(e->value, DT_TREE_MAP, e->key));
    DT_TRY(dt_fields_read(arena, element_fields, e->value, &e->value->at, e->key, &x));
    *(x.has_dtype ? &out->text : &out->label) = i;
    if (!x.has_dtype) return read_label(e, &x, out);
    out->max_bytes = x.max_bytes;
    if (x.num_classes == 0 && x.class_names.n == 0) return NULL;
    return dt_fail(DT_E_DATASET_KEYS, &e->value->at, "'%s' is the text, and so has no classes",
                   e->key);
}

static dt_status *read_layout(dt_arena *arena, const dt_tree *element, layout *out) {
    dt_status *s = NULL;
    *out = (layout){.text = -1, .label = -1};
    DT_TRY(dt_tree_expect(element, DT_TREE_MAP, "element"));
    for (int i = 0; i < element->n; i++) dt_status_append(&s, read_element(arena, element, i, out));
    if (!s && (element->n != 2 || out->text < 0 || out->label < 0))
        return dt_fail(DT_E_DATASET_KEYS, &element->at,
                       "a folder of texts has two elements, one with dtype: string and one with "
                       "num_classes or class_names");
    return s;
}

static void describe(const dt_tree *element, const layout *l, int e, dt_element_spec *out) {
    const int64_t bytes = l->max_bytes + 1;
    *out = (dt_element_spec){.name = element->entry[e].key,
                             .type = e == l->text ? dt_type_of(DT_UINT8, 1, &bytes)
                                                  : dt_type_of(DT_INT32, 0, NULL),
                             .text = e == l->text,
                             .at = element->entry[e].value->at,
                             .classes = e == l->text ? 0 : l->classes};
}

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    const dt_tree *element = ((const struct text_folder *)r->args)->element;
    layout ignored;
    dt_status *s = dt_class_folders_check(r, "texts", element, names);
    if (element && r->part == DT_PART_TRAIN) /* checked only once, for train */
        dt_status_append(&s, read_layout(r->arena, element, &ignored));
    return s;
}

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    const dt_tree *element = dt_tree_without_nulls(arena, dt_tree_get(keys, "element"));
    layout l;
    DT_TRY(read_layout(arena, element, &l));
    describe(element, &l, strcmp(element->entry[l.text].key, entry->key) == 0 ? l.text : l.label,
             out);
    return NULL;
}

/* ---- files ---- */

static bool is_text(const char *path) {
    const size_t n = strlen(path);
    return n > 4 && strcasecmp(path + n - 4, ".txt") == 0;
}

dt_status *dt_text_files_list(const char *folder, dt_paths *out) {
    dt_paths all = {0};
    dt_status *s = dt_paths_list_below(&all, folder);
    for (int i = 0; i < all.n && !s; i++)
        if (is_text(all.v[i])) dt_paths_add(out, all.v[i]);
    dt_paths_release(&all);
    return s;
}

static dt_status *list_class(dt_class_folders *x, const char *folder) {
    return dt_text_files_list(folder, &x->base.paths);
}

dt_status *dt_text_files_read(const char *path, dt_str *out) {
    const dt_text_file file = {
        .path = path, .wanted = "a text", .fault = DT_E_DATA_FILE, .any_text = true};
    DT_TRY(dt_text_read(&file, LARGEST_TEXT + MARK, out));
    return out->size <= LARGEST_TEXT
               ? NULL
               : dt_fail(DT_E_DATA_FILE, NULL, "%s: has %zu bytes, and a text has at most %d", path,
                         out->size, LARGEST_TEXT);
}

/* Reads a file into the buffer and stores it as the element. */
static dt_status *read_text(const char *path, const dt_element_spec *e, dt_str *buffer, void *out) {
    const size_t most = (size_t)e->type.dim[0] - 1;
    DT_TRY(dt_at(dt_text_files_read(path, buffer), &e->at));
    if (buffer->size > most)
        return dt_suggest(dt_fail(DT_E_DATA_FILE, &e->at,
                                  "%s: has %zu bytes, and '%s' takes texts of at most %zu", path,
                                  buffer->size, e->name, most),
                          "give '%s' a max_bytes of at least %zu, up to %d; or divide the text",
                          e->name, buffer->size, LARGEST_TEXT);
    memcpy(out, dt_str_text(buffer), buffer->size + 1);
    return NULL;
}

/* ---- a part ---- */

typedef struct text_part {
    dt_class_folders folders;
    int text;
} text_part;

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    const text_part *x = (const text_part *)base;
    const dt_class_folders *f = &x->folders;
    if (out[f->label]) memcpy(out[f->label], &f->class[row], sizeof f->class[row]);
    if (!out[x->text]) return NULL;
    return read_text(base->paths.v[row], &base->stored[x->text], &buffer->bytes, out[x->text]);
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {.source = dt_class_folders_source,
                                             .whole = dt_class_folders_whole,
                                             .at = read_example,
                                             .close = dt_class_folders_close};
    const dt_tree *element = ((const struct text_folder *)r->args)->element;
    text_part *x = dt_arena_new(r->arena, text_part);
    layout l;
    *out = &x->folders.base;
    (*out)->reader = &reader;
    DT_TRY(read_layout(r->arena, element, &l));
    (*out)->n = 2;
    (*out)->stored = dt_arena_array(r->arena, dt_element_spec, 2);
    (*out)->single = (*out)->encoded = true;
    x->text = l.text;
    x->folders.label = l.label;
    for (int e = 0; e < 2; e++) {
        describe(element, &l, e, &(*out)->stored[e]);
        (*out)->stored[e].at = r->tree->at;
        (*out)->stored[e].file = r->tree->text;
    }
    const dt_class_query q = {
        .files = "texts (.txt)", .classes = l.classes, .names = l.names, .list = list_class};
    DT_TRY(dt_class_folders_find(r, &q, &x->folders));
    if (r->splits) dt_class_folders_spread(&x->folders, l.classes);
    return dt_class_folders_try(&x->folders, x->text);
}

/* ---- rows to predict, and the format ---- */

typedef struct rows {
    dt_paths paths;
    dt_str buffer;
} rows;

static const char *file_of(const dt_row_source *s, int64_t row) {
    const rows *x = s->state;
    return row < x->paths.n ? x->paths.v[row] : NULL;
}

static dt_status *next_text(dt_row_source *s, void *const *row, bool *more) {
    rows *x = s->state;
    *more = s->row < s->count;
    return *more ? read_text(x->paths.v[s->row], &s->element[0], &x->buffer, row[0]) : NULL;
}

static void close_rows(dt_row_source *s) {
    rows *x = s->state;
    dt_paths_release(&x->paths);
    dt_str_release(&x->buffer);
}

static dt_status *list_rows(const dt_row_source *s, rows *x) {
    DT_TRY(dt_path_is_folder(s->path) ? dt_text_files_list(s->path, &x->paths)
                                      : dt_paths_match(&x->paths, NULL, s->path));
    return x->paths.n > 0 ? NULL
                          : dt_fail(DT_E_DATA_EMPTY, NULL,
                                    "%s: no texts (.txt) in the folder or below it", s->path);
}

static dt_status *open_rows(dt_row_source *s) {
    static const dt_row_reader reader = {.next = next_text, .file = file_of, .close = close_rows};
    rows *x = s->state = dt_arena_new(s->arena, rows);
    if (s->n != 1 || !s->element[0].text)
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: the model does not accept texts: it has %d inputs, and exactly one "
                       "that is a text is needed",
                       s->path, s->n);
    dt_status *bad = list_rows(s, x);
    s->count = x->paths.n;
    if (bad) dt_paths_release(&x->paths);
    else s->reader = &reader;
    return bad;
}

bool dt_text_folder_takes(const char *path) {
    return dt_path_is_folder(path) || dt_path_is_pattern(path) || is_text(path);
}

const dt_format dt_format_text_folder = {
    .kind = {.name = "text_folder",
             .about = "texts in UTF-8, .txt files, one folder per class",
             .fields = fields,
             .size = sizeof(struct text_folder)},
    .open = open_rows,
    .check = check,
    .declare = declare,
    .open_part = open_part,
};
