/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a job names besides its data and that determine what tokens mean: vocabularies and
 * tokenizers. If the tokens are the characters of the training text, these count as such a file.
 * Checkpoints store hashes of all of them, so that a run is not resumed with different ones. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "data/parts.h"

#define LARGEST_FILE ((size_t)1 << 30) /* The readers of these files have smaller limits. */

static bool is_known(const dt_parts *d, const char *name) {
    for (int i = 0; i < d->n_named; i++)
        if (strcmp(d->named[i].key, name) == 0) return true;
    return false;
}

/* Returns the text of a path as the job writes it, with ${VARIABLE}; NULL if no text of the tree is
 * that path, or it has no variable. */
static const char *recorded(const dt_tree *t, const char *path) {
    const char *found = NULL;
    if (t && t->recorded && strcmp(t->text, path) == 0) return t->recorded;
    for (int i = 0; t && i < t->n && !found; i++)
        found = recorded(t->kind == DT_TREE_MAP ? t->entry[i].value : t->item[i], path);
    return found;
}

static const char characters[] = "characters of dataset.train"; /* stands for a file's name */

static void cache_file(dt_parts *d, const char *name, const char *bytes, size_t n) {
    const dt_digest digest = dt_sha256_of(bytes, n);
    dt_pair *all = dt_arena_array(d->arena, dt_pair, d->n_named + 1);
    for (int i = 0; i < d->n_named; i++) all[i] = d->named[i];
    all[d->n_named++] =
        (dt_pair){dt_arena_strdup(d->arena, name), dt_arena_strdup(d->arena, digest.hex)};
    d->named = all;
}

static dt_status *add(dt_parts *d, const char *path) {
    dt_str bytes = {0};
    const char *as_written = recorded(d->spec.tree, path), *name = as_written ? as_written : path;
    if (is_known(d, name)) return NULL;
    char *file = dt_path_join(d->spec.directory, path);
    dt_status *s = dt_file_read(file, LARGEST_FILE, &bytes);
    if (!s) cache_file(d, name, dt_str_text(&bytes), bytes.size);
    free(file);
    dt_str_release(&bytes);
    return s;
}

dt_status *dt_parts_hash_named(dt_parts *d) {
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const dt_rows *r = &d->rows[p];
        if (r->x && r->x->named) DT_TRY(add(d, r->x->named));
        if (r->x && r->x->characters && !is_known(d, characters))
            cache_file(d, characters, r->x->characters, strlen(r->x->characters));
        for (int e = 0; r->x && e < d->n; e++)
            for (int i = 0; dt_map_plan_file(r->plan[e], i); i++)
                DT_TRY(add(d, dt_map_plan_file(r->plan[e], i)));
    }
    return NULL;
}

const char *dt_dataset_named_files(const dt_dataset *data, dt_arena *arena) {
    const dt_parts *d = dt_parts_of(data);
    dt_str out = {0};
    dt_json j = {.out = &out};
    if (d->n_named == 0) return NULL;
    dt_json_open(&j, NULL, '{');
    for (int i = 0; i < d->n_named; i++) dt_json_string(&j, d->named[i].key, d->named[i].value);
    dt_json_close(&j, '}');
    return dt_arena_take(arena, &out);
}

/* Whether an object has a member with this name and another value. Both values were written by this
 * file, so texts are compared. */
static bool differs(const char *object, const dt_pair *file) {
    dt_str same = {0}, name = {0};
    dt_json_string(&(dt_json){.out = &name}, NULL, file->key);
    dt_str_printf(&same, "%s: \"%s\"", dt_str_text(&name), file->value);
    const bool found = strstr(object, dt_str_text(&same)) != NULL,
               named = strstr(object, dt_str_text(&name)) != NULL;
    dt_str_release(&same);
    dt_str_release(&name);
    return named && !found;
}

dt_status *dt_parts_check_named(const dt_parts *d, const char *then) {
    for (int i = 0; then && i < d->n_named; i++)
        if (differs(then, &d->named[i]) && strcmp(d->named[i].key, characters) == 0)
            return dt_suggest(dt_fail(DT_E_OTHER_JOB, &d->spec.at,
                                      "the training text has other characters than the checkpoint "
                                      "was trained with, so that tokens stand for others"),
                              "restore the old text, or train again: fit --fresh");
        else if (differs(then, &d->named[i]))
            return dt_suggest(dt_fail(DT_E_OTHER_JOB, &d->spec.at,
                                      "%s is not the file that the checkpoint was trained with: "
                                      "it has other bytes",
                                      d->named[i].key),
                              "restore the old file, or train again: fit --fresh");
    return NULL;
}

dt_status *dt_dataset_check_named(const dt_dataset *d, const char *then) {
    return dt_parts_check_named(dt_parts_of(d), then);
}
