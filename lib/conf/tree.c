/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a tree from libyaml's events. yaml_parser_load is not used, because it accepts duplicate
 * keys, ignores second documents, and loads cyclic graphs. Here a stack of at most 64 levels holds
 * the lists and maps that are open; events add keys and nodes to the top one, open a level, or
 * close it.
 *
 *     model:                   level 1, map     entries: version, dataset, | model
 *       layers:                level 2, map     entries: | layers
 *         - Dense: ...         level 3, list    items: Input, | ...
 *                              (| precedes what is being read)
 *
 * Aliases become copies, so that overrides can change one and not the other. The nodes and texts of
 * a copy are counted before it is made, so that nested aliases cannot use much memory.
 *
 * A merge key (`<<`) does not become an entry: its mappings are kept with the level. When the level
 * ends, their entries come first; where the mapping has the same key itself, its own entry stands
 * in that place.
 *
 * Faults are collected and reading continues; syntax errors and limits end it. If there are errors,
 * a tree is returned only if all of them leave it complete (a duplicate key, a tag). If something
 * were left out of it, later checks would report that as missing although the user wrote it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "conf/conf_impl.h"

typedef struct anchor {
    const char *name;
    dt_tree *node;
    /* nodes: number of nodes of the subtree, including this one; height: number of levels of lists
     * and maps in it, 0 for a scalar */
    int nodes, height;
    size_t bytes; /* number of bytes of all texts in the subtree */
    bool open;    /* whether the end of the node has not been read yet */
} anchor;

typedef struct level {
    dt_tree *node;
    int anchor; /* index of the level's anchor; -1: it has no anchor */
    int nodes_before;
    size_t bytes_before;
    /* height of the highest item or value of this list or map so far; 0: only scalars */
    int height;
    bool keyed;  /* for a map: whether a key has been read, but not its value */
    bool kept;   /* whether this key is valid, so that its entry is kept */
    bool merges; /* whether this key is `<<` */
    /* For a map: the value of `<<`, which is a map or a list of maps; NULL: the map has no valid
     * `<<`. */
    dt_tree *merged;
    /* The items of a list, without keys, or the entries of a map. The memory is reused by the next
     * level at this depth. */
    dt_entry *entry;
    int n, cap;
    dt_hash_index keys; /* for a map: an index of its entries by key */
} level;

typedef struct reader {
    dt_arena *arena;
    dt_yaml text;
    yaml_parser_t yaml;
    /* what precedes an error; its `bracket` is set only when a syntax error is reported */
    dt_yaml_before before;
    level level[DT_JOB_DEPTH];
    int depth, nodes;
    size_t bytes; /* number of bytes of texts so far, including copies */
    anchor *anchor;
    int anchors, anchors_cap;
    dt_hash_index anchor_names;
    dt_tree *root;
    dt_status *faults; /* errors collected so far */
    bool incomplete;   /* whether an error has left something out of the tree */
    bool ended;
} reader;

/* ---- limits ---- */

/* Frees the errors so far and returns s, so that only the exceeded limit is reported: the other
 * errors may result from the same attack. */
static dt_status *too_much(reader *r, dt_status *s) {
    dt_status_free(r->faults);
    r->faults = NULL;
    return s;
}

static dt_status *check_depth(reader *r, int depth, const dt_location *at) {
    if (depth <= DT_JOB_DEPTH) return NULL;
    return too_much(r, dt_fail(DT_E_JOB_LIMIT, at, "nesting deeper than %d levels", DT_JOB_DEPTH));
}

static dt_status *count_nodes(reader *r, int more, const dt_location *at) {
    r->nodes += more;
    if (r->nodes <= DT_JOB_NODES) return NULL;
    return too_much(
        r, dt_fail(DT_E_JOB_LIMIT, at,
                   more > 1 ? "aliases expand to more than %d nodes" : "more than %d nodes",
                   DT_JOB_NODES));
}

static dt_status *count_bytes(reader *r, size_t more, const dt_location *at) {
    r->bytes += more;
    if (r->bytes <= DT_JOB_TEXT) return NULL;
    return too_much(r, dt_fail(DT_E_JOB_LIMIT, at, "aliases expand to more than %d MiB of text",
                               DT_JOB_TEXT >> 20));
}

/* ---- tags, anchors and source locations of nodes ---- */

static const char *tag_of(const yaml_event_t *e) {
    const yaml_char_t *tag = e->type == YAML_SCALAR_EVENT           ? e->data.scalar.tag
                             : e->type == YAML_SEQUENCE_START_EVENT ? e->data.sequence_start.tag
                             : e->type == YAML_MAPPING_START_EVENT  ? e->data.mapping_start.tag
                                                                    : NULL;
    return (const char *)tag;
}

static const char *anchor_of(const yaml_event_t *e) {
    const yaml_char_t *name = e->type == YAML_SCALAR_EVENT           ? e->data.scalar.anchor
                              : e->type == YAML_SEQUENCE_START_EVENT ? e->data.sequence_start.anchor
                              : e->type == YAML_MAPPING_START_EVENT  ? e->data.mapping_start.anchor
                                                                     : NULL;
    return (const char *)name;
}

static dt_location location_of(reader *r, const yaml_event_t *e) {
    dt_location at = dt_yaml_place(&r->text, e->start_mark, e->end_mark);
    if (e->type == YAML_MAPPING_START_EVENT || e->type == YAML_SEQUENCE_START_EVENT) at.width = 0;
    if (anchor_of(e) || tag_of(e)) dt_yaml_skip_properties(&at);
    return at;
}

/* ---- what YAML allows and job files do not ---- */

static void check_tag(reader *r, const yaml_event_t *e) {
    static const char standard[] = "tag:yaml.org,2002:";
    const char *tag = tag_of(e);
    if (!tag) return;
    if (strncmp(tag, standard, sizeof standard - 1) == 0)
        tag = dt_arena_printf(r->arena, "!!%s", tag + sizeof standard - 1);
    dt_location at = dt_yaml_place(&r->text, e->start_mark, e->start_mark);
    dt_status_append(&r->faults, dt_fail(DT_E_YAML_FEATURE, &at, "tag %s is not supported",
                                         dt_quote_text(tag).text));
}

static void check_nul(reader *r, const yaml_event_t *e, const dt_location *at) {
    if (strlen((const char *)e->data.scalar.value) < e->data.scalar.length)
        dt_status_append(&r->faults,
                         dt_fail(DT_E_JOB_BYTES, at, "control character 0x00 in a string"));
}

/* ---- adding keys and nodes ---- */

static level *top(reader *r) { return r->depth ? &r->level[r->depth - 1] : NULL; }

static bool expects_key(reader *r) {
    const level *l = top(r);
    return l && l->node->kind == DT_TREE_MAP && !l->keyed;
}

static dt_entry *add_entry(level *l) {
    DT_GROW(l->entry, l->cap, l->n + 1);
    l->entry[l->n] = (dt_entry){0};
    return &l->entry[l->n++];
}

static void refuse_key(reader *r, dt_status *fault) {
    /* Of duplicate keys the first one is kept, so the tree stays complete. */
    r->incomplete |= dt_status_number(fault) != DT_E_DUPLICATE_KEY;
    dt_status_append(&r->faults, fault);
    top(r)->keyed = true;
    top(r)->kept = top(r)->merges = false;
}

static bool is_mergeable(const dt_tree *t) {
    bool is = t->kind == DT_TREE_MAP || t->kind == DT_TREE_LIST;
    for (int i = 0; t->kind == DT_TREE_LIST && i < t->n; i++) is &= t->item[i]->kind == DT_TREE_MAP;
    return is;
}

static void take_merged(reader *r, level *l, dt_tree *node) {
    if (is_mergeable(node)) {
        l->merged = node;
        return;
    }
    r->incomplete = true;
    dt_status_append(&r->faults, dt_fail(DT_E_YAML_FEATURE, &node->at,
                                         "'<<' needs a mapping or a list of mappings, got %s",
                                         dt_quote(node).text));
}

static void put(reader *r, dt_tree *node, int height) {
    level *l = top(r);
    if (!l) {
        r->root = node;
    } else if (expects_key(r)) {
        refuse_key(r, dt_fail(DT_E_YAML_FEATURE, &node->at, "keys must be strings"));
    } else if (l->node->kind == DT_TREE_LIST) {
        add_entry(l)->value = node;
    } else {
        if (l->merges) take_merged(r, l, node);
        else if (l->kept) l->entry[l->n - 1].value = node;
        l->keyed = l->merges = false;
    }
    if (l && l->height < height) l->height = height;
}

/* Handles a key or value that cannot be read: a key is left out together with its value, and a
 * value becomes null, unless it is that of `<<`. */
static void leave_out(reader *r) {
    level *l = top(r);
    const bool is_key = expects_key(r);
    r->incomplete = true;
    if (l && (is_key || l->merges)) l->kept = l->merges = false;
    if (is_key) l->keyed = true;
    else put(r, dt_arena_new(r->arena, dt_tree), 0);
}

/* Returns the entry with that key; NULL: there is no such entry. */
static const dt_entry *find_entry(const dt_hash_index *keys, const dt_entry *entry,
                                  const char *key) {
    int i = dt_hash_index_first(keys, dt_name_hash(key));
    while (i >= 0 && strcmp(entry[i].key, key) != 0) i = dt_hash_index_next(keys, i);
    return i < 0 ? NULL : &entry[i];
}

static bool is_merge_key(const yaml_event_t *e) {
    return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           strcmp((const char *)e->data.scalar.value, "<<") == 0;
}

static dt_status *bad_key(reader *r, const yaml_event_t *e, const char *key,
                          const dt_location *at) {
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (is_merge_key(e) && top(r)->merged)
        return dt_suggest(dt_fail(DT_E_DUPLICATE_KEY, at, "duplicate key '<<'"),
                          "write <<: [*FIRST, *SECOND]");
    if (plain && !*key) return dt_fail(DT_E_YAML_FEATURE, at, "keys must be strings");
    if (e->data.scalar.anchor) return dt_fail(DT_E_YAML_FEATURE, at, "a key cannot have an anchor");
    if (is_merge_key(e)) return NULL;
    const dt_entry *first = find_entry(&top(r)->keys, top(r)->entry, key);
    if (first)
        return dt_fail(DT_E_DUPLICATE_KEY, at, "duplicate key %s, first given at line %d",
                       dt_quote_text(key).text, first->key_at.line);
    return NULL;
}

static void take_key(reader *r, const yaml_event_t *e) {
    const char *key = (const char *)e->data.scalar.value;
    dt_location at = location_of(r, e);
    check_nul(r, e, &at);
    dt_status *fault = bad_key(r, e, key, &at);
    if (fault) {
        refuse_key(r, fault);
        return;
    }
    level *l = top(r);
    l->keyed = l->kept = true;
    l->merges = is_merge_key(e);
    if (l->merges) return;
    *add_entry(l) = (dt_entry){.key = dt_arena_strdup(r->arena, key), .key_at = at};
    dt_hash_index_add(&l->keys, dt_name_hash(key));
    r->bytes += e->data.scalar.length;
}

/* ---- anchors and aliases ---- */

static int set_anchor(reader *r, const yaml_event_t *e, dt_tree *node) {
    const char *name = anchor_of(e);
    if (!name) return -1;
    DT_GROW(r->anchor, r->anchors_cap, r->anchors + 1);
    r->anchor[r->anchors] =
        (anchor){.name = dt_arena_strdup(r->arena, name),
                 .node = node,
                 .nodes = 1,
                 .bytes = e->type == YAML_SCALAR_EVENT ? e->data.scalar.length : 0};
    dt_hash_index_add(&r->anchor_names, dt_name_hash(name));
    return r->anchors++;
}

/* Finds the anchor of that name; if several have it, the latest one. */
static const anchor *find_anchor(const reader *r, const char *name) {
    const dt_hash_index *names = &r->anchor_names;
    int i = dt_hash_index_first(names, dt_name_hash(name));
    while (i >= 0 && strcmp(r->anchor[i].name, name) != 0) i = dt_hash_index_next(names, i);
    return i < 0 ? NULL : &r->anchor[i];
}

static dt_status *take_alias(reader *r, const yaml_event_t *e) {
    const char *name = (const char *)e->data.alias.anchor;
    dt_location at = dt_yaml_place(&r->text, e->start_mark, e->end_mark);
    const anchor *a = find_anchor(r, name);
    if (a && !a->open) {
        DT_TRY(check_depth(r, r->depth + a->height, &at));
        DT_TRY(count_nodes(r, a->nodes, &at));
        DT_TRY(count_bytes(r, a->bytes, &at));
        put(r, dt_tree_copy(r->arena, a->node), a->height);
        return NULL;
    }
    const char *shown = dt_arena_printf(r->arena, "*%s", name);
    dt_status_append(&r->faults, dt_fail(DT_E_BAD_ALIAS, &at,
                                         a ? "alias %s refers to itself" : "alias %s has no anchor",
                                         dt_quote_text(shown).text));
    leave_out(r);
    return count_nodes(r, 1, &at);
}

/* ---- events and whole texts ---- */

static bool is_null(const char *text) {
    return !*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}

static dt_status *take_scalar(reader *r, const yaml_event_t *e) {
    const char *text = (const char *)e->data.scalar.value;
    r->before = (dt_yaml_before){e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE, e->start_mark,
                                 e->end_mark, NULL};
    check_tag(r, e);
    if (expects_key(r)) {
        take_key(r, e);
        return NULL;
    }
    dt_tree *node = dt_arena_new(r->arena, dt_tree);
    node->quoted = r->before.quoted;
    node->kind = node->quoted || !is_null(text) ? DT_TREE_SCALAR : DT_TREE_NULL;
    node->at = location_of(r, e);
    node->text = dt_arena_strdup(r->arena, text);
    r->bytes += e->data.scalar.length;
    DT_TRY(count_nodes(r, 1, &node->at));
    check_nul(r, e, &node->at);
    set_anchor(r, e, node);
    put(r, node, 0);
    return NULL;
}

static dt_status *open_level(reader *r, const yaml_event_t *e, dt_tree_kind kind) {
    dt_location at = location_of(r, e);
    DT_TRY(check_depth(r, r->depth + 1, &at));
    DT_TRY(count_nodes(r, 1, &at));
    check_tag(r, e);
    dt_tree *node = dt_arena_new(r->arena, dt_tree);
    node->kind = kind;
    node->at = at;
    level *l = &r->level[r->depth++];
    dt_hash_index_release(&l->keys);
    *l = (level){.node = node,
                 .nodes_before = r->nodes - 1,
                 .bytes_before = r->bytes,
                 .entry = l->entry,
                 .cap = l->cap};
    l->anchor = set_anchor(r, e, node);
    if (l->anchor >= 0) r->anchor[l->anchor].open = true;
    return NULL;
}

/* Appends those entries of a merged mapping whose keys the node does not have yet. For a key that
 * the level has itself, the level's entry is used. */
static void merge(const level *l, const dt_tree *map, dt_hash_index *keys) {
    dt_tree *node = l->node;
    for (int i = 0; i < map->n; i++) {
        const dt_entry *e = &map->entry[i];
        if (find_entry(keys, node->entry, e->key)) continue;
        const dt_entry *own = find_entry(&l->keys, l->entry, e->key);
        node->entry[node->n++] = own ? *own : *e;
        dt_hash_index_add(keys, dt_name_hash(e->key));
    }
}

static void move_entries(reader *r, level *l) {
    dt_tree *node = l->node;
    const dt_tree *merged = l->merged;
    const bool list = merged && merged->kind == DT_TREE_LIST;
    dt_hash_index keys = {0}; /* an index, by key, of the entries that were merged */
    int most = l->n + (merged && !list ? merged->n : 0);
    for (int i = 0; list && i < merged->n; i++) most += merged->item[i]->n;
    node->entry = dt_arena_array(r->arena, dt_entry, most);
    if (merged && !list) merge(l, merged, &keys);
    for (int i = 0; list && i < merged->n; i++) merge(l, merged->item[i], &keys);
    for (int i = 0; i < l->n; i++)
        if (!find_entry(&keys, node->entry, l->entry[i].key)) node->entry[node->n++] = l->entry[i];
    dt_hash_index_release(&keys);
}

static void move_to_node(reader *r, level *l) {
    dt_tree *node = l->node;
    if (node->kind == DT_TREE_MAP) {
        move_entries(r, l);
        return;
    }
    node->n = l->n;
    node->item = dt_arena_array(r->arena, dt_tree *, l->n);
    for (int i = 0; i < l->n; i++) node->item[i] = l->entry[i].value;
}

static void close_level(reader *r) {
    level *l = top(r);
    move_to_node(r, l);
    r->depth--;
    if (l->anchor >= 0) {
        anchor *a = &r->anchor[l->anchor];
        a->nodes = r->nodes - l->nodes_before;
        a->bytes = r->bytes - l->bytes_before;
        a->height = l->height + 1;
        a->open = false;
    }
    put(r, l->node, l->height + 1);
}

static dt_status *take_event(reader *r, const yaml_event_t *e) {
    switch (e->type) {
    case YAML_SCALAR_EVENT: return take_scalar(r, e);
    case YAML_ALIAS_EVENT: return take_alias(r, e);
    case YAML_SEQUENCE_START_EVENT: return open_level(r, e, DT_TREE_LIST);
    case YAML_MAPPING_START_EVENT: return open_level(r, e, DT_TREE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: close_level(r); return NULL;
    case YAML_DOCUMENT_END_EVENT:
    case YAML_STREAM_END_EVENT: r->ended = true; return NULL;
    default: return NULL;
    }
}

/* Checks that only blanks, comments and "..." follow the document. libyaml does not read the rest,
 * so its length does not matter. */
static dt_status *check_rest(reader *r, yaml_mark_t end) {
    const dt_source *s = r->text.source;
    size_t i = dt_yaml_offset(&r->text, end);
    bool comment = false;
    for (; i < s->size; i++)
        if (s->text[i] == '\n') comment = false;
        else if (s->text[i] == '#') comment = true;
        else if (!comment && !strchr(" \t\r.", s->text[i])) break;
    if (i == s->size) return NULL;
    dt_location at = dt_yaml_place_at(&r->text, i);
    if (at.col == 1 && strchr("-%", s->text[i]))
        return dt_fail(DT_E_MANY_DOCUMENTS, &at, "more than one YAML document");
    return dt_fail(DT_E_YAML_SYNTAX, &at, "text follows the end of the job");
}

static dt_status *syntax_error(reader *r) {
    for (int i = 0; i < r->depth; i++) {
        const dt_location *at = &r->level[i].node->at;
        if (strchr("[{", r->text.source->text[at->offset])) r->before.bracket = at;
    }
    return dt_yaml_syntax(&r->text, &r->yaml, &r->before);
}

static dt_status *empty(const dt_source *source) {
    return dt_fail(DT_E_EMPTY_JOB, &(dt_location){.source = source, .line = 1, .col = 1},
                   "the job is empty");
}

static dt_status *read_events(reader *r) {
    yaml_mark_t end = {0};
    while (!r->ended) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->yaml, &e)) return syntax_error(r);
        dt_status *s = take_event(r, &e);
        end = e.end_mark;
        yaml_event_delete(&e);
        DT_TRY(s);
    }
    DT_TRY(check_rest(r, end));
    if (!r->faults && (!r->root || r->root->kind == DT_TREE_NULL)) return empty(r->text.source);
    return NULL;
}

static void release(reader *r) {
    yaml_parser_delete(&r->yaml);
    for (int i = 0; i < DT_JOB_DEPTH; i++) {
        free(r->level[i].entry);
        dt_hash_index_release(&r->level[i].keys);
    }
    dt_hash_index_release(&r->anchor_names);
    free(r->anchor);
}

dt_status *dt_yaml_parse(dt_arena *arena, dt_yaml text, dt_tree **out) {
    *out = NULL;
    DT_TRY(dt_yaml_check(&text));
    if (text.from == text.source->size) return empty(text.source);
    reader r = {.arena = arena, .text = text};
    if (!yaml_parser_initialize(&r.yaml))
        return dt_fail(DT_E_NO_MEMORY, NULL, "no memory to read %s", text.source->name);
    yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text.source->text + text.from,
                                 text.source->size - text.from);
    dt_status *fatal = read_events(&r);
    dt_status_append(&r.faults, fatal);
    if (!fatal && !r.incomplete) *out = r.root;
    release(&r);
    return r.faults;
}

dt_status *dt_tree_parse(dt_arena *arena, const dt_source *source, dt_tree **out) {
    return dt_yaml_parse(arena, dt_yaml_open(source, 0), out);
}

dt_status *dt_fragment_parse(dt_arena *arena, const dt_source *source, dt_tree **out) {
    dt_status *s = dt_tree_parse(arena, source, out);
    if (dt_status_number(s) != DT_E_EMPTY_JOB) return s;
    dt_status_free(s);
    return dt_fail(DT_E_MISUSE, NULL, "%s: the text that was given is empty", source->name);
}
