/*
 * Reading `compile`: optimizer, loss, metrics. `accuracy` is resolved here, as Keras does: it means the accuracy that fits the loss,
 * and keeps its short name in the history.
 */
#include <string.h>

#include "model/model.h"

struct compile {
    const dt_tree *optimizer, *loss, *metrics, *precision, *loss_scale;
    const char *target;
    bool auto_scale_loss;
};

static const dt_field fields[] = {
    DT_TREE(struct compile, optimizer, .required = true, .help = "Adam, {SGD: {learning_rate: 0.1}}, ..."),
    DT_TREE(struct compile, loss, .required = true, .help = "CategoricalCrossentropy, ..."),
    DT_TREE(struct compile, metrics, .help = "a list: [accuracy]"),
    DT_TREE(struct compile, precision, .help = "what layers compute in: float32, mixed_bfloat16, mixed_float16"),
    DT_TEXT(struct compile, target, .help = "the data element that holds the targets; the one that is no Input by default"),
    DT_NOT_YET("loss_weights"),
    DT_NOT_YET("weighted_metrics"),
    DT_NOT_YET("run_eagerly"),
    DT_NOT_YET("steps_per_execution"),
    DT_NOT_YET("jit_compile"),
    DT_FLAG(struct compile, auto_scale_loss, .preset = "true", .help = "mixed_float16: a scale of the loss that moves"),
    DT_TREE(struct compile, loss_scale, .help = "that scale, {initial_scale: 32768, dynamic_growth_steps: 2000}; a number stays as it is"),
    DT_END
};

/* ---- metrics ---- */

double dt_mean_of_sum(const void *args, const double *sum, double examples)
{
    (void)args;
    return examples != 0 ? sum[0] / examples : 0;
}

/* What `accuracy` means: the loss says, else the number of outputs. */
static const char *fitting_accuracy(const dt_named *loss, const dt_type *output)
{
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    if (row && row->accuracy)
        return row->accuracy;
    bool one_output = output && output->rank > 1 && output->dim[output->rank - 1] == 1;
    return one_output ? "BinaryAccuracy" : "CategoricalAccuracy";
}

static dt_status *read_row(dt_arena *arena, const dt_tree *t, dt_named *out)
{
    int n;
    const dt_kind *const *rows = dt_metrics(&n);
    return dt_named_read(arena, rows, n, "metric", t, out);
}

/* The `name` argument, which most metrics have. */
static const char *given_name(const dt_named *n)
{
    for (const dt_field *f = n->kind->fields; f && f->kind != DT_FIELD_END; f++)
        if (strcmp(f->name, "name") == 0)
            return *(const char *const *)((const char *)n->args + f->offset);
    return NULL;
}

/* fit adds up one number an example. */
static dt_status *check_row(const dt_named *named)
{
    const dt_metric_row *row = (const dt_metric_row *)named->kind;
    if (row->alone)
        return dt_fail(DT_E_METRICS, &named->at, "%s has nothing to compare: it is for loops of your own", named->kind->name);
    if (row->parts)
        return dt_suggest(dt_fail(DT_E_NOT_YET, &named->at, "metric %s is not implemented for fit yet", named->kind->name),
                          "dt_meter_create has it, for loops of your own");
    return NULL;
}

/* Whether the loss has its `from_logits` set. */
static bool takes_logits(const dt_named *loss)
{
    for (const dt_field *f = loss->kind ? loss->kind->fields : NULL; f && f->kind != DT_FIELD_END; f++)
        if (strcmp(f->name, "from_logits") == 0)
            return *(const bool *)((const char *)loss->args + f->offset);
    return false;
}

/* What metrics take over from the rest of `compile`. */
typedef struct beside {
    const char *accuracy;
    bool from_logits;
} beside;

static dt_status *read_metric(dt_arena *arena, const dt_tree *t, const beside *c, dt_metric_use *out)
{
    dt_named named;
    DT_TRY(read_row(arena, t, &named));
    DT_TRY(check_row(&named));
    const char *key = given_name(&named);
    dt_place at = named.at;
    if (named.kind == &dt_metric_accuracy.kind) {
        const dt_tree fitting = { .kind = DT_TREE_SCALAR, .text = c->accuracy, .at = at };
        key = strcmp(named.written, "acc") == 0 ? "acc" : "accuracy";
        DT_TRY(read_row(arena, dt_arena_copy(arena, &fitting, sizeof fitting), &named));
    }
    if (!key)
        key = dt_snake_case(arena, named.kind->name);
    const dt_metric_row *row = (const dt_metric_row *)named.kind;
    if (row->follow)
        row->follow(named.args, c->from_logits);
    *out = (dt_metric_use){ row, named.args, key, at };
    return NULL;
}

static dt_status *check_key(const dt_metric_use *use, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(use[k].key, use[i].key) == 0)
            return dt_fail(DT_E_METRICS, &use[i].at, "'%s' is already the name of metrics[%d]", use[i].key, k);
    bool reserved = strcmp(use[i].key, "loss") == 0 || strncmp(use[i].key, "val_", 4) == 0 || !*use[i].key;
    if (reserved)
        return dt_fail(DT_E_METRICS, &use[i].at, "a metric cannot be named '%s': the history has that word already", use[i].key);
    return NULL;
}

static dt_status *read_metrics(dt_arena *arena, const dt_tree *t, const beside *c, dt_compile_spec *out)
{
    if (!t || t->kind == DT_TREE_NULL)
        return NULL;
    DT_TRY(dt_tree_expect(t, DT_TREE_LIST, "metrics"));
    dt_metric_use *use = dt_arena_array(arena, dt_metric_use, t->n);
    dt_status *faults = NULL;
    for (int i = 0; i < t->n; i++) {
        dt_status *s = read_metric(arena, t->item[i], c, &use[out->n_metrics]);
        if (!s)
            s = check_key(use, out->n_metrics);
        if (!s)
            out->n_metrics++;
        dt_status_append(&faults, s);
    }
    out->metric = use;
    return faults;
}

/* ---- the rest ---- */

/* fit divides sums over examples by their number: what is no such quotient is for loops of one's own. */
static dt_status *check_loss(const dt_named *loss)
{
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    int reduction = ((const dt_loss_head *)loss->args)->reduction;
    const dt_tree *ignored = dt_tree_get(loss->tree, "ignore_class");
    if (row->whole)
        return dt_fail(DT_E_NOT_YET, &loss->at, "%s is one number for a batch; fit wants losses of single examples", loss->kind->name);
    if (reduction == DT_REDUCTION_SUM || reduction == DT_REDUCTION_NONE)
        return dt_suggest(dt_fail(DT_E_NOT_YET, &loss->at, "fit divides by the number of examples: reduction '%s' is for loops of your own",
                                  dt_reductions[reduction]), "leave it out");
    if (ignored && ignored->kind != DT_TREE_NULL)
        return dt_fail(DT_E_NOT_YET, &ignored->at, "ignore_class is not implemented for fit yet; dt_loss_call has it");
    return NULL;
}

static dt_status *read_loss(dt_arena *arena, const dt_tree *t, dt_named *out)
{
    DT_TRY(dt_loss_read(arena, t, out));
    return check_loss(out);
}

static dt_status *unknown_precision(const dt_tree *t, const char *word)
{
    static const struct { const char *is, *ought; } others[] = {
        { "bf16-mixed", "mixed_bfloat16" }, { "16-mixed", "mixed_float16" }, { "bfloat16", "mixed_bfloat16" }, { "float16", "mixed_float16" },
    };
    dt_status *s = dt_fail(DT_E_UNKNOWN_NAME, &t->at, "unknown precision '%s'", word);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(word, others[i].is) == 0)
            return dt_suggest(s, "write '%s'", others[i].ought);
    return dt_suggest(s, "it is float32, mixed_bfloat16 or mixed_float16");
}

static dt_status *read_precision(const dt_tree *t, dt_compile_spec *out)
{
    const char *word;
    if (!t || t->kind == DT_TREE_NULL)
        return NULL;
    DT_TRY(dt_tree_text(t, "precision", &word));
    out->precision_at = t->at;
    for (int i = 0; dt_policies[i]; i++)
        if (strcmp(word, dt_policies[i]) == 0) {
            out->precision = (dt_policy)i;
            return NULL;
        }
    return unknown_precision(t, word);
}

struct loss_scale {
    double initial_scale;
    int64_t dynamic_growth_steps;
};

static const dt_field loss_scale_fields[] = {
    DT_REAL(struct loss_scale, initial_scale, .preset = "32768", .min = 1, .max = 0x1p100, .help = "the first scale"),
    DT_INT(struct loss_scale, dynamic_growth_steps, .preset = "2000", .min = 1, .max = 0x1p53, .help = "good steps in a row after which it doubles"),
    DT_END
};

/* A number that stays is the optimizer's own loss_scale_factor. */
static dt_status *read_fixed_scale(const dt_tree *t, dt_compile_spec *out)
{
    dt_optimizer_head *head = out->optimizer.args;
    double scale;
    DT_TRY(dt_tree_real(t, "loss_scale", &scale));
    if (!(scale > 0))
        return dt_fail(DT_E_RANGE, &t->at, "loss_scale must be greater than 0, got %s", t->text);
    if (head && head->has_scale)
        return dt_fail(DT_E_RANGE, &t->at, "the optimizer has a loss_scale_factor: only one of both can be set");
    if (head) {
        head->loss_scale_factor = scale;
        head->has_scale = true;
    }
    return NULL;
}

/* Keras wraps the optimizer of a model of float16 by itself; a scale that somebody fixed stays. */
static dt_status *read_loss_scale(dt_arena *arena, const struct compile *c, const dt_place *at, dt_compile_spec *out)
{
    struct loss_scale s;
    const dt_tree *t = c->loss_scale && c->loss_scale->kind != DT_TREE_NULL ? c->loss_scale : NULL;
    const dt_optimizer_head *head = out->optimizer.args;
    if (t && t->kind == DT_TREE_SCALAR)
        return read_fixed_scale(t, out);
    DT_TRY(dt_fields_read(arena, loss_scale_fields, t, t ? &t->at : at, "loss_scale", &s));
    bool fixed = head && head->has_scale;
    if (t && (fixed || !c->auto_scale_loss))
        return dt_fail(DT_E_RANGE, &t->at, "loss_scale moves: %s", fixed ? "the optimizer's loss_scale_factor does not" : "auto_scale_loss must not be false");
    if (t || (out->precision == DT_POLICY_MIXED_FLOAT16 && c->auto_scale_loss && !fixed))
        out->scaling = (dt_loss_scale){ s.initial_scale, s.dynamic_growth_steps };
    return NULL;
}

dt_status *dt_compile_read(dt_arena *arena, const dt_tree *t, const dt_place *at, const dt_type *output, dt_compile_spec *out)
{
    struct compile c = { 0 };
    *out = (dt_compile_spec){ 0 };
    dt_status *s = dt_fields_read(arena, fields, t, at, "compile", &c);
    if (c.optimizer)
        dt_status_append(&s, dt_optimizer_read(arena, c.optimizer, &out->optimizer));
    if (c.loss)
        dt_status_append(&s, read_loss(arena, c.loss, &out->loss));
    const beside beside_it = { fitting_accuracy(&out->loss, output), takes_logits(&out->loss) };
    dt_status_append(&s, read_metrics(arena, c.metrics, &beside_it, out));
    dt_status_append(&s, read_precision(c.precision, out));
    dt_status_append(&s, read_loss_scale(arena, &c, at, out));
    out->target = c.target;
    if (c.target)
        out->target_at = dt_tree_get(t, "target")->at;
    return s;
}

const dt_field *dt_compile_fields(void)
{
    return fields;
}
