/* SPDX-License-Identifier: Apache-2.0 */
/* Reads `compile`: its keys and the precision. Settings per output and metrics have their own
 * files. */
#include <string.h>

#include "model/compile.h"

struct compile {
    const dt_tree *optimizer, *precision, *loss_scale;
    dt_compile_trees by_output;
    bool auto_scale_loss;
    const dt_tree *jit_compile;
};
#define BY_OUTPUT(key_, ...)                                                                       \
    {                                                                                              \
        .kind = DT_FIELD_TREE, .name = #key_, .offset = offsetof(struct compile, by_output.key_),  \
        __VA_ARGS__                                                                                \
    }

struct loss_scale {
    double initial_scale;
    int64_t dynamic_growth_steps;
};

static const dt_field loss_scale_fields[] = {
    DT_REAL(struct loss_scale, initial_scale, .preset = "32768", .min = 1, .max = 0x1p100,
            .help = "initial scale"),
    DT_INT(struct loss_scale, dynamic_growth_steps, .preset = "2000", .min = 1, .max = 0x1p53,
           .help = "number of finite steps in a row before the scale doubles"),
    DT_END};

static const dt_field optimizer_forms[] = {DT_NAMED("optimizer"), DT_END};
static const dt_field none_or_loss[] = {DT_NAMED("loss"), DT_WORDS(dt_fitting_losses),
                                        DT_FORM(DT_FIELD_TREE, .forms = dt_no_forms), DT_END};
static const dt_field loss_forms[] = {DT_NAMED("loss"), DT_WORDS(dt_fitting_losses),
                                      DT_FORM(DT_FIELD_MAP, .forms = none_or_loss),
                                      DT_FORM(DT_FIELD_LIST, .forms = none_or_loss), DT_END};
static const dt_field metric_forms[] = {DT_NAMED("metric"), DT_END};
static const dt_field metric_items[] = {DT_NAMED("metric"),
                                        DT_FORM(DT_FIELD_LIST, .forms = metric_forms),
                                        DT_FORM(DT_FIELD_TREE, .forms = dt_no_forms), DT_END};
static const dt_field metrics_forms[] = {DT_FORM(DT_FIELD_LIST, .forms = metric_items),
                                         DT_FORM(DT_FIELD_MAP, .forms = metric_items), DT_END};
static const dt_field target_of[] = {DT_FORM(DT_FIELD_TEXT), DT_END};
static const dt_field target_forms[] = {DT_FORM(DT_FIELD_TEXT), DT_FORM(DT_FIELD_TEXTS),
                                        DT_FORM(DT_FIELD_MAP, .forms = target_of), DT_END};
static const dt_field sample_weight_forms[] = {DT_FORM(DT_FIELD_TEXT), DT_FORM(DT_FIELD_TEXTS),
                                               DT_FORM(DT_FIELD_MAP, .forms = target_of), DT_END};
static const dt_field weight_of[] = {DT_FORM(DT_FIELD_REAL), DT_END};
static const dt_field loss_weights_forms[] = {DT_FORM(DT_FIELD_MAP, .forms = weight_of),
                                              DT_FORM(DT_FIELD_LIST, .forms = weight_of), DT_END};
static const char *const jit_words[] = {"auto", NULL};
static const dt_field jit_forms[] = {DT_FORM(DT_FIELD_BOOL), DT_WORDS(jit_words), DT_END};
static const dt_field precision_forms[] = {DT_WORDS(dt_policies), DT_END};
static const dt_field loss_scale_forms[] = {
    DT_FORM(DT_FIELD_REAL, .above_min = true, .max = INFINITY),
    DT_FORM(DT_FIELD_TABLE, .table = loss_scale_fields), DT_END};

static const dt_field fields[] = {
    DT_TREE(struct compile, optimizer, .forms = optimizer_forms, .required = true,
            .help = "optimizer: Adam, {SGD: {learning_rate: 0.1}}, ..."),
    BY_OUTPUT(loss, .forms = loss_forms, .required = true,
              .help = "loss: CategoricalCrossentropy, ...; crossentropy or ce: the one that fits "
                      "the shapes; with several outputs {OUTPUT: LOSS, ...}, null for none"),
    BY_OUTPUT(metrics, .forms = metrics_forms,
              .help = "list of metrics: [accuracy]; with several outputs {OUTPUT: [accuracy]}"),
    DT_TREE(struct compile, precision, .forms = precision_forms,
            .help = "dtype policy: float32, mixed_bfloat16, mixed_float16"),
    BY_OUTPUT(target, .forms = target_forms,
              .help = "data element with the targets; default: the one that is not an Input; with "
                      "several outputs, those with their names"),
    BY_OUTPUT(loss_weights, .forms = loss_weights_forms,
              .help = "weight of each output's loss: {OUTPUT: 0.5}; default 1"),
    BY_OUTPUT(sample_weight, .forms = sample_weight_forms,
              .help = "data element with sample weights; with several outputs {OUTPUT: ELEMENT}, "
                      "or one for all"),
    BY_OUTPUT(weighted_metrics, .forms = metrics_forms,
              .help = "metrics weighted by sample_weight and fit.class_weight"),
    DT_NOT_YET_BUT("run_eagerly", "false"),
    DT_NOT_YET_BUT("steps_per_execution", "1"),
    DT_TREE(struct compile, jit_compile, .forms = jit_forms,
            .help = "accepted, without effect: every step is compiled"),
    DT_FLAG(struct compile, auto_scale_loss, .preset = "true",
            .help = "for mixed_float16: dynamic loss scaling"),
    DT_TREE(struct compile, loss_scale, .forms = loss_scale_forms,
            .help = "for mixed_float16: loss scale, {initial_scale: 32768, dynamic_growth_steps: "
                    "2000}, or a fixed number"),
    DT_END};

/* ---- precision ---- */

static dt_status *unknown_precision(const dt_tree *t, const char *word) {
    static const struct {
        const char *is, *ought;
    } others[] = {
        {"bf16-mixed", "mixed_bfloat16"},
        {"16-mixed", "mixed_float16"},
        {"bfloat16", "mixed_bfloat16"},
        {"float16", "mixed_float16"},
    };
    dt_status *s = dt_fail(DT_E_UNKNOWN_NAME, &t->at, "unknown precision '%s'", word);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(word, others[i].is) == 0) return dt_suggest(s, "write '%s'", others[i].ought);
    return dt_suggest(s, "use float32, mixed_bfloat16 or mixed_float16");
}

static dt_status *read_precision(const dt_tree *t, dt_compile_spec *out) {
    const char *word;
    if (!t || t->kind == DT_TREE_NULL) return NULL;
    DT_TRY(dt_tree_text(t, "precision", &word));
    out->precision_at = t->at;
    for (int i = 0; dt_policies[i]; i++)
        if (strcmp(word, dt_policies[i]) == 0) {
            out->precision = (dt_policy)i;
            return NULL;
        }
    return unknown_precision(t, word);
}

/* A number that stays is the optimizer's own loss_scale_factor. */
static dt_status *read_fixed_scale(const dt_tree *t, dt_compile_spec *out) {
    dt_optimizer_head *head = out->optimizer.args;
    double scale;
    DT_TRY(dt_tree_real(t, "loss_scale", &scale));
    if (!(scale > 0))
        return dt_fail(DT_E_RANGE, &t->at, "loss_scale must be greater than 0, got %s", t->text);
    if (head && head->has_scale)
        return dt_fail(DT_E_RANGE, &t->at,
                       "the optimizer has a loss_scale_factor: set only one of the two");
    if (head) {
        head->loss_scale_factor = scale;
        head->has_scale = true;
    }
    return NULL;
}

/* Keras wraps the optimizer of a model of float16 by itself; a scale that somebody fixed stays. */
static dt_status *read_loss_scale(dt_arena *arena, const struct compile *c, const dt_location *at,
                                  dt_compile_spec *out) {
    struct loss_scale s;
    const dt_tree *t = dt_given(c->loss_scale);
    const dt_optimizer_head *head = out->optimizer.args;
    if (t && t->kind == DT_TREE_SCALAR) return read_fixed_scale(t, out);
    DT_TRY(dt_fields_read(arena, loss_scale_fields, t, t ? &t->at : at, "loss_scale", &s));
    bool fixed = head && head->has_scale;
    if (t && (fixed || !c->auto_scale_loss))
        return dt_fail(DT_E_RANGE, &t->at, "%s",
                       fixed ? "loss_scale is dynamic, but the optimizer has a fixed "
                               "loss_scale_factor: set only one of the two"
                             : "loss_scale needs auto_scale_loss: true");
    if (t || (out->precision == DT_POLICY_MIXED_FLOAT16 && c->auto_scale_loss && !fixed))
        out->scaling = (dt_loss_scale){s.initial_scale, s.dynamic_growth_steps};
    return NULL;
}

/* ---- the optimizer ---- */

static bool is_in_model(const dt_model_spec *m, const char *word) {
    const char *words[] = {word};
    const dt_optimizer_head one = {.exclude_from_weight_decay = {1, words}};
    bool is = false;
    for (int i = 0; i < m->n_weights; i++) is |= dt_optimizer_excludes(&one, m->weight[i]->path);
    return is;
}

/* A word that no weight has would silently do nothing. */
static dt_status *check_excluded(const dt_compile_spec *c, const dt_model_spec *m) {
    const dt_optimizer_head *head = c->optimizer.args;
    const dt_tree *list = dt_tree_get(c->optimizer.tree, "exclude_from_weight_decay");
    for (int i = 0; m && list && i < head->exclude_from_weight_decay.n; i++)
        if (!is_in_model(m, head->exclude_from_weight_decay.v[i]))
            return dt_suggest(
                dt_fail(DT_E_WEIGHT, &list->at,
                        "exclude_from_weight_decay: no weight has '%.80s' in its name",
                        head->exclude_from_weight_decay.v[i]),
                "use a weight's name (kernel, bias, gamma, ...) or, with a /, part of its path");
    return NULL;
}

static dt_status *read_optimizer(dt_arena *arena, const dt_tree *t, const dt_model_spec *m,
                                 dt_compile_spec *out) {
    DT_TRY(dt_optimizer_read(arena, t, &out->optimizer));
    return check_excluded(out, m);
}

static dt_status *check_jit(const dt_tree *t) {
    bool any;
    if (!t || t->kind == DT_TREE_NULL ||
        (t->kind == DT_TREE_SCALAR && strcmp(t->text, "auto") == 0))
        return NULL;
    return dt_tree_bool(t, "jit_compile", &any);
}

dt_status *dt_compile_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                           const dt_model_spec *model, dt_compile_spec *out) {
    struct compile c = {0};
    const dt_outputs outputs = {model ? model->n_outputs : 0, model ? model->output : NULL};
    *out = (dt_compile_spec){0};
    dt_status *s = dt_fields_read(arena, fields, t, at, "compile", &c);
    if (c.optimizer) dt_status_append(&s, read_optimizer(arena, c.optimizer, model, out));
    dt_status_append(&s, dt_compile_read_losses(arena, &c.by_output, &outputs, out));
    dt_status_append(&s, dt_compile_read_metrics(arena, &c.by_output, &outputs, out));
    dt_status_append(&s, check_jit(c.jit_compile));
    dt_status_append(&s, read_precision(c.precision, out));
    dt_status_append(&s, read_loss_scale(arena, &c, at, out));
    return s;
}

int dt_compile_keys(const dt_compile_spec *c, const char *key[DT_MAX_KEYS]) {
    int n = 0;
    key[n++] = "loss";
    for (int i = 0; i < c->n_outputs; i++)
        if (c->output[i].loss_key) key[n++] = c->output[i].loss_key;
    for (int i = 0; i < c->n_metrics; i++)
        for (int k = 0; k < c->metric[i].n; k++) key[n++] = c->metric[i].keys[k];
    return n;
}

const dt_field *dt_compile_fields(void) { return fields; }
