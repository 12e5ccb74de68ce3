/* SPDX-License-Identifier: Apache-2.0 */
/* Reads `compile`, and lists the keys of the history. Settings per output and metrics have their
 * own files. */
#include "model/compile.h"

#include <string.h>

/*
 * Short words whose meaning depends on shapes: the metric `accuracy` and the loss `crossentropy`.
 * Keras' rule: predictions of one number are binary. For predictions of several numbers, targets
 * are class numbers if they have fewer dimensions, or size 1 in place of the classes; otherwise
 * they are one-hot vectors. The model decides whether predictions are binary. The data, which is
 * opened later, decides the rest.
 */

static dt_status *read_word(dt_arena *arena, const dt_fitting *f, const char *word,
                            dt_named *named) {
    const dt_tree t = {.kind = DT_TREE_SCALAR, .text = word, .at = named->at};
    return f->read(arena, dt_arena_copy(arena, &t, sizeof t), named);
}

dt_status *dt_read_fitting(dt_arena *arena, const dt_fitting *fitting, const dt_type *output,
                           dt_named *named, const dt_named **if_sparse) {
    dt_named sparse = {.at = named->at};
    *if_sparse = NULL;
    if (output && output->rank > 1 && output->dim[output->rank - 1] == 1)
        return read_word(arena, fitting, fitting->binary, named);
    DT_TRY(read_word(arena, fitting, fitting->sparse, &sparse));
    *if_sparse = dt_arena_copy(arena, &sparse, sizeof sparse);
    return read_word(arena, fitting, fitting->categorical, named);
}

static bool are_class_numbers(const dt_type *target, const dt_type *prediction) {
    const bool one = target->rank > 0 && target->dim[target->rank - 1] == 1;
    return target->rank < prediction->rank || (one && prediction->dim[prediction->rank - 1] > 1);
}

void dt_compile_see_targets(const dt_compile_spec *c, int output, const dt_type *target,
                            const dt_type *prediction) {
    dt_output_use *o = &c->output[output];
    const bool sparse = are_class_numbers(target, prediction);
    if (sparse && o->if_sparse) o->loss = *o->if_sparse;
    o->if_sparse = NULL;
    for (int i = 0; i < c->n_metrics; i++) {
        dt_metric_use *m = &c->metric[i];
        if (m->output != output) continue;
        if (sparse && m->if_sparse) {
            m->row = (const dt_metric_row *)m->if_sparse->kind;
            m->args = m->if_sparse->args;
        }
        m->if_sparse = NULL;
    }
}

struct compile {
    dt_compile_spec spec;
    dt_compile_trees by_output;
    bool auto_scale_loss, jit_compile;
    /* `loss_scale` of the job if it is a number, by which the loss is multiplied; else 0 */
    double fixed_scale;
    /* settings of a dynamic loss scale, which adapts to overflows */
    dt_loss_scale scale;
    /* whether `loss_scale` of the job is a mapping with these settings */
    bool scales;
    dt_location scale_at;
};
#define BY_OUTPUT(key, ...) DT_KEY(TREE, #key, struct compile, by_output.key, __VA_ARGS__)
#define SPEC(kind, member, ...) DT_KEY(kind, #member, struct compile, spec.member, __VA_ARGS__)

static const dt_field loss_scale_fields[] = {
    DT_KEY(REAL, "initial_scale", struct compile, scale.initial, .preset = "32768", .min = 1,
           .max = 0x1p100, .help = "initial scale"),
    DT_KEY(INT, "dynamic_growth_steps", struct compile, scale.growth, .preset = "2000", .min = 1,
           .max = 0x1p53, .help = "number of finite steps in a row before the scale doubles"),
    DT_END};

#define LOSS_OR_NONE DT_NAMED("loss"), DT_WORDS(dt_fitting_losses), DT_NOTHING
#define METRIC_ITEM DT_NAMED("metric"), DT_LIST_OF(DT_NAMED("metric")), DT_NOTHING
#define METRICS DT_FORMS(DT_LIST_OF(METRIC_ITEM), DT_MAP_OF(METRIC_ITEM))
#define ELEMENTS                                                                                   \
    DT_FORMS(DT_FORM(DT_FIELD_TEXT), DT_FORM(DT_FIELD_TEXTS), DT_MAP_OF(DT_FORM(DT_FIELD_TEXT)))

const char *const dt_quantizations[] = {"none", "int8", "fp8", NULL};
static const char *const jit_words[] = {"auto", NULL};

static dt_status *unknown_precision(const dt_tree *t) {
    static const struct {
        const char *is, *ought;
    } others[] = {
        {"bf16-mixed", "mixed_bfloat16"},
        {"16-mixed", "mixed_float16"},
        {"bfloat16", "mixed_bfloat16"},
        {"float16", "mixed_float16"},
    };
    DT_TRY(dt_tree_expect(t, DT_TREE_SCALAR, "precision"));
    dt_status *s = dt_fail(DT_E_UNKNOWN_NAME, &t->at, "unknown precision '%s'", t->text);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(t->text, others[i].is) == 0) return dt_suggest(s, "write '%s'", others[i].ought);
    return dt_suggest(s, "use float32, mixed_bfloat16 or mixed_float16");
}

static const dt_field fields[] = {
    SPEC(ONE_OF, optimizer, .required = true,
         .forms = DT_FORMS(DT_NAMED_BY("optimizer", dt_optimizer_read)),
         .help = "optimizer: Adam, {SGD: {learning_rate: 0.1}}, ..."),
    BY_OUTPUT(loss,
              .forms = DT_FORMS(DT_NAMED("loss"), DT_WORDS(dt_fitting_losses),
                                DT_MAP_OF(LOSS_OR_NONE), DT_LIST_OF(LOSS_OR_NONE)),
              .required = true,
              .help = "loss: CategoricalCrossentropy, ...; crossentropy or ce: the one that fits "
                      "the shapes; with several outputs {OUTPUT: LOSS, ...}, null for none"),
    BY_OUTPUT(metrics, .forms = METRICS,
              .help = "list of metrics: [accuracy]; with several outputs {OUTPUT: [accuracy]}"),
    DT_ONE_OF(precision, DT_FORMS(DT_ENUM(struct compile, spec.precision, dt_policies)),
              .refuse = unknown_precision,
              .help = "dtype policy: float32, mixed_bfloat16, mixed_float16"),
    SPEC(ENUM, quantization, .choices = dt_quantizations,
         DT_AT(struct compile, spec.quantization_at),
         .help = "8 bits for products with weights, but the output layer's: none, int8, fp8. "
                 "It can be planned, not trained"),
    BY_OUTPUT(target, .forms = ELEMENTS,
              .help = "data element with the targets; default: the one that is not an Input; with "
                      "several outputs, those with their names"),
    BY_OUTPUT(loss_weights,
              .forms =
                  DT_FORMS(DT_MAP_OF(DT_FORM(DT_FIELD_REAL)), DT_LIST_OF(DT_FORM(DT_FIELD_REAL))),
              .help = "weight of each output's loss: {OUTPUT: 0.5}; default 1"),
    BY_OUTPUT(sample_weight, .forms = ELEMENTS,
              .help = "data element with sample weights; with several outputs {OUTPUT: ELEMENT}, "
                      "or one for all"),
    BY_OUTPUT(weighted_metrics, .forms = METRICS,
              .help = "metrics weighted by sample_weight and fit.class_weight"),
    SPEC(BOOL, original_units, .preset = "true",
         .help = "metrics and predictions of a regression are in the target's units as they are "
                 "stored: normalize and rescale in its `map` are undone. The loss stays as it is "
                 "trained"),
    DT_NOT_YET_BUT("run_eagerly", "false"),
    DT_NOT_YET_BUT("steps_per_execution", "1"),
    DT_ONE_OF(jit_compile,
              DT_FORMS(DT_PLAIN(BOOL, struct compile, jit_compile), DT_WORDS(jit_words)),
              .help = "accepted, without effect: every step is compiled"),
    DT_FLAG(struct compile, auto_scale_loss, .preset = "true",
            .help = "for mixed_float16: dynamic loss scaling"),
    DT_ONE_OF(loss_scale,
              DT_FORMS(DT_REAL(struct compile, fixed_scale, .above_min = true, .max = INFINITY),
                       DT_FORM(DT_FIELD_TABLE, .table = loss_scale_fields, .otherwise = true,
                               DT_SET(struct compile, scales))),
              DT_AT(struct compile, scale_at),
              .help = "for mixed_float16: loss scale, {initial_scale: 32768, dynamic_growth_steps: "
                      "2000}, or a fixed number"),
    DT_END};

/* Sets the optimizer's argument loss_scale_factor to the constant scale. Fails with RANGE if the
 * job sets both. Does nothing if head is NULL, because the optimizer has errors. */
static dt_status *set_fixed_scale(const struct compile *c, dt_optimizer_head *head) {
    if (!head) return NULL;
    if (head->has_scale)
        return dt_fail(DT_E_RANGE, &c->scale_at,
                       "the optimizer has a loss_scale_factor: set only one of the two");
    head->loss_scale_factor = c->fixed_scale;
    head->has_scale = true;
    return NULL;
}

/* Sets the loss scale: the number or the dynamic scale that the job's `loss_scale` gives. Without
 * that key, mixed_float16 with auto_scale_loss gets a dynamic scale, as in Keras, unless the
 * optimizer has a loss_scale_factor. Fails with RANGE if the job sets both keys, or a dynamic scale
 * without auto_scale_loss. */
static dt_status *set_loss_scale(const struct compile *c, dt_compile_spec *out) {
    dt_optimizer_head *head = out->optimizer.args;
    if (c->fixed_scale > 0) return set_fixed_scale(c, head);
    const bool fixed = head && head->has_scale;
    if (c->scales && (fixed || !c->auto_scale_loss))
        return dt_fail(DT_E_RANGE, &c->scale_at, "%s",
                       fixed ? "loss_scale is dynamic, but the optimizer has a fixed "
                               "loss_scale_factor: set only one of the two"
                             : "loss_scale needs auto_scale_loss: true");
    if (c->scales || (out->precision == DT_POLICY_MIXED_FLOAT16 && c->auto_scale_loss && !fixed))
        out->scaling = c->scale;
    return NULL;
}

static bool is_in_model(const dt_model_spec *m, const char *word) {
    const char *words[] = {word};
    const dt_optimizer_head one = {.exclude_from_weight_decay = {.n = 1, .v = words}};
    bool is = false;
    for (int i = 0; i < m->n_weights; i++) is |= dt_optimizer_excludes(&one, m->weight[i]->path);
    return is;
}

/* Fails with WEIGHT at exclude_from_weight_decay for the first of its words that matches no weight,
 * since it would have no effect. Checks nothing if m is NULL. */
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

dt_status *dt_compile_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                           const dt_model_spec *model, dt_compile_spec *out) {
    struct compile c = {0};
    const dt_outputs outputs = {model ? model->n_outputs : 0, model ? model->output : NULL};
    dt_status *s = dt_fields_read(arena, fields, t, at, "compile", &c);
    *out = c.spec;
    if (out->optimizer.kind) dt_status_append(&s, check_excluded(out, model));
    dt_status_append(&s, dt_compile_read_losses(arena, &c.by_output, &outputs, out));
    dt_status_append(&s, dt_compile_read_metrics(arena, &c.by_output, &outputs, out));
    dt_status_append(&s, set_loss_scale(&c, out));
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
