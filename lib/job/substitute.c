/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Substitution in the texts of a job: {name}, {run_dir}, the words of its `let`, and in paths
 * ${VARIABLE} and ${VARIABLE:-default}. Another {word} is an error, so that a misspelt word does
 * not become part of a path, except in patterns of weights and in model files of Keras. The
 * variables of a Repeat stay in its layers, where the model replaces them, and so do words in a
 * callback's `filepath`, which may be names of metrics. The values of `let` are substituted first,
 * then the name, then output.dir, which may use the name, then all others, which may use both.
 * Substituted text is not substituted again.
 *
 * The environment may hold secrets, and the files of a run are shared. So a path with ${VARIABLE}
 * is kept as two texts: its value, by which files are opened, and the text with ${VARIABLE} as it
 * was written. Hashes, checkpoints, records and reports contain only the second one. If a run's
 * record repeats a path, as in a warning, j->variable has the text to write instead. Values must be
 * UTF-8 without control characters, and all texts together may not grow beyond the size of a job
 * file.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "job/job.h"

/* ---- the state of a substitution ---- */

/* The variables of a Repeat, and a link to those of the Repeat around it. */
typedef struct scope {
    const dt_tree *variables;
    const struct scope *outer;
} scope;

typedef struct substitution {
    dt_arena *arena;
    dt_job *job; /* the job; its `variable` receives the environment variables that texts use */
    /* path of the current value, from the top: "dataset.train" */
    const char *key;
    dt_tree *let; /* the mapping `let`; NULL: the job has none */
    /* number of words whose values are final; later words cannot be used yet */
    int n_let;
    dt_hash_index words; /* [n_let] finds a word by its name */
    int unknown;         /* number of undefined words that were found so far */
    bool *used;          /* [let->n] whether a text uses each word of `let` */
    /* variables of the Repeat in which the current value is */
    const scope *scope;
    /* values of {name} and {run_dir}; NULL: they are not known yet, so that texts cannot use
     * them */
    const char *name, *run_dir;
    const char *recorded_dir; /* the value of {run_dir} in records; NULL: the same as run_dir */
    /* nodes that have been finished before, and must not be substituted again */
    const dt_tree *done[3];
    size_t bytes; /* bytes that substitution has added so far */
} substitution;

/* Returns the length of the word that begins at `from`: letters, digits and '_', no leading digit;
 * 0: no word begins there. */
static size_t word_length(const char *from, const char *to) {
    const char *p = from;
    while (p < to && (isalnum((unsigned char)*p) || *p == '_') &&
           !(p == from && isdigit((unsigned char)*p)))
        p++;
    return (size_t)(p - from);
}

/* Substitutes words in all texts of the tree. Returns an error that lists all faults. */
static dt_status *substitute(substitution *c, dt_tree *t);

/*
 * ---- let ----
 *
 * The names in `let`: sizes, words and lists that a job defines once, so that one override changes
 * them.
 *
 *     let: {width: 4096, heads: 32}
 *     ...
 *           - Dense: {units: "{width}"}      # dtrain plan job.yaml let.width=8192
 *
 * A text that consists of one {word} is replaced by the word's value: a number, a text, null, a
 * list or a mapping, which keeps its source location. A value may use names defined before it. A
 * name that is not used is an error, because a misspelt override would change nothing. With
 * overrides, words of the file may be unused: a user who sets dataset.global_batch_size=256 need
 * not know that it replaces "{batch}".
 */

/* Returns the value of a word of n bytes of `let`, and marks the word as used; NULL: there is no
 * such word. */
static const dt_tree *let_value(const substitution *c, const char *word, size_t n) {
    int i = dt_hash_index_first(&c->words, dt_hash_bytes(0, word, n));
    for (; i >= 0; i = dt_hash_index_next(&c->words, i)) {
        const dt_entry *e = &c->let->entry[i];
        if (strlen(e->key) != n || strncmp(e->key, word, n) != 0) continue;
        c->used[i] = true;
        return e->value;
    }
    return NULL;
}

/* Checks that no variable of a Repeat is also a word of let, so that a word has one meaning.
 * Reports all faults. */
static dt_status *let_check_variables(const substitution *c, const dt_tree *variables) {
    dt_status *faults = NULL;
    for (int i = 0; variables && variables->kind == DT_TREE_MAP && i < variables->n; i++)
        if (dt_tree_get(c->let, variables->entry[i].key))
            dt_status_append(&faults,
                             dt_fail(DT_E_SUBSTITUTION, &variables->entry[i].key_at,
                                     "'{%.80s}' is a word of 'let'; give the variable another name",
                                     variables->entry[i].key));
    return faults;
}

static dt_status *check_let_name(const dt_entry *e) {
    size_t n = strlen(e->key);
    if (strcmp(e->key, "name") == 0 || strcmp(e->key, "run_dir") == 0)
        return dt_fail(DT_E_SUBSTITUTION, &e->key_at,
                       "'{%s}' is a predefined name; choose another name in 'let'", e->key);
    if (n > 0 && word_length(e->key, e->key + n) == n) return NULL;
    return dt_suggest(
        dt_fail(DT_E_SUBSTITUTION, &e->key_at, "'%.80s' cannot be a name in 'let'", e->key),
        "letters, digits and '_', no leading digit");
}

/* Finds the job's `let` and substitutes within its values. Reports all faults. */
static dt_status *let_find(dt_job *j, substitution *c) {
    dt_status *faults = NULL;
    dt_tree *let = dt_tree_get(j->tree, "let");
    if (!let || let->kind != DT_TREE_MAP) return NULL;
    c->let = let;
    c->done[2] = let;
    c->used = dt_arena_array(c->arena, bool, let->n);
    for (; c->n_let < let->n; c->n_let++) {
        const char *word = let->entry[c->n_let].key;
        dt_status_append(&faults, check_let_name(&let->entry[c->n_let]));
        c->key = "let";
        dt_status_append(&faults, substitute(c, let->entry[c->n_let].value));
        dt_hash_index_add(&c->words, dt_hash_bytes(0, word, strlen(word)));
    }
    return faults;
}

/* Whether a word may be unused: one that is null, and in plans all words of files, because --tpu or
 * --what-if may have replaced the value that used it. With overrides, also a word of a file that no
 * override has set. */
static bool may_be_idle(const dt_job *j, const dt_entry *e) {
    bool in_files = dt_job_is_of_files(j, e->key_at.source);
    return e->value->kind == DT_TREE_NULL || (in_files && j->purpose == DT_FOR_PLAN) ||
           (in_files && j->overridden && dt_job_is_of_files(j, e->value->at.source));
}

/* Reports all words that nothing used. */
static dt_status *let_check_used(const dt_job *j, const substitution *c) {
    dt_status *faults = NULL;
    const char **others = dt_arena_array(c->arena, const char *, c->n_let);
    int n = 0;
    for (int i = 0; i < c->n_let; i++)
        if (c->used[i]) others[n++] = c->let->entry[i].key;
    for (int i = 0; i < c->n_let; i++) {
        const dt_entry *e = &c->let->entry[i];
        if (c->used[i] || may_be_idle(j, e)) continue;
        dt_status *s = dt_fail(DT_E_SUBSTITUTION, &e->key_at, "nothing uses '{%.80s}'", e->key);
        const bool shown = dt_status_count(faults) < DT_MAX_ERRORS;
        dt_status_append(&faults, shown ? dt_suggest_nearest(s, e->key, others, n) : s);
    }
    return faults;
}

/* ---- texts ---- */

enum { MOST_BYTES = 1 << 20, MOST_DEPTH = 8, LONGEST_NAME = 200, NODE_BYTES = 16 };

/* A part of a text, [from, to). depth: how many defaults contain it. */
typedef struct piece {
    const dt_location *at;
    const char *from, *to;
    int depth;
} piece;

typedef struct texts {
    dt_str value, recorded;
    bool differ;
} texts;

static void put(texts *out, const char *text, size_t n) {
    dt_str_add(&out->value, text, n);
    dt_str_add(&out->recorded, text, n);
}

static dt_status *expand(substitution *c, const piece *p, texts *out);

/* ---- {name} ---- */

static bool is_variable(const scope *s, const char *word) {
    for (; s; s = s->outer)
        if (dt_tree_get(s->variables, word)) return true;
    return false;
}

static dt_status *unknown(substitution *c, const dt_location *at, const char *word) {
    dt_status *s = dt_fail(DT_E_SUBSTITUTION, at, "unknown substitution '{%.80s}'", word);
    if (++c->unknown > DT_MAX_ERRORS) return s;
    const char **known = dt_arena_array(c->arena, const char *, c->n_let + 2);
    int n = 0;
    known[n++] = "name";
    known[n++] = "run_dir";
    for (int i = 0; i < c->n_let; i++) known[n++] = c->let->entry[i].key;
    const char *nearest = dt_nearest(word, known, n);
    return nearest ? dt_suggest(s, "did you mean '{%s}'?", nearest)
                   : dt_suggest(s, "known: {name}, {run_dir}, in paths ${VARIABLE:-default}, and "
                                   "the names in 'let'");
}

static dt_status *put_let(const dt_location *at, const char *word, const dt_tree *value,
                          texts *out) {
    if (value->kind != DT_TREE_SCALAR)
        return dt_fail(DT_E_SUBSTITUTION, at, "'{%.80s}' is %s and cannot be part of a text", word,
                       dt_tree_kind_name(value->kind));
    dt_str_puts(&out->value, value->text);
    dt_str_puts(&out->recorded, value->recorded ? value->recorded : value->text);
    out->differ |= value->recorded != NULL;
    return NULL;
}

/* Whether the key's value is the path of a checkpoint, in which braces may also contain names of
 * metrics. */
static bool is_filepath(const char *key) {
    const char *last = key ? strrchr(key, '.') : NULL;
    return last && strcmp(last, ".filepath") == 0;
}

/* Whether the key belongs to a callback, whose paths are relative to the run's directory. */
static bool begins_in_run_dir(const char *key) {
    static const char callbacks[] = "fit.callbacks.";
    return key && strncmp(key, callbacks, strlen(callbacks)) == 0;
}

static dt_status *put_word(substitution *c, const dt_location *at, const char *word, texts *out) {
    const bool is_name = strcmp(word, "name") == 0,
               is_predefined = is_name || !strcmp(word, "run_dir");
    const bool is_metric = !is_predefined && is_filepath(c->key);
    if (is_metric || is_variable(c->scope, word)) {
        put(out, "{", 1);
        put(out, word, strlen(word));
        put(out, "}", 1);
        return NULL;
    }
    const dt_tree *let = let_value(c, word, strlen(word));
    if (let) return put_let(at, word, let, out);
    if (!is_predefined) return unknown(c, at, word);
    const bool is_here = !is_name && begins_in_run_dir(c->key);
    const char *value = is_here ? "." : is_name ? c->name : c->run_dir;
    if (!value)
        return dt_fail(DT_E_SUBSTITUTION, at, "'{%s}' cannot be used in %s", word,
                       c->name ? "output.dir" : "name");
    const char *recorded = is_here || is_name ? value : c->recorded_dir;
    dt_str_puts(&out->value, value);
    dt_str_puts(&out->recorded, recorded ? recorded : value);
    out->differ |= recorded && recorded != value;
    return NULL;
}

/* ---- ${VARIABLE} ---- */

/* Whether the key's value is a tokenizer, which may be a file. */
static bool is_tokenizer(const char *key) {
    return key && strncmp(key, "dataset.", strlen("dataset.")) == 0 &&
           (strstr(key, ".tokenizer.path") ||
            (strncmp(key, "dataset.map.", strlen("dataset.map.")) == 0 &&
             strlen(key) > strlen(".tokenizer") &&
             strcmp(key + strlen(key) - strlen(".tokenizer"), ".tokenizer") == 0));
}

/* Whether the key's value is a vocabulary, which may be a file of words. */
static bool is_vocabulary(const char *key) {
    static const char vocabulary[] = ".vocabulary";
    const size_t n = key ? strlen(key) : 0, stem = strlen("dataset.map."), end = strlen(vocabulary);
    return n > stem + end && strncmp(key, "dataset.map.", stem) == 0 &&
           strcmp(key + n - end, vocabulary) == 0;
}

/* Whether the key's value is a path, in which variables are replaced. Values of `let` are checked
 * where they are used. */
static bool is_path(const char *key) {
    static const char *const keys[] = {"let",
                                       "output.dir",
                                       "model.init_from",
                                       "backend.plugin",
                                       "checkpoint.resume",
                                       "dataset.train",
                                       "dataset.validation",
                                       "dataset.test",
                                       "strategy.cluster_resolver.secret_file"};
    const size_t n = key ? strlen(key) : 0;
    for (size_t i = 0; n && i < sizeof keys / sizeof *keys; i++) {
        const size_t length = strlen(keys[i]);
        if (strncmp(key, keys[i], length) == 0 && (key[length] == '\0' || key[length] == '.'))
            return true;
    }
    return is_vocabulary(key) || is_tokenizer(key);
}

static dt_status *not_a_path(const dt_tree *t) {
    return dt_suggest(dt_fail(DT_E_SUBSTITUTION, &t->at,
                              "${VARIABLE} is replaced in paths only, got '%.80s'", t->text),
                      "have the shell replace it: dtrain fit JOB key.path=\"$VARIABLE\"");
}

/* Records a variable whose value occurs in paths, so that records can replace the value by the
 * variable. An empty value, or one that another variable has already, is not recorded. */
static void note_variable(dt_job *j, const char *variable, const char *value) {
    dt_pair *all = dt_arena_array(j->arena, dt_pair, j->n_variables + 1);
    for (int i = 0; i < j->n_variables; i++)
        if (strcmp(j->variable[i].value, value) == 0) return;
    if (!*value) return;
    if (j->n_variables) memcpy(all, j->variable, sizeof *all * (size_t)j->n_variables);
    all[j->n_variables++] =
        (dt_pair){dt_arena_printf(j->arena, "${%s}", variable), dt_arena_strdup(j->arena, value)};
    j->variable = all;
}

static dt_status *check_value(const dt_location *at, const char *variable, const char *value) {
    size_t n = strlen(value), step;
    uint32_t code;
    for (size_t i = 0; i < n; i += step) {
        step = dt_utf8_next(value + i, n - i, &code);
        if (step == 0 || code < 0x20 || code == 0x7f)
            return dt_fail(DT_E_SUBSTITUTION, at, "the value of ${%.80s} is not plain UTF-8 text",
                           variable);
    }
    return NULL;
}

/* Returns the brace that closes the one before `from`; NULL: none does. Nested braces are
 * skipped. */
static const char *closing(const char *from, const char *to) {
    int open = 1;
    for (const char *p = from; p < to; p++) {
        open += (*p == '{') - (*p == '}');
        if (open == 0) return p;
    }
    return NULL;
}

static dt_status *malformed(const piece *p) {
    int shown = p->to - p->from > 80 ? 80 : (int)(p->to - p->from);
    return dt_fail(DT_E_SUBSTITUTION, p->at,
                   "write ${VARIABLE} or ${VARIABLE:-default}, got '${%.*s}'", shown, p->from);
}

/* Replaces ${VARIABLE} or ${VARIABLE:-default}. As in a shell, the default is also used if the
 * variable is empty. */
static dt_status *put_variable(substitution *c, const piece *p, texts *out) {
    size_t n = word_length(p->from, p->to);
    const char *rest = p->from + n;
    bool has_default = p->to - rest >= 2 && rest[0] == ':' && rest[1] == '-';
    if (n == 0 || (rest < p->to && !has_default)) return malformed(p);
    const char *variable = dt_arena_printf(c->arena, "%.*s", (int)n, p->from),
               *value = getenv(variable);
    if (has_default && (!value || !*value))
        return expand(c, &(piece){p->at, rest + 2, p->to, p->depth + 1}, out);
    if (!value)
        return dt_suggest(
            dt_fail(DT_E_SUBSTITUTION, p->at, "the environment has no variable '%.80s'", variable),
            "a default is written ${%.80s:-default}", variable);
    DT_TRY(check_value(p->at, variable, value));
    dt_str_puts(&out->value, value);
    note_variable(c->job, variable, value);
    return NULL;
}

/* ---- texts ---- */

/* Substitutes the word or variable at p->from, which is '{' or "${". Sets *end to the position
 * after it. A variable is recorded as written, so that the record is the same whether or not the
 * variable is set. */
static dt_status *put_one(substitution *c, const piece *p, texts *out, const char **end) {
    if (*p->from == '$') {
        const char *close = closing(p->from + 2, p->to);
        if (!close) return dt_fail(DT_E_SUBSTITUTION, p->at, "'${' is never closed");
        *end = close + 1;
        size_t before = out->recorded.size;
        DT_TRY(put_variable(c, &(piece){p->at, p->from + 2, close, p->depth}, out));
        out->recorded.size = before;
        dt_str_add(&out->recorded, p->from, (size_t)(*end - p->from));
        out->differ = true;
        return NULL;
    }
    size_t n = word_length(p->from + 1, p->to);
    /* this brace begins no substitution and stays as it is */
    if (n == 0 || p->from + 1 + n == p->to || p->from[1 + n] != '}') {
        put(out, "{", 1);
        *end = p->from + 1;
        return NULL;
    }
    *end = p->from + n + 2;
    return put_word(c, p->at, dt_arena_printf(c->arena, "%.*s", (int)n, p->from + 1), out);
}

static dt_status *expand(substitution *c, const piece *p, texts *out) {
    if (p->depth > MOST_DEPTH)
        return dt_fail(DT_E_SUBSTITUTION, p->at, "defaults inside defaults deeper than %d levels",
                       MOST_DEPTH);
    for (const char *at = p->from; at < p->to;) {
        bool begins = *at == '{' || (*at == '$' && at + 1 < p->to && at[1] == '{');
        if (begins) DT_TRY(put_one(c, &(piece){p->at, at, p->to, p->depth}, out, &at));
        else put(out, at++, 1);
        if (c->bytes + out->value.size + out->recorded.size > MOST_BYTES)
            return dt_fail(DT_E_JOB_LIMIT, p->at, "substitutions make the job larger than 1 MiB");
    }
    return NULL;
}

/* If the whole text is one {word}, returns the value of that word of `let`. NULL: the text is
 * something else, or `let` has no such word, or the braces have another meaning: a variable of a
 * Repeat, or a metric in a callback's filepath. */
static const dt_tree *whole_value(const substitution *c, const char *text) {
    size_t n = *text == '{' ? word_length(text + 1, text + strlen(text)) : 0;
    if (n == 0 || strcmp(text + 1 + n, "}") != 0 || is_filepath(c->key) ||
        is_variable(c->scope, dt_arena_printf(c->arena, "%.*s", (int)n, text + 1)))
        return NULL;
    return let_value(c, text + 1, n);
}

static size_t count_nodes(const dt_tree *t) {
    size_t n = 1;
    for (int i = 0; t->kind != DT_TREE_SCALAR && i < t->n; i++)
        n += count_nodes(t->kind == DT_TREE_MAP ? t->entry[i].value : t->item[i]);
    return n;
}

static dt_status *take_value(substitution *c, dt_tree *t, const dt_tree *value) {
    c->bytes += NODE_BYTES * count_nodes(value);
    if (c->bytes > MOST_BYTES)
        return dt_fail(DT_E_JOB_LIMIT, &t->at, "substitutions make the job larger than 1 MiB");
    const dt_location used = t->at;
    *t = *dt_tree_copy(c->arena, value);
    if (!t->recorded || is_path(c->key)) return NULL;
    t->text = t->recorded;
    t->at = used;
    return not_a_path(t);
}

/* Whether the text is from a model file of Keras, which has no line in a job file; such texts are
 * not substituted. */
static bool is_of_keras(const dt_tree *t) { return t->at.source && t->at.line == 0; }

static dt_status *substitute_text(substitution *c, dt_tree *t) {
    texts text = {0};
    if (!strchr(t->text, '{') || is_of_keras(t)) return NULL;
    const dt_tree *value = whole_value(c, t->text);
    if (value) return take_value(c, t, value);
    if (strstr(t->text, "${") && !is_path(c->key)) return not_a_path(t);
    dt_status *s = expand(c, &(piece){&t->at, t->text, t->text + strlen(t->text), 0}, &text);
    c->bytes += text.value.size;
    if (!s) {
        t->text = dt_arena_strdup(c->arena, dt_str_text(&text.value));
        t->recorded = text.differ ? dt_arena_strdup(c->arena, dt_str_text(&text.recorded)) : NULL;
        /* a substituted path stays a text, even if it looks like a number */
        t->quoted |= text.differ;
    }
    /* a word of `let` or {run_dir} may bring a variable into a text that is not a path, where it is
     * not allowed */
    if (t->recorded && !is_path(c->key)) {
        t->text = t->recorded;
        s = not_a_path(t);
    }
    dt_str_release(&text.value);
    dt_str_release(&text.recorded);
    return s;
}

/* ---- the tree ---- */

/* Expands "~/" in a path. Records keep "~/", as they keep the names of variables. */
static dt_status *localize(substitution *c, dt_tree *t) {
    char *path = NULL;
    if (!is_path(c->key) || strncmp(c->key, "let", 3) == 0 || t->kind != DT_TREE_SCALAR)
        return NULL;
    DT_TRY(dt_at(dt_path_local(t->text, &path), &t->at));
    if (!path) return NULL;
    t->recorded = t->recorded ? t->recorded : t->text;
    t->text = dt_arena_strdup(c->arena, path);
    t->quoted = true;
    free(path);
    note_variable(c->job, "HOME", getenv("HOME"));
    return NULL;
}

/* Substitutes words and variables in a key's value. In the value of `match`, braces belong to
 * patterns and are left as they are. A Repeat has variables of its own. */
static dt_status *substitute_entry(substitution *c, const dt_entry *e) {
    const dt_tree *variables = strcmp(e->key, "Repeat") == 0 ? dt_tree_get(e->value, "for") : NULL;
    const scope *outer = c->scope, inner = {variables, outer};
    if (strcmp(e->key, "match") == 0) return NULL;
    dt_status *faults = let_check_variables(c, variables);
    const char *above = c->key;
    /* only the beginning of a long key is kept, since the keys that matter here are short */
    dt_str key = {0};
    dt_str_printf(&key, "%s%s%.*s", above ? above : "", above && *above ? "." : "", LONGEST_NAME,
                  e->key);
    c->key = dt_str_text(&key);
    c->scope = variables ? &inner : outer;
    dt_status_append(&faults, substitute(c, e->value));
    c->scope = outer;
    c->key = above;
    dt_str_release(&key);
    return faults;
}

/* The recursion is at most as deep as the tree. */
static dt_status *substitute(substitution *c, dt_tree *t) {
    dt_status *faults = NULL;
    if (t == c->done[0] || t == c->done[1] || t == c->done[2]) return NULL;
    if (t->kind == DT_TREE_SCALAR) {
        DT_TRY(substitute_text(c, t));
        return localize(c, t);
    }
    const char *key = c->key;
    if (t->kind == DT_TREE_LIST && is_vocabulary(key))
        c->key = NULL; /* words in a list are plain words, not names of files */
    for (int i = 0; i < t->n; i++)
        dt_status_append(&faults, t->kind == DT_TREE_MAP ? substitute_entry(c, &t->entry[i])
                                                         : substitute(c, t->item[i]));
    c->key = key;
    return faults;
}

/* ---- name and output.dir ---- */

static bool is_name(const char *name) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return *name && *name != '.' && strlen(name) <= LONGEST_NAME &&
           name[strspn(name, allowed)] == '\0';
}

/* Returns the name of a job's file, in the arena, without its folder and without .yaml or .yml at
 * its end: "mnist" for "dir/mnist.yaml"; "job" for "-", standard input. */
static const char *name_of_file(dt_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    if (strcmp(path, "-") == 0) return "job";
    if (n > 5 && strcmp(base + n - 5, ".yaml") == 0) n -= 5;
    else if (n > 4 && strcmp(base + n - 4, ".yml") == 0) n -= 4;
    return dt_arena_printf(arena, "%.*s", (int)n, base);
}

static dt_status *find_name(dt_job *j, substitution *c, const char *path) {
    dt_tree *t = dt_tree_get(j->tree, "name");
    bool given = t && t->kind != DT_TREE_NULL;
    c->done[0] = given ? t : NULL;
    j->name = name_of_file(j->arena, path);
    if (given && t->kind == DT_TREE_SCALAR) {
        c->key = "name";
        DT_TRY(substitute_text(c, t));
        j->name = t->text;
    }
    if (is_name(j->name)) return NULL;
    if (given)
        return dt_suggest(
            dt_fail(DT_E_JOB_NAME, &t->at, "'%.80s' cannot be the name of a job", j->name),
            "letters, digits, '.', '_' and '-', no leading dot");
    return dt_suggest(dt_fail(DT_E_JOB_NAME, &j->at,
                              "the file's name '%.80s' cannot be the name of the job", j->name),
                      "write name: ...");
}

static dt_status *find_run_dir(dt_job *j, substitution *c) {
    dt_tree *t = dt_tree_get(dt_tree_get(j->tree, "output"), "dir");
    j->run_dir = dt_arena_printf(j->arena, "runs/%s", j->name);
    if (!t || t->kind != DT_TREE_SCALAR) return NULL;
    c->done[1] = t;
    c->key = "output.dir";
    DT_TRY(substitute_text(c, t));
    DT_TRY(localize(c, t));
    j->run_dir = t->text;
    c->recorded_dir = t->recorded;
    return NULL;
}

/* Unused words of `let` are reported only if there is no other fault, which may have prevented the
 * use. */
dt_status *dt_job_substitute(dt_job *j, const char *path) {
    substitution c = {.arena = j->arena, .job = j};
    dt_status *faults = let_find(j, &c);
    dt_status_append(&faults, find_name(j, &c, path));
    c.name = j->name;
    dt_status_append(&faults, find_run_dir(j, &c));
    c.run_dir = j->run_dir;
    c.key = NULL;
    dt_status_append(&faults, substitute(&c, j->tree));
    dt_hash_index_release(&c.words);
    return faults ? faults : let_check_used(j, &c);
}
