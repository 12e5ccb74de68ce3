/*
 * Data against model: which elements of the data set are the inputs, which is the target, and whether the model, the loss and the metrics
 * can take what they hold. By names alone before a file is opened, by types and labels after.
 */
#include <stdlib.h>
#include <string.h>

#include "train/train.h"

static const dt_place *told(const dt_place *at)
{
    return at->source ? at : NULL;
}

/* ---- by name ---- */

static int find(const dt_texts *elements, const char *name)
{
    for (int i = 0; i < elements->n; i++)
        if (strcmp(elements->v[i], name) == 0)
            return i;
    return -1;
}

static dt_status *no_element(const dt_texts *elements, const char *role, const char *name, const dt_place *at)
{
    dt_str have = { 0 };

    for (int i = 0; i < elements->n; i++)
        dt_str_printf(&have, "%s'%.80s'", i ? ", " : "", elements->v[i]);
    dt_status *s = dt_fail(DT_E_ELEMENTS, told(at), "the data set has no element '%.80s' for the %s; it has %s", name, role,
                           dt_str_text(&have));
    dt_str_release(&have);
    const char *nearest = dt_nearest(name, elements->v, elements->n);
    return nearest ? dt_suggest(s, "did you mean '%.80s'?", nearest) : s;
}

/* The only element that is no input; -1: there is none, or there are several. *others: how many. */
static int find_other(const dt_texts *elements, const dt_match *m, int *others)
{
    int other = -1;
    *others = 0;
    for (int i = 0; i < elements->n; i++) {
        bool is_input = false;
        for (int k = 0; k < m->n_inputs; k++)
            is_input |= m->input[k] == i;
        if (!is_input)
            other = (*others)++ ? -1 : i;
    }
    return other;
}

static dt_status *find_target(const dt_texts *elements, const dt_compile_spec *c, dt_match *m)
{
    const char *inputs = m->n_inputs > 1 ? "inputs" : "input";
    int others;
    m->target = c->target ? find(elements, c->target) : find_other(elements, m, &others);
    if (m->target >= 0)
        return NULL;
    if (c->target)
        return no_element(elements, "target", c->target, &c->target_at);
    if (others == 0)
        return dt_fail(DT_E_ELEMENTS, told(&c->loss.at), "the data set has no element besides the %s: there is no target", inputs);
    return dt_fail(DT_E_ELEMENTS, told(&c->loss.at), "the data set has %d elements besides the %s: compile.target names the target", others, inputs);
}

dt_status *dt_match_names(const dt_texts *elements, const dt_model_spec *model, const dt_compile_spec *c, dt_match *out)
{
    dt_status *faults = NULL;
    *out = (dt_match){ .n_inputs = model->n_inputs, .target = -1 };
    for (int i = 0; i < model->n_inputs; i++) {
        const dt_input_spec *input = &model->input[i];
        out->input[i] = find(elements, input->name);
        if (out->input[i] < 0)
            dt_status_append(&faults, no_element(elements, "input", input->name, &input->at));
    }
    return !faults && c ? find_target(elements, c, out) : faults;
}

/* ---- by type ---- */

static dt_status *check_input(const dt_element *e, const dt_input_spec *input)
{
    dt_str is = { 0 }, ought = { 0 };
    dt_type given = e->type;

    given.dtype = input->type.dtype; /* what is fed is converted to the Input's */
    if (dt_type_equal(&given, &input->type))
        return NULL;
    dt_shape_print(&e->type, &is);
    dt_shape_print(&input->type, &ought);
    dt_status *s = dt_fail(DT_E_ELEMENTS, told(&input->at), "the model takes '%.80s' as %s, the data set has %s", input->name,
                           dt_str_text(&ought), dt_str_text(&is));
    dt_str_release(&is);
    dt_str_release(&ought);
    return s;
}

static dt_status *at_place(dt_status *s, const dt_place *at)
{
    return s && at->source ? dt_at(s, at) : s;
}

/* The loss and the metrics accept what the data set and the model give. */
static dt_status *check_target(const dt_type *target, const dt_type *output, const dt_compile_spec *c)
{
    const dt_loss_row *loss = (const dt_loss_row *)c->loss.kind; /* a row begins with its kind */

    DT_TRY(at_place(loss->check(c->loss.args, target, output), &c->loss.at));
    for (int i = 0; i < c->n_metrics; i++)
        DT_TRY(at_place(c->metric[i].row->check(c->metric[i].args, target, output), &c->metric[i].at));
    return NULL;
}

dt_status *dt_match_types(dt_dataset *d, const dt_model_spec *model, const dt_compile_spec *c, dt_match *out)
{
    const dt_element *element;

    DT_TRY(dt_dataset_check_job(d));
    int n = dt_dataset_elements(d, &element);
    const char **name = dt_alloc(dt_size_mul((size_t)n, sizeof *name));

    for (int i = 0; i < n; i++)
        name[i] = element[i].name;
    dt_status *s = dt_match_names(&(dt_texts){ n, name }, model, c, out);
    free(name);
    DT_TRY(s);
    for (int i = 0; i < model->n_inputs; i++)
        DT_TRY(check_input(&element[out->input[i]], &model->input[i]));
    return c ? check_target(&element[out->target].type, &model->output, c) : NULL;
}

dt_status *dt_match_data(dt_dataset *d, const dt_model_spec *model, const dt_compile_spec *c, dt_match *out)
{
    DT_TRY(dt_match_types(d, model, c, out));
    bool sparse = c && ((const dt_loss_row *)c->loss.kind)->sparse;
    return sparse ? dt_dataset_check_labels(d, out->target, model->output.dim[model->output.rank - 1]) : NULL;
}

/* ---- batches ---- */

void dt_match_views(const dt_dataset *d, const dt_batch *batch, const dt_graph *step, dt_view *arg)
{
    const dt_element *element;
    int n = dt_dataset_elements(d, &element);
    for (int i = 0; i < step->n_args; i++)
        for (int e = 0; e < n; e++)
            if (strcmp(step->arg[i].name, element[e].name) == 0)
                arg[i] = batch->element[e];
}
