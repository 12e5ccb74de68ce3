/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in `let`: sizes, words and lists that a job defines once, so that one override changes
 * them.
 *
 *     let: {width: 4096, heads: 32}
 *     ...
 *           - Dense: {units: "{width}"}      # dtrain plan job.yaml let.width=8192
 *
 * A text that is nothing but a word becomes its value, a number, a word, null, a list or a mapping,
 * which keeps its place in the file. A value may use names defined before it. A name that is not
 * used is an error, because a misspelt override would change nothing. But words of the file are not
 * asked for where there are overrides: who says dataset.global_batch_size=256 need not know that
 * "{batch}" stood there.
 */
#include <string.h>

#include "job/substitute.h"

const dt_tree *dt_let_value(const dt_substitution *c, const char *word, size_t n) {
    for (int i = 0; i < c->n_let; i++) {
        const dt_entry *e = &c->let->entry[i];
        if (strlen(e->key) != n || strncmp(e->key, word, n) != 0) continue;
        c->used[i] = true;
        return e->value;
    }
    return NULL;
}

/* A word has one meaning. */
dt_status *dt_let_check_variables(const dt_substitution *c, const dt_tree *variables) {
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
    if (n > 0 && dt_word_length(e->key, e->key + n) == n) return NULL;
    return dt_suggest(
        dt_fail(DT_E_SUBSTITUTION, &e->key_at, "'%.80s' cannot be a name in 'let'", e->key),
        "letters, digits and '_', no leading digit");
}

dt_status *dt_let_find(dt_job *j, dt_substitution *c) {
    dt_status *faults = NULL;
    dt_tree *let = dt_tree_get(j->tree, "let");
    if (!let || let->kind != DT_TREE_MAP) return NULL;
    c->let = let;
    c->done[2] = let;
    c->used = dt_arena_array(c->arena, bool, let->n);
    for (; c->n_let < let->n; c->n_let++) {
        dt_status_append(&faults, check_let_name(&let->entry[c->n_let]));
        c->key = "let";
        dt_status_append(&faults, dt_substitute(c, let->entry[c->n_let].value));
    }
    return faults;
}

/* Of what is planned, all that files name: plans are for other strategies and sizes than theirs.
 * Else an override that changes nothing is told. */
static bool may_be_idle(const dt_job *j, const dt_entry *e) {
    bool in_files = dt_job_is_of_files(j, e->key_at.source);
    return e->value->kind == DT_TREE_NULL || (in_files && j->purpose == DT_FOR_PLAN) ||
           (in_files && j->overridden && dt_job_is_of_files(j, e->value->at.source));
}

dt_status *dt_let_check_used(const dt_job *j, const dt_substitution *c) {
    dt_status *faults = NULL;
    const char **others = dt_arena_array(c->arena, const char *, c->n_let);
    int n = 0;
    for (int i = 0; i < c->n_let; i++)
        if (c->used[i]) others[n++] = c->let->entry[i].key;
    for (int i = 0; i < c->n_let; i++) {
        const dt_entry *e = &c->let->entry[i];
        if (c->used[i] || may_be_idle(j, e)) continue;
        dt_status *s = dt_fail(DT_E_SUBSTITUTION, &e->key_at, "nothing uses '{%.80s}'", e->key);
        const char *nearest = dt_nearest(e->key, others, n);
        dt_status_append(&faults, nearest ? dt_suggest(s, "did you mean '%s'?", nearest) : s);
    }
    return faults;
}
