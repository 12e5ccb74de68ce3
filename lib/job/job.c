/* SPDX-License-Identifier: Apache-2.0 */
/* A job as a handle: opening it, asking about it, and releasing it. */
#include <string.h>
#include <sys/stat.h>

#include "job/job.h"

/* ---- checks ---- */

/* Returns the location of the key backend.type; NULL: the job has none, or --backend takes
 * precedence over it. */
static const dt_location *place_of_backend(const dt_job *j) {
    return j->backend_at.source ? &j->backend_at : NULL;
}

static dt_status *check_backend(const dt_job *j) {
    if (!j->has_strategy || !j->backend) return NULL;
    const bool pjrt = dt_backend_takes_plugin(j->backend);
    if (pjrt && (j->how.shards > 0 || j->strict))
        return dt_fail(DT_E_BACKEND, place_of_backend(j),
                       "reproducible: the bits of results are the plug-in's with back end pjrt; "
                       "use cpu, or leave out reproducible");
    if (strcmp(j->backend, j->strategy.row->backend) == 0 || pjrt || !place_of_backend(j))
        /* --backend cpu is allowed for a simulated slice: it computes on this machine's cores. */
        return NULL;
    return dt_fail(DT_E_BACKEND, place_of_backend(j),
                   "back end '%s' does not go with strategy %s, which is computed by '%s'",
                   j->backend, j->strategy.row->kind.name, j->strategy.row->backend);
}

/* Whether the plug-in's path in the job was refused; this was reported together with the job's
 * other paths. */
static bool is_refused(const dt_job *j) {
    const dt_tree *stated = dt_tree_get(dt_tree_get(j->tree, "backend"), "plugin");
    DT_LOCAL char *local = NULL;
    dt_status *s = stated && stated->kind == DT_TREE_SCALAR && strcmp(stated->text, j->plugin) == 0
                       ? dt_path_local(j->plugin, &local)
                       : NULL;
    const bool refused = s != NULL;
    dt_status_free(s);
    return refused;
}

/* If `fit` will open a plug-in, but the job is only inspected now, checks that the plug-in's file
 * exists. A name without a slash is searched in the directories of libraries, so it is not
 * checked. */
static dt_status *check_plugin_is_there(const dt_job *j) {
    struct stat st;
    if (!j->sealed || j->purpose != DT_FOR_FIT || !j->plugin || !strchr(j->plugin, '/') ||
        !dt_backend_takes_plugin(j->backend) || is_refused(j))
        return NULL;
    DT_TRY(dt_path_check(j->plugin));
    if (stat(j->plugin, &st) != 0)
        return dt_fail(DT_E_PLUGIN, place_of_backend(j),
                       "cannot open the plug-in: %s: no such file", j->plugin);
    return S_ISREG(st.st_mode) ? NULL
                               : dt_fail(DT_E_PLUGIN, place_of_backend(j),
                                         "cannot open the plug-in: %s is not a file", j->plugin);
}

static dt_status *count_replicas(dt_job *j) {
    dt_strategy *s = NULL;
    DT_TRY(dt_strategy_open(&s, &j->strategy));
    j->replicas = dt_strategy_replicas(s);
    j->workers = dt_strategy_input_workers(s);
    j->uncounted = s->uncounted;
    dt_strategy_unref(s);
    return NULL;
}

/* Checks that per_replica_batch_size times the number of replicas is not too large for a global
 * batch. */
static dt_status *check_batch(const dt_job *j) {
    int64_t each = j->dataset.per_replica_batch_size, replicas = j->replicas;
    if (!j->has_dataset || each * replicas <= DT_LARGEST_BATCH) return NULL;
    return dt_fail(
        DT_E_BATCH_SIZE, dt_tree_value_at(j->dataset.tree, "per_replica_batch_size"),
        "per_replica_batch_size %lld on %lld replicas is a global batch of %lld; at most %lld",
        (long long)each, (long long)replicas, (long long)(each * replicas),
        (long long)DT_LARGEST_BATCH);
}

/* Stratifies folds by the target, if the job gives only a number of folds and an example has one
 * class or label, as scikit-learn does for a classifier with cv=5. */
static void stratify_folds(dt_job *j) {
    dt_validation_split *split = &j->dataset.split;
    const dt_output_use *use = &j->compile.output[0];
    const dt_loss_row *loss = (const dt_loss_row *)use->loss.kind;
    if (split->folds == 0 || split->listed || j->compile.n_outputs != 1 || !loss) return;
    const dt_type *out = &j->model.output[0].type;
    const int64_t units = out->rank == 2 ? out->dim[1] : 1;
    if (out->rank > 2 || loss->of == DT_OUTPUT_VALUES ||
        (loss->of == DT_OUTPUT_LABELS && units != 1))
        return;
    split->stratify = use->target;
    split->stratify_unasked = true;
}

/* Reports Inputs that read elements which only sort or group rows, so that examples do not have
 * them. */
static dt_status *check_left_out(const dt_job *j) {
    dt_status *s = NULL;
    for (int i = 0; i < j->model.n_inputs; i++) {
        const dt_input_spec *input = &j->model.input[i];
        if (dt_dataset_leaves_out(&j->dataset, input->name))
            dt_status_append(
                &s, dt_suggest(dt_fail(DT_E_ELEMENTS, &input->at,
                                       "'%.80s' sorts or groups the rows of windows, so examples "
                                       "do not have it",
                                       input->name),
                               "give it steps in dataset.map, or read its column as another "
                               "element, too"));
    }
    return s;
}

static dt_status *check_elements(dt_job *j) {
    dt_match match;
    int n = 0;
    if (!j->has_dataset) return NULL;
    /* a format tells the names of elements without opening a file; an error is dropped, since
     * faults have been reported */
    const dt_format_request r = dt_dataset_request(&j->dataset, DT_PART_TRAIN, j->arena);
    dt_status_free(j->dataset.format->check(&r, &j->elements));
    for (int i = 0; i < j->elements.n; i++)
        if (!dt_dataset_leaves_out(&j->dataset, j->elements.v[i]))
            j->elements.v[n++] = j->elements.v[i];
    j->elements.n = n;
    if (!j->has_model) return NULL;
    DT_TRY(check_left_out(j));
    DT_TRY(dt_match_names(&j->elements, &j->model, j->has_compile ? &j->compile : NULL, &match));
    for (int i = 0; j->has_compile && i < j->compile.n_outputs; i++)
        if (match.target[i] >= 0) j->compile.output[i].target = j->elements.v[match.target[i]];
    if (j->has_compile) stratify_folds(j);
    return NULL;
}

static dt_status *check_accumulation(const dt_job *j) {
    const dt_optimizer_head *head = j->has_compile ? j->compile.optimizer.args : NULL;
    if (!j->has_fit || !head || j->fit.gradient_accumulation_steps <= 1 ||
        !head->gradient_accumulation_steps)
        return NULL;
    return dt_fail(DT_E_RANGE, &j->fit.accumulation_at,
                   "gradients are accumulated by the optimizer's gradient_accumulation_steps and "
                   "by fit's: only one can be set");
}

static dt_status *check_runs(const dt_job *j) {
    dt_status *faults = NULL;
    bool runs =
        j->purpose == DT_FOR_FIT || j->purpose == DT_FOR_EVALUATE || j->purpose == DT_FOR_PREDICT;
    if (runs && j->has_compile && j->compile.quantization != DT_QUANTIZE_NONE)
        dt_status_append(&faults, dt_suggest(dt_fail(DT_E_NOT_YET, &j->compile.quantization_at,
                                                     "quantization %s can be planned, not run",
                                                     dt_quantizations[j->compile.quantization]),
                                             "set it to none to run without"));
    if (runs && j->has_strategy && j->strategy.slices > 1)
        dt_status_append(&faults, dt_fail(DT_E_NOT_YET, &j->strategy.at,
                                          "%lld slices can be planned, not run yet; one can",
                                          (long long)j->strategy.slices));
    return faults;
}

static dt_status *check_job(dt_job *j) {
    dt_status *faults = check_backend(j), *uncountable = j->has_strategy ? count_replicas(j) : NULL;
    dt_status_append(&faults, uncountable ? uncountable : check_batch(j));
    dt_status_append(&faults, check_plugin_is_there(j));
    dt_status_append(&faults, check_elements(j));
    dt_status_append(&faults, check_runs(j));
    dt_status_append(&faults, check_accumulation(j));
    if (j->has_fit && j->has_model && j->has_dataset)
        dt_status_append(
            &faults, dt_callbacks_check(&j->fit.callbacks,
                                        &(dt_callback_job){&j->model, &j->dataset,
                                                           j->has_compile ? &j->compile : NULL,
                                                           dt_fit_validates_by_steps(&j->fit)}));
    dt_status_append(&faults, dt_job_check_partition(j));
    return faults;
}

/* ---- opening ---- */

/* Lists the keys that fit will report: loss and metrics, the same for the validation data, and what
 * callbacks add. */
static void list_metrics(dt_job *j) {
    static const char *const prefixes[] = {"", "val_"};
    bool validates = j->dataset.part[DT_PART_VALIDATION] || dt_validation_splits(&j->dataset.split);
    if (!j->has_compile) return;
    const char *key[DT_MAX_KEYS];
    int n = dt_compile_keys(&j->compile, key);
    j->metric = dt_arena_array(j->arena, const char *, 2 * n + 1);
    for (int p = 0; p < (validates ? 2 : 1); p++)
        for (int i = 0; i < n; i++)
            j->metric[j->n_metrics++] = dt_arena_printf(j->arena, "%s%s", prefixes[p], key[i]);
    if (dt_callbacks_vary_rate(&j->fit.callbacks))
        /* a callback that changes the learning rate adds it to the logs */
        j->metric[j->n_metrics++] = "learning_rate";
}

static void add_entry(dt_job *j, dt_tree *map, const dt_entry *entry) {
    dt_entry *all = dt_arena_array(j->arena, dt_entry, map->n + 1);
    if (map->n > 0) memcpy(all, map->entry, sizeof *all * (size_t)map->n);
    all[map->n++] = *entry;
    map->entry = all;
}

/* If the job leaves out the strategy's type, adds it to the tree, so that it is recorded as if it
 * had been written. */
static void add_strategy(dt_job *j) {
    dt_tree *given = dt_tree_get(j->tree, "strategy"), *type = dt_arena_new(j->arena, dt_tree);
    dt_entry *only = dt_arena_new(j->arena, dt_entry);
    *type = (dt_tree){.kind = DT_TREE_SCALAR, .text = dt_strategy_unnamed(given)->kind.name};
    *only = (dt_entry){.key = "type", .value = type};
    const dt_tree strategy = {.kind = DT_TREE_MAP, .n = 1, .entry = only};
    if (given && given->kind == DT_TREE_NULL) *given = strategy;
    dt_tree *of_given = given && given->kind == DT_TREE_MAP ? dt_tree_get(given, "type") : NULL;
    if (of_given && of_given->kind == DT_TREE_NULL) *of_given = *type;
    else if (given && given->kind == DT_TREE_MAP && !of_given) add_entry(j, given, only);
    if (given) return;
    dt_tree *added = dt_arena_new(j->arena, dt_tree);
    *added = strategy;
    add_entry(j, j->tree, &(dt_entry){.key = "strategy", .value = added});
}

/* Reads the sections. Faults of the file (exit code 78) are reported before missing devices
 * (69). */
static dt_status *read_job(dt_job *j, const dt_job_source *source) {
    dt_status *missing = NULL, *faults = dt_job_read_tree(j, source);
    if (!j->tree) return faults;
    add_strategy(j);
    dt_status_append(&faults, dt_job_substitute(j, source->path));
    dt_job_move_paths(j);
    dt_status *s = dt_job_recall_model(j);
    dt_status_append(&faults, s);
    if (s) return faults;
    dt_job_read_sections(j, source, &faults, &missing);
    dt_status_append(&faults, check_job(j));
    dt_status_append(&faults, missing);
    dt_local_str text = {0};
    dt_tree_print(j->tree, &text);
    j->json = dt_arena_strdup(j->arena, dt_str_text(&text));
    j->sha256 = dt_sha256_of(text.data, text.size);
    list_metrics(j);
    return faults;
}

static dt_status *check_call(dt_job **out, const dt_job_source *source) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_job_open", "place for the job"));
    DT_TRY(dt_want(source, "dt_job_open", "source"));
    DT_TRY(dt_want(source->path, "dt_job_open", "path"));
    return dt_want_texts(source->overrides, source->n_overrides, "dt_job_open",
                         "text of an override");
}

DT_API dt_status *dt_job_open(dt_job **out, const dt_job_source *source) {
    DT_TRY(check_call(out, source));
    dt_job *j = dt_alloc(sizeof *j);
    j->refs = 1;
    j->arena = dt_arena_create();
    j->purpose = source->purpose;
    j->rank = (dt_rank_option){.given = source->has_rank, .value = source->rank};
    j->sealed = !source->plugin && (source->inspect || source->purpose == DT_FOR_PLAN ||
                                    source->purpose == DT_FOR_TOPOLOGY);
    dt_status *s = read_job(j, source);
    if (s) {
        dt_job_unref(j);
        return s;
    }
    dt_job_unref(*out);
    *out = j;
    return NULL;
}

DT_API void dt_job_unref(dt_job *j) {
    if (!DT_LAST(j)) return;
    dt_dataset_unref(j->data);
    dt_strategy_spec_release(&j->strategy);
    dt_arena_destroy(j->arena);
    DT_RETIRE(j);
}

/* ---- public calls that read a job ---- */

DT_API const char *dt_job_name(const dt_job *j) { return DT_LIVE(j) ? j->name : NULL; }

DT_API const char *dt_job_metric(const dt_job *j, int i) {
    DT_LIVE(j);
    return j && i >= 0 && i < j->n_metrics ? j->metric[i] : NULL;
}

DT_API dt_status *dt_job_warnings(dt_job *j, char **text) {
    dt_str lines = {0};
    dt_texts warnings = {0};
    DT_REQUIRE({DT_LIVE(j), "job"}, {text, "place for the text"});
    if (j->has_model && j->has_compile)
        dt_output_warnings(&j->model, &j->compile, j->arena, &warnings);
    for (int i = 0; i < warnings.n; i++) dt_str_printf(&lines, "%s\n", warnings.v[i]);
    const dt_texts idle = dt_job_idle_keys(j, j->arena);
    for (int i = 0; i < idle.n; i++) dt_str_printf(&lines, "%s\n", idle.v[i]);
    if (j->data) dt_dataset_left_out(j->data, &warnings);
    for (int i = 0; j->data && i < warnings.n; i++) dt_str_printf(&lines, "%s\n", warnings.v[i]);
    *text = dt_str_take(&lines);
    return NULL;
}

DT_API dt_resume dt_job_resume(const dt_job *j) {
    DT_LIVE(j);
    return j && j->checkpoint.resume != DT_RESUME_JOB ? j->checkpoint.resume : DT_RESUME_AUTO;
}
