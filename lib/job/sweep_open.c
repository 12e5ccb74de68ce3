/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a sweep: its options, its job, its trials, and its folder. The settings that determine
 * the trials are stored in the folder as sweep.json. A sweep with other settings cannot use the
 * same folder, but a random one may get more trials.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/handle.h"
#include "file/json_read.h"
#include "format/format.h"
#include "job/session.h"
#include "job/sweep.h"
#include "train/monitor.h"

#define SETTINGS "sweep.json"

/* ---- options ---- */

static dt_status *usage(const char *text) { return dt_fail(DT_E_USAGE, NULL, "sweep: %s", text); }

static dt_status *choose_method(dt_sweep *s, const dt_sweep_options *o) {
    const dt_sweep_space *space = &s->space;
    if (space->n == 0)
        return usage("no key has several values; write key=a,b,c, key=LO..HI or key=log:LO..HI");
    if (o->method == DT_SWEEP_GRID && !space->is_grid)
        return usage("a grid needs lists, key=a,b,c; a range is for random trials");
    if (o->trials < 0 || o->trials > DT_SWEEP_MOST_TRIALS)
        return usage("--trials is a number from 1 to 10000");
    if (!space->is_grid && o->trials == 0)
        return usage("a range needs --trials N, the number of trials");
    s->random = !space->is_grid || o->method == DT_SWEEP_RANDOM ||
                (o->method == DT_SWEEP_AUTO && o->trials > 0 && o->trials < space->grid);
    const int64_t n =
        o->trials == 0 || (space->is_grid && o->trials > space->grid) ? space->grid : o->trials;
    if (n > DT_SWEEP_MOST_TRIALS)
        return usage("the grid has more than 10000 combinations; --trials N draws some of them");
    s->n = (int)n;
    return NULL;
}

static const char *const *add_override(const dt_sweep *s, const char *text) {
    const char **all = dt_arena_array(s->arena, const char *, s->source.n_overrides + 2);
    for (int i = 0; i < s->source.n_overrides; i++) all[i] = s->source.overrides[i];
    all[s->source.n_overrides] = text;
    return all;
}

/* If no key has several values, tries the values of dataset.fold: each trial is a fold of the
 * job. */
static void take_folds(dt_sweep *s) {
    dt_job *job = NULL;
    if (s->space.n > 0) return;
    dt_status *bad = dt_job_open(&job, &s->source);
    const int folds = bad ? 0 : dt_job_folds(job);
    /* an error is dropped: a job with faults has no folds, and the error to report is that no key
     * has several values */
    dt_status_free(bad);
    dt_job_unref(job);
    if (folds == 0) return;
    const char **value = dt_arena_array(s->arena, const char *, folds);
    for (int i = 0; i < folds; i++) value[i] = dt_arena_printf(s->arena, "%d", i + 1);
    s->folds = true;
    s->space = (dt_sweep_space){.n = 1, .is_grid = true, .grid = folds};
    s->space.range[0] = (dt_sweep_range){.key = "dataset.fold",
                                         .text = "dataset.fold",
                                         .operand = s->source.n_overrides,
                                         .n = folds,
                                         .value = value};
    s->source.overrides = add_override(s, s->space.range[0].text);
    s->source.n_overrides++;
}

/* ---- trials ---- */

/* Returns a short name of a key: "width" for "let.width", but the whole key if another key of the
 * sweep ends in the same word. */
static const char *short_key(const dt_sweep *s, int parameter) {
    const char *key = s->space.range[parameter].key, *dot = strrchr(key, '.');
    for (int i = 0; dot && i < s->space.n; i++) {
        const char *other = s->space.range[i].key, *its = strrchr(other, '.');
        if (i != parameter && strcmp(its ? its + 1 : other, dot + 1) == 0) return key;
    }
    return dot ? dot + 1 : key;
}

static bool is_output(const char *override) {
    return strncmp(override, "output.dir=", strlen("output.dir=")) == 0;
}

/* Makes the overrides of a trial: those of the sweep, with the trial's values and without any of
 * output.dir. The last one stays free; place_trials sets it to that of output.dir. */
static void make_overrides(dt_sweep *s, dt_sweep_entry *t) {
    const char **to = dt_arena_array(s->arena, const char *, s->source.n_overrides + 1);
    int n = 0;
    for (int i = 0, k = 0; i < s->source.n_overrides; i++) {
        const char *given = s->source.overrides[i];
        if (is_output(given)) continue;
        if (k < s->space.n && s->space.range[k].operand == i) {
            given = dt_arena_printf(s->arena, "%s=%s", s->space.range[k].key, t->value[k]);
            k++;
        }
        to[n++] = given;
    }
    t->overrides = to;
    s->n_overrides = n + 1;
}

static void make_trial(dt_sweep *s, int i) {
    dt_sweep_entry *t = &s->trial[i];
    const char **value = dt_arena_array(s->arena, const char *, s->space.n);
    dt_str line = {0};
    for (int k = 0; k < s->space.n; k++) {
        value[k] = s->random ? dt_space_random(s->arena, &s->space, s->seed, i, k)
                             : dt_space_grid(s->arena, &s->space, i, k);
        dt_str_printf(&line, "%s%s=%s", k ? " " : "", short_key(s, k), value[k]);
    }
    t->value = value;
    t->settings = dt_arena_take(s->arena, &line);
    make_overrides(s, t);
}

/* Returns a word as it is written in a job file: in quotes if it has characters that may have a
 * meaning in YAML. */
static const char *quoted(dt_arena *arena, const char *text) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+/-$";
    if (text[strspn(text, plain)] == '\0') return text;
    dt_str json = {0};
    dt_json j = {.out = &json, .yaml = true};
    dt_json_string(&j, NULL, text);
    return dt_arena_take(arena, &json);
}

/* Sets the folders of trials, below the job's output.dir. The folder of -C comes before them in
 * t->directory, but not in the override of output.dir. */
static void place_trials(dt_sweep *s) {
    char *directory = dt_job_output(s->job);
    s->directory = dt_arena_strdup(s->arena, directory);
    free(directory);
    for (int i = 0; i < s->n; i++) {
        dt_sweep_entry *t = &s->trial[i];
        const char *name = dt_arena_printf(s->arena, s->folds ? "fold-%d" : "trial-%03d", i + 1);
        char *shown = dt_path_join(s->job->run_dir, name), *path = dt_path_join(s->directory, name);
        ((const char **)(uintptr_t)t->overrides)[s->n_overrides - 1] =
            dt_arena_printf(s->arena, "output.dir=%s", quoted(s->arena, shown));
        t->directory = dt_arena_strdup(s->arena, path);
        free(shown);
        free(path);
    }
}

/* ---- the job ---- */

/* Opens the job with the settings of the first trial that is valid; if none is, returns the faults
 * of the first trial. Faults of other trials are found when they are trained. */
static dt_status *open_job(dt_sweep *s) {
    dt_status *first = NULL;
    for (int i = 0; i < s->n && !s->job; i++) {
        dt_job_source source = s->source;
        const char **all = dt_arena_array(s->arena, const char *, s->source.n_overrides + 1);
        source.n_overrides = s->n_overrides - 1;
        memcpy(all, s->trial[i].overrides, (size_t)source.n_overrides * sizeof *all);
        for (int k = 0; k < s->source.n_overrides; k++)
            if (is_output(s->source.overrides[k]))
                all[source.n_overrides++] = s->source.overrides[k];
        source.overrides = all;
        dt_status *bad = dt_job_open(&s->job, &source);
        if (first) dt_status_free(bad);
        else first = bad;
    }
    if (!s->job && s->n > 1 && dt_status_code(first) == 78)
        return dt_note(first, "no trial of the sweep is valid; this is the first one");
    if (!s->job) return first;
    dt_status_free(first);
    return NULL;
}

/* Refuses jobs with several folds, because a trial trains one model. */
static dt_status *check_folds(const dt_sweep *s) {
    if (s->folds || dt_job_folds(s->job) == 0) return NULL;
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, &s->job->dataset.at,
                              "a trial of a sweep trains one model, and the job has %d folds",
                              dt_job_folds(s->job)),
                      "choose a fold, dataset.fold=1, or leave out validation_folds");
}

static dt_status *no_metric(const dt_sweep *s) {
    dt_local_str known = {0};
    for (int i = 0; i < s->job->n_metrics; i++)
        dt_str_printf(&known, "%s%s", i ? ", " : "", s->job->metric[i]);
    return dt_suggest_nearest(dt_fail(DT_E_EXPECT_METRIC, NULL,
                                      "--metric: the job has no metric '%.80s'; it reports %s",
                                      s->metric, dt_str_text(&known)),
                              s->metric, s->job->metric, s->job->n_metrics);
}

static bool reports(const dt_job *j, const char *metric) {
    for (int i = 0; i < j->n_metrics; i++)
        if (strcmp(j->metric[i], metric) == 0) return true;
    return false;
}

static dt_status *choose_metric(dt_sweep *s, const dt_sweep_options *o) {
    const char *metric = o->metric ? o->metric : reports(s->job, "val_loss") ? "val_loss" : "loss";
    s->metric = dt_arena_strdup(s->arena, metric);
    if (!reports(s->job, metric) || strcmp(metric, "learning_rate") == 0) return no_metric(s);
    const dt_better better = dt_metric_better(&s->job->compile, metric);
    if (o->mode == DT_SWEEP_BY_METRIC && better == DT_BETTER_UNKNOWN)
        return usage("--metric: it is unknown whether less or more is better; add --mode min or "
                     "--mode max");
    s->less =
        o->mode == DT_SWEEP_MIN || (o->mode == DT_SWEEP_BY_METRIC && better == DT_BETTER_LESS);
    return NULL;
}

/* ---- halving ---- */

static bool sets_length(const dt_sweep_space *space) {
    for (int i = 0; i < space->n; i++)
        if (strncmp(space->range[i].key, "fit.epochs", 10) == 0 ||
            strncmp(space->range[i].key, "fit.steps", 9) == 0)
            return true;
    return false;
}

int64_t dt_sweep_budget(const dt_sweep *s, int rung, int64_t all) {
    for (int i = s->rungs - 1; i > rung; i--) all = (all + s->halving - 1) / s->halving;
    return all;
}

/* Sets s->halving and s->rungs: as many rungs, at most DT_SWEEP_MOST_RUNGS, that at least one trial
 * is left in the last rung and the first rung has at least one epoch or step; a single one if
 * halving is 0. Error USAGE if halving is set but below 2, if only one rung is possible, or if the
 * sweep varies the length of training. */
static dt_status *count_rungs(dt_sweep *s, int64_t halving) {
    const dt_fit_spec *fit = &s->job->fit;
    int64_t part = fit->epochs > 0 ? fit->epochs : fit->steps, trials = s->n;
    s->halving = halving;
    s->rungs = 1;
    if (halving == 0) return NULL;
    if (halving < 2) return usage("--halving: the factor is at least 2");
    if (sets_length(&s->space))
        return usage("--halving decides how long a trial trains; give one fit.epochs or fit.steps");
    while (part >= halving && trials >= halving && s->rungs < DT_SWEEP_MOST_RUNGS) {
        part /= halving;
        trials /= halving;
        s->rungs++;
    }
    if (s->rungs > 1) return NULL;
    return dt_fail(DT_E_USAGE, NULL,
                   "sweep: --halving %lld needs at least %lld trials and %lld epochs (fit.epochs) "
                   "or steps; there are %d and %lld",
                   (long long)halving, (long long)halving, (long long)halving, s->n,
                   (long long)part);
}

/* ---- words ---- */

/* Returns in which direction the metric is better, for people: "lower is better". */
static const char *direction_of(const dt_sweep *s) {
    return s->less ? "lower is better" : "higher is better";
}

static void make_title(dt_sweep *s) {
    const int64_t all = s->job->fit.epochs > 0 ? s->job->fit.epochs : s->job->fit.steps;
    const dt_validation_split *split = &s->job->dataset.split;
    dt_str t = {0};
    if (s->folds) {
        dt_str_printf(&t, "%d, %s", s->n, split->shuffle ? "drawn" : "in the order of the file");
        if (split->stratify) dt_str_printf(&t, ", stratified by %.80s", split->stratify);
        s->title = dt_arena_take(s->arena, &t);
        return;
    }
    dt_str_printf(&t, "%d %s trial%s", s->n, s->random ? "random" : "grid", s->n == 1 ? "" : "s");
    if (s->random) dt_str_printf(&t, ", seed %llu", (unsigned long long)s->seed);
    dt_str_printf(&t, ", by %s (%s)", s->metric, direction_of(s));
    for (int i = 0; s->rungs > 1 && i < s->rungs; i++)
        dt_str_printf(&t, "%s%lld", i ? ", " : "; rungs of ",
                      (long long)dt_sweep_budget(s, i, all));
    if (s->rungs > 1) dt_str_puts(&t, s->job->fit.epochs > 0 ? " epochs" : " steps");
    s->title = dt_arena_take(s->arena, &t);
}

/* ---- the folder ---- */

/* Replaces `directory` by "{run_dir}" in all texts that begin with "DIRECTORY/". */
static void forget_directory(json_t *t, const char *directory) {
    const size_t n = strlen(directory);
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_string(t) && strncmp(json_string_value(t), directory, n) == 0 &&
        json_string_value(t)[n] == '/') {
        DT_LOCAL char *path = dt_path_join("{run_dir}", json_string_value(t) + n + 1);
        json_string_set(t, path);
    }
    json_object_foreach(t, key, value) forget_directory(value, directory);
    json_array_foreach(t, i, value) forget_directory(value, directory);
}

/* Returns a SHA-256 of the job that does not depend on the sweep's folder, so that a sweep can be
 * moved. */
static dt_digest digest_of(const dt_job *j) {
    json_t *t = json_loads(j->json, 0, NULL), *output = json_object_get(t, "output");
    json_object_del(output, "dir");
    forget_directory(t, j->run_dir);
    DT_LOCAL char *text = t ? json_dumps(t, JSON_SORT_KEYS) : NULL;
    const dt_digest d = text ? dt_sha256_of(text, strlen(text)) : j->sha256;
    json_decref(t);
    return d;
}

/* The keys in sweep.json of the settings that determine the trials and their order. */
enum { NAMES = 8 };
static const char *const names[NAMES] = {"parameters", "other overrides", "trials",  "method",
                                         "seed",       "metric",          "halving", "job_sha256"};

static void put_list(const dt_sweep *s, const char *key, bool several, dt_json *j) {
    dt_json_open(j, key, '[');
    for (int i = 0, k = 0; i < s->source.n_overrides; i++) {
        const bool swept = k < s->space.n && s->space.range[k].operand == i;
        k += swept;
        if (swept == several && !is_output(s->source.overrides[i]))
            dt_json_string(j, NULL, s->source.overrides[i]);
    }
    dt_json_close(j, ']');
}

static void put_settings(const dt_sweep *s, dt_str *out) {
    char number[24];
    dt_json j = {.out = out};
    snprintf(number, sizeof number, "%llu", (unsigned long long)s->seed);
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    put_list(s, names[0], true, &j);
    put_list(s, names[1], false, &j);
    dt_json_int(&j, names[2], s->n);
    dt_json_string(&j, names[3], s->random ? "random" : "grid");
    dt_json_string(&j, names[4], number);
    dt_json_string(&j, names[5], dt_arena_printf(s->arena, "%s, %s", s->metric, direction_of(s)));
    dt_json_int(&j, names[6], s->halving);
    dt_json_string(&j, names[7], digest_of(s->job).hex);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

static char *member(const json_t *settings, const char *name) {
    const json_t *value = json_object_get(settings, name);
    return value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
}

/* Whether the setting may differ from the old one. Only the number of random trials may, if it
 * grows: the first ones stay the same, unless rungs depend on their number. */
static bool may_grow(const dt_sweep *s, const json_t *old, const char *name) {
    return strcmp(name, "trials") == 0 && s->random && !s->halving &&
           json_integer_value(json_object_get(old, name)) < s->n;
}

static dt_status *differs(const dt_sweep *s, const char *name, const char *old, const char *new) {
    const bool job = strcmp(name, "job_sha256") == 0;
    dt_status *bad =
        job ? dt_fail(DT_E_OTHER_SWEEP, NULL,
                      "%s has a sweep of another job: the job has changed "
                      "since it began",
                      s->directory)
            : dt_fail(DT_E_OTHER_SWEEP, NULL,
                      "%s has a sweep with other settings: its %s: %.200s, now: %.200s",
                      s->directory, name, old ? old : "none", new ? new : "none");
    return dt_suggest(bad,
                      "to continue that sweep, run it with its settings; for a new one, give "
                      "another folder: output.dir=%s-2",
                      s->job->run_dir);
}

static dt_status *compare(const dt_sweep *s, const json_t *old, const json_t *new) {
    for (int i = 0; i < NAMES; i++) {
        char *was = member(old, names[i]), *is = member(new, names[i]);
        dt_status *bad = NULL;
        if (!may_grow(s, old, names[i]) && !(was && is && strcmp(was, is) == 0))
            bad = differs(s, names[i], was, is);
        free(was);
        free(is);
        if (bad) return bad;
    }
    return NULL;
}

static dt_status *parse(const char *path, const dt_str *text, json_t **out) {
    return dt_json_parse(
        &(dt_json_text){path, "the file", "key", dt_str_text(text), text->size, DT_E_OTHER_SWEEP},
        out);
}

/* Compares `now` with the settings in the file `path`. Sets *there to whether the file could be
 * read; if it does not exist, returns NULL. Error OTHER_SWEEP: they differ, or the file is not
 * JSON. */
static dt_status *check_settings(const dt_sweep *s, const char *path, const dt_str *now,
                                 bool *there) {
    enum { MOST = 1 << 22 };
    dt_local_str before = {0};
    json_t *old = NULL, *new = NULL;
    dt_status *bad = dt_file_read(path, MOST, &before);
    *there = !bad;
    if (bad && dt_status_code(bad) == 66) {
        dt_status_free(bad);
        return NULL;
    }
    if (!bad) bad = parse(path, &before, &old);
    if (!bad) bad = parse(path, now, &new);
    if (!bad) bad = compare(s, old, new);
    json_decref(old);
    json_decref(new);
    return bad;
}

static dt_status *remove_file(const char *path) {
    return unlink(path) == 0 || errno == ENOENT ? NULL : dt_fail_errno(DT_E_IO, path);
}

/* Removes the results and settings of an older sweep from the folder. */
static dt_status *drop_results(const dt_sweep *s, const char *settings) {
    DT_LOCAL char *results = dt_path_join(s->directory, DT_SWEEP_RESULTS);
    dt_status *bad = remove_file(results);
    return bad ? bad : remove_file(settings);
}

static dt_status *take_folder(dt_sweep *s) {
    dt_local_str settings = {0};
    bool there;
    put_settings(s, &settings);
    DT_LOCAL char *path = dt_path_join(s->directory, SETTINGS);
    dt_status *bad = s->dry_run ? NULL : dt_dir_make(s->directory);
    if (!bad && !s->dry_run) bad = dt_lock_take(&s->lock, s->directory);
    s->locked = !bad && !s->dry_run;
    if (!bad && s->locked && s->fresh) bad = drop_results(s, path);
    if (!bad) bad = check_settings(s, path, &settings, &there);
    if (!bad && !s->dry_run) bad = dt_file_commit(path, settings.data, settings.size);
    return bad ? bad : dt_sweep_read_results(s);
}

/* ---- opening a sweep ---- */

static dt_status *make(dt_sweep *s, const dt_sweep_options *o) {
    DT_TRY(dt_space_read(s->arena, s->source.overrides, s->source.n_overrides, &s->space));
    take_folds(s);
    DT_TRY(choose_method(s, o));
    s->trial = dt_arena_array(s->arena, dt_sweep_entry, s->n);
    for (int i = 0; i < s->n; i++) make_trial(s, i);
    DT_TRY(open_job(s));
    DT_TRY(check_folds(s));
    DT_TRY(choose_metric(s, o));
    DT_TRY(count_rungs(s, o->halving));
    place_trials(s);
    make_title(s);
    return take_folder(s);
}

/* Copies the caller's texts, which may be freed after dt_sweep_open. */
static void keep_source(dt_sweep *s, const dt_job_source *given) {
    const char **overrides = dt_arena_array(s->arena, const char *, given->n_overrides + 1);
    for (int i = 0; i < given->n_overrides; i++)
        overrides[i] = dt_arena_strdup(s->arena, given->overrides[i]);
    s->source = *given;
    s->source.overrides = overrides;
    s->source.path = dt_arena_strdup(s->arena, given->path);
    if (given->directory) s->source.directory = dt_arena_strdup(s->arena, given->directory);
    if (given->backend) s->source.backend = dt_arena_strdup(s->arena, given->backend);
    if (given->plugin) s->source.plugin = dt_arena_strdup(s->arena, given->plugin);
    s->source.purpose = DT_FOR_FIT;
    s->source.inspect = true;
}

DT_API dt_status *dt_sweep_open(dt_sweep **out, const dt_sweep_options *options) {
    DT_REQUIRE({out, "place for the sweep"}, {options, "options"});
    DT_TRY(dt_want(options->source, "dt_sweep_open", "source"));
    DT_TRY(dt_want(options->source->path, "dt_sweep_open", "path"));
    DT_TRY(dt_want_texts(options->source->overrides, options->source->n_overrides, "dt_sweep_open",
                         "override"));
    dt_sweep *s = dt_alloc(sizeof *s);
    *s = (dt_sweep){.refs = 1,
                    .arena = dt_arena_create(),
                    .seed = options->seed,
                    .dry_run = options->dry_run,
                    .fresh = options->fresh};
    keep_source(s, options->source);
    dt_status *bad = make(s, options);
    if (bad) {
        dt_sweep_unref(s);
        return bad;
    }
    dt_sweep_unref(*out);
    *out = s;
    return NULL;
}

DT_API void dt_sweep_unref(dt_sweep *s) {
    if (!DT_LAST(s)) return;
    if (s->locked) dt_writer_abandon(&s->lock);
    dt_job_unref(s->job);
    dt_arena_destroy(s->arena);
    DT_RETIRE(s);
}

DT_API const char *dt_sweep_title(const dt_sweep *s) { return DT_LIVE(s) ? s->title : ""; }

DT_API const char *dt_sweep_directory(const dt_sweep *s) { return DT_LIVE(s) ? s->directory : ""; }
