/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `partition`: how values are placed on the logical devices of a replica. It names elements of the
 * data, layers and values within layers; weights are matched by patterns. All of these become
 * annotations in the graph of a step, like those of dt_strategy_split_to_logical_devices.
 *
 *     partition:
 *       image:  {split: [1, 2, 4, 1]}
 *       label:  replicate
 *       weights:
 *         - {match: "dense_?/kernel", split: [1, 8]}         the first rule that matches
 *
 * Apart from over_replicas, it has no effect if a replica has one logical device, so that a user
 * can change the strategy alone. Names must be correct all the same. Sizes are known as soon as the
 * job is read, except those of targets, which the data determines.
 */
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/hash.h"
#include "job/partition.h"
#include "op/op.h"
#include "op/placement.h"
#include "strategy/strategy.h"

/*
 * ---- names ----
 *
 * What `partition` can name. Inputs and targets are elements of the data; the rest is found by
 * tracing the model's forward pass once, with variables that have no memory: every value that can
 * be annotated has its name and its shape.
 */

static const dt_job_tensor *find_tensor(const dt_job_tensors *list, const char *name) {
    for (int i = dt_hash_index_first(&list->at, dt_name_hash(name)); i >= 0;
         i = dt_hash_index_next(&list->at, i))
        if (strcmp(list->v[i].name, name) == 0) return &list->v[i];
    return NULL;
}

void dt_job_tensors_release(dt_job_tensors *list) {
    free(list->v);
    dt_hash_index_release(&list->at);
}

static void add(dt_job_tensors *list, const char *noun, const char *name, const dt_type *type) {
    if (find_tensor(list, name)) return;
    DT_GROW(list->v, list->cap, list->n + 1);
    dt_hash_index_add(&list->at, dt_name_hash(name));
    list->v[list->n++] = (dt_job_tensor){noun, name, *type};
}

/* Where the layers and the values within them are listed while the forward pass is traced. Their
 * names are copied to the arena of the job. */
typedef struct asker {
    dt_arena *arena;
    dt_job_tensors *list;
} asker;

static dt_value note(const void *user, const char *name, dt_value x) {
    const asker *a = user;
    dt_type type = dt_type_of_value(x);

    if (x.trace)
        add(a->list, strchr(name, '/') ? "value" : "layer", dt_arena_strdup(a->arena, name), &type);
    return x;
}

static dt_status *trace_forward(dt_model *m) {
    dt_trace *t = dt_trace_create("outline");
    dt_value x[DT_MAX_INPUTS], y[DT_MAX_OUTPUTS];
    dt_graph *g = NULL;

    for (int i = 0; i < m->spec.n_inputs; i++)
        x[i] = dt_trace_declare(t, m->spec.input[i].name, &m->spec.input[i].type);
    dt_model_emit_outputs(m, x, m->spec.n_inputs, DT_TRAINING, y);
    for (int i = 0; i < m->spec.n_outputs; i++)
        dt_return(t, dt_output_result(dt_trace_arena(t), &m->spec, i), y[i]);
    dt_status *s = dt_trace_end(t, &g);
    dt_graph_destroy(g);
    return s;
}

dt_status *dt_job_list_tensors(const dt_job *j, dt_job_tensors *out) {
    const asker a = {j->arena, out};
    dt_model *m = NULL;

    *out = (dt_job_tensors){0};
    for (int i = 0; i < j->model.n_inputs; i++)
        add(out, "input", j->model.input[i].name, &j->model.input[i].type);
    DT_TRY(dt_model_outline(&m, &j->model, NULL));
    m->annotate = note;
    m->annotate_user = &a;
    dt_status *s = trace_forward(m);
    dt_model_unref(m);
    return s ? dt_at(s, &j->model.input[0].at) : NULL;
}

/* In this file, `shown` is whether the error will be printed, so that it gets suggestions; other
 * errors are only counted. */

/* Lists elements of the data, then layers. */
static int list_names(const dt_job *j, const char **names) {
    int n = 0;
    for (int i = 0; i < j->elements.n; i++) names[n++] = j->elements.v[i];
    for (int i = 0; i < j->model.n_layers; i++) names[n++] = j->model.layer[i].name;
    return n;
}

static dt_status *no_such_name(const dt_job *j, const dt_job_value *v, bool shown) {
    dt_status *s = dt_fail(
        DT_E_UNKNOWN_KEY, &v->at,
        "partition names '%.80s', which is neither an element of the data nor a layer", v->name);
    if (!shown) return s;
    const char **names = dt_arena_array(j->arena, const char *, j->elements.n + j->model.n_layers);
    int n = list_names(j, names);
    return dt_suggest_nearest(s, v->name, names, n);
}

static bool is_layer(const dt_job *j, const char *name, size_t length) {
    for (int i = 0; i < j->model.n_layers; i++)
        if (strlen(j->model.layer[i].name) == length &&
            strncmp(j->model.layer[i].name, name, length) == 0)
            return true;
    return false;
}

/* Returns an error such as "layer 'decoder_0' has no value 'decoder_0/atention'", with a list of
 * the layer's values, if it has any. */
static dt_status *no_such_value(const dt_job *j, const dt_job_tensors *list,
                                const dt_job_value *v) {
    size_t length = strcspn(v->name, "/");
    const char **names = dt_arena_array(j->arena, const char *, list->n + 1);
    int n = 0;
    for (int i = 0; i < list->n; i++)
        if (strncmp(list->v[i].name, v->name, length + 1) == 0) names[n++] = list->v[i].name;
    dt_status *s = dt_fail(DT_E_UNKNOWN_KEY, &v->at, "layer '%.*s' has no value '%.80s'",
                           length > 80 ? 80 : (int)length, v->name, v->name);
    if (n > 0) return dt_suggest_names(s, dt_nearest(v->name, names, n), names, n, "it has");
    return dt_suggest(s, "'%.*s' is its output; weights have rules of their own, partition.weights",
                      (int)length, v->name);
}

static bool is_element(const dt_job *j, const char *name) {
    for (int i = 0; i < j->elements.n; i++)
        if (strcmp(j->elements.v[i], name) == 0) return true;
    return false;
}

/* Reports all names that are neither an element of the data, nor a layer, nor a value within a
 * layer. */
static dt_status *check_names(const dt_job *j, const dt_job_tensors *list) {
    dt_status *faults = NULL;
    for (int i = 0; i < j->partition->n_values; i++) {
        const dt_job_value *v = &j->partition->value[i];
        if (is_element(j, v->name) || find_tensor(list, v->name)) continue;
        bool inside = strchr(v->name, '/') && is_layer(j, v->name, strcspn(v->name, "/"));
        const bool shown = dt_status_count(faults) < DT_MAX_ERRORS;
        dt_status_append(&faults, inside ? no_such_value(j, list, v) : no_such_name(j, v, shown));
    }
    return faults;
}

static int logical_devices(const dt_job *j) {
    return j->has_strategy && j->strategy.assignment
               ? dt_device_assignment_logical_devices(j->strategy.assignment)
               : 1;
}

/* Returns the number of devices that the job requests for a replica, even if the strategy is faulty
 * because the slice has no such block; 1 if the request is not a list of sizes, or is too large. */
static int devices_asked_for(const dt_job *j) {
    const dt_tree *shape = dt_tree_get(
        dt_tree_get(dt_tree_get(j->tree, "strategy"), "device_assignment"), "computation_shape");
    int64_t devices = logical_devices(j), size;
    for (int k = 0; !j->has_strategy && shape && shape->kind == DT_TREE_LIST && k < shape->n; k++) {
        dt_status *bad =
            dt_tree_int(shape->item[k], "computation_shape", 1, DT_MAX_REPLICAS, &size);
        dt_status_free(bad);
        if (bad || !dt_mul_fits(devices, size, &devices) || devices > DT_MAX_REPLICAS) return 1;
    }
    return (int)devices;
}

/* ---- layouts ---- */

/* A value for which a layout is requested. If its type is unknown (NULL), only the number of parts
 * can be checked. */
typedef struct subject {
    /* how messages refer to the value: kind and name, such as "layer" and "logits" */
    const char *noun, *name;
    const dt_type *type;
    int64_t rows; /* number of rows that B stands for; 0: unknown */
} subject;

/* Returns the number of rows of a replica in a full batch; 0: replicas have different numbers of
 * rows, or the job has no data set. */
static int64_t rows_of_replica(const dt_job *j) {
    int64_t each = j->dataset.per_replica_batch_size, all = j->dataset.global_batch_size, replicas;
    if (!j->has_dataset) return 0;
    replicas = dt_device_assignment_replicas(j->strategy.assignment);
    return each > 0 ? each : all % replicas == 0 ? all / replicas : 0;
}

/* Returns the location of the number of parts that the value cannot be divided into, or of the
 * whole list. */
static const dt_location *split_place(const dt_lying *how, const subject *x) {
    const dt_tree *list = how->tree;
    dt_type type = !x->type  ? (dt_type){.rank = -1}
                   : x->rows ? dt_type_at(x->type, x->rows)
                             : *x->type;
    for (int d = 0; type.rank == list->n && list->kind == DT_TREE_LIST && d < list->n; d++)
        if (type.dim[d] >= 0 && type.dim[d] % how->parts.v[d] != 0) return &list->item[d]->at;
    return &list->at;
}

static dt_status *check_split(const dt_job *j, const dt_lying *how, const subject *x) {
    char *of = dt_arena_printf(j->arena, "%s '%.200s'", x->noun, x->name);
    const dt_split split = {.what = "split",
                            .name = "split",
                            .of = of,
                            .type = x->type,
                            .rows = x->rows,
                            .parts = how->parts.v,
                            .n = how->parts.n,
                            .logical = logical_devices(j)};
    dt_status *s = dt_split_check_parts(&split);
    if (s) return dt_at(s, &how->tree->at);
    s = x->type ? dt_split_check(&split) : NULL;
    return s ? dt_at(s, split_place(how, x)) : NULL;
}

static dt_status *check_assign(const dt_job *j, const dt_lying *how, const subject *x) {
    int devices = logical_devices(j);
    if (j->strategy.spmd)
        return dt_suggest(
            dt_fail(DT_E_LOGICAL_DEVICE, &how->tree->at,
                    "with spmd_partitioning no value is assigned to a single logical device, %s "
                    "'%.200s' neither",
                    x->noun, x->name),
            "split or replicate it");
    if (how->device >= devices)
        return dt_fail(DT_E_LOGICAL_DEVICE, &how->tree->at,
                       "no logical device %lld for %s '%.200s': a replica has %d",
                       (long long)how->device, x->noun, x->name, devices);
    return NULL;
}

/* Checks a layout against the devices of a replica, if there are several. */
static dt_status *check_lying(const dt_job *j, const dt_lying *how, const subject *x) {
    if (logical_devices(j) == 1 || how->kind == DT_SHARDING_REPLICATED) return NULL;
    return how->kind == DT_SHARDING_MAXIMAL ? check_assign(j, how, x) : check_split(j, how, x);
}

/* ---- values ---- */

static dt_status *check_value(const dt_job *j, const dt_job_tensors *list, const dt_job_value *v) {
    const dt_job_tensor *t = find_tensor(list, v->name);
    subject x = {.noun = t ? t->noun : "value", .name = v->name, .type = t ? &t->type : NULL};
    if (t && dt_type_has_batch(&t->type) && logical_devices(j) > 1) x.rows = rows_of_replica(j);
    return check_lying(j, &v->how, &x);
}

static dt_status *check_values(const dt_job *j) {
    dt_job_tensors list = {0};
    dt_status *faults = j->has_model ? dt_job_list_tensors(j, &list) : NULL;
    if (!faults && j->has_model && j->has_dataset) faults = check_names(j, &list);
    for (int i = 0; i < j->partition->n_values; i++)
        dt_status_append(&faults, check_value(j, &list, &j->partition->value[i]));
    dt_job_tensors_release(&list);
    return faults;
}

/* ---- weights ---- */

static bool matches(const dt_job_rule *r, const dt_weight_spec *w) {
    return dt_glob_matches(r->pattern, r->n, w->path);
}

/* Returns the first rule that matches the weight; NULL: no rule does. */
static const dt_job_rule *rule_for(const dt_job_partition *p, const dt_weight_spec *w) {
    for (int i = 0; i < p->n_rules; i++)
        if (matches(&p->rule[i], w)) return &p->rule[i];
    return NULL;
}

/* Returns the error that no weight matches a rule. If `shown` is false, the error is only counted,
 * so it has no suggestions. */
static dt_status *no_match(const dt_job *j, const dt_job_rule *r, bool shown) {
    enum { MOST_SHOWN = 6 };
    const dt_model_spec *m = &j->model;
    if (!shown) return dt_fail(DT_E_PARTITION, &r->at, "no weight matches '%s'", r->match);
    const char **names = dt_arena_array(j->arena, const char *, m->n_weights + 1);
    dt_local_str all = {0};
    for (int i = 0; i < m->n_weights; i++) {
        names[i] = m->weight[i]->path;
        if (i < MOST_SHOWN) dt_str_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    dt_status *s = dt_fail(DT_E_PARTITION, &r->at, "no weight matches '%s'", r->match);
    const char *nearest = dt_nearest(r->match, names, m->n_weights);
    return nearest             ? dt_suggest(s, "did you mean '%s'?", nearest)
           : m->n_weights == 0 ? dt_suggest(s, "the model has no weights")
                               : dt_suggest(s, "there are %s%s", dt_str_text(&all),
                                            m->n_weights > MOST_SHOWN ? ", ..." : "");
}

/* Checks a rule. A rule that matches no weight is an error. Of the weights that the rule applies to
 * but does not fit, the first is reported. of[i] is the rule of weight i. */
static dt_status *check_rule(const dt_job *j, const dt_job_rule *r, const dt_job_rule *const *of,
                             bool shown) {
    bool found = false;
    for (int i = 0; i < j->model.n_weights; i++) {
        const dt_weight_spec *w = j->model.weight[i];
        found = found || of[i] == r || matches(r, w);
        if (of[i] == r)
            DT_TRY(check_lying(j, &r->how,
                               &(subject){.noun = "weight", .name = w->path, .type = &w->type}));
    }
    return found ? NULL : no_match(j, r, shown);
}

static dt_status *check_rules(const dt_job *j) {
    const dt_job_partition *p = j->partition;
    const int n = j->has_model ? j->model.n_weights : 0;
    const dt_job_rule **of = dt_arena_array(j->arena, const dt_job_rule *, n + 1);
    dt_status *faults = NULL;
    for (int i = 0; i < n; i++) of[i] = rule_for(p, j->model.weight[i]);
    for (int i = 0; j->has_model && i < p->n_rules; i++)
        dt_status_append(&faults,
                         check_rule(j, &p->rule[i], of, dt_status_count(faults) < DT_MAX_ERRORS));
    return faults;
}

/* ---- the section ---- */

/* Returns the error that an input has no layout. Its location is `partition`, or the key that
 * requires layouts. */
static dt_status *no_partition_of(const dt_job *j, const char *input) {
    const dt_tree *spmd = dt_tree_get(dt_tree_get(j->tree, "strategy"), "spmd_partitioning");
    const dt_location *asks = spmd ? &spmd->at : &j->strategy.at;
    dt_status *s = dt_fail(DT_E_NOT_PARTITIONED, j->partition ? &j->partition->at : asks,
                           "input '%s' is neither split nor replicated", input);
    s = dt_suggest(s, "spmd_partitioning (line %d) needs one of them for every input", asks->line);
    return j->partition ? dt_note(s, "= add '%s: replicate'", input)
                        : dt_note(s, "= add 'partition: {%s: replicate}'", input);
}

/* Checks that each element of the data has a layout, if the strategy's spmd_partitioning needs that
 * and a replica has several devices. */
static dt_status *check_inputs(const dt_job *j) {
    const dt_tree *given = dt_tree_get(j->tree, "partition");
    dt_status *faults = NULL;
    if (!j->has_dataset || !j->strategy.spmd || devices_asked_for(j) == 1) return NULL;
    for (int i = 0; i < j->elements.n; i++) {
        const dt_tree *stated = dt_tree_get(given, j->elements.v[i]);
        if (!stated || stated->kind == DT_TREE_NULL)
            dt_status_append(&faults, no_partition_of(j, j->elements.v[i]));
    }
    return faults;
}

static dt_status *check_micro_batches(const dt_job *j) {
    int64_t micro = j->how.micro_batches, rows = logical_devices(j) > 1 ? rows_of_replica(j) : 0,
            fits = micro;
    if (rows == 0 || rows % micro == 0) return NULL;
    while (rows % fits) fits--;
    return dt_suggest(
        dt_fail(DT_E_PARTITION, &j->partition->micro_at,
                "a replica's batch of %lld examples does not divide into %lld micro-batches",
                (long long)rows, (long long)micro),
        "%lld would do", (long long)fits);
}

dt_status *dt_job_check_partition(const dt_job *j) {
    dt_status *faults = check_inputs(j);
    if (!j->partition) return faults;
    dt_status_append(&faults, check_values(j));
    dt_status_append(&faults, check_rules(j));
    dt_status_append(&faults, check_micro_batches(j));
    return faults;
}

/* Checks what `partition` says about elements of the data that are not inputs of the model, such as
 * targets. */
dt_status *dt_job_check_targets(const dt_job *j) {
    dt_status *faults = NULL;
    const dt_element_spec *element;
    int n = dt_dataset_elements(j->data, &element);
    if (!j->partition || logical_devices(j) == 1) return NULL;
    for (int i = 0; i < j->partition->n_values; i++)
        for (int k = 0; k < n; k++)
            if (strcmp(element[k].name, j->partition->value[i].name) == 0 &&
                !dt_model_find_input(&j->model, element[k].name))
                dt_status_append(&faults, check_lying(j, &j->partition->value[i].how,
                                                      &(subject){.noun = "target",
                                                                 .name = element[k].name,
                                                                 .type = &element[k].type,
                                                                 .rows = rows_of_replica(j)}));
    return faults;
}

/* ---- annotating ---- */

/*
 * Sequence parallelism: between the matrix products of a transformer block, each device has some
 * time steps of every sequence. A product with a split weight needs all steps, so its input is
 * gathered, and its result, a sum over the devices, is scattered; gradients are gathered and
 * scattered in the same places.
 *
 *     residual, norm    divided    ──▶ gathered ──▶ products ──▶ scattered ──▶ residual
 */

/* Returns the kind of the model's layer with that name; "": there is no such layer. */
static const char *kind_of(const dt_job *j, const char *name) {
    for (int i = 0; i < j->model.n_layers; i++)
        if (strcmp(j->model.layer[i].name, name) == 0) return j->model.layer[i].row->kind.name;
    return "";
}

static bool is_gathered(const dt_job *j, const char *name) {
    return dt_ends_with(name, "/self_attention_layernorm") ||
           dt_ends_with(name, "/feedforward_layernorm") ||
           dt_ends_with(name, "/self_attention_layer_norm") ||
           dt_ends_with(name, "/feedforward_layer_norm") ||
           dt_ends_with(kind_of(j, name), "Normalization");
}

static bool is_scattered(const dt_job *j, const char *name) {
    return dt_ends_with(name, "/self_attention") || dt_ends_with(name, "/self_attention_layer") ||
           dt_ends_with(name, "/feedforward_output_dense") ||
           dt_ends_with(kind_of(j, name), "Embedding");
}

bool dt_job_divides_sequence(const dt_job *j, const char *name) {
    return is_gathered(j, name) || is_scattered(j, name);
}

static dt_value divide_sequence(const dt_job *j, const char *name, dt_value x) {
    const dt_type t = dt_type_of_value(x);
    const int logical = j->annotates->logical;
    bool gathered = is_gathered(j, name);
    if ((!gathered && !is_scattered(j, name)) || t.rank != 3 || t.dim[1] % logical != 0) return x;
    return dt_annotate(
        x, &(dt_sharding_attr){.kind = gathered ? DT_SHARDING_REPLICATED : DT_SHARDING_OTHER,
                               .rank = 3,
                               .parts = {1, logical, 1},
                               .opposite = true});
}

static dt_value annotate_value(const void *job, const char *name, dt_value x) {
    const dt_job *j = job;
    for (int i = 0; x.trace && i < j->partition->n_values; i++) {
        const dt_lying *how = &j->partition->value[i].how;
        if (strcmp(j->partition->value[i].name, name) == 0)
            return how->kind == DT_SHARDING_OTHER ? dt_strategy_split_to_logical_devices(
                                                        j->annotates, x, how->parts.v, how->parts.n)
                   : how->kind == DT_SHARDING_MAXIMAL
                       ? dt_strategy_assign_to_logical_device(j->annotates, x, (int)how->device)
                       : dt_strategy_replicate_to_logical_devices(j->annotates, x);
    }
    return x.trace && j->partition->sequence_parallel ? divide_sequence(j, name, x) : x;
}

/* Moves the inputs of a layer that is assigned to a device to that device, so that all of the layer
 * runs there. */
static dt_value enter_layer(const void *job, const char *name, dt_value x) {
    const dt_job *j = job;
    for (int i = 0; x.trace && i < j->partition->n_values; i++)
        if (j->partition->value[i].how.kind == DT_SHARDING_MAXIMAL &&
            strcmp(j->partition->value[i].name, name) == 0)
            return dt_move_to(x, (int)j->partition->value[i].how.device);
    return x;
}

static dt_status *annotate_weight(dt_strategy *s, const dt_lying *how, dt_variable *v) {
    return how->kind == DT_SHARDING_OTHER
               ? dt_strategy_split_variable(s, v, how->parts.v, how->parts.n)
           : how->kind == DT_SHARDING_MAXIMAL ? dt_strategy_assign_variable(s, v, (int)how->device)
                                              : dt_strategy_replicate_variable(s, v);
}

dt_status *dt_job_annotate_model(dt_job *j, dt_model *m) {
    if (!j->partition || m->strategy->logical == 1) return NULL;
    for (int i = 0; i < m->n_weights; i++) {
        const dt_job_rule *r = rule_for(j->partition, m->spec.weight[i]);
        if (r) DT_TRY(annotate_weight(m->strategy, &r->how, m->weight[i]));
    }
    j->annotates = m->strategy;
    m->annotate = annotate_value;
    m->enter = enter_layer;
    m->annotate_user = j;
    return NULL;
}
