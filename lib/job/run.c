/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate, predict and lower for a job. session.c makes the objects that compute and connects the
 * workers. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/json.h"
#include "job/session.h"

/* ---- keeping evaluations ---- */

/*
 * Keeps the last evaluation of each part in evaluation.PART.json in output.dir, for reports. The
 * file names the checkpoint with its generation and the digest of its weights, so that a reader can
 * check whether it is still current. Evaluations of other files, of only some batches of a part, of
 * other runs' checkpoints, or with a loss that is not finite, are not kept.
 */

static void put_evaluation(dt_json *j, const dt_saved *c, const dt_event *e, const char *outputs) {
    dt_json_open(j, NULL, '{');
    dt_json_int(j, "v", 1);
    dt_json_string(j, "dtrain", DTRAIN_VERSION_STRING);
    dt_json_string(j, "split", e->split);
    dt_json_string(j, "checkpoint", strrchr(c->path, '/') + 1);
    dt_json_int(j, "generation", c->state.generation);
    dt_json_int(j, "step", e->step);
    dt_json_string(j, "weights_sha256", e->weights_sha256);
    dt_json_int(j, "examples", e->examples);
    dt_json_open(j, "metrics", '{');
    for (int i = 0; i < e->n_metrics; i++)
        dt_json_double(j, e->metrics[i].name, e->metrics[i].value);
    dt_json_close(j, '}');
    dt_json_raw(j, "outputs", outputs);
    dt_json_close(j, '}');
}

/* Returns a copy in which paths are written as in the job, with variables instead of their
 * values. */
static dt_evaluation hide_paths(const dt_job *job, const dt_evaluation *e, dt_arena *arena) {
    dt_output_explained *all = dt_arena_array(arena, dt_output_explained, e->n);
    for (int i = 0; i < e->n; i++) {
        all[i] = e->output[i];
        dt_worst_example *worst = dt_arena_array(arena, dt_worst_example, all[i].n_worst);
        for (int k = 0; k < all[i].n_worst; k++) {
            worst[k] = all[i].worst[k];
            DT_LOCAL char *where = dt_hidden_back(job->variable, job->n_variables, worst[k].where);
            worst[k].where = where ? dt_arena_strdup(arena, where) : NULL;
        }
        all[i].worst = worst;
    }
    return (dt_evaluation){.n = e->n, .output = all};
}

static dt_status *write_evaluation(const dt_job *job, const dt_saved *c, const dt_event *e,
                                   const char *directory) {
    static const dt_evaluation none = {0};
    dt_local_arena arena = dt_arena_create();
    dt_local_str text = {0};
    DT_LOCAL char *outputs = NULL;
    const dt_evaluation shown = hide_paths(job, e->evaluation ? e->evaluation : &none, arena);
    dt_status *s = dt_evaluation_json(&shown, &outputs);
    if (!s) {
        put_evaluation(&(dt_json){.out = &text, .compact = true}, c, e, outputs);
        dt_str_putc(&text, '\n');
        s = dt_file_commit(dt_arena_printf(arena, "%s/evaluation.%s.json", directory, e->split),
                           dt_str_text(&text), text.size);
    }
    return s;
}

/* Whether the checkpoint is two folders below DIRECTORY, as in DIRECTORY/ckpt/step-7, even if its
 * path is written in another way. */
static bool is_below(const dt_saved *c, const char *directory) {
    struct stat a, b;
    DT_LOCAL char *run = dt_path_join(c->path, "../..");
    return !c->only_weights && strrchr(c->path, '/') && stat(run, &a) == 0 &&
           stat(directory, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Writes evaluation.PART.json in output.dir, if the checkpoint belongs to this run and this process
 * is the first worker. */
static dt_status *keep_evaluation(const dt_job *j, const dt_saved *c, const dt_event *e) {
    DT_LOCAL char *directory = dt_job_output(j);
    const bool is_kept = j->strategy.launch.rank == 0 && is_below(c, directory);
    dt_status *s = is_kept ? write_evaluation(j, c, e, directory) : NULL;
    return s ? dt_note(s, "the evaluation is not kept for reports") : NULL;
}

/* ---- options of runs ---- */

const dt_run_options *dt_options_or_none(const dt_run_options *o) {
    static const dt_run_options none = {0};
    return o ? o : &none;
}

void dt_job_warn(const dt_run_options *o, const char *text) {
    if (o->event) o->event(&(dt_event){.kind = DT_EVENT_WARNING, .text = text}, o->user);
}

/* ---- checkpoints, and evaluate ---- */

static dt_status *find_part(const dt_job *j, const char *split, dt_part *out) {
    for (dt_part p = 0; p < DT_PARTS; p++)
        if (strcmp(split, dt_part_name(p)) == 0) {
            bool is_split = p == DT_PART_VALIDATION && dt_validation_splits(&j->dataset.split);
            *out = p;
            if (p == DT_PART_TRAIN || j->dataset.part[p] || is_split) return NULL;
            return dt_fail(DT_E_NO_SPLIT, &j->dataset.at, "the data set has no '%s' part", split);
        }
    return dt_suggest(dt_fail(DT_E_NO_SPLIT, NULL, "unknown split '%.80s'", split),
                      "known: train, validation, test");
}

static void warn_all(const dt_run_options *o, dt_status *warnings) {
    for (const dt_status *w = warnings; w; w = dt_status_next(w)) dt_job_warn(o, dt_status_text(w));
    dt_status_free(warnings);
}

static dt_status *open_newest(const dt_job *j, const dt_run_options *o, dt_saved *c) {
    dt_status *warnings = NULL;
    DT_LOCAL char *directory = dt_job_output(j);
    dt_status *s = dt_saved_newest(c, directory, &warnings);
    warn_all(o, warnings);
    if (!s && !c->path)
        s = dt_suggest(dt_fail(DT_E_NO_INPUT, NULL, "there is no checkpoint below %s", directory),
                       "'dtrain fit' writes one");
    return s;
}

dt_status *dt_job_find_checkpoint(const dt_job *j, const char *path, const dt_run_options *o,
                                  dt_saved *c) {
    dt_status *warnings = NULL;
    DT_TRY(dt_job_check_fold(j));
    if (!path) return open_newest(j, o, c);
    dt_status *s = dt_saved_find(c, path, &warnings);
    warn_all(o, warnings);
    return s;
}

dt_status *dt_job_load_weights(const dt_job *j, const dt_saved *c, const dt_session *s) {
    dt_arrays model = dt_model_arrays_to_fill(s->model, j->arena);
    DT_TRY(dt_saved_load_weights(c, &model));
    return dt_saved_check_weights(c);
}

static void warn_texts(const dt_run_options *o, const dt_texts *warnings) {
    for (int i = 0; i < warnings->n; i++) dt_job_warn(o, warnings->v[i]);
}

typedef struct evaluation {
    const char *checkpoint;
    dt_part part;
    dt_saved saved;
    dt_session session;
    /* the data set of --input, and the job's data, which is put aside meanwhile; NULL: not used */
    dt_dataset *rows, *own;
} evaluation;

/* Warns of targets that do not suit a metric, and of classes that differ from those of the job's
 * training data. If that cannot be read, classes are not compared, since the checkpoint has
 * everything else that the evaluation needs. */
static dt_status *warn_of_targets(const dt_job *j, const evaluation *e, dt_texts *out) {
    dt_dataset *training = e->rows && e->part == DT_PART_TRAIN ? e->own : j->data, *opened = NULL;
    if (!training) dt_status_free(dt_dataset_create(&opened, &j->dataset));
    dt_status *s = dt_trainer_target_warnings(e->session.trainer, e->part,
                                              training ? training : opened, j->arena, out);
    dt_dataset_unref(opened);
    return s;
}

static dt_status *warn_about_evaluation(const dt_job *j, const evaluation *e,
                                        const dt_run_options *o) {
    dt_texts warnings;
    dt_output_warnings(&j->model, &j->compile, j->arena, &warnings);
    warn_texts(o, &warnings);
    dt_dataset_left_out(e->session.made_of.data, &warnings);
    warn_texts(o, &warnings);
    DT_TRY(warn_of_targets(j, e, &warnings));
    warn_texts(o, &warnings);
    return NULL;
}

static dt_status *explain(const dt_job *j, const evaluation *e, const dt_run_options *o,
                          dt_arena *arena, dt_evaluation *out) {
    dt_class_names names;
    if ((unsigned)o->threshold_for > DT_THRESHOLD_RECALL)
        return dt_fail(DT_E_MISUSE, NULL, "dt_job_evaluate got threshold_for %d, which is no score",
                       (int)o->threshold_for);
    DT_TRY(dt_class_names_read(&e->saved, &j->model, arena, &names));
    return dt_trainer_explain(&(dt_explain_request){.trainer = e->session.trainer,
                                                    .part = e->part,
                                                    .batches = o->max_steps,
                                                    .names = &names,
                                                    .threshold_for = o->threshold_for,
                                                    .arena = arena},
                              out);
}

static void report_results(const dt_event *result, const dt_run_options *o) {
    dt_event next = *result;
    if (!o->event) return;
    o->event(&next, o->user);
    next.evaluation = NULL;
    next.kind = DT_EVENT_END;
    o->event(&next, o->user);
}

static dt_status *report_evaluation(const dt_job *j, const evaluation *e, const dt_sums *sums,
                                    const dt_run_options *o, dt_arena *arena) {
    const bool whole = !o->input && o->max_steps == 0;
    const char *part = dt_dataset_part_name(e->session.made_of.data, e->part);
    dt_metric metrics[DT_MAX_KEYS];
    dt_evaluation explained = {0};
    dt_digest weights;
    DT_TRY(dt_weights_digest(e->session.model, &weights));
    const int n = dt_trainer_metrics(e->session.trainer, sums, false, metrics);
    const bool finite = n == 0 || isfinite(metrics[0].value);
    if (finite) DT_TRY(explain(j, e, o, arena, &explained));
    dt_event result = {.kind = DT_EVENT_EVAL,
                       .step = e->saved.state.step,
                       .examples = (int64_t)sums->examples,
                       .metrics = metrics,
                       .n_metrics = n,
                       .split = part,
                       .checkpoint = e->saved.path,
                       .weights_sha256 = weights.hex,
                       .evaluation = explained.n > 0 ? &explained : NULL};
    dt_status *unkept = whole && finite ? keep_evaluation(j, &e->saved, &result) : NULL;
    warn_all(o, unkept);
    report_results(&result, o);
    if (finite) return NULL;
    return dt_fail(DT_E_DIVERGED, NULL,
                   "the loss of the %s data is not finite, although the data is: the model "
                   "computes NaN or infinity",
                   part);
}

static dt_status *evaluate(const dt_job *j, const evaluation *e, const dt_run_options *o) {
    dt_sums sums = {0};
    /* uses a separate arena, because a job may be evaluated any number of times */
    dt_local_arena arena = dt_arena_create();
    dt_status *bad = dt_trainer_evaluate(e->session.trainer, e->part, o->max_steps, o, &sums);
    if (!bad) bad = report_evaluation(j, e, &sums, o, arena);
    dt_sums_release(&sums);
    return bad;
}

static dt_status *open_rows_of(dt_job *j, const char *input, evaluation *e) {
    DT_TRY(dt_job_open_input(j, input, &e->part, &e->rows));
    e->own = j->data;
    j->data = e->rows;
    return dt_job_check_targets(j);
}

static void close_rows_of(dt_job *j, evaluation *e) {
    if (!e->rows) return;
    dt_dataset_unref(e->rows);
    j->data = e->own;
}

static dt_status *prepare_evaluation(dt_job *j, evaluation *e, const dt_run_options *o) {
    DT_TRY(dt_job_find_checkpoint(j, e->checkpoint, o, &e->saved));
    DT_TRY(dt_job_take_learned(j, &e->saved));
    DT_TRY(o->input ? open_rows_of(j, o->input, e) : NULL);
    DT_TRY(dt_session_open(j, o, false, &e->session));
    return dt_job_load_weights(j, &e->saved, &e->session);
}

DT_API dt_status *dt_job_evaluate(dt_job *j, const char *checkpoint, const char *split,
                                  const dt_run_options *options) {
    evaluation e = {.checkpoint = checkpoint};
    DT_REQUIRE({DT_LIVE(j), "job"}, {split, "split"});
    options = dt_options_or_none(options);
    DT_TRY(options->input ? NULL : find_part(j, split, &e.part));
    DT_TRY(dt_job_check_rank(j));
    DT_TRY(dt_job_open_workers(j, options));
    dt_status *bad =
        dt_cluster_agree(j->cluster, "prepare its evaluation", prepare_evaluation(j, &e, options));
    if (!bad) bad = dt_job_compare_workers(j, &e.session, &e.saved);
    if (!bad) bad = warn_about_evaluation(j, &e, options);
    if (!bad) bad = evaluate(j, &e, options);
    dt_session_close(&e.session);
    close_rows_of(j, &e);
    dt_saved_release(&e.saved);
    dt_job_close_workers(j, bad);
    return bad;
}

/* ---- predict ---- */

static dt_status *open_rows(dt_job *j, const dt_predict_request *q, const dt_saved *c,
                            dt_predict_rows *out) {
    DT_TRY(dt_job_take_learned(j, c));
    if (q->input) {
        DT_TRY(dt_job_open_text(j, q->input, &out->part, &out->data));
        if (!out->data) return dt_job_open_rows(j, q, &out->data);
        if (q->n_keep == 0 && !q->answers_bad_rows) return NULL;
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: is a text, and only rows of CSV and JSON lines have %s of their own",
                       q->input, q->n_keep > 0 ? "columns" : "errors");
    }
    DT_TRY(find_part(j, q->split, &out->part));
    DT_TRY(dt_job_open_data(j));
    out->data = j->data;
    return NULL;
}

static int64_t batch_of(const dt_job *j, const dt_model *m) {
    int64_t each = j->dataset.per_replica_batch_size;
    return each > 0 ? each * m->strategy->replicas : j->dataset.global_batch_size;
}

/* Returns the names of the values of a regression's output: the target's columns if it has several,
 * otherwise the target's name. */
static dt_texts names_of_values(const dt_job *j, const dt_output_use *output) {
    const dt_tree *all = dt_tree_get(j->dataset.tree, "element");
    const char **name = dt_arena_array(j->arena, const char *, 1);
    dt_element_spec e = {0};
    name[0] = output->target;
    for (int i = 0; all && j->dataset.format->declare && i < all->n; i++)
        if (strcmp(all->entry[i].key, output->target) == 0)
            dt_status_free(
                j->dataset.format->declare(j->arena, &all->entry[i], j->dataset.tree, &e));
    return e.choice == DT_CHOICE_NAMES && e.columns.n > 1 ? e.columns
                                                          : (dt_texts){.n = 1, .v = name};
}

static void name_values(const dt_job *j, dt_class_names *out) {
    for (int i = 0; j->has_compile && i < j->compile.n_outputs; i++) {
        const dt_output_use *o = &j->compile.output[i];
        /* valid, since each row of losses begins with its dt_kind */
        const dt_loss_row *loss = (const dt_loss_row *)o->loss.kind;
        if (loss && loss->of == DT_OUTPUT_VALUES && o->target) out->of[i] = names_of_values(j, o);
    }
}

/* Takes class names from the checkpoint. If it has none, takes them from the job's data, if that is
 * open and the job has `compile`. */
static dt_status *name_classes(const dt_job *j, const dt_saved *c, dt_class_names *out) {
    dt_match match;
    DT_TRY(dt_class_names_read(c, &j->model, j->arena, out));
    if (c->state.classes || !j->data || !j->has_compile) return NULL;
    /* an error is dropped, since data to predict need not have targets */
    dt_status *unmatched = dt_match_types(j->data, &j->model, &j->compile, &match);
    if (!unmatched) dt_class_names_of(j->data, &j->compile, &match, out);
    dt_status_free(unmatched);
    return NULL;
}

static dt_status *predict(dt_job *j, const dt_saved *c, const dt_run_options *o,
                          dt_predict_rows *from) {
    dt_session s = {0};
    dt_class_names names;
    dt_status *bad = name_classes(j, c, &names);
    if (!bad) name_values(j, &names);
    from->compile = j->has_compile ? &j->compile : NULL;
    from->names = &names;
    if (!bad) bad = dt_session_open_model(j, o, &s);
    if (!bad) bad = dt_job_load_weights(j, c, &s);
    bad = dt_cluster_agree(j->cluster, "prepare its prediction", bad);
    if (!bad) bad = dt_job_compare_workers(j, &s, c);
    if (!bad) {
        from->batch = batch_of(j, s.model);
        bad = dt_predict(s.model, from);
    }
    dt_session_close(&s);
    return bad;
}

static dt_status *check_request(const dt_job *j, const dt_predict_request *q, dt_tensor **out) {
    DT_TRY(dt_want(j, "dt_job_predict", "job"));
    DT_TRY(dt_want(q, "dt_job_predict", "request"));
    if (!q->rows) DT_TRY(dt_want(out, "dt_job_predict", "place for the tensor"));
    if (q->n_keep > 0) DT_TRY(dt_want(q->keep, "dt_job_predict", "keep"));
    if (q->n_keep > 0 || q->answers_bad_rows)
        DT_TRY(dt_want(q->input, "dt_job_predict", "input whose rows are looked at"));
    return q->input ? NULL : dt_want(q->split, "dt_job_predict", "split or input");
}

/* Checks the input if there are several workers. Each worker reads all of the input and predicts
 * some of its batches, so it must be a file. */
static dt_status *check_input_of_workers(const dt_job *j, const dt_predict_request *q) {
    if (!j->strategy.launch.workers || !q->input || strcmp(q->input, "-") != 0) return NULL;
    return dt_suggest(
        dt_fail(
            DT_E_MISUSE, NULL,
            "standard input can be read by one process only, and %s says that this is one of %d",
            j->strategy.launch.by, j->strategy.launch.workers),
        "give a file, or predict in one process");
}

/* Receives predictions, and gives them to the caller's tensor, to the caller's function, or to
 * both. */
typedef struct audience {
    const dt_predict_request *q;
    dt_gathered *gathered;
} audience;

static dt_status *report_rows(const dt_predicted_rows *p, void *user) {
    const audience *a = user;
    if (a->gathered) DT_TRY(dt_gather_rows(p, a->gathered));
    return a->q->rows ? a->q->rows(p, a->q->user) : NULL;
}

static void report_warning(const char *text, const void *options) { dt_job_warn(options, text); }

DT_API dt_status *dt_job_predict(dt_job *j, const dt_predict_request *q,
                                 const dt_run_options *options, dt_tensor **out) {
    DT_LIVE(j);
    dt_gathered g = {0};
    DT_TRY(dt_status_kept());
    DT_TRY(check_request(j, q, out));
    audience a = {q, out ? &g : NULL};
    dt_predict_rows from = {.rows = report_rows,
                            .user = &a,
                            .everyone = out != NULL,
                            .warn = report_warning,
                            .warn_user = dt_options_or_none(options)};
    dt_saved c = {0};
    DT_TRY(check_input_of_workers(j, q));
    DT_TRY(dt_job_check_rank(j));
    DT_TRY(dt_job_open_workers(j, options));
    dt_status *bad = dt_job_find_checkpoint(j, q->checkpoint, dt_options_or_none(options), &c);
    if (!bad) bad = open_rows(j, q, &c, &from);
    bad = dt_cluster_agree(j->cluster, "open what it predicts with", bad);
    if (!bad) bad = predict(j, &c, dt_options_or_none(options), &from);
    if (from.data != j->data) dt_dataset_unref(from.data);
    dt_saved_release(&c);
    dt_job_close_workers(j, bad);
    return out ? dt_gathered_take(&g, bad, out) : bad;
}

/* ---- lower ---- */

/* Opens what a stage of `lower` needs. Only the stage "executable", which compiles, needs memory.
 * The text for another compiler (stablehlo) has the types of the job's policy, and no shards, since
 * its bits are not reproducible anyway. */
static dt_status *open_for(dt_job *j, const char *stage, const dt_run_options *o, dt_session *s) {
    bool ours = strncmp(stage, "stablehlo", strlen("stablehlo")) != 0;

    if (strcmp(stage, "executable") == 0) return dt_session_open(j, o, true, s);
    DT_TRY(dt_session_outline(j, ours ? j->how.shards : 0, s));
    if (!ours) s->model->precision = j->compile.precision;
    return NULL;
}

DT_API dt_status *dt_job_lower(dt_job *j, const char *stage, const dt_run_options *options,
                               char **text) {
    dt_session s = {0};
    dt_str out = {0};
    DT_REQUIRE({DT_LIVE(j), "job"}, {stage, "stage"}, {text, "place for the text"});
    options = dt_options_or_none(options);
    dt_status *bad = open_for(j, stage, options, &s);
    if (!bad) bad = dt_trainer_lower(s.trainer, stage, &out);
    dt_session_close(&s);
    if (bad) dt_str_release(&out);
    else *text = dt_str_take(&out);
    return bad;
}
