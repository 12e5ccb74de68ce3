/* SPDX-License-Identifier: Apache-2.0 */
/* `ckpt ls`: lists the checkpoints of a run, one per line. The metrics are those of the line in
 * history.jsonl with the checkpoint's step. If a callback restored the weights of an earlier step
 * or epoch at the end, the metrics are those of the line of that step or epoch. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "file/json_read.h"
#include "format/contents.h"

enum { LARGEST_HISTORY = 64 << 20 };

/* Returns the last line of the history in which `key` ("step" or "epoch") has the value `number`;
 * NULL: none. Lines that are not JSON or lack a line end are ignored. The caller releases it with
 * json_decref. */
static json_t *find_line(const dt_str *history, const char *path, const char *key, int64_t number) {
    json_t *found = NULL;
    const char *at = dt_str_text(history);
    for (const char *end; (end = strchr(at, '\n')); at = end + 1) {
        const dt_json_text text = {path, "a line", "key", at, (size_t)(end - at), DT_E_CHECKPOINT};
        json_t *line = NULL;
        int64_t its;
        dt_status_free(dt_json_parse(&text, &line));
        bool is = line && dt_json_get_int(line, key, &its) && its == number;
        json_decref(is ? found : line);
        found = is ? line : found;
    }
    return found;
}

dt_kept dt_listed_kept(const dt_listed *x) {
    dt_kept o = {0};
    const char *text = x->state.finished ? x->state.callbacks : NULL;
    const dt_json_text all = {x->path,        "callbacks", "key", text, text ? strlen(text) : 0,
                              DT_E_CHECKPOINT};
    const char *key;
    json_t *root = NULL, *value;
    if (x->damage || !text) return o;
    dt_status_free(dt_json_parse(&all, &root));
    json_object_foreach(root, key, value) {
        int64_t epoch;
        if (!json_is_true(json_object_get(value, "restored"))) continue;
        if (!dt_json_get_int(value, "best_step", &o.step) &&
            dt_json_get_int(value, "best_epoch", &epoch))
            o.epoch = epoch + 1;
    }
    json_decref(root);
    return o;
}

/* Returns the line of the history with the metrics of the checkpoint's weights, as find_line does.
 * o: what dt_listed_kept returned. */
static json_t *line_of(const dt_listed *x, const char *run, const dt_str *history, dt_kept o) {
    if (o.step > 0) return find_line(history, run, "step", o.step);
    return o.epoch > 0 ? find_line(history, run, "epoch", o.epoch)
                       : find_line(history, run, "step", x->state.step);
}

static bool is_metric(const char *key, const json_t *value) {
    return json_is_number(value) && dt_history_is_metric(key);
}

static void print_metrics(json_t *line, dt_str *out) {
    const char *key;
    json_t *value;
    json_object_foreach(line, key, value) if (is_metric(key, value)) {
        dt_str_puts(out, "  ");
        dt_str_escaped(out, key, strlen(key), 40);
        dt_str_printf(out, " %.4f", json_number_value(value));
    }
}

static void put_metrics(json_t *line, dt_json *j) {
    const char *key;
    json_t *value;
    dt_json_open(j, "metrics", '{');
    json_object_foreach(line, key, value) if (is_metric(key, value))
        dt_json_double(j, key, json_number_value(value));
    dt_json_close(j, '}');
}

static const char *when(const dt_listed *x, char text[32]) {
    struct tm t;
    time_t s = (time_t)x->saved_s;
    if (!gmtime_r(&s, &t) || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &t) == 0) strcpy(text, "?");
    return text;
}

static void print_item(const dt_listed *x, json_t *line, dt_kept o, dt_str *out) {
    char text[32];
    if (x->damage) {
        dt_str_printf(out, "damaged   %s\n", dt_status_text(x->damage));
        return;
    }
    const char *sha = x->state.weights_sha256 ? x->state.weights_sha256 : "?";
    dt_str_printf(out, "%08" PRId64 "  %s  %-10s  sha ", x->state.step, when(x, text),
                  dt_text_of_bytes((double)x->bytes).s);
    dt_str_escaped(out, sha, strnlen(sha, 12), 12);
    print_metrics(line, out);
    if (o.step > 0 || o.epoch > 0)
        dt_str_printf(out, "  kept %s %" PRId64, o.step > 0 ? "step" : "epoch",
                      o.step > 0 ? o.step : o.epoch);
    dt_str_puts(out, x->state.finished ? "  finished\n" : "\n");
}

static void put_item(const dt_listed *x, json_t *line, dt_kept o, dt_str *out) {
    char text[32];
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "path", x->path);
    if (x->damage) dt_json_string(&j, "damage", dt_status_text(x->damage));
    dt_json_string(&j, "saved", when(x, text));
    dt_json_int(&j, "bytes", x->bytes);
    if (!x->damage) {
        dt_json_int(&j, "step", x->state.step);
        dt_json_int(&j, "epoch", x->state.epoch);
        dt_json_int(&j, "generation", x->state.generation);
        dt_json_string(&j, "weights_sha256", x->state.weights_sha256);
        dt_json_bool(&j, "finished", x->state.finished);
        if (o.step > 0 || o.epoch > 0)
            dt_json_int(&j, o.step > 0 ? "kept_step" : "kept_epoch", o.step > 0 ? o.step : o.epoch);
        put_metrics(line, &j);
    }
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

/* Reads the history. A run without a history, or with one that cannot be read, shows no metrics. */
static void read_history(const char *run, dt_str *out) {
    DT_LOCAL char *path = dt_path_join(run, "history.jsonl");
    dt_status_free(dt_file_read(path, LARGEST_HISTORY, out));
}

/* Prints a damaged history as an item of the list, like a damaged checkpoint. */
static void print_damage(const char *run, const dt_str *history, bool json, dt_str *out) {
    dt_history_lines lines = {0};
    dt_history_take_all(&lines, history);
    char *path = dt_path_join(run, "history.jsonl"), *damage = dt_history_damage(&lines, path);
    dt_json j = {.out = out};
    if (damage && json) {
        dt_json_open(&j, NULL, '{');
        dt_json_string(&j, "path", path);
        dt_json_string(&j, "damage", damage);
        dt_json_close(&j, '}');
        dt_str_putc(out, '\n');
    } else if (damage) {
        dt_str_puts(out, "damaged   ");
        dt_str_escaped(out, damage, strlen(damage), 4096);
        dt_str_putc(out, '\n');
    }
    free(damage);
    free(path);
}

dt_status *dt_checkpoint_list(const char *run, bool json, char **text) {
    dt_listing l = {0};
    dt_str out = {0};
    dt_local_str history = {0};
    DT_REQUIRE({run, "run"}, {text, "place for the text"});
    DT_TRY(dt_listing_read(&l, run));
    read_history(run, &history);
    for (int i = 0; i < l.n; i++) {
        const dt_kept o = dt_listed_kept(&l.item[i]);
        json_t *line = line_of(&l.item[i], run, &history, o);
        (json ? put_item : print_item)(&l.item[i], line, o, &out);
        json_decref(line);
    }
    print_damage(run, &history, json, &out);
    dt_listing_release(&l);
    *text = dt_str_take(&out);
    return NULL;
}
