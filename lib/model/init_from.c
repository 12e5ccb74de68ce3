/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the keys of `init_from`. Its key `freeze` sets `trainable: false` for layers by name. */
#include <string.h>

#include "base/pattern.h"
#include "model/model.h"

const char *const dt_weight_names[] = {
    [DT_NAMES_KERAS] = "keras", [DT_NAMES_TORCH] = "torch", NULL};

#define TEXTS DT_FORMS(DT_LIST_OF(DT_FORM(DT_FIELD_TEXT)))
const dt_field dt_init_from_fields[] = {
    DT_TEXT(dt_init_from, path, .required = true,
            .help = "a checkpoint, a run, or a file of weights, relative to the working directory"),
    DT_FLAG(dt_init_from, skip_mismatch,
            .help =
                "initialize weights that are missing or have another shape, with a warning each"),
    DT_ENUM(dt_init_from, names, dt_weight_names,
            .help = "whose names and shapes the file has. torch: fc1.weight, (outputs, inputs), "
                    "is the fc1/kernel of dtrain and Keras"),
    DT_TREE(dt_init_from, map, .as = DT_TREE_MAP,
            .forms = DT_FORMS(DT_MAP_OF(DT_FORM(DT_FIELD_TEXT))),
            .help = "regular expressions of stored names, and what replaces a match: "
                    "{'^encoder\\.(.*)': 'enc.\\1'}; each is applied to what those before it gave"),
    DT_TREE(dt_init_from, skip, .as = DT_TREE_LIST, .forms = TEXTS,
            .help = "regular expressions; weights whose name matches, as `names` and `map` give "
                    "it, are not read, and initialized"),
    DT_TREE(dt_init_from, freeze, .as = DT_TREE_LIST, .forms = TEXTS,
            .help = "regular expressions; layers whose name matches get `trainable: false`"),
    DT_END};

enum { MOST_EXPRESSIONS = 1024 }; /* limited, since each expression is matched against each name */

static dt_status *check_number(const dt_tree *list, const char *what) {
    if (!list || list->n <= MOST_EXPRESSIONS) return NULL;
    return dt_fail(DT_E_RANGE, &list->at, "%s must have at most %d expressions, got %d", what,
                   MOST_EXPRESSIONS, list->n);
}

static dt_status *check(const char *expression, const dt_location *at) {
    dt_pattern *p;
    dt_status *bad = dt_pattern_create(&p, expression);
    dt_pattern_destroy(p);
    return bad ? dt_at(bad, at) : NULL;
}

static dt_status *check_list(const dt_tree *list, const char *what) {
    dt_status *faults = NULL;
    DT_TRY(check_number(list, what));
    for (int i = 0; list && i < list->n; i++) {
        const char *text = NULL;
        dt_status *bad = dt_tree_text(list->item[i], what, &text);
        dt_status_append(&faults, bad ? bad : check(text, &list->item[i]->at));
    }
    return faults;
}

dt_status *dt_init_from_check(const dt_init_from *from) {
    dt_status *faults = NULL;
    DT_TRY(check_number(from->map, "map"));
    for (int i = 0; from->map && i < from->map->n; i++) {
        const dt_entry *e = &from->map->entry[i];
        const char *by;
        dt_status_append(&faults, check(e->key, &e->key_at));
        dt_status_append(&faults, dt_tree_text(e->value, "map", &by));
    }
    dt_status_append(&faults, check_list(from->skip, "skip"));
    dt_status_append(&faults, check_list(from->freeze, "freeze"));
    return faults;
}

static dt_status *freeze(const dt_tree *item, const char *const *name, const dt_named *named,
                         int n) {
    dt_pattern *p;
    int found = 0;
    DT_TRY(dt_pattern_create(&p, item->text));
    for (int i = 0; i < n; i++)
        if (named[i].kind && dt_pattern_finds(p, name[i])) {
            ((dt_layer_head *)named[i].args)->trainable = false;
            found++;
        }
    dt_pattern_destroy(p);
    return found ? NULL
                 : dt_fail(DT_E_RANGE, &item->at, "freeze: no layer has a name like '%.80s'",
                           item->text);
}

/* A layer that uses the weights of a frozen one is frozen. */
static void freeze_with_owner(const char *const *name, const dt_named *named, int i) {
    dt_layer_head *head = named[i].kind ? named[i].args : NULL;
    const dt_tree *of = head ? dt_given(head->weights_of) : NULL;
    for (int k = 0; of && of->kind == DT_TREE_SCALAR && k < i; k++)
        if (named[k].kind && strcmp(name[k], of->text) == 0)
            head->trainable &= ((const dt_layer_head *)named[k].args)->trainable;
}

dt_status *dt_init_from_freeze(const dt_init_from *from, const char *const *name,
                               const dt_named *named, int n) {
    dt_status *faults = NULL;
    /* Too many expressions are reported by check_number. */
    if (from->freeze && from->freeze->n > MOST_EXPRESSIONS) return NULL;
    for (int i = 0; from->freeze && i < from->freeze->n; i++)
        if (from->freeze->item[i]->kind == DT_TREE_SCALAR)
            dt_status_append(&faults, freeze(from->freeze->item[i], name, named, n));
    for (int i = 0; from->freeze && i < n; i++) freeze_with_owner(name, named, i);
    return faults;
}
