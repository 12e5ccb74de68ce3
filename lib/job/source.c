/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files into one tree: the job's file or standard input, its base, a model that Keras wrote,
 * the overrides. Paths of data files are relative to the job's file, and output paths are relative
 * to the working directory. If the job is read from standard input, all paths are relative to the
 * working directory.
 */
#include <stdlib.h>
#include <string.h>

#include "job/job.h"
#include "job/keys.h"
#include "model/keras/keras.h"

/*
 * ---- extends ----
 *
 * The base of a job. `extends: base.yaml` is one level deep: a base cannot extend another file, so
 * every key is in one of two files.
 *
 *     base   strategy: {type: tpu, cluster_resolver: ...}   fit: {epochs: 5}
 *     job    strategy: {type: mirrored, replicas: 2}        fit: {validation_freq: 2}
 *     ──▶    strategy: {type: mirrored, replicas: 2}        fit: {epochs: 5, validation_freq: 2}
 *
 * Mappings are merged key by key. A mapping whose `type` changes is replaced as a whole. So is an
 * optimizer or a loss of another kind. The value null removes a key of the base.
 */

/* ---- merging ---- */

static bool is_map(const dt_tree *t) { return t && t->kind == DT_TREE_MAP; }

static bool same_text(const dt_tree *a, const dt_tree *b) {
    return a->kind == DT_TREE_SCALAR && b->kind == DT_TREE_SCALAR && strcmp(a->text, b->text) == 0;
}

/* Whether the value of `optimizer` or `loss` names another kind than the base, as `{Adam: {...}}`
 * merged into `{SGD: {...}}` does. False for other keys. */
static bool is_other_kind(const char *key, const dt_tree *base, const dt_tree *over) {
    bool kind = strcmp(key, "optimizer") == 0 || strcmp(key, "loss") == 0;
    return kind &&
           (base->n != 1 || over->n != 1 || strcmp(base->entry[0].key, over->entry[0].key) != 0);
}

static bool replaces(const char *key, const dt_tree *base, const dt_tree *over) {
    if (!is_map(base) || !is_map(over) || is_other_kind(key, base, over)) return true;
    const dt_tree *a = dt_tree_get(base, "type"), *b = dt_tree_get(over, "type");
    return a && b && !same_text(a, b);
}

static dt_entry *find(dt_tree *map, const char *key) {
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->entry[i].key, key) == 0) return &map->entry[i];
    return NULL;
}

static void drop(dt_tree *map, const char *key) {
    dt_entry *e = find(map, key);
    if (!e) return;
    memmove(e, e + 1, sizeof *e * (size_t)(map->entry + map->n - e - 1));
    map->n--;
}

/* Merges `over` into `base`. The recursion is at most as deep as the tree. */
static void merge(dt_arena *arena, dt_tree *base, const dt_tree *over) {
    dt_entry *all = dt_arena_array(arena, dt_entry, base->n + over->n);
    if (base->n > 0) memcpy(all, base->entry, sizeof *all * (size_t)base->n);
    base->entry = all;
    for (int i = 0; i < over->n; i++) {
        const dt_entry *e = &over->entry[i];
        dt_entry *below = find(base, e->key);
        if (!below) base->entry[base->n++] = *e;
        else if (e->value->kind == DT_TREE_NULL) drop(base, e->key);
        else if (replaces(e->key, below->value, e->value)) *below = *e;
        else merge(arena, below->value, e->value);
    }
    base->at = over->at;
}

/* ---- the base ---- */

/* Reads the base. Faults inside it are located there; if it cannot be read, the fault is located at
 * the value that names it. */
static dt_status *read_base(dt_job *j, const dt_tree *value, dt_tree **base) {
    char *home = NULL;
    DT_TRY(dt_at(dt_path_local(value->text, &home), &value->at));
    char *path = dt_path_join(j->data_directory, home ? home : value->text);
    dt_status *s = dt_tree_read(j->arena, path, &j->base, base);
    free(path);
    free(home);
    if (s) return dt_at(s, &value->at);
    dt_job_drop_definitions(*base);
    const dt_tree *second = dt_tree_get(*base, "extends");
    if (second && second->kind != DT_TREE_NULL)
        return dt_fail(
            DT_E_EXTENDS, &value->at,
            "'%.80s' extends another file itself (its line %d); a base cannot have a base",
            value->text, second->at.line);
    return NULL;
}

static dt_status *extend(dt_job *j) {
    const char *name;
    dt_tree *base;
    const dt_tree *value = dt_tree_get(j->tree, "extends");
    if (!value || value->kind == DT_TREE_NULL) return NULL;
    DT_TRY(dt_tree_text(value, "extends", &name));
    if (!*name || strcmp(name, "-") == 0)
        return dt_fail(DT_E_EXTENDS, &value->at, "extends must name a file, got '%s'", name);
    DT_TRY(read_base(j, value, &base));
    drop(base, "extends");
    drop(j->tree, "extends");
    merge(j->arena, base, j->tree);
    j->tree = base;
    return NULL;
}

/* ---- files and overrides ---- */

static bool is_stdin(const char *path) { return strcmp(path, "-") == 0; }

static const char *directory_of(dt_job *j, const char *path) {
    if (is_stdin(path)) return j->work_directory;
    DT_LOCAL char *directory = dt_path_dir(path);
    return dt_arena_strdup(j->arena, directory);
}

/* Refuses `extends=...` on the command line: when overrides are applied, the base has been read
 * already. */
static dt_status *check_override(dt_arena *arena, int number, const char *assignment) {
    const size_t n = strlen("extends");
    if (strncmp(assignment, "extends", n) != 0 || !assignment[n] || !strchr("=.", assignment[n]))
        return NULL;
    dt_source source = {dt_arena_printf(arena, "override %d", number), assignment,
                        strlen(assignment)};
    dt_location at = {.source = &source, .line = 1, .col = 1, .width = (int)n};
    return dt_fail(DT_E_BAD_OVERRIDE, &at,
                   "extends belongs in the job file and cannot be overridden");
}

/* If an override has set something below a node, removes the entries of mappings that no override
 * has set. Items of lists are not removed. Returns the source of the first override; NULL: no
 * override set anything, and nothing was removed. */
static const dt_source *leave_overrides(dt_tree *t) {
    const dt_source *first =
        t->at.source && strncmp(t->at.source->name, "override ", strlen("override ")) == 0
            ? t->at.source
            : NULL;
    int n = 0;
    if (first) return first;
    for (int i = 0; t->kind == DT_TREE_LIST && i < t->n && !first; i++)
        first = leave_overrides(t->item[i]);
    for (int i = 0; t->kind == DT_TREE_MAP && i < t->n; i++) {
        const dt_source *its = leave_overrides(t->entry[i].value);
        first = first ? first : its;
        if (its) t->entry[n++] = t->entry[i];
    }
    if (first && t->kind == DT_TREE_MAP) t->n = n;
    return first;
}

/* Gives a key the location of the override strategy.KEY=..., because the line in the file belongs
 * to the strategy that was replaced. */
static void move_key(dt_entry *e, const dt_source *override) {
    const size_t from = strlen("strategy.");
    if (e->key_at.source != override && strncmp(override->text, "strategy.", from) == 0)
        e->key_at = (dt_location){.source = override,
                                  .line = 1,
                                  .col = (int)from + 1,
                                  .width = (int)dt_utf8_count(e->key, strlen(e->key)),
                                  .offset = from};
}

/* Changes the strategy's type. As with a base, a strategy of another type drops the keys of the
 * file; keys that overrides have set stay. */
static void change_strategy(dt_job *j, const char *assignment) {
    static const char key[] = "strategy.type=";
    dt_tree *strategy = dt_tree_get(j->tree, "strategy");
    const dt_tree *type =
        strategy && strategy->kind == DT_TREE_MAP ? dt_tree_get(strategy, "type") : NULL;
    if (strncmp(assignment, key, strlen(key)) != 0 || !type || type->kind != DT_TREE_SCALAR ||
        strcmp(type->text, assignment + strlen(key)) == 0)
        return;
    int n = 0;
    for (int i = 0; i < strategy->n; i++) {
        dt_entry *e = &strategy->entry[i];
        const dt_source *override = e->value == type ? NULL : leave_overrides(e->value);
        if (override) move_key(e, override);
        if (override || e->value == type) strategy->entry[n++] = *e;
    }
    strategy->n = n;
}

static bool is_called(const dt_kind *k, const char *name) {
    bool is = strcmp(k->name, name) == 0;
    for (const char *const *a = k->aliases; a && *a; a++) is |= strcmp(*a, name) == 0;
    return is;
}

/* Returns the index of the kind of that name in the table; -1: unknown. */
static int find_kind(const dt_key_table *sort, const char *name) {
    for (int i = 0; sort->at(i); i++)
        if (is_called(sort->at(i), name)) return i;
    return -1;
}

bool dt_job_is_of_files(const dt_job *j, const dt_source *source) {
    return source == j->tree->at.source || (j->base && source == j->base);
}

/* Whether an earlier override set the value. If so, an override that names another kind is an
 * error, which is reported later. */
static bool is_overridden(const dt_job *j, const dt_tree *t) {
    return !dt_job_is_of_files(j, t->kind == DT_TREE_MAP && t->n > 0 ? t->entry[0].key_at.source
                                                                     : t->at.source);
}

/* Handles overrides such as `compile.optimizer.Adam.learning_rate=0.1`. If the file has `{SGD:
 * {...}}`, the override names another optimizer, and the file's arguments are dropped, as when a
 * base is merged. If the file has `adam`, which is the same optimizer, its arguments stay. */
static void change_kind(dt_job *j, const dt_key_table *sort, const char *assignment) {
    const size_t n = strlen(sort->key), stem = strlen("compile.");
    dt_tree *t = dt_tree_get(dt_tree_get(j->tree, "compile"), sort->key + stem);
    if (strncmp(assignment, sort->key, n) != 0 || assignment[n] != '.' || !t || is_overridden(j, t))
        return;
    const char **written = t->kind == DT_TREE_SCALAR             ? &t->text
                           : t->kind == DT_TREE_MAP && t->n == 1 ? &t->entry[0].key
                                                                 : NULL;
    const char *name = dt_arena_printf(j->arena, "%.*s", (int)strcspn(assignment + n + 1, ".="),
                                       assignment + n + 1);
    const int stated = written ? find_kind(sort, *written) : -1, meant = find_kind(sort, name);
    if (stated < 0 || meant < 0) return;
    *written = name;
    if (stated != meant) *t = (dt_tree){.at = t->at};
}

/* Whether an override determines the source of the layers: it sets the whole model or its file, or
 * removes a key beside the file. Such overrides are applied first, so that the others can change
 * the layers of that file. */
static bool names_model(const char *assignment) {
    static const char *const whole[] = {"model=", "model." DT_KERAS_KEY "="};
    static const char *const removed[] = {"model.type=", "model.layers=", "model.outputs="};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strncmp(assignment, whole[i], strlen(whole[i])) == 0) return true;
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        const char *value = assignment + strlen(removed[i]);
        if (strncmp(assignment, removed[i], strlen(removed[i])) == 0)
            return !*value || strcmp(value, "null") == 0 || strcmp(value, "~") == 0;
    }
    return false;
}

static dt_status *apply_overrides(dt_job *j, const dt_job_source *source, bool of_model) {
    dt_status *faults = NULL;
    for (int i = 0; i < source->n_overrides; i++) {
        if (names_model(source->overrides[i]) != of_model) continue;
        dt_status *s = check_override(j->arena, i + 1, source->overrides[i]);
        change_strategy(j, source->overrides[i]);
        change_kind(j, dt_sort_named("optimizer"), source->overrides[i]);
        change_kind(j, dt_sort_named("loss"), source->overrides[i]);
        if (!s) s = dt_tree_override(j->arena, j->tree, i + 1, source->overrides[i]);
        dt_status_append(&faults, s);
    }
    return faults;
}

void dt_job_drop_definitions(dt_tree *root) {
    int n = 0;
    for (int i = 0; i < root->n; i++)
        if (strncmp(root->entry[i].key, "x-", 2) != 0) root->entry[n++] = root->entry[i];
    root->n = n;
}

dt_status *dt_job_read_tree(dt_job *j, const dt_job_source *source) {
    const dt_source *text;
    j->work_directory = dt_arena_strdup(j->arena, source->directory ? source->directory : "");
    j->data_directory = directory_of(j, source->path);
    j->overridden = source->n_overrides > 0;
    dt_status *faults = dt_tree_read(j->arena, source->path, &text, &j->tree);
    if (!j->tree) return faults;
    j->input = is_stdin(source->path) ? text : NULL;
    dt_job_drop_definitions(j->tree);
    j->at = j->tree->at;
    dt_status *s = extend(j);
    if (!s) s = apply_overrides(j, source, true);
    if (!s) s = dt_job_import_model(j);
    if (s) /* without its base or its layers, the rest of the job cannot be checked */
        j->tree = NULL;
    dt_status_append(&faults, s);
    if (j->tree) dt_status_append(&faults, apply_overrides(j, source, false));
    return faults;
}

/* ---- paths of data files ---- */

/* Returns the directory of the file that the job extends (`extends: PATH`), relative to the
 * directory of the job's own file. The caller frees it. */
static char *directory_of_base(const dt_job *j) {
    const char *base = j->base->name;
    size_t n = strlen(j->data_directory);
    if (n > 0 && strncmp(base, j->data_directory, n) == 0 && base[n] == '/') base += n + 1;
    return dt_path_dir(base);
}

static void move_path(const dt_job *j, const char *directory, dt_tree *t) {
    char *path = dt_path_join(directory, t->text);
    t->text = dt_arena_strdup(j->arena, path);
    free(path);
    /* nothing else is recorded, or the record begins with a variable or "~", whose value may be an
     * absolute path */
    if (!t->recorded || strchr("$~", *t->recorded)) return;
    path = dt_path_join(directory, t->recorded);
    t->recorded = dt_arena_strdup(j->arena, path);
    free(path);
}

/* Whether the text is a number of examples, such as `validation: 1000` of synthetic data, and not a
 * file. */
static bool is_count(const dt_tree *t) {
    int64_t n;
    return t->kind == DT_TREE_SCALAR && !t->quoted && dt_parse_int64(t->text, &n);
}

typedef bool moves(const dt_job *j, const dt_tree *path);

static void move_paths(const dt_job *j, const char *directory, moves *which) {
    for (dt_part p = 0; p < DT_PARTS; p++) {
        dt_tree *part = dt_tree_get(dt_tree_get(j->tree, "dataset"), dt_part_name(p));
        const bool alone = part && part->kind == DT_TREE_SCALAR;
        for (int i = 0; part && !is_count(part) && i < (alone ? 1 : part->n); i++) {
            dt_tree *path = alone                       ? part
                            : part->kind == DT_TREE_MAP ? part->entry[i].value
                                                        : part->item[i];
            if (path->kind == DT_TREE_SCALAR && *path->text && which(j, path))
                move_path(j, directory, path);
        }
    }
}

static bool is_of_base(const dt_job *j, const dt_tree *path) { return path->at.source == j->base; }

void dt_job_move_paths(dt_job *j) {
    if (!j->base) return;
    DT_LOCAL char *directory = directory_of_base(j);
    move_paths(j, directory, is_of_base);
}

static bool is_relative(const dt_job *j, const dt_tree *path) {
    (void)j;
    return !strchr("/~", *path->text);
}

void dt_job_prefix_paths(dt_job *j, const char *prefix) { move_paths(j, prefix, is_relative); }
