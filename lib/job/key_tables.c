/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of keys, and where in a job file each applies: sections, and things that are chosen by
 * name, such as layers. See keys.h. */
#include <string.h>

#include "data/map.h"
#include "job/keys.h"
#include "job/partition.h"

/* ---- sections ---- */

static const dt_field *partition_fields(void) {
    const dt_field *others;
    return dt_partition_fields(&others);
}

static const dt_section sections[] = {
    {"backend", dt_backend_fields},       {"strategy", dt_strategy_fields},
    {"partition", partition_fields},      {"reproducible", dt_reproducible_fields},
    {"dataset", dt_dataset_fields},       {"model", dt_model_fields},
    {"compile", dt_compile_fields},       {"fit", dt_fit_fields},
    {"checkpoint", dt_checkpoint_fields}, {"output", dt_output_fields},
};

const dt_section *dt_sections(int *n) {
    *n = sizeof sections / sizeof *sections;
    return sections;
}

/* ---- kinds ---- */

static dt_job_kind strategy_at(int i) {
    int n;
    const dt_strategy_row *const *rows = dt_strategy_rows(&n);
    return i < n ? (dt_job_kind){&rows[i]->kind, rows[i]->kind.name, rows[i]->kind.about,
                                 rows[i]->kind.fields, NULL}
                 : (dt_job_kind){0};
}

static dt_job_kind format_at(int i) {
    if (i >= dt_formats()) return (dt_job_kind){0};
    const dt_format *f = dt_format_at(i);
    return (dt_job_kind){&f->kind, f->kind.name, f->kind.about, f->keys.fields, NULL};
}

#define KINDS(function, rows_of)                                                                   \
    static dt_job_kind function(int i) {                                                           \
        int n;                                                                                     \
        const dt_kind *const *rows = rows_of(&n);                                                  \
        return i < n ? (dt_job_kind){rows[i], rows[i]->name, rows[i]->about, rows[i]->fields,      \
                                     rows[i]->aliases}                                             \
                     : (dt_job_kind){0};                                                           \
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

static const dt_key_table sorts[] = {
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
enum { SORTS = sizeof sorts / sizeof *sorts };

const dt_key_table *dt_key_tables(int *n) {
    *n = SORTS;
    return sorts;
}

const dt_key_table *dt_sort_named(const char *noun) {
    for (int i = 0; i < SORTS; i++)
        if (strcmp(sorts[i].noun, noun) == 0) return &sorts[i];
    return NULL;
}
