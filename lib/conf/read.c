/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a job file, or standard input, into a tree, and applies overrides to trees. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "conf/conf_impl.h"

static dt_status *load_open(dt_arena *arena, int fd, const char *path, int64_t size, dt_source *s) {
    s->size = (size_t)size;
    DT_TRY(dt_yaml_check_size(s));
    char *text = dt_arena_alloc(arena, (size_t)size + 1);
    DT_TRY(dt_file_pread(fd, path, text, (size_t)size, 0));
    s->text = text;
    return NULL;
}

/* Finds the file that the user probably meant instead of `path`, which does not exist: job.yaml or
 * job.yml, if the path is job, or job with the other ending. *other becomes "" if there is no such
 * file. */
static void find_other(const char *path, dt_str *other) {
    static const char *const ends[] = {".yaml", ".yml"};
    size_t stem = strlen(path);
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(ends[i]);
        if (strlen(path) > n && strcmp(path + strlen(path) - n, ends[i]) == 0)
            stem = strlen(path) - n;
    }
    for (int i = 0; i < 2; i++) {
        dt_str_clear(other);
        dt_str_add(other, path, stem);
        dt_str_puts(other, ends[i]);
        if (access(dt_str_text(other), R_OK) == 0) return;
    }
    dt_str_clear(other);
}

static dt_status *name_other(dt_status *s, const char *path) {
    dt_local_str other = {0};
    if (dt_status_number(s) == DT_E_NO_INPUT) find_other(path, &other);
    if (dt_status_number(s) == DT_E_NOT_REGULAR)
        s = dt_suggest(s, "expected a job file, such as job.yaml");
    if (other.size) s = dt_suggest(s, "did you mean '%s'?", dt_str_text(&other));
    return s;
}

static dt_status *load_file(dt_arena *arena, const char *path, dt_source *s) {
    int fd;
    int64_t size;
    s->name = dt_arena_strdup(arena, path);
    dt_status *missing = dt_file_open(path, &fd, &size);
    if (missing) return name_other(missing, path);
    dt_status *fault = load_open(arena, fd, path, size, s);
    close(fd);
    return fault;
}

/* Reads standard input, up to one byte more than a job may have, which is enough to refuse it. */
static dt_status *load_stdin(dt_arena *arena, dt_source *s) {
    enum { ROOM = DT_JOB_BYTES + 1 };
    char *text = dt_arena_alloc(arena, ROOM + 1);
    s->name = "<stdin>";
    while (s->size < ROOM) {
        ssize_t n = read(STDIN_FILENO, text + s->size, ROOM - s->size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return dt_fail_errno(DT_E_IO, s->name);
        if (n == 0) break;
        s->size += (size_t)n;
    }
    s->text = text;
    return NULL;
}

static dt_status *expect_mapping(const dt_tree *t) {
    if (t->kind == DT_TREE_MAP) return NULL;
    return dt_fail(DT_E_WRONG_TYPE, &t->at, "expected a mapping at the top, got %s",
                   dt_tree_kind_name(t->kind));
}

dt_status *dt_tree_read(dt_arena *arena, const char *path, const dt_source **source,
                        dt_tree **out) {
    dt_source *s = dt_arena_new(arena, dt_source);
    *source = s;
    *out = NULL;
    DT_TRY(strcmp(path, "-") == 0 ? load_stdin(arena, s) : load_file(arena, path, s));
    DT_TRY(dt_text_look(
        &(dt_text_file){.path = s->name, .wanted = "a job file", .fault = DT_E_JOB_BYTES}, s->text,
        s->size, &(size_t){0}));
    dt_status *faults = dt_tree_parse(arena, s, out);
    if (!*out) return faults;
    dt_status *fault = expect_mapping(*out);
    if (fault) *out = NULL;
    dt_status_append(&faults, fault);
    return faults;
}

/*
 * Overrides: `key.path=value` from the command line. The whole assignment is a separate source,
 * "override 1", so that errors about its key and its value have a location and a caret, even those
 * that a field table finds later.
 *
 *     fit.epochs=3    model.layers.1.Dense.units=64    strategy={type: mirrored}    seed=
 */

typedef struct override {
    dt_arena *arena;
    const dt_source *source;
    /* first byte of the current segment of the path, and the byte after its last one */
    size_t from, to;
    int depth;
} override;

static dt_location segment_place(const override *o) {
    const char *text = o->source->text;
    return (dt_location){
        .source = o->source,
        .line = 1,
        .col = (int)dt_utf8_count(text, o->from) + 1,
        .width = (int)dt_utf8_count(text + o->from, o->to - o->from),
        .offset = o->from,
    };
}

static const char *segment(const override *o) {
    return dt_arena_printf(o->arena, "%.*s", (int)(o->to - o->from), o->source->text + o->from);
}

/* Returns the path before the current segment, in quotes; at the first segment "the job". */
static dt_quoted parent(const override *o) {
    if (o->from == 0) return (dt_quoted){"the job"};
    return dt_quote_text(dt_arena_printf(o->arena, "%.*s", (int)o->from - 1, o->source->text));
}

static dt_status *find_item(const override *o, const dt_tree *list, dt_tree **child) {
    dt_location at = segment_place(o);
    const char *text = segment(o);
    int64_t i;
    if (list->n == 0) return dt_fail(DT_E_BAD_OVERRIDE, &at, "%s is an empty list", parent(o).text);
    if (strspn(text, "0123456789") != strlen(text) || !dt_parse_int64(text, &i) || i >= list->n)
        return dt_fail(DT_E_BAD_OVERRIDE, &at,
                       "%s is a list, expected the number of an item, 0 to %d, got %s",
                       parent(o).text, list->n - 1, dt_quote_text(text).text);
    *child = list->item[i];
    return NULL;
}

static dt_tree *add_entry(const override *o, dt_tree *map, const char *key) {
    dt_entry *entry = dt_arena_array(o->arena, dt_entry, map->n + 1);
    if (map->n) memcpy(entry, map->entry, sizeof *entry * (size_t)map->n);
    dt_tree *child = dt_arena_new(o->arena, dt_tree);
    child->at = segment_place(o);
    entry[map->n] = (dt_entry){.key = key, .key_at = child->at, .value = child};
    map->entry = entry;
    map->n++;
    return child;
}

static void become_map(const override *o, dt_tree *t) {
    *t = (dt_tree){.kind = DT_TREE_MAP, .at = t->kind == DT_TREE_NULL ? segment_place(o) : t->at};
}

/* Moves from a node to its child. A node that is null becomes a mapping. So does the bare name of a
 * kind if the path continues with its arguments: `optimizer: Adam` and
 * compile.optimizer.Adam.learning_rate=0.01. */
static dt_status *step(const override *o, dt_tree *t, dt_tree **child) {
    const char *key = segment(o);
    bool bare_name = t->kind == DT_TREE_SCALAR && strcmp(t->text, key) == 0;
    if (t->kind == DT_TREE_LIST) return find_item(o, t, child);
    if (t->kind == DT_TREE_NULL || bare_name) become_map(o, t);
    if (t->kind == DT_TREE_SCALAR) {
        dt_location at = segment_place(o);
        return dt_fail(DT_E_BAD_OVERRIDE, &at, "%s is %s, so it has no key %s", parent(o).text,
                       dt_quote(t).text, dt_quote_text(key).text);
    }
    *child = dt_tree_get(t, key);
    if (!*child) *child = add_entry(o, t, key);
    return NULL;
}

static dt_status *walk(override *o, size_t end, dt_tree *t, dt_tree **out) {
    for (o->from = 0; o->from <= end; o->from = o->to + 1) {
        const char *dot = memchr(o->source->text + o->from, '.', end - o->from);
        o->to = dot ? (size_t)(dot - o->source->text) : end;
        dt_location at = segment_place(o);
        if (o->to == o->from) return dt_fail(DT_E_BAD_OVERRIDE, &at, "a key is missing here");
        if (++o->depth > DT_JOB_DEPTH)
            return dt_fail(DT_E_JOB_LIMIT, &at, "nesting deeper than %d levels", DT_JOB_DEPTH);
        DT_TRY(step(o, t, &t));
    }
    *out = t;
    return NULL;
}

/* Whether the text after '=' is empty, `~` or `null`, which all mean null, the default. As YAML
 * documents, these texts would be empty jobs. */
static bool is_null(const char *text) {
    text += strspn(text, " ");
    size_t n = strcspn(text, " ");
    return text[n + strspn(text + n, " ")] == '\0' &&
           (n == 0 || (n == 1 && *text == '~') || (n == 4 && memcmp(text, "null", 4) == 0));
}

static dt_status *read_value(const override *o, size_t from, dt_tree **value) {
    const char *text = o->source->text + from;
    if (!is_null(text)) return dt_yaml_parse(o->arena, dt_yaml_open(o->source, from), value);
    dt_yaml nothing = dt_yaml_open(o->source, from);
    *value = dt_arena_new(o->arena, dt_tree);
    (*value)->at = dt_yaml_place_at(&nothing, from);
    return NULL;
}

dt_status *dt_tree_override(dt_arena *arena, dt_tree *root, int number, const char *assignment) {
    dt_source *s = dt_arena_new(arena, dt_source);
    *s = (dt_source){dt_arena_printf(arena, "override %d", number),
                     dt_arena_strdup(arena, assignment), strlen(assignment)};
    dt_yaml text = dt_yaml_open(s, 0);
    DT_TRY(dt_yaml_check(&text));
    const char *equals = strchr(s->text, '=');
    if (!equals)
        return dt_fail(DT_E_BAD_OVERRIDE, &(dt_location){.source = s},
                       "expected key.path=value, got %s", dt_quote_text(assignment).text);
    override o = {.arena = arena, .source = s};
    size_t end = (size_t)(equals - s->text);
    dt_tree *value, *target = root;
    DT_TRY(read_value(&o, end + 1, &value));
    DT_TRY(walk(&o, end, root, &target));
    *target = *value;
    return NULL;
}
