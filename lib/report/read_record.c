/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lines of record.jsonl, in order. A start removes the steps behind its position,
 * which a killed attempt had done. See train/record.h. */
#include <string.h>

#include "format/history.h"
#include "report/run.h"

const char *dt_report_text(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* Counts beyond this are reduced to it: no run has them, and a double cannot hold them exactly. */
static const int64_t largest = (int64_t)1 << 53;

int64_t dt_report_int(const json_t *object, const char *key) {
    int64_t x = json_integer_value(json_object_get(object, key));
    return x > largest ? largest : x < 0 ? 0 : x;
}

static const char *kept_text(dt_report_run *r, const json_t *line, const char *key) {
    const char *text = dt_report_text(line, key);
    return text ? dt_arena_strdup(r->arena, text) : NULL;
}

/* ---- attempts ---- */

static dt_attempt *attempt_of(dt_report_run *r) {
    return r->n_attempts > 0 ? &r->attempt[r->n_attempts - 1] : NULL;
}

static void void_lines(dt_report_run *r, double step) {
    dt_series_cut(&r->by_step, step);
    dt_series_cut(&r->work, step);
    dt_series_cut(&r->of_epochs, step);
}

static void forget_data(dt_report_run *r) {
    for (int i = 0; i < DT_REPORT_PARTS; i++) {
        json_decref(r->data[i]);
        r->data[i] = NULL;
        r->other_data[i] = false;
    }
}

static void add_workers(dt_report_workers *to, const dt_report_workers *more) {
    to->lost += more->lost;
    to->again += more->again;
    to->dropped += more->dropped;
    for (int i = 0; i < DT_REPORT_STALENESS; i++) to->staleness[i] += more->staleness[i];
}

/* A new attempt begins. */
static void keep_workers(dt_report_run *r) {
    add_workers(&r->workers_before, &r->workers);
    r->workers = (dt_report_workers){.n = r->workers.n};
}

static void start(dt_report_run *r, json_t *line) {
    int64_t generation = dt_report_int(line, "generation"), step = dt_report_int(line, "step");
    if (generation != r->generation) {
        dt_messages_clear(&r->messages);
        forget_data(r);
        r->has_workers = false;
        r->workers = r->workers_before = (dt_report_workers){0};
    }
    keep_workers(r);
    void_lines(r, generation == r->generation ? (double)step : -1);
    r->generation = generation;
    DT_GROW(r->attempt, r->cap_attempts, r->n_attempts + 1);
    r->attempt[r->n_attempts++] =
        (dt_attempt){.began = kept_text(r, line, "time"),
                     .from = step,
                     .to = step,
                     .resumed = json_is_true(json_object_get(line, "resumed"))};
    json_decref(r->start);
    r->start = json_incref(line);
    r->weights_sha256 = NULL;
}

static void take_peak(dt_report_run *r, const json_t *line) {
    r->peak_rss = fmax(r->peak_rss, (double)dt_report_int(line, "peak_rss_bytes"));
}

static void end(dt_report_run *r, json_t *line) {
    dt_attempt *a = attempt_of(r);
    if (!a) return;
    a->ended = kept_text(r, line, "time");
    a->exit = (int)dt_report_int(line, "exit");
    a->error = kept_text(r, line, "error");
    a->finished = json_is_true(json_object_get(line, "finished"));
    a->stopped_early = json_is_true(json_object_get(line, "stopped_early"));
    a->to = dt_report_int(line, "step");
    r->weights_sha256 = kept_text(r, line, "weights_sha256");
    take_peak(r, line);
}

/* ---- what it read ---- */

const char *const dt_report_parts[DT_REPORT_PARTS] = {"train", "validation", "test"};

/* Only hashes of the same kind can be compared. */
static bool are_others(const json_t *a, const json_t *b) {
    const char *of_a = dt_report_text(a, "sha256"), *of_b = dt_report_text(b, "sha256"),
               *how_a = dt_report_text(a, "hashed"), *how_b = dt_report_text(b, "hashed");
    return of_a && of_b && how_a && how_b && strcmp(how_a, how_b) == 0 && strcmp(of_a, of_b) != 0;
}

static void data(dt_report_run *r, json_t *line) {
    const char *part = dt_report_text(line, "part");
    for (int i = 0; part && i < DT_REPORT_PARTS; i++)
        if (strcmp(part, dt_report_parts[i]) == 0) {
            r->other_data[i] |= r->data[i] && are_others(r->data[i], line);
            json_decref(r->data[i]);
            r->data[i] = json_incref(line);
        }
}

/* ---- what was measured ---- */

/* A value that is not a number is a gap in the curve. */
static double number_of(const json_t *x) {
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static double number(const json_t *line, const char *key) {
    return number_of(json_object_get(line, key));
}

static void steps(dt_report_run *r, json_t *line) {
    static const char *const drawn[] = {"loss", "loss_min", "loss_max", "learning_rate"},
                             *const summed[] = {"n", "examples", "seconds", "waited_s"};
    double step = (double)dt_report_int(line, "step"), slice = number(line, "virtual_s");
    if (dt_report_int(line, "n") == 0) return;
    for (size_t i = 0; i < 4; i++) {
        dt_series_add(dt_series_of(&r->by_step, drawn[i]), step, number(line, drawn[i]));
        dt_series_add(dt_series_of(&r->work, summed[i]), step, number(line, summed[i]));
    }
    if (slice > 0) dt_series_add(dt_series_of(&r->by_step, "virtual_ms"), step, 1e3 * slice);
}

/* Removes the line of an incomplete epoch when the whole epoch's line comes. That line has all
 * times and examples, but only its own attempt's waiting, which is therefore added. */
static double forget_part(dt_report_run *r, double epoch) {
    const dt_series *numbers = dt_series_find(&r->of_epochs, "epoch"),
                    *waits = dt_series_find(&r->of_epochs, "waited_s");
    if (!numbers || numbers->n == 0 || numbers->p[numbers->n - 1].y != epoch || !waits ||
        waits->n == 0)
        return 0;
    const dt_point last = waits->p[waits->n - 1];
    dt_series_cut(&r->of_epochs, last.x - 1);
    return isfinite(last.y) ? last.y : 0;
}

static void epoch(dt_report_run *r, json_t *line) {
    const double step = (double)dt_report_int(line, "step"),
                 epoch = (double)dt_report_int(line, "epoch");
    const double waited = forget_part(r, epoch);
    dt_series_add(dt_series_of(&r->of_epochs, "epoch"), step, epoch);
    dt_series_add(dt_series_of(&r->of_epochs, "wall_s"), step, number(line, "wall_s"));
    dt_series_add(dt_series_of(&r->of_epochs, "examples"), step, number(line, "examples"));
    dt_series_add(dt_series_of(&r->of_epochs, "waited_s"), step, waited + number(line, "waited_s"));
    take_peak(r, line);
}

static void eval(dt_report_run *r, json_t *line) {
    const char *key;
    json_t *x;
    json_object_foreach(json_object_get(line, "metrics"), key, x) dt_series_add(
        dt_series_of(&r->by_step, key), (double)dt_report_int(line, "step"), number_of(x));
}

static void message(dt_report_run *r, json_t *line) {
    dt_message_line l = {.who = dt_report_text(line, "callback"),
                         .text = dt_report_text(line, "text"),
                         .step = dt_report_int(line, "step"),
                         .epoch = dt_report_int(line, "epoch")};
    while (strcmp(dt_message_kind(l.kind), dt_report_text(line, "event")) != 0) l.kind++;
    if (l.text) dt_messages_add(&r->messages, &l);
}

/* Limits counts so that sums over all attempts cannot overflow. */
#define MOST_UPDATES (INT64_C(1) << 40)
static int64_t positive(const json_t *x) {
    const int64_t n = json_integer_value(x);
    return n < 0 ? 0 : n < MOST_UPDATES ? n : MOST_UPDATES;
}

/* Lines of one attempt have the counts since its start. */
static void workers(dt_report_run *r, json_t *line) {
    const json_t *list = json_object_get(line, "staleness");
    r->has_workers = true;
    r->workers = (dt_report_workers){.n = positive(json_object_get(line, "workers")),
                                     .lost = positive(json_object_get(line, "lost")),
                                     .again = positive(json_object_get(line, "again")),
                                     .dropped = positive(json_object_get(line, "dropped"))};
    for (size_t i = 0; i < DT_REPORT_STALENESS; i++)
        r->workers.staleness[i] = positive(json_array_get(list, i));
}

static void nothing(dt_report_run *r, json_t *line) {
    (void)r, (void)line; /* checkpoints are read from their directory */
}

static const struct {
    const char *event;
    void (*take)(dt_report_run *r, json_t *line);
} events[] = {
    {"steps", steps},     {"epoch", epoch},      {"eval", eval},     {"checkpoint", nothing},
    {"start", start},     {"end", end},          {"data", data},     {"workers", workers},
    {"warning", message}, {"callback", message}, {"fault", message}, {"text", message},
};

/* Updates the attempt's time and step. */
static void go_on(dt_report_run *r, const json_t *line) {
    dt_attempt *a = attempt_of(r);
    double t = number(line, "t");
    int64_t step = dt_report_int(line, "step");
    if (a && t >= 0) a->seconds = t;
    if (a && step > a->to) a->to = step;
}

bool dt_report_record_line(dt_report_run *r, json_t *line) {
    const char *event = dt_report_text(line, "event");
    for (size_t i = 0; event && i < sizeof events / sizeof *events; i++)
        if (strcmp(event, events[i].event) == 0) {
            events[i].take(r, line);
            go_on(r, line);
            return true;
        }
    return false;
}

/* ---- history.jsonl ---- */

static bool is_metric(const char *key) {
    return strcmp(key, "epoch") != 0 && strcmp(key, "step") != 0 &&
           strcmp(key, DT_HISTORY_CHECK) != 0;
}

bool dt_report_history_line(dt_report_run *r, json_t *line) {
    const char *key;
    json_t *value;
    if (!json_is_integer(json_object_get(line, "epoch")) ||
        !json_is_integer(json_object_get(line, "step")))
        return false;
    const double steps = (double)dt_report_int(r->start, "steps_per_epoch"),
                 step = (double)dt_report_int(line, "step");
    /* a validation by steps belongs to the epoch around it */
    const double x = steps > 0 ? step / steps : (double)dt_report_int(line, "epoch");
    json_object_foreach(line, key, value) if (is_metric(key))
        dt_series_add(dt_series_of(&r->by_epoch, key), x, number_of(value));
    return true;
}
