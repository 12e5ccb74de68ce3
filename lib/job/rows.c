/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the job's data set, and rows to predict or to evaluate that are not in it: a file, a folder
 * or a pipe. Their examples are stored in the same form as those of the data set. */
#include <stdlib.h>
#include <string.h>

#include "data/map.h"
#include "data/rows_file.h"
#include "job/job.h"

/* ---- the data set ---- */

/* Opens the data set of the job once, and checks what `partition` says about its elements that are
 * not inputs of the model. */

dt_status *dt_job_open_data(dt_job *j) {
    if (j->data) return NULL;
    DT_TRY(dt_dataset_create(&j->data, &j->dataset));
    j->model.documents = dt_dataset_documents(j->data);
    return dt_job_check_targets(j);
}

dt_status *dt_job_find_documents(dt_job *j) {
    const dt_format *f = j->dataset.format;
    const dt_documents d =
        f && f->documents ? f->documents(j->dataset.format_args) : (dt_documents){0};
    dt_dataset *own = NULL;
    if ((!d.masked && !d.restarts) || j->model.documents.masked || j->model.documents.restarts)
        return NULL;
    DT_TRY(dt_dataset_create(&own, &j->dataset));
    j->model.documents = dt_dataset_documents(own);
    dt_dataset_unref(own);
    return NULL;
}

DT_API int dt_job_folds(const dt_job *j) {
    DT_LIVE(j);
    return j && j->dataset.split.fold == 0 ? (int)j->dataset.split.folds : 0;
}

dt_status *dt_job_check_fold(const dt_job *j) {
    const int folds = dt_job_folds(j);
    if (folds == 0) return NULL;
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, &j->dataset.at,
                              "the job has %d folds, with a model each", folds),
                      "'dtrain fit' trains all; for one of them add dataset.fold=1 "
                      "output.dir=%s/fold-1",
                      j->run_dir);
}

DT_API dt_status *dt_job_check_data(dt_job *j) {
    const dt_compile_spec *c = NULL;
    dt_match match;
    DT_REQUIRE({DT_LIVE(j), "job"});
    DT_TRY(dt_job_open_data(j));
    if (j->has_compile) c = &j->compile;
    dt_status *faults = dt_match_data(j->data, &j->model, c, &match);
    if (!faults && c && j->has_fit)
        faults = dt_match_class_weight(j->data, &j->model, c, &match, &j->fit.class_weight);
    if (!faults && c && j->has_fit)
        faults = dt_match_counts(j->data, c, &match, &j->fit.class_weight);
    dt_status_append(&faults, dt_job_check_first_weights(j));
    return faults;
}

DT_API dt_status *dt_job_check_examples(dt_job *j) {
    DT_REQUIRE({DT_LIVE(j), "job"});
    dt_dataset_spec spec = j->dataset;
    dt_dataset *checked = NULL;
    spec.checks_all = true;
    dt_status *s = dt_dataset_create(&checked, &spec);
    dt_dataset_unref(checked);
    return s;
}

dt_status *dt_job_take_learned(dt_job *j, const dt_saved *c) {
    const dt_learned *learned;
    DT_TRY(dt_stored_read(c, j->arena, &j->dataset));
    DT_TRY(dt_learned_read(c, j->arena, &learned));
    if (!learned && !c->state.named_files) return NULL;
    if (learned) j->dataset.learned = learned;
    if (c->state.named_files)
        j->dataset.named_files = dt_arena_strdup(j->arena, c->state.named_files);
    dt_dataset_unref(
        /* the data set has learned from the current files, not from those of the checkpoint, so it
         * is closed */
        j->data);
    j->data = NULL;
    return NULL;
}

/* ---- rows ---- */

/* If the checkpoint does not have what steps of `map` had learned, as in files of weights, lets
 * them learn from the training data again. */
static dt_status *learn_for_rows(dt_job *j) {
    if (j->dataset.learned || !dt_map_learns(j->dataset.map)) return NULL;
    DT_TRY(dt_job_open_data(j));
    j->dataset.learned = dt_dataset_learned(j->data);
    return NULL;
}

/* Whether the job names columns by patterns, or by those that it leaves out, so that their order is
 * that of the training data. */
static bool has_patterns(const dt_job *j) {
    const dt_tree *t = dt_tree_get(j->dataset.tree, "element");
    bool has = false;
    for (int i = 0; t && j->dataset.format->declare && i < t->n && !has; i++) {
        dt_element_spec e = {.name = ""};
        dt_status_free(j->dataset.format->declare(j->arena, &t->entry[i], j->dataset.tree, &e));
        has = e.choice != DT_CHOICE_NAMES;
    }
    return has;
}

static dt_texts copy_columns(dt_arena *arena, const dt_element_spec *e) {
    dt_texts out = {.v = dt_arena_array(arena, const char *, e->columns.n)};
    while (e->choice != DT_CHOICE_NAMES && out.n < e->columns.n) {
        out.v[out.n] = dt_arena_strdup(arena, e->columns.v[out.n]);
        out.n++;
    }
    return out;
}

/* Finds out how rows are stored. Does nothing if the checkpoint describes it, or if keys of the job
 * do, without patterns. Otherwise the files of the data set are opened. If these are missing too,
 * rows have the types of the model's inputs; then columns that are named by patterns are an
 * error. */
static dt_status *store_for_rows(dt_job *j) {
    const dt_element_spec *elements;
    dt_dataset *d = NULL;
    dt_dataset_spec as_stored = j->dataset;
    const bool patterns = j->dataset.n_stored == 0 && has_patterns(j);
    if (j->dataset.n_stored > 0 || (j->dataset.format->declare && !patterns)) return NULL;
    as_stored.as_stored = true;
    /* The file contains single rows, so windows of several rows are switched off. */
    as_stored.window.length = 0;
    dt_status *missing = j->data ? NULL : dt_dataset_create(&d, &as_stored);
    if (missing && patterns) return missing;
    const dt_dataset *from = j->data ? j->data : d;
    const int n = from ? dt_dataset_elements(from, &elements) : 0;
    dt_element_spec *all = dt_arena_array(j->arena, dt_element_spec, n);
    for (int e = 0; e < n; e++)
        all[e] = (dt_element_spec){.name = dt_arena_strdup(j->arena, elements[e].name),
                                   .type = dt_element_row(dt_dataset_stored(from, e)),
                                   .columns = copy_columns(j->arena, dt_dataset_stored(from, e))};
    j->dataset.stored = all;
    j->dataset.n_stored = n;
    dt_status_free(missing);
    dt_dataset_unref(d);
    return NULL;
}

/* The elements of the opened examples are the model's Inputs. */
dt_status *dt_job_open_rows(dt_job *j, const dt_predict_request *q, dt_dataset **out) {
    DT_TRY(learn_for_rows(j));
    DT_TRY(store_for_rows(j));
    dt_element_spec *input = dt_arena_array(j->arena, dt_element_spec, j->model.n_inputs);
    for (int i = 0; i < j->model.n_inputs; i++)
        input[i] =
            (dt_element_spec){.name = j->model.input[i].name, .type = j->model.input[i].type};
    const dt_texts keep = {.n = q->n_keep, .v = dt_arena_array(j->arena, const char *, q->n_keep)};
    for (int i = 0; i < q->n_keep; i++) keep.v[i] = dt_arena_strdup(j->arena, q->keep[i]);
    return dt_rows_open(out, &(dt_rows_request){.path = q->input,
                                                .job = &j->dataset,
                                                .input = input,
                                                .n = j->model.n_inputs,
                                                .once = true,
                                                .answers = q->answers_bad_rows,
                                                .keep = keep});
}

/* ---- rows to evaluate ---- */

/* Lists the elements that a batch needs: the model's Inputs with their types, then targets and
 * weights by name. */
static int name_elements(const dt_job *j, const dt_match *m, dt_element_spec *out) {
    int n = 0;
    for (int i = 0; i < m->n_inputs; i++)
        out[n++] =
            (dt_element_spec){.name = j->model.input[i].name, .type = j->model.input[i].type};
    for (int k = 0; k < 2 * j->model.n_outputs; k++) {
        const int e = k % 2 ? m->weight[k / 2] : m->target[k / 2];
        bool is_named = e < 0;
        for (int i = 0; i < n && !is_named; i++)
            is_named = strcmp(out[i].name, j->elements.v[e]) == 0;
        if (!is_named) out[n++].name = j->elements.v[e];
    }
    return n;
}

static dt_status *open_evaluated_rows(dt_job *j, const char *path, dt_dataset **out) {
    dt_match match;
    DT_TRY(learn_for_rows(j));
    DT_TRY(store_for_rows(j));
    DT_TRY(dt_match_names(&j->elements, &j->model, &j->compile, &match));
    dt_element_spec *element =
        dt_arena_array(j->arena, dt_element_spec, match.n_inputs + 2 * j->model.n_outputs);
    const dt_rows_request q = {
        .path = path, .job = &j->dataset, .input = element, .n = name_elements(j, &match, element)};
    return dt_rows_open(out, &q);
}

/* Opens a text, a LIBSVM file, or a folder with a subfolder for each class, as the part for tests.
 * Tokens or classes are numbered as in the training part, so that part is opened as well. */
static dt_status *open_test_part(const dt_job *j, const char *path, dt_dataset **out) {
    dt_dataset_spec spec = j->dataset;
    char *here = path[0] == '/' ? NULL : realpath(".", NULL);
    const dt_tree tree = {.kind = DT_TREE_SCALAR,
                          .text = here ? dt_arena_printf(j->arena, "%s/%s", here, path)
                                       : dt_arena_strdup(j->arena, path)};
    free(here);
    spec.part[DT_PART_TEST] = dt_arena_copy(j->arena, &tree, sizeof tree);
    return dt_dataset_create(out, &spec);
}

dt_status *dt_job_open_input(dt_job *j, const char *path, dt_part *part, dt_dataset **out) {
    const dt_content content = j->dataset.format->content;
    const bool own = content == DT_CONTENT_TEXT || content == DT_CONTENT_OTHER;
    if (strcmp(path, "-") == 0)
        return dt_suggest(dt_fail(DT_E_MISUSE, NULL,
                                  "rows to evaluate are read more than once, which standard input "
                                  "cannot be"),
                          "give a file");
    *part = own ? DT_PART_TEST : DT_PART_TRAIN;
    return own ? open_test_part(j, path, out) : open_evaluated_rows(j, path, out);
}

dt_status *dt_job_open_text(dt_job *j, const char *path, dt_part *part, dt_dataset **out) {
    bool is_text = j->dataset.format->content == DT_CONTENT_TEXT;
    DT_TRY(is_text ? dt_rows_are_text(path, &is_text) : NULL);
    return is_text ? dt_job_open_input(j, path, part, out) : NULL;
}
