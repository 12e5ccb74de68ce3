/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the keys of `init_from`. Its key `freeze` sets `trainable: false` for layers by name. */
#include <string.h>

#include "base/pattern.h"
#include "model/model.h"

const char *const dt_weight_names[] = {
    [DT_NAMES_KERAS] = "keras", [DT_NAMES_TORCH] = "torch", NULL};

#define TEXTS DT_FORMS(DT_LIST_AS(const char *, DT_FORM(DT_FIELD_TEXT)))
const dt_field dt_init_from_fields[] = {
    DT_TEXT(dt_init_from, path, .required = true,
            .help = "a checkpoint, a run, or a file of weights, relative to the working directory"),
    DT_FLAG(dt_init_from, skip_mismatch,
            .help =
                "initialize weights that are missing or have another shape, with a warning each"),
    DT_ENUM(dt_init_from, names, dt_weight_names,
            .help = "whose names and shapes the file has. torch: fc1.weight, (outputs, inputs), "
                    "is the fc1/kernel of dtrain and Keras"),
    DT_FIELD(ONE_OF, dt_init_from, map, DT_AT(dt_init_from, map_at),
             .forms = DT_FORMS(DT_MAP_AS(const char *, DT_FORM(DT_FIELD_TEXT))),
             .help =
                 "regular expressions of stored names, and what replaces a match: "
                 "{'^encoder\\.(.*)': 'enc.\\1'}; each is applied to what those before it gave"),
    DT_FIELD(ONE_OF, dt_init_from, skip, .forms = TEXTS, DT_AT(dt_init_from, skip_at),
             .help = "regular expressions; weights whose name matches, as `names` and `map` give "
                     "it, are not read, and initialized"),
    DT_FIELD(ONE_OF, dt_init_from, freeze, .forms = TEXTS, DT_AT(dt_init_from, freeze_at),
             .help = "regular expressions; layers whose name matches get `trainable: false`"),
    DT_END};

/* The number of patterns is limited, since each is matched against many names. */
enum { MOST_EXPRESSIONS = 1024 };

static const char *text_of(const dt_items *list, int i) { return ((const char **)list->v)[i]; }

static dt_status *check_number(int n, const dt_location *at, const char *what) {
    if (n <= MOST_EXPRESSIONS) return NULL;
    return dt_fail(DT_E_RANGE, at, "%s must have at most %d expressions, got %d", what,
                   MOST_EXPRESSIONS, n);
}

static dt_status *check(const char *expression, const dt_location *at) {
    dt_pattern *p;
    dt_status *bad = dt_pattern_create(&p, expression);
    dt_pattern_destroy(p);
    return bad ? dt_at(bad, at) : NULL;
}

static dt_status *check_list(const dt_items *list, const dt_location *at, const char *what) {
    dt_status *faults = NULL;
    DT_TRY(check_number(list->n, at, what));
    for (int i = 0; i < list->n; i++)
        dt_status_append(&faults, check(text_of(list, i), &list->entry[i].value->at));
    return faults;
}

dt_status *dt_init_from_check(const dt_init_from *from) {
    dt_status *faults = NULL;
    DT_TRY(check_number(from->map.n, &from->map_at, "map"));
    for (int i = 0; i < from->map.n; i++)
        dt_status_append(&faults, check(from->map.entry[i].key, &from->map.entry[i].key_at));
    dt_status_append(&faults, check_list(&from->skip, &from->skip_at, "skip"));
    dt_status_append(&faults, check_list(&from->freeze, &from->freeze_at, "freeze"));
    return faults;
}

static dt_status *freeze(const dt_entry *e, const char *const *name, const dt_named *named, int n) {
    const char *text = e->value->text;
    dt_pattern *p;
    bool found = false;
    DT_TRY(dt_pattern_create(&p, text));
    for (int i = 0; i < n; i++) {
        const bool faulty = !named[i].kind; /* it could not be read; the pattern may mean it */
        const bool matches = !faulty && dt_pattern_finds(p, name[i]);
        if (matches) ((dt_layer_head *)named[i].args)->trainable = false;
        found |= matches || faulty;
    }
    dt_pattern_destroy(p);
    return found ? NULL
                 : dt_fail(DT_E_RANGE, &e->value->at, "freeze: no layer has a name like '%.80s'",
                           text);
}

/* Freezes layer i if it uses the weights of a frozen layer. */
static void freeze_with_owner(const char *const *name, const dt_named *named, int i) {
    dt_layer_head *head = named[i].kind ? named[i].args : NULL;
    for (int k = 0; head && head->weights_of.n && k < i; k++)
        if (named[k].kind && strcmp(name[k], head->weights_of.v[0]) == 0)
            head->trainable &= ((const dt_layer_head *)named[k].args)->trainable;
}

dt_status *dt_init_from_freeze(const dt_init_from *from, const char *const *name,
                               const dt_named *named, int n) {
    const dt_items *list = &from->freeze;
    dt_status *faults = NULL;
    /* dt_init_from_check reports too many patterns. */
    if (list->n > MOST_EXPRESSIONS) return NULL;
    for (int i = 0; i < list->n; i++)
        dt_status_append(&faults, freeze(&list->entry[i], name, named, n));
    for (int i = 0; list->entry && i < n; i++) freeze_with_owner(name, named, i);
    return faults;
}
