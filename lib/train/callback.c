/* SPDX-License-Identifier: Apache-2.0 */
/* The job's list of callbacks, `fit.callbacks`: reads and checks it. Functions that callbacks
 * share. */
#include "format/recording.h"
#include "train/hook.h"

#include <string.h>
#include <sys/stat.h>

static const dt_kind *const rows[] = {
#define DT_CALLBACK(name) &dt_callback_##name.kind,
#include "train/hooks.h"
};
enum { ROWS = sizeof rows / sizeof *rows };

const dt_kind *const *dt_callback_kinds(int *n) {
    *n = ROWS;
    return rows;
}

static const char *name_of(const dt_tree *item) {
    if (item->kind == DT_TREE_SCALAR) return item->text;
    return item->kind == DT_TREE_MAP && item->n > 0 ? item->entry[0].key : "";
}

/* Reads a callback. For callbacks of Keras that dtrain does not have, the error says what to do
 * instead. */
dt_status *dt_callback_read(dt_arena *arena, const dt_tree *item, dt_named *out) {
    static const struct {
        const char *name, *why, *instead;
    } others[] = {
        {"BackupAndRestore", "every run backs itself up: 'checkpoint'",
         "set checkpoint.save_freq; run the same command again to resume"},
        {"LambdaCallback", "a job file cannot contain functions",
         "leave it out; use the events of --json"},
        {"RemoteMonitor", "a run opens no connections", "leave it out; use the events of --json"},
        {"History", "every run has one", "leave it out: it is history.jsonl below output.dir"},
        {"ProgbarLogger", "every run reports its progress",
         "leave it out; -q and -v control the output"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name_of(item), others[i].name) == 0)
            return dt_suggest(dt_fail(DT_E_CALLBACK, &item->at, "no callback '%s': %s",
                                      others[i].name, others[i].why),
                              "%s", others[i].instead);
    return dt_named_read(arena, rows, ROWS, "callback", item, out);
}

dt_status *dt_callbacks_add_tensorboard(dt_arena *arena, const dt_location *at, dt_callbacks *c) {
    const dt_tree name = {.kind = DT_TREE_SCALAR, .at = *at, .text = "TensorBoard"};
    for (int i = 0; i < c->n; i++)
        if (c->named[i].kind == &dt_callback_tensorboard.kind) return NULL;
    dt_named *all = dt_arena_array(arena, dt_named, c->n + 1);
    for (int i = 0; i < c->n; i++) all[i] = c->named[i];
    c->named = all;
    return dt_named_read(arena, rows, ROWS, "callback", &name, &all[c->n++]);
}

static const dt_hook_row *row_of(const dt_callbacks *c, int i) {
    return (const dt_hook_row *)c->named[i].kind;
}

bool dt_callbacks_vary_rate(const dt_callbacks *c) {
    for (int i = 0; i < c->n; i++)
        if (row_of(c, i)->varies_rate) return true;
    return false;
}

const dt_location *dt_callback_place(const dt_named *named, const char *argument) {
    const dt_tree *value = dt_tree_get(named->tree, argument);
    return value ? &value->at : &named->at;
}

/* Returns a path without its leading "./". Returns "" for the run's directory itself. */
static const char *below_run_dir(const char *path) {
    while (path[0] == '.' && (path[1] == '/' || !path[1])) {
        path++;
        path += strspn(path, "/");
    }
    return path;
}

dt_status *dt_callback_check_path(const dt_named *named, const char *argument, const char *path) {
    const dt_location *at = dt_callback_place(named, argument);
    const char *below = below_run_dir(path);
    bool leaves = *path == '/' || !*below;
    for (const char *part = path; *part; part += strcspn(part, "/"), part += *part == '/')
        leaves |= strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]);
    static const char *const taken[] = {"ckpt",         ".lock",       "history.jsonl",
                                        "record.jsonl", "report.html", DT_RECORDING_FILE};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        const size_t n = strlen(taken[i]);
        if (strncmp(below, taken[i], n) == 0 && (below[n] == '/' || !below[n]))
            return dt_fail(DT_E_CALLBACK, at,
                           "%s: '%s' below output.dir is reserved for the run itself", argument,
                           taken[i]);
    }
    if (!leaves) return dt_at(dt_path_check(path), at);
    return dt_suggest(
        dt_fail(DT_E_CALLBACK, at, "%s: '%.200s' is not below output.dir", argument, path),
        "a run writes only there: give a path relative to output.dir");
}

/* Checks that the optimizer has no schedule if a callback sets its learning rate, because both
 * would set the same number. */
static dt_status *check_rate(const dt_callback_job *job, const dt_named *named) {
    const dt_optimizer_head *head = job->compile ? job->compile->optimizer.args : NULL;
    if (!((const dt_hook_row *)named->kind)->varies_rate || !head || !head->schedule.kind)
        return NULL;
    return dt_suggest(dt_fail(DT_E_CALLBACK, &named->at,
                              "%s cannot set the learning rate, which is %s", named->kind->name,
                              head->schedule.kind->name),
                      "give the optimizer a number as learning_rate");
}

static dt_status *check_once(const dt_callbacks *c, int i) {
    for (int k = 0; k < i && row_of(c, i)->once; k++)
        if (c->named[k].kind == c->named[i].kind)
            return dt_suggest(dt_fail(DT_E_CALLBACK, &c->named[i].at,
                                      "a second %s would undo what the first does",
                                      c->named[i].kind->name),
                              "list it once");
    return NULL;
}

dt_status *dt_callbacks_check(const dt_callbacks *c, const dt_callback_job *job) {
    dt_status *faults = NULL;
    for (int i = 0; i < c->n; i++) {
        dt_status_append(&faults, check_once(c, i));
        dt_status_append(&faults, check_rate(job, &c->named[i]));
        if (row_of(c, i)->check) dt_status_append(&faults, row_of(c, i)->check(job, &c->named[i]));
    }
    return faults;
}

bool dt_callbacks_look_at_steps(const run *r) {
    for (int i = 0; i < r->n_hooks; i++)
        if (r->hook[i].named && (r->hook[i].row->step_end || r->hook[i].row->settled)) return true;
    return false;
}

bool dt_callback_is_due(const run *r, int64_t every) {
    if (r->q->fit->steps > 0) return r->at.step % every == 0;
    return r->at.epoch_step == 0 && r->at.epoch % every == 0;
}

bool dt_epoch_is_whole(const run *r) { return r->at.epoch_step == r->size.steps_per_epoch; }

bool dt_epoch_is_provisional(const run *r) {
    return r->at.step == r->size.steps && !dt_epoch_is_whole(r);
}

/* Refuses a folder below output.dir that is a symbolic link. output.dir itself may be a link, since
 * the user made it. A folder that does not exist yet is created later. */
static dt_status *refuse_link(const dt_hook *h, const char *folder) {
    struct stat st;
    if (lstat(folder, &st) != 0 || !S_ISLNK(st.st_mode)) return NULL;
    return dt_fail(DT_E_CANT_CREATE, NULL,
                   "%s: is a symbolic link; %s does not write through links", folder,
                   h->named->kind->name);
}

dt_status *dt_callback_path(run *r, const dt_hook *h, const char *name, const char **path) {
    if (!r->q->directory)
        return dt_fail(DT_E_CALLBACK, &h->named->at,
                       "%s writes below output.dir, and this run has none", h->named->kind->name);
    *path = dt_arena_printf(r->arena, "%s/%s", r->q->directory, name);
    for (const char *end = strchr(name, '/'); end; end = strchr(end + 1, '/'))
        DT_TRY(refuse_link(
            h, dt_arena_printf(r->arena, "%s/%.*s", r->q->directory, (int)(end - name), name)));
    return NULL;
}

dt_status *dt_callback_folder(run *r, const dt_hook *h, const char *name, const char **path) {
    DT_TRY(dt_callback_path(r, h, name, path));
    return refuse_link(h, *path);
}

dt_status *dt_run_rate(const run *r, double *rate) {
    return dt_optimizer_current_rate(r->optimizer, rate);
}

void dt_run_set_rate(run *r, double rate) {
    *(float *)dt_host_edit(r->optimizer->rate) = (float)rate;
}

typedef struct dt_callback_message {
    struct dt_callback_message *next;
    const char *callback, *text;
    int64_t epoch;
} message;

void dt_callback_report(run *r, const dt_hook *h, const char *format, ...) {
    message **last = &r->messages, *new = dt_arena_new(r->arena, message);
    DT_FORMATTED(text, format);
    while (*last) last = &(*last)->next;
    *new = (message){.callback = h->named->kind->name,
                     .text = dt_arena_take(r->arena, &text),
                     .epoch = r->at.epoch + (r->at.epoch_step > 0)};
    *last = new;
}

void dt_callbacks_emit(run *r) {
    for (const message *s = r->messages; s; s = s->next)
        dt_run_emit(r,
                    &(dt_event){.kind = DT_EVENT_CALLBACK,
                                .step = r->at.step,
                                .steps = r->size.steps,
                                .epoch = s->epoch,
                                .epochs = r->size.epochs,
                                .epoch_step = dt_run_is_validated_between(r) ? r->at.epoch_step : 0,
                                .callback = s->callback,
                                .text = s->text});
    r->messages = NULL;
}
