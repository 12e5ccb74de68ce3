/* A job at work: fit, evaluate, predict, lower over what session.c makes of it. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "job/partition.h"
#include "job/session.h"

/* Options that were not given say nothing. */
static const dt_run_options *or_none(const dt_run_options *o)
{
    static const dt_run_options none = {0};
    return o ? o : &none;
}

static void warn(const dt_run_options *o, const char *text)
{
    if (o->event)
        o->event(&(dt_event){.kind = DT_EVENT_WARNING, .text = text}, o->user);
}

/* What the user might take for granted, and is not so. */
static void tell_limits(const dt_job *j, const dt_run_options *o)
{
    bool several = j->strategy.assignment && dt_device_assignment_logical_devices(j->strategy.assignment) > 1;
    if (several && !j->partition)
        warn(o, "a replica has several logical devices, but the job has no partition: the first one computes");
    else if (several && j->shards > 0)
        warn(o, "reproducible: the logical devices of a replica compute as one; partition is checked");
    else if (!several && j->partition && j->partition->over_replicas == DT_OVER_NONE)
        warn(o, "partition is without effect: each replica has one logical device");
    if (j->strategy.resolver && j->strategy.resolver->why)
        warn(o, j->strategy.resolver->why);
}

static char *output_directory(const dt_job *j)
{
    return dt_path_join(j->work_directory, j->run_dir);
}

/* ---- fit ---- */

static dt_status *fit(dt_job *j, const dt_run_options *o, const dt_session *s, int64_t called_ns)
{
    char *directory = output_directory(j);
    char *resume = j->checkpoint.resume_path ? dt_path_join(j->work_directory, j->checkpoint.resume_path) : NULL;
    dt_checkpoint_spec checkpoint = j->checkpoint;
    checkpoint.resume_path = resume;
    dt_status *bad = dt_fit(&(dt_fit_request){.trainer = s->trainer, .fit = &j->fit, .checkpoint = &checkpoint, .directory = directory,
                                              .name = j->name, .job = j->json, .job_sha256 = j->sha256.hex, .seed = j->seed, .run = o,
                                              .called_ns = called_ns, .faults = s->faults});
    free(resume);
    free(directory);
    return bad;
}

DT_API dt_status *dt_job_fit(dt_job *j, const dt_run_options *options)
{
    dt_session s = {0};
    int64_t called_ns = dt_now_ns();
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(j, "dt_job_fit", "job"));
    options = or_none(options);
    tell_limits(j, options);
    dt_status *bad = dt_session_open(j, options, true, &s);
    if (!bad)
        bad = fit(j, options, &s, called_ns);
    dt_session_close(&s);
    return bad;
}

/* ---- evaluate ---- */

static dt_status *find_part(const dt_job *j, const char *split, dt_part *out)
{
    for (dt_part p = 0; p < DT_PARTS; p++)
        if (strcmp(split, dt_part_name(p)) == 0) {
            bool is_split = p == DT_PART_VALIDATION && j->dataset.validation_split > 0;
            *out = p;
            if (p == DT_PART_TRAIN || j->dataset.part[p] || is_split)
                return NULL;
            return dt_fail(DT_E_NO_SPLIT, &j->dataset.at, "the data set has no '%s' part", split);
        }
    return dt_suggest(dt_fail(DT_E_NO_SPLIT, NULL, "unknown split '%.80s'", split), "known: train, validation, test");
}

static dt_status *open_newest(const dt_job *j, const dt_run_options *o, dt_checkpoint *c)
{
    dt_status *warnings = NULL;
    char *directory = output_directory(j);
    dt_status *s = dt_checkpoint_newest(c, directory, &warnings);
    for (const dt_status *w = warnings; w; w = dt_status_next(w))
        warn(o, dt_status_text(w));
    dt_status_free(warnings);
    if (!s && !c->path)
        s = dt_suggest(dt_fail(DT_E_NO_INPUT, NULL, "there is no checkpoint below %s", directory), "'dtrain fit' writes one");
    free(directory);
    return s;
}

static dt_status *load_weights(const dt_job *j, const dt_checkpoint *c, const dt_session *s)
{
    dt_arrays model = dt_model_arrays(s->model, j->arena);
    return dt_checkpoint_load(c, &model, NULL);
}

static void tell_result(const dt_event *result, const dt_run_options *o)
{
    dt_event end = *result;
    if (!o->event)
        return;
    o->event(result, o->user);
    end.kind = DT_EVENT_END;
    o->event(&end, o->user);
}

static dt_status *evaluate(dt_part part, const dt_checkpoint *c, const dt_session *s, const dt_run_options *o)
{
    dt_metric metrics[DT_MAX_SUMS + 1];
    dt_sums sums;
    DT_TRY(dt_trainer_evaluate(s->trainer, part, 0, &sums));
    dt_digest weights = dt_weights_digest(s->model);
    int n = dt_trainer_metrics(s->trainer, &sums, false, metrics);
    tell_result(&(dt_event){.kind = DT_EVENT_EVAL, .step = c->state.step, .examples = (int64_t)sums.examples, .metrics = metrics,
                            .n_metrics = n, .split = dt_part_name(part), .checkpoint = c->path, .weights_sha256 = weights.hex}, o);
    return NULL;
}

DT_API dt_status *dt_job_evaluate(dt_job *j, const char *checkpoint, const char *split, const dt_run_options *options)
{
    dt_session s = {0};
    dt_checkpoint c = {0};
    dt_part part = DT_PART_VALIDATION;
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(j, "dt_job_evaluate", "job"));
    DT_TRY(dt_want(split, "dt_job_evaluate", "split"));
    options = or_none(options);
    DT_TRY(find_part(j, split, &part));
    dt_status *bad = checkpoint ? dt_checkpoint_open(&c, checkpoint) : open_newest(j, options, &c);
    if (!bad)
        bad = dt_session_open(j, options, false, &s);
    if (!bad)
        bad = load_weights(j, &c, &s);
    if (!bad)
        bad = evaluate(part, &c, &s, options);
    dt_session_close(&s);
    dt_checkpoint_release(&c);
    return bad;
}

/* ---- predict ---- */

static void set_key(dt_arena *arena, dt_tree *map, const char *key, dt_tree *value)
{
    dt_entry *entry = dt_arena_array(arena, dt_entry, map->n + 1);
    if (map->n > 0)
        memcpy(entry, map->entry, (size_t)map->n * sizeof *entry);
    entry[map->n++] = (dt_entry){.key = key, .value = value};
    map->entry = entry;
}

static dt_tree *new_map(dt_arena *arena)
{
    dt_tree *t = dt_arena_new(arena, dt_tree);
    *t = (dt_tree){.kind = DT_TREE_MAP};
    return t;
}

static dt_tree *new_text(dt_arena *arena, const char *text)
{
    dt_tree *t = dt_arena_new(arena, dt_tree);
    *t = (dt_tree){.kind = DT_TREE_SCALAR, .text = text, .quoted = true};
    return t;
}

/* {format: npy, train: {INPUT: path}, map: {INPUT: as the job's}}, in the job's batches. */
static dt_tree *describe_input(const dt_job *j, const char *path)
{
    static const char *const kept[] = {"global_batch_size", "per_replica_batch_size"};
    const char *input = j->model.input[0].name;
    dt_tree *data = new_map(j->arena), *train = new_map(j->arena), *map = new_map(j->arena);
    dt_tree *steps = dt_tree_get(dt_tree_get(j->dataset.tree, "map"), input);
    set_key(j->arena, data, "format", new_text(j->arena, "npy"));
    set_key(j->arena, train, input, new_text(j->arena, path));
    set_key(j->arena, data, "train", train);
    if (steps) {
        set_key(j->arena, map, input, steps);
        set_key(j->arena, data, "map", map);
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (dt_tree_get(j->dataset.tree, kept[i]))
            set_key(j->arena, data, kept[i], dt_tree_get(j->dataset.tree, kept[i]));
    return data;
}

static dt_status *open_input(const dt_job *j, const char *path, dt_dataset **out)
{
    dt_dataset_spec spec;
    DT_TRY(dt_dataset_read(j->arena, describe_input(j, path), "", j->seed, &spec));
    return dt_dataset_create(out, &spec);
}

static dt_status *open_part(dt_job *j, const dt_predict_request *q, dt_dataset **data, dt_part *part)
{
    *part = DT_PART_TRAIN;
    if (q->input && j->model.n_inputs > 1)
        return dt_fail(DT_E_NOT_YET, &j->model.input[1].at, "the model has %d inputs: predicting from files that the job does not name is for models of one",
                       j->model.n_inputs);
    if (q->input)
        return open_input(j, q->input, data);
    DT_TRY(find_part(j, q->split, part));
    DT_TRY(dt_job_open_data(j));
    dt_dataset_ref(j->data);
    *data = j->data;
    return NULL;
}

DT_API dt_status *dt_job_predict(dt_job *j, const dt_predict_request *q, const dt_run_options *options, dt_tensor **out)
{
    dt_session s = {0};
    dt_checkpoint c = {0};
    dt_dataset *data = NULL;
    dt_part part;
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(j, "dt_job_predict", "job"));
    DT_TRY(dt_want(q, "dt_job_predict", "request"));
    DT_TRY(dt_want(out, "dt_job_predict", "place for the tensor"));
    if (!q->input)
        DT_TRY(dt_want(q->split, "dt_job_predict", "split or input"));
    options = or_none(options);
    dt_status *bad = open_part(j, q, &data, &part);
    if (!bad)
        bad = q->checkpoint ? dt_checkpoint_open(&c, q->checkpoint) : open_newest(j, options, &c);
    if (!bad)
        bad = dt_session_open_model(j, options, &s);
    if (!bad)
        bad = load_weights(j, &c, &s);
    if (!bad)
        bad = dt_predict(s.model, data, part, out);
    dt_dataset_unref(data);
    dt_session_close(&s);
    dt_checkpoint_release(&c);
    return bad;
}

/* ---- lower ---- */

DT_API dt_status *dt_job_lower(dt_job *j, const char *stage, const dt_run_options *options, char **text)
{
    dt_session s = {0};
    dt_str out = {0};
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(j, "dt_job_lower", "job"));
    DT_TRY(dt_want(stage, "dt_job_lower", "stage"));
    DT_TRY(dt_want(text, "dt_job_lower", "place for the text"));
    options = or_none(options);
    bool outline = strncmp(stage, "stablehlo", strlen("stablehlo")) == 0; /* text for another compiler: nothing is compiled here */
    dt_status *bad = outline ? dt_session_outline(j, &s) : dt_session_open(j, options, true, &s);
    if (!bad)
        bad = dt_trainer_lower(s.trainer, stage, &out);
    dt_session_close(&s);
    if (bad)
        dt_str_release(&out);
    else
        *text = dt_str_take(&out);
    return bad;
}
