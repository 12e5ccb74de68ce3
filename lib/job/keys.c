/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the keys that a job file may have, for completions, manual pages and the reference. This
 * file only knows where in a job the tables apply: a section has its own, and a key that names a
 * kind ("compile.optimizer") has one for each kind, whose keys are in a mapping of the kind's name
 * ("compile.optimizer.Adam.beta_1") or beside the key ("strategy.replicas").
 */
#include "job/keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "data/map.h"
#include "job/partition.h"

/* ---- the tables ---- */

/* The tables of keys, and where in a job file each applies: sections, and things that are chosen by
 * name, such as layers. See keys.h. */

/* ---- sections ---- */

static const dt_field *partition_fields(void) {
    const dt_field *others;
    return dt_partition_fields(&others);
}

static const dt_section all_sections[] = {
    {"backend", dt_backend_fields},       {"strategy", dt_strategy_fields},
    {"partition", partition_fields},      {"reproducible", dt_reproducible_fields},
    {"dataset", dt_dataset_fields},       {"model", dt_model_fields},
    {"compile", dt_compile_fields},       {"fit", dt_fit_fields},
    {"checkpoint", dt_checkpoint_fields}, {"output", dt_output_fields},
};

const dt_section *dt_sections(int *n) {
    *n = sizeof all_sections / sizeof *all_sections;
    return all_sections;
}

/* ---- kinds ---- */

static const dt_kind *strategy_at(int i) {
    int n;
    const dt_strategy_row *const *rows = dt_strategy_rows(&n);
    return i < n ? &rows[i]->kind : NULL;
}

static const dt_kind *format_at(int i) { return i < dt_formats() ? &dt_format_at(i)->kind : NULL; }

#define KINDS(function, rows_of)                                                                   \
    static const dt_kind *function(int i) {                                                        \
        int n;                                                                                     \
        const dt_kind *const *rows = rows_of(&n);                                                  \
        return i < n ? rows[i] : NULL;                                                             \
    }
KINDS(layer_at, dt_layers)
KINDS(repeat_at, dt_repeats)
KINDS(initializer_at, dt_initializers)
KINDS(regularizer_at, dt_regularizers)
KINDS(constraint_at, dt_constraints)
KINDS(optimizer_at, dt_optimizers)
KINDS(rate_at, dt_rates)
KINDS(loss_at, dt_losses)
KINDS(metric_at, dt_metrics)
KINDS(callback_at, dt_callback_kinds)
KINDS(step_at, dt_map_kinds)

static const dt_key_table all_sorts[] = {
    {"strategy", "strategy.type", "strategy", true, strategy_at, NULL},
    {"format", "dataset.format", "dataset", true, format_at, NULL},
    {"step", NULL, "dataset.map.*[]", false, step_at, dt_map_brief},
    {"layer", "model.layers", "model.layers[]", false, layer_at, NULL},
    {"repeat", NULL, "model.layers[]", false, repeat_at, NULL},
    {"initializer", NULL, "model.layers[].*.kernel_initializer", false, initializer_at, NULL},
    {"regularizer", NULL, "model.layers[].*.kernel_regularizer", false, regularizer_at, NULL},
    {"constraint", NULL, "model.layers[].*.kernel_constraint", false, constraint_at, NULL},
    {"optimizer", "compile.optimizer", "compile.optimizer", false, optimizer_at, NULL},
    {"schedule", NULL, "compile.optimizer.*.learning_rate", false, rate_at, NULL},
    {"loss", "compile.loss", "compile.loss", false, loss_at, NULL},
    {"metric", "compile.metrics", "compile.metrics[]", false, metric_at, NULL},
    {"callback", "fit.callbacks", "fit.callbacks[]", false, callback_at, NULL},
};
enum { SORTS = sizeof all_sorts / sizeof *all_sorts };

const dt_key_table *dt_key_tables(int *n) {
    *n = SORTS;
    return all_sorts;
}

const dt_key_table *dt_sort_named(const char *noun) {
    for (int i = 0; i < SORTS; i++)
        if (strcmp(all_sorts[i].noun, noun) == 0) return &all_sorts[i];
    return NULL;
}

/* ---- keys ---- */

enum { LONGEST_PATH = 256, MOST_KINDS = 256 };

typedef struct listing {
    void (*key)(const dt_job_key *key, void *user);
    void *user;
    /* the table whose kinds have the keys to list; NULL: keys of the top level or of a section are
     * listed */
    const dt_key_table *sort;
    const dt_kind *of;
} listing;

static void put_type(const dt_field *f, dt_str *out);

static void put_types(const dt_field *forms, dt_str *out) {
    for (const dt_field *f = forms; f->kind != DT_FIELD_END; f++) {
        if (f != forms) dt_str_puts(out, " or ");
        put_type(f, out);
    }
}

static bool has_forms(const dt_field *f) {
    return f->forms && (f->kind == DT_FIELD_TREE || f->kind == DT_FIELD_ONE_OF);
}

static void put_type(const dt_field *f, dt_str *out) {
    static const char *const names[] = {
        [DT_FIELD_INT] = "integer",   [DT_FIELD_REAL] = "number",     [DT_FIELD_BOOL] = "boolean",
        [DT_FIELD_TEXT] = "text",     [DT_FIELD_ENUM] = "name",       [DT_FIELD_INTS] = "integers",
        [DT_FIELD_REALS] = "numbers", [DT_FIELD_TEXTS] = "texts",     [DT_FIELD_TABLE] = "mapping",
        [DT_FIELD_LIST] = "list of ", [DT_FIELD_MAP] = "mapping of ", [DT_FIELD_WORDS] = "name",
        [DT_FIELD_SECONDS] = "text",
    };
    const char *trees = f->as == DT_TREE_MAP      ? "mapping"
                        : f->as == DT_TREE_LIST   ? "list"
                        : f->as == DT_TREE_SCALAR ? "scalar"
                                                  : "any";
    if (has_forms(f) && f->forms->kind != DT_FIELD_END) put_types(f->forms, out);
    else if (has_forms(f)) dt_str_puts(out, "null");
    else
        dt_str_puts(out, f->kind == DT_FIELD_TREE    ? trees
                         : f->kind == DT_FIELD_NAMED ? f->noun
                                                     : names[f->kind]);
    if (f->kind == DT_FIELD_INTS && f->lone) dt_str_puts(out, " or integer");
    if (f->kind == DT_FIELD_LIST || f->kind == DT_FIELD_MAP) put_types(f->forms, out);
}

/* Whether a field has a minimum, by the rule that reading uses: without above_min, a minimum and a
 * maximum that are both 0 mean no limit, and a maximum alone means a minimum of 0. */
bool dt_field_has_min(const dt_field *f) { return f->min != 0 || f->max != 0 || f->above_min; }

bool dt_field_has_max(const dt_field *f) {
    return dt_field_has_min(f) && isfinite(f->max) && (f->max != 0 || f->below_max);
}

const char *dt_field_default(const dt_field *f) {
    bool zero = !dt_field_has_min(f) || (f->min <= 0 && !f->above_min);
    if (f->preset || f->required || f->set) return f->preset;
    if (f->kind == DT_FIELD_BOOL) return "false";
    if (f->kind == DT_FIELD_ENUM) return f->choices[0];
    return (f->kind == DT_FIELD_INT || f->kind == DT_FIELD_REAL) && zero ? "0" : NULL;
}

static void set_range(const dt_field *f, dt_job_key *key) {
    key->has_min = dt_field_has_min(f);
    key->has_max = dt_field_has_max(f);
    key->min = f->min;
    key->max = f->max;
    key->above_min = f->above_min;
    key->below_max = f->below_max;
}

static const dt_key_table *sort_of(const char *path) {
    int n;
    const dt_key_table *sorts = dt_key_tables(&n);
    for (int i = 0; i < n; i++)
        if (sorts[i].key && strcmp(sorts[i].key, path) == 0) return &sorts[i];
    return NULL;
}

static const dt_field *form_of(const dt_field *f, dt_field_kind kind) {
    for (const dt_field *form = has_forms(f) ? f->forms : NULL; form && form->kind != DT_FIELD_END;
         form++)
        if (form->kind == kind) return form;
    return NULL;
}

/* Returns the field itself, or the one of its forms that limits numbers. */
static const dt_field *numbers_of(const dt_field *f) {
    const dt_field *integer = form_of(f, DT_FIELD_INT), *real = form_of(f, DT_FIELD_REAL);
    return integer ? integer : real ? real : f;
}

/* Returns the words that may be the value of a key, ending with NULL; NULL: the key has no list of
 * words. The result may be in `names`, which has space for MOST_KINDS pointers. */
static const char *const *names_of(const dt_field *f, const char *path,
                                   const char *names[MOST_KINDS]) {
    const dt_field *words = f->kind == DT_FIELD_ENUM ? f : form_of(f, DT_FIELD_WORDS),
                   *named = form_of(f, DT_FIELD_NAMED);
    if (!words) words = form_of(f, DT_FIELD_ENUM);
    const dt_key_table *s = named ? dt_sort_named(named->noun) : sort_of(path);
    int n = 0;
    if (!s) return words ? words->choices : NULL;
    for (const dt_kind *k = s->at(0); k && n < MOST_KINDS - 1; k = s->at(++n)) names[n] = k->name;
    names[n] = NULL;
    return names;
}

static void list_fields(const listing *t, const char *stem, const dt_field *fields);

/* Lists the keys of mappings that the forms of a field accept. */
static void list_forms(const listing *t, const char *path, const dt_field *forms) {
    char below[LONGEST_PATH];
    for (const dt_field *f = forms; f && f->kind != DT_FIELD_END; f++) {
        if (f->kind == DT_FIELD_TABLE) list_fields(t, path, f->table);
        if (f->kind != DT_FIELD_LIST && f->kind != DT_FIELD_MAP) continue;
        snprintf(below, sizeof below, "%s%s", path, f->kind == DT_FIELD_LIST ? "[]" : ".*");
        list_forms(t, below, f->forms);
    }
}

/* Returns a field's default. The default of an optimizer's learning rate is in the optimizer's
 * row. */
static const char *preset_of(const listing *t, const dt_field *f, char buffer[32]) {
    bool rate =
        t->of && strcmp(t->sort->noun, "optimizer") == 0 && strcmp(f->name, "learning_rate") == 0;
    if (rate) snprintf(buffer, 32, "%.10g", ((const dt_optimizer_row *)t->of)->rate);
    return rate ? buffer : dt_field_default(f);
}

static void list_field(const listing *t, const char *stem, const dt_field *f) {
    char path[LONGEST_PATH], preset[32];
    const char *names[MOST_KINDS];
    dt_local_str type = {0};
    snprintf(path, sizeof path, "%s%s%s", stem, *stem ? "." : "", f->name);
    put_type(f, &type);
    dt_job_key key = {.path = path,
                      .type = dt_str_text(&type),
                      .help = f->help,
                      .preset = preset_of(t, f, preset),
                      .choices = names_of(f, path, names),
                      .required = f->required,
                      .refused = f->forms && f->forms->kind == DT_FIELD_END};
    if (t->of)
        key.sort = t->sort->noun, key.kind = t->of->name, key.about = t->of->about,
        key.aliases = t->of->aliases;
    set_range(numbers_of(f), &key);
    t->key(&key, t->user);
    if (f->kind == DT_FIELD_TABLE) list_fields(t, path, f->table);
    if (has_forms(f)) list_forms(t, path, f->forms);
}

static void list_instead(const listing *t, const char *stem, const dt_field *f) {
    char path[LONGEST_PATH];
    snprintf(path, sizeof path, "%s%s%s", stem, *stem ? "." : "", f->name);
    dt_job_key key = {
        .path = path, .type = "", .help = f->instead, .preset = f->preset, .refused = true};
    if (t->of)
        key.sort = t->sort->noun, key.kind = t->of->name, key.about = t->of->about,
        key.aliases = t->of->aliases;
    t->key(&key, t->user);
}

static void list_fields(const listing *t, const char *stem, const dt_field *fields) {
    for (const dt_field *f = fields; f && f->kind != DT_FIELD_END; f++)
        if (f->kind == DT_FIELD_INSTEAD) list_instead(t, stem, f);
        else list_field(t, stem, f);
}

/* Lists the keys of a kind; before them the kind itself, unless its keys are beside those of its
 * section. */
static void list_kind(const listing *t, const dt_key_table *s, const dt_kind *k) {
    char stem[LONGEST_PATH];
    const listing of = {t->key, t->user, s, k};
    snprintf(stem, sizeof stem, "%s.%s", s->stem, k->name);
    if (!s->beside)
        t->key(&(dt_job_key){.path = stem,
                             .type = "mapping",
                             .help = k->about,
                             .sort = s->noun,
                             .kind = k->name,
                             .aliases = k->aliases,
                             .about = k->about},
               t->user);
    list_fields(&of, s->beside ? s->stem : stem, k->fields);
}

DT_API void dt_job_keys(void (*key)(const dt_job_key *key, void *user), void *user) {
    if (!key) return;
    const listing t = {key, user, NULL, NULL};
    int n_sections, n_sorts;
    const dt_section *sections = dt_sections(&n_sections);
    const dt_key_table *sorts = dt_key_tables(&n_sorts);
    list_fields(&t, "", dt_job_fields());
    for (int i = 0; i < n_sections; i++) list_fields(&t, sections[i].name, sections[i].fields());
    for (int i = 0; i < n_sorts; i++)
        for (int n = 0; sorts[i].at(n); n++) list_kind(&t, &sorts[i], sorts[i].at(n));
}
