/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the runs as JSON, from which the page is drawn: facts about the run, curves with as many
 * points as a screen can show, and results of the whole run (outcome, best values, sums, the job as
 * a list of keys). */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "topo/topo.h"

enum { EARLY = 20, LATE = 80, MOST_REMARKS = 20, BINS = 120 };

/* Returns the index of the item to show after item i. Of a long list only the first and last items
 * are shown, so the index may jump. */
static int next_of(int i, int n) { return i + 1 == EARLY && n > EARLY + LATE ? n - LATE : i + 1; }

/* Writes a JSON value and everything in it as the member `key`; NULL is written as null. Recursion
 * is bounded, because the parser has limited the depth. */
static void put_tree(dt_json *j, const char *key, const json_t *tree) {
    const char *name;
    json_t *value;
    size_t i;
    switch (tree ? json_typeof(tree) : JSON_NULL) {
    case JSON_OBJECT:
        dt_json_open(j, key, '{');
        json_object_foreach((json_t *)(uintptr_t)tree, name, value) put_tree(j, name, value);
        dt_json_close(j, '}');
        break;
    case JSON_ARRAY:
        dt_json_open(j, key, '[');
        json_array_foreach(tree, i, value) put_tree(j, NULL, value);
        dt_json_close(j, ']');
        break;
    case JSON_STRING: dt_json_string(j, key, json_string_value(tree)); break;
    case JSON_INTEGER: dt_json_int(j, key, json_integer_value(tree)); break;
    case JSON_REAL: dt_json_double(j, key, json_real_value(tree)); break;
    case JSON_TRUE:
    case JSON_FALSE: dt_json_bool(j, key, json_is_true(tree)); break;
    default: dt_json_null(j, key);
    }
}

/* ---- facts ---- */

/* Writes the record's last line about a start as the member "start" (null if there is none),
 * without its members `job` and `config`, which put_job writes. */
static void put_start(const dt_report_run *r, dt_json *j) {
    json_t *start = r->start ? json_copy(r->start) : NULL;
    json_object_del(start, "job");
    json_object_del(start, "config");
    put_tree(j, "start", start);
    json_decref(start);
}

static void put_attempts(const dt_report_run *r, dt_json *j) {
    dt_json_int(j, "attempts_in_all", r->n_attempts);
    dt_json_open(j, "attempts", '[');
    for (int i = 0; i < r->n_attempts; i = next_of(i, r->n_attempts)) {
        const dt_attempt *a = &r->attempt[i];
        dt_json_open(j, NULL, '{');
        dt_json_string(j, "began", a->began);
        dt_json_int(j, "from", a->from);
        dt_json_int(j, "to", a->to);
        dt_json_double(j, "seconds", a->seconds);
        dt_json_bool(j, "resumed", a->resumed);
        dt_json_bool(j, "over", a->ended);
        dt_json_int(j, "exit", a->exit);
        dt_json_string(j, "how",
                       a->error           ? a->error
                       : a->stopped_early ? "stopped early by a callback"
                       : a->finished      ? "completed"
                                          : "ended");
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}

static void put_messages(const dt_report_run *r, dt_json *j) {
    const dt_message_line *all[DT_MESSAGE_KINDS * 2 * DT_MESSAGE_ENDS];
    const int n = dt_messages_list(&r->messages, all);
    dt_json_open(j, "messages", '[');
    for (int i = 0; i < n; i++) {
        dt_json_open(j, NULL, '{');
        dt_json_string(j, "kind", dt_message_kind(all[i]->kind));
        dt_json_string(j, "who", all[i]->who);
        dt_json_string(j, "text", all[i]->text);
        dt_json_int(j, "step", all[i]->step);
        dt_json_int(j, "epoch", all[i]->epoch);
        dt_json_int(j, "left_out", all[i]->left_out);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
    dt_json_open(j, "messages_left_out", '[');
    for (int k = 0; k < DT_MESSAGE_KINDS; k++)
        if (dt_messages_left_out(&r->messages, k) > 0) {
            dt_json_open(j, NULL, '{');
            dt_json_string(j, "kind", dt_message_kind(k));
            dt_json_int(j, "n", dt_messages_left_out(&r->messages, k));
            dt_json_int(j, "of", r->messages.of[k]);
            dt_json_int(j, "kept", DT_MESSAGE_ENDS);
            dt_json_close(j, '}');
        }
    dt_json_close(j, ']');
}

static void put_checkpoints(const dt_report_run *r, dt_json *j) {
    const dt_listing *l = &r->checkpoints;
    dt_json_int(j, "checkpoints_in_all", l->n);
    dt_json_open(j, "checkpoints", '[');
    for (int i = 0; i < l->n; i = next_of(i, l->n)) {
        const dt_listed *c = &l->item[i];
        const char *slash = strrchr(c->path, '/');
        dt_json_open(j, NULL, '{');
        dt_json_string(j, "name", slash ? slash + 1 : c->path);
        if (c->damage) {
            dt_json_string(j, "damage", dt_status_text(c->damage));
        } else {
            dt_json_int(j, "step", c->state.step);
            dt_json_bool(j, "final", c->state.finished);
            dt_json_int(j, "saved_s", c->saved_s);
            dt_json_double(j, "bytes", (double)c->bytes);
            dt_json_string(j, "weights_sha256", c->state.weights_sha256);
        }
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}

static void put_remarks(const dt_report_run *r, dt_json *j) {
    dt_json_open(j, "remarks", '[');
    for (int i = 0; i < r->n_remarks && i < MOST_REMARKS; i++)
        dt_json_string(j, NULL, dt_report_shown(r, r->remark[i]));
    dt_json_close(j, ']');
    dt_json_int(j, "remarks_in_all", r->n_remarks);
}

static void put_workers(const dt_report_run *r, dt_json *j) {
    const dt_report_workers *last = &r->workers, *before = &r->workers_before;
    int n = DT_STALENESS_BINS;
    if (!r->has_workers) return;
    while (n > 0 && last->staleness[n - 1] + before->staleness[n - 1] == 0) n--;
    dt_json_open(j, "workers", '{');
    dt_json_int(j, "n", last->n);
    dt_json_int(j, "lost", last->lost + before->lost);
    dt_json_int(j, "again", last->again + before->again);
    dt_json_int(j, "dropped", last->dropped + before->dropped);
    dt_json_open(j, "staleness", '[');
    for (int i = 0; i < n; i++) dt_json_int(j, NULL, last->staleness[i] + before->staleness[i]);
    dt_json_close(j, ']');
    dt_json_close(j, '}');
}

/* ---- the job ---- */

static bool is_leaf(const json_t *t) {
    size_t i;
    const json_t *item;
    if (!json_is_object(t) && !json_is_array(t)) return true;
    if (json_is_object(t)) return json_object_size(t) == 0;
    json_array_foreach(t, i, item) if (!is_leaf(item) || json_is_object(item)) return false;
    return true;
}

/* Writes a member for each leaf of the job, such as "fit.epochs", in the job's order. Leaves are
 * scalars, empty mappings, and lists in which no mapping occurs. Values are written as texts,
 * because JavaScript has no 64-bit integers. Recursion is bounded, because the parser has limited
 * the depth. */
static void put_keys(dt_arena *arena, const json_t *t, const char *path, dt_json *j) {
    const char *key;
    json_t *value;
    if (is_leaf(t)) {
        DT_LOCAL char *text = json_is_string(t)
                                  ? dt_strdup(json_string_value(t))
                                  : json_dumps(t, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        dt_json_string(j, path, text);
        return;
    }
    for (size_t i = 0; json_is_array(t) && i < json_array_size(t); i++)
        put_keys(arena, json_array_get(t, i), dt_arena_printf(arena, "%s[%zu]", path, i), j);
    json_object_foreach((json_t *)(uintptr_t)t, key, value)
        put_keys(arena, value, dt_arena_printf(arena, "%s%s%s", path, *path ? "." : "", key), j);
}

/* Writes three members. config: the job as `config show --origin` prints it or, if the record does
 * not have that text, as JSON. job: its keys, for comparison with other runs; empty if `alone`,
 * which means that the page has no other run. format: the format of the data set. */
static void put_job(const dt_report_run *r, bool alone, dt_json *j) {
    const char *config = r->start ? dt_report_text(r->start, "config") : NULL;
    char *text = config || !r->job ? NULL : json_dumps(r->job, JSON_INDENT(2));
    dt_json_string(j, "config", config ? config : text);
    free(text);
    dt_json_open(j, "job", '{');
    if (r->job && !alone && json_object_size(r->job) > 0) put_keys(r->arena, r->job, "", j);
    dt_json_close(j, '}');
    dt_json_string(j, "format", dt_report_text(json_object_get(r->job, "dataset"), "format"));
}

/* ---- figures and outcome ---- */

static void put_figures(const dt_report_run *r, dt_json *j) {
    dt_json_open(j, "figures", '{');
    for (int i = 0; i < r->by_epoch.n; i++) {
        const dt_series *s = &r->by_epoch.v[i];
        if (s->n == 0 || strcmp(s->name, "learning_rate") == 0) continue;
        const dt_figure f = dt_report_figure(r, s);
        dt_json_open(j, s->name, '{');
        dt_json_double(j, "last", f.last);
        if (f.way) dt_json_int(j, "way", f.way);
        if (f.has_best) {
            dt_json_double(j, "best", f.best);
            dt_json_int(j, "epoch", f.epoch);
        }
        if (f.has_kept) {
            dt_json_double(j, "kept", f.kept);
            dt_json_int(j, "kept_epoch", f.kept_epoch);
        }
        dt_json_int(j, "points", s->n);
        dt_json_close(j, '}');
    }
    dt_json_close(j, '}');
}

static void put_outcome(const dt_report_run *r, dt_json *j) {
    const dt_run_outcome o = dt_report_outcome(r);
    dt_local_str why = {0};
    dt_report_explain(r, &why);
    dt_json_string(j, "outcome", o.word);
    dt_json_string(j, "tone", o.tone);
    dt_json_string(j, "why", dt_str_text(&why));
}

/* Writes the last step that the run reached (the larger one of its last attempt's end and its
 * newest checkpoint), the seconds of all attempts, and sums over all steps and epochs. An epoch in
 * which the run was killed has no line and does not count. */
static void put_sums(const dt_report_run *r, dt_json *j) {
    static const char *const steps[] = {"n", "seconds"}, *const epochs[] = {"wall_s", "examples",
                                                                            "waited_s"};
    double all = 0;
    int64_t last = r->n_attempts > 0 ? r->attempt[r->n_attempts - 1].to : 0;
    for (int i = 0; i < r->n_attempts; i++) all += r->attempt[i].seconds;
    for (int i = 0; i < r->checkpoints.n; i++)
        if (dt_report_is_own(r, &r->checkpoints.item[i]) &&
            r->checkpoints.item[i].state.step > last)
            last = r->checkpoints.item[i].state.step;
    dt_json_int(j, "step", last);
    dt_json_double(j, "seconds", all);
    dt_json_open(j, "steps", '{');
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        dt_json_double(j, steps[i], dt_series_sum(&r->work, steps[i]));
    dt_json_close(j, '}');
    dt_json_open(j, "epochs", '{');
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++)
        dt_json_double(j, epochs[i], dt_series_sum(&r->of_epochs, epochs[i]));
    dt_json_close(j, '}');
}

/* ---- curves ---- */

static void put_points(dt_json *j, const char *x, const char *y, const dt_point *p, int n) {
    dt_json_open(j, x, '[');
    for (int i = 0; i < n; i++) dt_json_double(j, NULL, p[i].x);
    dt_json_close(j, ']');
    dt_json_open(j, y, '[');
    for (int i = 0; i < n; i++) dt_json_double(j, NULL, p[i].y);
    dt_json_close(j, ']');
}

static void put_curve(dt_json *j, const dt_series *s) {
    if (s->n == 0) return;
    dt_json_open(j, s->name, '{');
    put_points(j, "x", "y", s->p, s->n);
    if (s->of > 0) {
        put_points(j, "mean_x", "mean", s->mean, s->n_mean);
        dt_json_int(j, "of", s->of);
    }
    dt_json_close(j, '}');
}

/* A curve computed from sums: its points are factor * sum of `above` / sum of `below`. If there are
 * more than BINS points, each sum is over several adjacent ones, since single short steps scatter
 * too much. */
static const struct {
    const char *name, *above, *below;
    double factor;
} ratios[] = {
    {"examples_per_s", "examples", "seconds", 1},
    {"step_ms", "seconds", "n", 1e3},
    {"waiting_percent", "waited_s", "seconds", 100},
};

static void put_ratios(const dt_report_run *r, dt_json *j) {
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        const dt_series *a = dt_series_find(&r->work, ratios[i].above),
                        *b = dt_series_find(&r->work, ratios[i].below);
        const int n = a && b ? a->n < b->n ? a->n : b->n : 0, each = (n + BINS - 1) / BINS;
        dt_series made = {.name = ratios[i].name};
        for (int k = 0; k < n; k += each) {
            double above = 0, below = 0;
            int end = k + each < n ? k + each : n;
            for (int m = k; m < end; m++) {
                above += a->p[m].y;
                below += b->p[m].y;
            }
            dt_series_add(&made, a->p[end - 1].x,
                          below > 0 ? ratios[i].factor * above / below : (double)NAN);
        }
        put_curve(j, &made);
        free(made.p);
    }
}

static void put_curves(const dt_report_run *r, dt_json *j) {
    dt_json_open(j, "by_epoch", '{');
    for (int i = 0; i < r->by_epoch.n; i++) put_curve(j, &r->by_epoch.v[i]);
    dt_json_close(j, '}');
    dt_json_open(j, "by_step", '{');
    for (int i = 0; i < r->by_step.n; i++) put_curve(j, &r->by_step.v[i]);
    put_ratios(r, j);
    dt_json_close(j, '}');
}

/* ---- the slice ---- */

static bool read_four(const json_t *start, const char *key, int64_t out[4]) {
    const json_t *list = json_object_get(start, key);
    for (size_t i = 0; i < 4; i++) out[i] = json_integer_value(json_array_get(list, i));
    return json_array_size(list) == 4;
}

static dt_status *place(const json_t *start, const dt_topology *t, dt_assignment **out) {
    int64_t shape[4], stride[4], order = dt_report_int(start, "order");
    if (!read_four(start, "computation_shape", shape) ||
        !read_four(start, "computation_stride", stride)) {
        *out = dt_assignment_each_core(t);
        return NULL;
    }
    /* An element of the stride that is not positive counts as 1. */
    for (int i = 0; i < 4; i++) stride[i] = stride[i] > 0 ? stride[i] : 1;
    return dt_device_assignment_build(
        out, t,
        &(dt_device_assignment_options){
            .computation_shape = shape,
            .shape_rank = 4,
            .computation_stride = stride,
            .stride_rank = 4,
            .num_replicas = (int)dt_report_int(start, "replicas"),
            .device_order_mode = order <= DT_ORDER_MESH ? (dt_device_order)order : DT_ORDER_AUTO});
}

/* Draws the slice as `topology --svg` does. A slice that this version does not know is not drawn;
 * its name is among the facts. */
static void put_slice(const dt_report_run *r, dt_json *j) {
    dt_resolver *resolver = NULL;
    dt_assignment *a = NULL;
    dt_local_str svg = {0};
    if (!r->start || !dt_report_text(r->start, "slice")) return;
    dt_status *s = dt_resolver_open(&resolver, dt_report_text(r->start, "slice"),
                                    DT_E_UNKNOWN_SLICE_OPTION, NULL);
    if (!s) s = dt_resolver_show_cores(resolver, dt_report_int(r->start, "cores_per_chip"), NULL);
    if (!s) s = place(r->start, resolver->topology, &a);
    if (!s) {
        dt_topology_svg(&(dt_topology_picture){.topology = resolver->topology,
                                               .assignment = a,
                                               .simulated = json_is_true(
                                                   json_object_get(r->start, "simulated"))},
                        &svg);
        dt_json_string(j, "picture", dt_str_text(&svg));
    }
    dt_status_free(s);
    dt_device_assignment_unref(a);
    dt_resolver_unref(resolver);
}

/* ---- the run ---- */

void dt_report_gather(const dt_report_run *r, bool alone, dt_json *j) {
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "label", r->label);
    dt_json_string(j, "path", r->shown);
    put_outcome(r, j);
    put_remarks(r, j);
    put_figures(r, j);
    put_sums(r, j);
    put_start(r, j);
    put_job(r, alone, j);
    dt_json_open(j, "data", '{');
    for (int i = 0; i < DT_REPORT_PARTS; i++) put_tree(j, dt_report_parts[i], r->data[i]);
    dt_json_close(j, '}');
    dt_json_open(j, "evaluations", '{');
    for (int i = 0; i < DT_REPORT_PARTS; i++)
        if (r->evaluation[i]) put_tree(j, dt_report_parts[i], r->evaluation[i]);
    dt_json_close(j, '}');
    dt_json_string(j, "weights_sha256", r->weights_sha256);
    dt_json_string(j, "job_sha256", r->job_sha256);
    dt_json_double(j, "peak_rss", r->peak_rss);
    put_workers(r, j);
    put_curves(r, j);
    put_slice(r, j);
    put_checkpoints(r, j);
    put_messages(r, j);
    put_attempts(r, j);
    dt_json_close(j, '}');
}
