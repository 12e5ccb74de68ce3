/*
 * Every key that a job file may have, told one by one: for completions, manual pages, schemas. Nothing is written down here but where in a job
 * the tables stand: a section has its own, and a key that names a kind ("compile.optimizer") has one for each kind, whose keys stand in a
 * mapping of the kind's name ("compile.optimizer.Adam.beta_1") or beside the key ("strategy.replicas").
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "job/job.h"

enum { LONGEST_PATH = 256, MOST_KINDS = 256 };

/* ---- sections ---- */

typedef struct section {
    const char *name;
    const dt_field *(*fields)(void);
} section;

static const section sections[] = {
    {"backend", dt_backend_fields},       {"strategy", dt_strategy_fields}, {"reproducible", dt_reproducible_fields},
    {"dataset", dt_dataset_fields},       {"model", dt_model_fields},       {"compile", dt_compile_fields},
    {"fit", dt_fit_fields},               {"checkpoint", dt_checkpoint_fields}, {"output", dt_output_fields},
};

/* ---- kinds ---- */

typedef struct kind {
    const char *name, *about; /* name NULL: there are no more */
    const dt_field *fields;
} kind;

static kind strategy_at(int i)
{
    int n;
    const dt_strategy_row *const *rows = dt_strategy_rows(&n);
    return i < n ? (kind){rows[i]->kind.name, rows[i]->kind.about, rows[i]->kind.fields} : (kind){0};
}

static kind format_at(int i)
{
    int n;
    const dt_format *const *rows = dt_formats(&n);
    return i < n ? (kind){rows[i]->kind.name, rows[i]->kind.about, rows[i]->fields} : (kind){0};
}

#define KINDS(function, rows_of)                                                                          \
    static kind function(int i)                                                                           \
    {                                                                                                     \
        int n;                                                                                            \
        const dt_kind *const *rows = rows_of(&n);                                                         \
        return i < n ? (kind){rows[i]->name, rows[i]->about, rows[i]->fields} : (kind){0};                \
    }
KINDS(layer_at, dt_layers)
KINDS(optimizer_at, dt_optimizers)
KINDS(rate_at, dt_rates)
KINDS(loss_at, dt_losses)
KINDS(metric_at, dt_metrics)
KINDS(callback_at, dt_callback_kinds)

typedef struct sort {
    const char *key;  /* that names one */
    const char *stem; /* where the keys of a kind stand, below its name; beside: without it */
    bool beside;
    kind (*at)(int i);
} sort;

static const sort sorts[] = {
    {"strategy.type", "strategy", true, strategy_at},
    {"dataset.format", "dataset", true, format_at},
    {"model.layers", "model.layers[]", false, layer_at},
    {"compile.optimizer", "compile.optimizer", false, optimizer_at},
    {"compile.optimizer.*.learning_rate", "compile.optimizer.*.learning_rate", false, rate_at},
    {"compile.loss", "compile.loss", false, loss_at},
    {"compile.metrics", "compile.metrics[]", false, metric_at},
    {"fit.callbacks", "fit.callbacks[]", false, callback_at},
};
enum { SECTIONS = sizeof sections / sizeof *sections, SORTS = sizeof sorts / sizeof *sorts };

/* ---- telling ---- */

typedef struct telling {
    void (*key)(const dt_job_key *key, void *user);
    void *user;
    const kind *of; /* whose keys are told; NULL: a section's */
} telling;

static const char *type_name(const dt_field *f)
{
    static const char *const names[] = {
        [DT_FIELD_INT] = "integer",        [DT_FIELD_REAL] = "number",        [DT_FIELD_BOOL] = "boolean",        [DT_FIELD_TEXT] = "text",
        [DT_FIELD_ENUM] = "name",          [DT_FIELD_INTS] = "integers",      [DT_FIELD_REALS] = "numbers",       [DT_FIELD_TEXTS] = "texts",
        [DT_FIELD_TABLE] = "mapping",
    };
    if (f->kind == DT_FIELD_TREE)
        return f->as == DT_TREE_MAP ? "mapping" : f->as == DT_TREE_LIST ? "list" : f->as == DT_TREE_SCALAR ? "scalar" : "any";
    return names[f->kind];
}

/* As the fields are read: both limits 0 are none, and a lone maximum has 0 below it. */
static void set_range(const dt_field *f, dt_job_key *key)
{
    bool limited = f->min != 0 || f->max != 0 || f->above_min;
    key->has_min = limited;
    key->has_max = limited && isfinite(f->max) && (f->max != 0 || f->below_max);
    key->min = f->min;
    key->max = f->max;
    key->above_min = f->above_min;
    key->below_max = f->below_max;
}

static const sort *sort_of(const char *path)
{
    for (int i = 0; i < SORTS; i++)
        if (strcmp(sorts[i].key, path) == 0)
            return &sorts[i];
    return NULL;
}

/* Names that a key may have, NULL behind the last; they are room for the caller's. */
static const char *const *names_of(const dt_field *f, const char *path, const char *names[MOST_KINDS])
{
    const sort *s = sort_of(path);
    int n = 0;
    if (!s)
        return f->kind == DT_FIELD_ENUM ? f->choices : NULL;
    for (kind k = s->at(0); k.name && n < MOST_KINDS - 1; k = s->at(++n))
        names[n] = k.name;
    names[n] = NULL;
    return names;
}

static void tell_fields(const telling *t, const char *stem, const dt_field *fields);

static void tell_field(const telling *t, const char *stem, const dt_field *f)
{
    char path[LONGEST_PATH];
    const char *names[MOST_KINDS];
    snprintf(path, sizeof path, "%s%s%s", stem, *stem ? "." : "", f->name);
    dt_job_key key = {.path = path, .type = type_name(f), .help = f->help, .preset = f->preset, .choices = names_of(f, path, names),
                      .required = f->required};
    if (t->of)
        key.kind = t->of->name, key.about = t->of->about;
    set_range(f, &key);
    t->key(&key, t->user);
    if (f->kind == DT_FIELD_TABLE)
        tell_fields(t, path, f->table);
}

static void tell_fields(const telling *t, const char *stem, const dt_field *fields)
{
    for (const dt_field *f = fields; f && f->kind != DT_FIELD_END; f++)
        if (f->kind != DT_FIELD_INSTEAD)
            tell_field(t, stem, f);
}

/* A kind without keys is told all the same, by its name alone. */
static void tell_kind(const telling *t, const sort *s, const kind *k)
{
    char stem[LONGEST_PATH];
    telling of = *t;
    of.of = k;
    snprintf(stem, sizeof stem, "%s.%s", s->stem, k->name);
    if (!s->beside)
        t->key(&(dt_job_key){.path = stem, .type = "mapping", .help = k->about, .kind = k->name, .about = k->about}, t->user);
    tell_fields(&of, s->beside ? s->stem : stem, k->fields);
}

DT_API void dt_job_keys(void (*key)(const dt_job_key *key, void *user), void *user)
{
    const telling t = {key, user, NULL};
    tell_fields(&t, "", dt_job_fields());
    for (int i = 0; i < SECTIONS; i++)
        tell_fields(&t, sections[i].name, sections[i].fields());
    for (int i = 0; i < SORTS; i++)
        for (int n = 0; sorts[i].at(n).name; n++) {
            const kind k = sorts[i].at(n);
            tell_kind(&t, &sorts[i], &k);
        }
}
