/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data against model: which elements of the data set are the inputs, targets and weights, and
 * whether the model, the loss and the metrics accept their types and values. Before a file is
 * opened only names are checked; types and labels are checked after.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/train.h"

static const dt_location *location_or_null(const dt_location *at) { return at->source ? at : NULL; }

/* ---- elements by name ---- */

static int find(const dt_texts *elements, const char *name) {
    for (int i = 0; i < elements->n; i++)
        if (strcmp(elements->v[i], name) == 0) return i;
    return -1;
}

static dt_status *no_element(const dt_texts *elements, const char *role, const char *name,
                             const dt_location *at) {
    dt_local_str have = {0};

    for (int i = 0; i < elements->n; i++)
        dt_str_printf(&have, "%s'%.80s'", i ? ", " : "", elements->v[i]);
    dt_status *s = dt_fail(DT_E_ELEMENTS, location_or_null(at),
                           "the data set has no element '%.80s' for the %s; it has %s", name, role,
                           dt_str_text(&have));
    return dt_suggest_nearest(s, name, elements->v, elements->n);
}

static bool is_input_or_weight(const dt_match *m, int element) {
    bool is_known = m->weight[0] == element;
    for (int k = 0; k < m->n_inputs; k++) is_known |= m->input[k] == element;
    return is_known;
}

/* Returns the only element that is neither input nor weight, or -1 unless there is exactly one.
 * Sets *others to the number of such elements. */
static int find_other(const dt_texts *elements, const dt_match *m, int *others) {
    int other = -1;
    *others = 0;
    for (int i = 0; i < elements->n; i++)
        if (!is_input_or_weight(m, i)) other = (*others)++ ? -1 : i;
    return other;
}

static dt_status *several_targets(const dt_texts *elements, const dt_compile_spec *c,
                                  const dt_match *m) {
    dt_str names = {0};
    const char *first = NULL;
    for (int i = 0; i < elements->n; i++)
        if (!is_input_or_weight(m, i)) {
            dt_str_printf(&names, "%s'%.80s'", first ? ", " : "", elements->v[i]);
            first = first ? first : elements->v[i];
        }
    dt_status *s =
        dt_fail(DT_E_ELEMENTS, location_or_null(&c->loss_at),
                "several elements of the data set could be the target: %s", dt_str_text(&names));
    dt_str_release(&names);
    return dt_suggest(
        s,
        "compile.target names it, for example target: %.80s; or an Input of the model is missing",
        first);
}

static dt_status *find_only_target(const dt_texts *elements, const dt_compile_spec *c,
                                   dt_match *m) {
    const dt_output_use *output = &c->output[0];
    const char *inputs = m->n_inputs > 1 ? "inputs" : "input";
    int others;
    m->target[0] =
        output->target ? find(elements, output->target) : find_other(elements, m, &others);
    if (m->target[0] >= 0) return NULL;
    if (output->target) return no_element(elements, "target", output->target, &output->target_at);
    if (others == 0)
        return dt_fail(DT_E_ELEMENTS, location_or_null(&c->loss_at),
                       "the data set has no element besides the %s, so there is no target", inputs);
    return several_targets(elements, c, m);
}

/* Whether a loss or a metric reads the output. */
static bool wants_target(const dt_compile_spec *c, int output) {
    bool wants = c->output[output].loss.kind != NULL;
    for (int i = 0; i < c->n_metrics; i++) wants |= c->metric[i].output == output;
    return wants;
}

/* Finds the target of one of several outputs: the element with the output's name, unless
 * compile.target names another one. Sets m->target[i] to -1, without an error, if no loss and no
 * metric reads the output. */
static dt_status *find_named_target(const dt_texts *elements, const dt_compile_spec *c, int i,
                                    dt_match *m) {
    const dt_output_use *output = &c->output[i];
    const char *name = output->target ? output->target : output->name;
    char role[128];
    m->target[i] = wants_target(c, i) ? find(elements, name) : -1;
    if (m->target[i] >= 0 || !wants_target(c, i)) return NULL;
    snprintf(role, sizeof role, "target of output '%.80s'", output->name);
    dt_status *s =
        no_element(elements, role, name, output->target ? &output->target_at : &c->loss_at);
    return output->target || dt_status_suggestion(s)
               ? s
               : dt_suggest(s, "target: {%s: ELEMENT} in compile names it", output->name);
}

static dt_status *find_weight(const dt_texts *elements, const dt_output_use *output, int *weight) {
    *weight = output->sample_weight ? find(elements, output->sample_weight) : -1;
    return *weight < 0 && output->sample_weight
               ? no_element(elements, "weights", output->sample_weight, &output->sample_weight_at)
               : NULL;
}

/* Checks that the element with an output's sample weights is not also its target. */
static dt_status *check_weight_is_own(const dt_compile_spec *c, const dt_match *m) {
    for (int i = 0; i < c->n_outputs; i++)
        if (m->weight[i] >= 0 && m->weight[i] == m->target[i])
            return dt_fail(DT_E_ELEMENTS, location_or_null(&c->output[i].sample_weight_at),
                           "weights '%.80s' are the targets themselves",
                           c->output[i].sample_weight);
    return NULL;
}

static dt_status *find_targets(const dt_texts *elements, const dt_compile_spec *c, dt_match *m) {
    dt_status *faults = NULL;
    for (int i = 0; i < c->n_outputs; i++)
        dt_status_append(&faults, find_weight(elements, &c->output[i], &m->weight[i]));
    if (faults) return faults;
    if (c->n_outputs == 1) faults = find_only_target(elements, c, m);
    for (int i = 0; c->n_outputs > 1 && i < c->n_outputs; i++)
        dt_status_append(&faults, find_named_target(elements, c, i, m));
    return faults ? faults : check_weight_is_own(c, m);
}

dt_status *dt_match_names(const dt_texts *elements, const dt_model_spec *model,
                          const dt_compile_spec *c, dt_match *out) {
    dt_status *faults = NULL;
    *out = (dt_match){.n_inputs = model->n_inputs};
    for (int i = 0; i < DT_MAX_OUTPUTS; i++) out->target[i] = out->weight[i] = -1;
    for (int i = 0; i < model->n_inputs; i++) {
        const dt_input_spec *input = &model->input[i];
        out->input[i] = find(elements, input->name);
        if (out->input[i] < 0)
            dt_status_append(&faults, no_element(elements, "input", input->name, &input->at));
    }
    return !faults && c ? find_targets(elements, c, out) : faults;
}

/* ---- types and values ---- */

/* Writes a shape as in a job file, without the batch dimension: "[28, 28]". */
static void put_shape(dt_str *out, const dt_type *t) {
    dt_str_putc(out, '[');
    for (int i = 1; i < t->rank; i++)
        dt_str_printf(out, "%s%lld", i > 1 ? ", " : "", (long long)t->dim[i]);
    dt_str_putc(out, ']');
}

/* Suggests the data's shape, with a Reshape behind it if the number of values is right. */
static dt_status *suggest_shape(dt_status *s, const dt_type *is, const dt_type *ought) {
    dt_local_str data = {0}, model = {0};
    const dt_type a = dt_type_at(is, 1), b = dt_type_at(ought, 1);
    put_shape(&data, is);
    put_shape(&model, ought);
    if (dt_type_elements(&a) == dt_type_elements(&b))
        s = dt_suggest(s, "write shape: %s and, as the next layer, Reshape: {target_shape: %s}",
                       dt_str_text(&data), dt_str_text(&model));
    else s = dt_suggest(s, "for this data, write shape: %s", dt_str_text(&data));
    return s;
}

static dt_status *check_input(const dt_element_spec *e, const dt_input_spec *input) {
    dt_type given = e->type;

    /* Values are converted to the data type of the Input, so only shapes are compared. */
    given.dtype = input->type.dtype;
    if (dt_type_equal(&given, &input->type)) return NULL;
    dt_status *s = dt_fail(DT_E_ELEMENTS, location_or_null(&input->shape_at),
                           "the model takes '%.80s' as %s, the data set has %s", input->name,
                           dt_text_of_shape(&input->type).s, dt_text_of_shape(&e->type).s);
    return suggest_shape(s, &e->type, &input->type);
}

static dt_status *at_place(dt_status *s, const dt_location *at) {
    return s && at->source ? dt_at(s, at) : s;
}

/* Fails if an embedding that reads the input has fewer rows than e->numbers, the number of words
 * that the data set numbers from 0 on (0: it numbers none). */
static dt_status *check_rows(const dt_element_spec *e, const dt_model_spec *model,
                             const dt_input_spec *input) {
    dt_status *faults = NULL;
    for (int i = 0; i < model->n_layers && e->numbers > 0; i++) {
        const dt_layer_spec *layer = &model->layer[i];
        const int64_t rows =
            layer->n_in == 1 && layer->row->rows ? layer->row->rows(layer->args) : e->numbers;
        if (rows < e->numbers && strcmp(model->layer[layer->from[0]].name, input->name) == 0)
            dt_status_append(&faults, dt_fail(DT_E_ROW_NUMBER, location_or_null(&layer->at),
                                              "'%s' has %lld rows, and '%.80s' is numbered from 0 "
                                              "to %lld: its vocabulary is larger",
                                              layer->name, (long long)rows, e->name,
                                              (long long)e->numbers - 1));
    }
    return faults;
}

/* Checks that weights have one value per example, or one for each sample of an example, such as a
 * time step. */
static dt_status *check_weight(const dt_element_spec *weight, const dt_element_spec *target,
                               const dt_output_use *output) {
    const dt_type *w = &weight->type, *y = &target->type;
    bool fits = w->rank == 1 || w->rank <= y->rank;
    for (int i = 1; fits && i < w->rank; i++) fits = w->dim[i] == 1 || w->dim[i] == y->dim[i];
    if (fits || (w->rank == 2 && w->dim[1] == 1)) return NULL;
    return dt_fail(DT_E_LABELS, location_or_null(&output->sample_weight_at),
                   "weights '%.80s' must be one number for each example of '%.80s', or for each of "
                   "its samples",
                   weight->name, target->name);
}

/* Refuses sample weights for a loss that is computed over the whole batch. */
static dt_status *check_whole(const dt_output_use *output, const dt_type *prediction) {
    if (!output->sample_weight || !dt_loss_is_whole(&output->loss, prediction)) return NULL;
    return dt_suggest(
        dt_fail(DT_E_LABELS, location_or_null(&output->sample_weight_at),
                "%s gives one number for the whole batch, so examples cannot be weighted",
                output->loss.kind->name),
        "give it the axes of an example: axis: [1]");
}

static dt_status *check_metric(const dt_metric_use *use, const dt_type *target,
                               const dt_type *output) {
    DT_TRY(at_place(use->row->check(use->args, target, output), &use->at));
    if (dt_metric_width(use->row, use->args, target, output) > 0) return NULL;
    return dt_fail(DT_E_METRICS, location_or_null(&use->at),
                   "%s does not apply to these targets and predictions", use->row->kind.name);
}

/* Gives the losses and metrics the types of their targets. Then checks that they accept the types
 * of targets and outputs, and that sample weights fit the loss and the targets. */
static dt_status *check_targets(const dt_element_spec *element, const dt_model_spec *model,
                                const dt_compile_spec *c, const dt_match *m) {
    for (int i = 0; i < c->n_outputs; i++)
        if (m->target[i] >= 0)
            dt_compile_see_targets(c, i, &element[m->target[i]].type, &model->output[i].type);
    for (int i = 0; i < c->n_outputs; i++) {
        const dt_named *loss = &c->output[i].loss;
        /* every row of a table of losses begins with its dt_kind */
        const dt_loss_row *row = (const dt_loss_row *)loss->kind;
        if (row)
            DT_TRY(at_place(
                row->check(loss->args, &element[m->target[i]].type, &model->output[i].type),
                &loss->at));
    }
    for (int i = 0; i < c->n_outputs; i++)
        DT_TRY(check_whole(&c->output[i], &model->output[i].type));
    for (int i = 0; i < c->n_outputs; i++)
        if (m->weight[i] >= 0)
            DT_TRY(check_weight(&element[m->weight[i]], &element[m->target[i]], &c->output[i]));
    for (int i = 0; i < c->n_metrics; i++)
        DT_TRY(check_metric(&c->metric[i], &element[m->target[c->metric[i].output]].type,
                            &model->output[c->metric[i].output].type));
    return NULL;
}

/* Checks steps of `map` that combine examples, such as MixUp. They must combine all inputs and
 * targets; otherwise the model would learn wrong targets. */
static dt_status *check_combined(const dt_dataset *d, const dt_element_spec *element,
                                 const dt_match *m, int n_outputs) {
    const dt_location *at = NULL;
    const char *with = NULL, *without = NULL;
    for (int i = 0; i < m->n_inputs + n_outputs; i++) {
        const int e = i < m->n_inputs ? m->input[i] : m->target[i - m->n_inputs];
        const dt_location *combines = e < 0 ? NULL : dt_dataset_combines(d, e);
        if (combines && !at) {
            at = combines;
            with = element[e].name;
        }
        if (e >= 0 && !combines && !without) without = element[e].name;
    }
    return at && without ? dt_suggest(dt_fail(DT_E_ELEMENTS, at,
                                              "this step combines '%.80s' of two examples, and "
                                              "no step combines '%.80s'",
                                              with, without),
                                      "add it to the steps of '%.80s' as well", without)
                         : NULL;
}

dt_status *dt_match_types(dt_dataset *d, const dt_model_spec *model, const dt_compile_spec *c,
                          dt_match *out) {
    const dt_element_spec *element;

    DT_TRY(dt_dataset_check_job(d));
    int n = dt_dataset_elements(d, &element);
    const char **name = dt_alloc(dt_size_mul((size_t)n, sizeof *name));

    for (int i = 0; i < n; i++) name[i] = element[i].name;
    dt_status *s = dt_match_names(&(dt_texts){.n = n, .v = name}, model, c, out);
    free(name);
    DT_TRY(s);
    for (int i = 0; i < model->n_inputs; i++)
        DT_TRY(check_input(&element[out->input[i]], &model->input[i]));
    for (int i = 0; i < model->n_inputs; i++)
        DT_TRY(check_rows(&element[out->input[i]], model, &model->input[i]));
    if (c) DT_TRY(check_combined(d, element, out, c->n_outputs));
    return c ? check_targets(element, model, c, out) : NULL;
}

/* Refuses targets for which the loss is not defined. Nothing is checked where the output has a
 * mask, because the mask decides which targets count. */
static dt_status *check_range(const dt_dataset *d, const dt_model_spec *model,
                              const dt_output_use *output, int i, const dt_match *m) {
    const dt_loss_row *row = (const dt_loss_row *)output->loss.kind;
    if (!row || row->targets.low >= row->targets.high ||
        model->layer[model->output[i].layer].out_mask)
        return NULL;
    dt_status *s = dt_dataset_check_range(
        d, &(dt_target_range){m->target[i], m->weight[i], row->targets.low, row->targets.high});
    return s ? dt_suggest(s, "%s is for targets %s%s", row->kind.name,
                          isinf(row->targets.high) ? "that are not negative"
                          : row->targets.low < 0   ? "from -1 to 1"
                                                   : "from 0 to 1",
                          row->of == DT_OUTPUT_LABELS ? "; give classes numbers from 0 on" : "")
             : NULL;
}

dt_status *dt_match_data(dt_dataset *d, const dt_model_spec *model, const dt_compile_spec *c,
                         dt_match *out) {
    DT_TRY(dt_match_types(d, model, c, out));
    for (int i = 0; c && i < c->n_outputs; i++) {
        const dt_loss_row *row = (const dt_loss_row *)c->output[i].loss.kind;
        const dt_type *output = &model->output[i].type;
        if (row && row->sparse)
            DT_TRY(dt_dataset_check_labels_but(d, out->target[i], output->dim[output->rank - 1],
                                               row->ignored ? row->ignored(c->output[i].loss.args)
                                                            : NULL));
        DT_TRY(check_range(d, model, &c->output[i], i, out));
    }
    return NULL;
}

/* ---- class weights ---- */

/* If the loss takes class numbers as targets: refuses class numbers that the model has no score
 * for. */
static dt_status *check_classes(const dt_class_weights *w, const dt_type *scores,
                                const dt_loss_row *loss) {
    int64_t classes = scores->dim[scores->rank - 1];
    for (int i = 0; loss && loss->sparse && i < w->n; i++)
        if (w->number[i] >= classes)
            return dt_fail(DT_E_RANGE, location_or_null(&w->at),
                           "class_weight: class %lld is outside [0, %lld)", (long long)w->number[i],
                           (long long)classes);
    return NULL;
}

enum { MOST_NAMED = 16 };

static dt_status *no_class(const char *name, const dt_location *at, const dt_element_spec *target) {
    const dt_texts *names = &target->names;
    if (names->n == 0)
        return dt_suggest(dt_fail(DT_E_LABELS, location_or_null(at),
                                  "class_weight names '%.80s', but the classes of '%.80s' have no "
                                  "names",
                                  name, target->name),
                          "write their numbers, from 0: {0: 1, 1: 5}");
    dt_local_str have = {0};
    for (int i = 0; i < names->n && i < MOST_NAMED; i++)
        dt_str_printf(&have, "%s%.80s", i ? ", " : "", names->v[i]);
    dt_status *s = dt_fail(DT_E_LABELS, location_or_null(at),
                           "class_weight: '%.80s' is not a class of '%.80s'; classes: %s%s", name,
                           target->name, dt_str_text(&have), names->n > MOST_NAMED ? ", ..." : "");
    return dt_suggest_nearest(s, name, names->v, names->n);
}

/* Sets the class numbers of the classes that the job gives by name. Reports all names that are not
 * classes, and classes that occur twice. */
static dt_status *number_classes(const dt_class_weights *w, const dt_element_spec *target) {
    dt_status *s = NULL;
    for (int i = 0; i < w->n; i++) {
        if (w->name[i]) w->number[i] = find(&target->names, w->name[i]);
        if (w->number[i] < 0) {
            dt_status_append(&s, no_class(w->name[i], &w->key_at[i], target));
            continue;
        }
        for (int k = 0; k < i; k++)
            if (w->number[k] == w->number[i])
                dt_status_append(&s, dt_fail(DT_E_LABELS, location_or_null(&w->key_at[i]),
                                             "class_weight has class %lld twice",
                                             (long long)w->number[i]));
    }
    return s;
}

dt_status *dt_match_class_weight(const dt_dataset *d, const dt_model_spec *model,
                                 const dt_compile_spec *c, const dt_match *m,
                                 const dt_class_weights *w) {
    const dt_named *loss = &c->output[0].loss;
    const dt_type *scores = &model->output[0].type;
    const dt_element_spec *element;
    if (!w || (w->n == 0 && !w->balanced)) return NULL;
    if (c->n_outputs > 1)
        return dt_fail(DT_E_LABELS, location_or_null(&w->at),
                       "class_weight is for models of one output; this one has %d", c->n_outputs);
    if (dt_loss_is_whole(loss, scores))
        return dt_suggest(dt_fail(DT_E_LABELS, location_or_null(&w->at),
                                  "class_weight: %s gives one number for the whole batch, so "
                                  "examples cannot be weighted",
                                  loss->kind->name),
                          "give it the axes of an example: axis: [1]");
    dt_dataset_elements(d, &element);
    const dt_element_spec *target = &element[m->target[0]];
    if (target->type.rank > 2)
        return dt_fail(DT_E_LABELS, location_or_null(&w->at),
                       "class_weight is for one class an example; targets '%s' have %d dimensions",
                       target->name, target->type.rank);
    DT_TRY(number_classes(w, target));
    return check_classes(w, scores, (const dt_loss_row *)loss->kind);
}

/* ---- batches ---- */

void dt_match_views(const dt_dataset *d, const dt_example *batch, const dt_graph *step,
                    dt_view *arg) {
    const dt_element_spec *element;
    int n = dt_dataset_elements(d, &element);
    for (int i = 0; i < step->n_args; i++)
        for (int e = 0; e < n; e++)
            if (strcmp(step->arg[i].name, element[e].name) == 0)
                arg[i] = (dt_view){batch->tensor[e]->type, batch->tensor[e]->data};
}
