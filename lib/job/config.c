/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the resolved job (`config show`): after `extends`, overrides and substitutions values
 * keep their locations. Also finds the differences between two jobs, or between a job and a run.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "job/job.h"

enum { ORIGIN_COLUMN = 60 };

/* ---- values ---- */

static bool is_plain(const char *text) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+/-";
    return *text && *text != '-' && text[strspn(text, letters)] == '\0';
}

static void put_key(dt_str *out, const char *key) {
    const dt_tree t = {.kind = DT_TREE_SCALAR, .text = key, .quoted = true};
    if (is_plain(key)) dt_str_puts(out, key);
    else dt_tree_print(&t, out);
}

/* Whether the value is written on its key's line: it is not, and does not contain, a mapping with
 * entries. */
static bool is_leaf(const dt_tree *t) {
    bool leaf = t->kind != DT_TREE_MAP || t->n == 0;
    for (int i = 0; t->kind == DT_TREE_LIST && i < t->n; i++) leaf = leaf && is_leaf(t->item[i]);
    return leaf;
}

/* Writes a value as in a job file: a word as it was written, anything else as JSON, which is valid
 * YAML. */
static void put_leaf(dt_str *out, const dt_tree *t) {
    if (t->kind == DT_TREE_SCALAR && !t->recorded && !t->quoted && is_plain(t->text))
        dt_str_puts(out, t->text);
    else dt_tree_print(t, out);
}

/* ---- the resolved job ---- */

typedef struct page {
    dt_str *out;
    bool origin;
    size_t line; /* offset in the text at which the current line begins */
} page;

static void end_line(page *p, const dt_location *at) {
    if (p->origin) {
        dt_str_pad(p->out, p->line, ORIGIN_COLUMN);
        if (!at->source) dt_str_puts(p->out, " # default");
        else if (strncmp(at->source->name, "override ", 9) == 0)
            dt_str_printf(p->out, " # %s", at->source->name);
        else if (at->line == 0) dt_str_printf(p->out, " # %s", at->source->name);
        else dt_str_printf(p->out, " # %s:%d", at->source->name, at->line);
    }
    dt_str_putc(p->out, '\n');
    p->line = p->out->size;
}

static void put_tree(page *p, const dt_tree *t, int indent, bool dash);

/* Writes "key: value", or "key:" with the entries of the value on the lines below. */
static void put_entry(page *p, const dt_entry *e, int indent, bool dash) {
    dt_str_printf(p->out, "%*s%s", dash ? indent - 2 : indent, "", dash ? "- " : "");
    put_key(p->out, e->key);
    dt_str_putc(p->out, ':');
    if (is_leaf(e->value)) {
        dt_str_putc(p->out, ' ');
        put_leaf(p->out, e->value);
        end_line(p, &e->value->at);
        return;
    }
    dt_str_putc(p->out, '\n');
    p->line = p->out->size;
    put_tree(p, e->value, indent + 2, false);
}

static void put_item(page *p, const dt_tree *t, int indent) {
    if (!is_leaf(t)) {
        put_tree(p, t, indent + 2, true);
        return;
    }
    dt_str_printf(p->out, "%*s- ", indent, "");
    put_leaf(p->out, t);
    end_line(p, &t->at);
}

/* Prints a tree. dash: the tree is an item of a list, so its first line begins with "- ". The
 * recursion is at most as deep as the tree. */
static void put_tree(page *p, const dt_tree *t, int indent, bool dash) {
    if (t->kind == DT_TREE_LIST && dash) {
        dt_str_printf(p->out, "%*s-\n", indent - 2, "");
        p->line = p->out->size;
    }
    for (int i = 0; i < t->n; i++) {
        if (t->kind == DT_TREE_MAP) put_entry(p, &t->entry[i], indent, dash && i == 0);
        else put_item(p, t->item[i], indent);
    }
}

static dt_tree *child(dt_arena *arena, dt_tree *map, const char *key, dt_tree_kind kind) {
    dt_tree *t = dt_tree_get(map, key);
    if (t && t->kind != DT_TREE_NULL) return t;
    if (!t) {
        dt_entry *entry = dt_arena_array(arena, dt_entry, map->n + 1);
        if (map->n > 0) memcpy(entry, map->entry, sizeof *entry * (size_t)map->n);
        t = dt_arena_new(arena, dt_tree);
        entry[map->n++] = (dt_entry){.key = key, .value = t};
        map->entry = entry;
    }
    *t = (dt_tree){.kind = kind};
    return t;
}

/* Adds the defaults of the keys listed here, if the job leaves them out or sets them to null. A
 * section that is missing is added, too. */
static void add_defaults(const dt_job *j, dt_tree *root) {
    const struct {
        const char *section, *key, *value;
    } rows[] = {
        {NULL, "name", j->name},
        {NULL, "seed", "0"},
        {"dataset", "shuffle", "false"},
        {"dataset", "last_batch", "partial"},
        {"dataset", "auto_shard_policy", "auto"},
        {"dataset", "prefetch", "auto"},
        {"checkpoint", "save_freq", "epoch"},
        {"checkpoint", "max_to_keep", "3"},
        {"checkpoint", "resume", "auto"},
        {"output", "dir", j->run_dir},
        {"output", "tensorboard", "false"},
        {"output", "trace", "none"},
        {"output", "report", "none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_tree *map = rows[i].section ? child(j->arena, root, rows[i].section, DT_TREE_MAP) : root;
        if (map->kind != DT_TREE_MAP || !rows[i].value) continue;
        dt_tree *t = child(j->arena, map, rows[i].key, DT_TREE_SCALAR);
        if (!t->text && t->kind == DT_TREE_SCALAR) t->text = rows[i].value;
    }
}

/* Removes `let`: its words have been replaced by their values. */
static void leave_let(dt_tree *root) {
    int n = 0;
    for (int i = 0; i < root->n; i++)
        if (strcmp(root->entry[i].key, "let") != 0) root->entry[n++] = root->entry[i];
    root->n = n;
}

DT_API dt_status *dt_job_config_text(const dt_job *j, bool with_origin, char **text) {
    dt_str out = {0};
    DT_REQUIRE({DT_LIVE(j), "job"}, {text, "place for the text"});
    dt_tree *root = dt_tree_copy(j->arena, j->tree);
    add_defaults(j, root);
    if (!with_origin) leave_let(root);
    page p = {.out = &out, .origin = with_origin};
    put_tree(&p, root, 0, false);
    *text = dt_str_take(&out);
    return NULL;
}

/* ---- differences ---- */

/* Whether YAML reads the text as a string even without quotes, because it is a word that begins
 * with a letter and has no other meaning. */
static bool is_bare_word(const dt_tree *t) {
    static const char *const others[] = {"true", "false", "null", "nan", "inf", "infinity"};
    if (t->kind != DT_TREE_SCALAR || !is_plain(t->text) || !isalpha((unsigned char)t->text[0]))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(t->text, others[i]) == 0) return false;
    return true;
}

static void put_side(dt_str *out, char sign, const char *path, const dt_tree *t) {
    if (!t) return;
    dt_str_printf(out, "%c %s: ", sign, path);
    if (is_bare_word(t)) /* a checkpoint has the text in quotes, a job file does not need them */
        dt_str_puts(out, t->text);
    else put_leaf(out, t);
    dt_str_putc(out, '\n');
}

static void compare(dt_str *out, const char *path, const dt_tree *a, const dt_tree *b);

static void compare_child(dt_str *out, const char *path, const char *key, const dt_tree *a,
                          const dt_tree *b) {
    dt_local_str longer = {0};
    dt_str_printf(&longer, "%s%s%s", path, *path ? "." : "", key);
    compare(out, dt_str_text(&longer), a, b);
}

static void compare_maps(dt_str *out, const char *path, const dt_tree *a, const dt_tree *b) {
    for (int i = 0; i < a->n; i++)
        compare_child(out, path, a->entry[i].key, a->entry[i].value,
                      dt_tree_get(b, a->entry[i].key));
    for (int i = 0; i < b->n; i++)
        if (!dt_tree_get(a, b->entry[i].key))
            compare_child(out, path, b->entry[i].key, NULL, b->entry[i].value);
}

static void compare_lists(dt_str *out, const char *path, const dt_tree *a, const dt_tree *b) {
    char number[16];
    for (int i = 0; i < a->n || i < b->n; i++) {
        snprintf(number, sizeof number, "%d", i);
        compare_child(out, path, number, i < a->n ? a->item[i] : NULL,
                      i < b->n ? b->item[i] : NULL);
    }
}

/* Writes the differences between two values; a missing value (NULL) equals null. */
static void compare(dt_str *out, const char *path, const dt_tree *a, const dt_tree *b) {
    a = a && a->kind == DT_TREE_NULL ? NULL : a;
    b = b && b->kind == DT_TREE_NULL ? NULL : b;
    bool alike = a && b && a->kind == b->kind;
    if (alike && a->kind == DT_TREE_MAP) compare_maps(out, path, a, b);
    else if (alike && a->kind == DT_TREE_LIST && !(is_leaf(a) && is_leaf(b)))
        compare_lists(out, path, a, b);
    else if (!(alike && dt_tree_same(a, b))) {
        put_side(out, '-', path, a);
        put_side(out, '+', path, b);
    }
}

/* Reads the job that a run's newest checkpoint was trained with. Fails with NO_INPUT if there is no
 * checkpoint. */
static dt_status *read_recorded(const dt_job *a, const char *run, dt_tree **out) {
    dt_saved c = {0};
    dt_status *warnings = NULL, *s = dt_saved_newest(&c, run, &warnings);
    dt_status_free(warnings); /* the warnings are about checkpoints that are not read */
    if (!s && !c.path) s = dt_fail(DT_E_NO_INPUT, NULL, "there is no checkpoint below %s", run);
    if (!s) {
        dt_source *source = dt_arena_new(a->arena, dt_source);
        *source = (dt_source){.name = dt_arena_strdup(a->arena, c.path),
                              .text = dt_arena_strdup(a->arena, c.state.job),
                              .size = strlen(c.state.job)};
        s = dt_tree_parse(a->arena, source, out);
    }
    dt_saved_release(&c);
    return s;
}

DT_API dt_status *dt_job_config_diff(const dt_job *a, const dt_job *b, const char *run,
                                     char **text) {
    DT_LIVE(b);
    dt_str out = {0};
    dt_tree *other = b ? b->tree : NULL;
    DT_REQUIRE({DT_LIVE(a), "job"}, {text, "place for the text"});
    if (!b) {
        DT_TRY(dt_want(run, "dt_job_config_diff", "other job, or run"));
        DT_TRY(read_recorded(a, run, &other));
    }
    compare(&out, "", a->tree, other);
    *text = dt_str_take(&out);
    if (!*text) *text = dt_strdup("");
    return NULL;
}

/* ---- a saved job ---- */

static bool is_empty(const dt_tree *t) {
    return t->kind == DT_TREE_NULL || (t->kind == DT_TREE_MAP && t->n == 0);
}

/* Returns the word `Adam` for `Adam: {}`, `Adam: null` and, in a list, for `Adam: VALUE` if the
 * value is a default; else t. */
static dt_tree *bare_name(dt_arena *arena, dt_tree *t, bool is_item) {
    if (t->kind != DT_TREE_MAP || t->n != 1) return t;
    const dt_tree *value = t->entry[0].value;
    if (!is_empty(value) && !(is_item && value->is_default)) return t;
    dt_tree *name = dt_arena_new(arena, dt_tree);
    *name = (dt_tree){.kind = DT_TREE_SCALAR, .text = t->entry[0].key, .quoted = true};
    return name;
}

/* Removes keys whose values are defaults, in place. Returns t, or the name alone of a kind whose
 * arguments are all defaults: of `mixup: {alpha: 0.2}`, and of `mixup: 0.2` in a list. */
static dt_tree *without_defaults(dt_arena *arena, dt_tree *t, bool is_item) {
    t = bare_name(arena, t, is_item);
    int n = 0;
    for (int i = 0; t->kind == DT_TREE_LIST && i < t->n; i++)
        t->item[i] = without_defaults(arena, t->item[i], true);
    for (int i = 0; t->kind == DT_TREE_MAP && i < t->n; i++) {
        if (t->entry[i].value->is_default) continue;
        t->entry[n] = t->entry[i];
        t->entry[n].value = without_defaults(arena, t->entry[n].value, false);
        n++;
    }
    if (t->kind == DT_TREE_MAP) t->n = n;
    return bare_name(arena, t, is_item);
}

/* Returns the canonical text of a job without its defaults. dt_fields_read has marked these. */
static const char *text_without_defaults(dt_arena *arena, const dt_tree *job) {
    dt_str text = {0};
    dt_tree_print(without_defaults(arena, dt_tree_copy(arena, job), false), &text);
    return dt_arena_take(arena, &text);
}

const char *dt_job_saved_difference(const void *job, dt_arena *arena, const char *saved) {
    const dt_job *now = job;
    const char *key = dt_job_difference(arena, saved, now->json);
    dt_source source = {.name = "checkpoint", .text = saved};
    dt_job then = {.arena = arena,
                   .purpose = now->purpose,
                   .sealed = true,
                   .data_directory = now->data_directory};
    if (!key || !saved) return key;
    source.size = strlen(saved);
    dt_status_free(dt_tree_parse(arena, &source, &then.tree));
    if (!then.tree) return key;
    dt_job_read_trained(&then);
    return dt_job_difference(arena, text_without_defaults(arena, then.tree),
                             text_without_defaults(arena, now->tree));
}
