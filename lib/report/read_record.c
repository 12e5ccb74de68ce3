/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lines of record.jsonl, in order. The start of an attempt removes the numbers of earlier
 * attempts (losses, metrics, times of steps and epochs) that belong to steps after the one at which
 * it starts. If it starts a new generation, it removes all earlier numbers, and also the messages,
 * the lines about the data and the counts of workers. See train/record.h. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/events.h"
#include "base/str.h"
#include "file/json_read.h"
#include "format/format.h"
#include "report/run.h"

enum { KEPT = 2 * DT_MESSAGE_ENDS, LONGEST = 2000 };

static const char *const kinds[DT_MESSAGE_KINDS] = {"warning", "callback", "fault", "text"};

const char *dt_message_kind(int kind) { return kinds[kind]; }

int64_t dt_messages_left_out(const dt_messages *s, int kind) {
    return s->of[kind] > KEPT ? s->of[kind] - KEPT : 0;
}

static void forget(dt_message_line *l) {
    free((char *)(uintptr_t)l->who);
    free((char *)(uintptr_t)l->text);
    *l = (dt_message_line){0};
}

/* Returns a copy of at most the first LONGEST bytes of the text, cut at a boundary of UTF-8
 * characters. The caller frees it. */
static char *copy(const char *text) {
    size_t n = strlen(text);
    if (n > LONGEST)
        for (n = LONGEST; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;) n--;
    return memcpy(dt_alloc(n + 1), text, n);
}

static void store_line(dt_message_line *to, const dt_message_line *from, int64_t order) {
    forget(to);
    *to = *from;
    to->who = from->who ? copy(from->who) : NULL;
    to->text = copy(from->text);
    to->left_out = (int64_t)(strlen(from->text) - strlen(to->text));
    to->order = order;
}

/* Returns where message number i of a kind is stored. The first messages stay; the last ones share
 * a ring behind them. */
static int64_t ring_index(int64_t i) {
    return i < KEPT ? i : DT_MESSAGE_ENDS + (i - DT_MESSAGE_ENDS) % DT_MESSAGE_ENDS;
}

/* Adds a copy of the message. Its members order and left_out are ignored. */
static void messages_add(dt_messages *s, const dt_message_line *line) {
    const int k = line->kind;
    if (!s->line[k]) s->line[k] = dt_alloc(KEPT * sizeof *s->line[k]);
    store_line(&s->line[k][ring_index(s->of[k]++)], line, s->n++);
}

static int by_order(const void *a, const void *b) {
    const dt_message_line *x = *(const dt_message_line *const *)a,
                          *y = *(const dt_message_line *const *)b;
    return (x->order > y->order) - (x->order < y->order);
}

int dt_messages_list(const dt_messages *s, const dt_message_line **all) {
    int n = 0;
    for (int k = 0; k < DT_MESSAGE_KINDS; k++)
        for (int i = 0; i < KEPT && i < s->of[k]; i++) all[n++] = &s->line[k][i];
    qsort(all, (size_t)n, sizeof *all, by_order);
    return n;
}

void dt_messages_clear(dt_messages *s) {
    for (int k = 0; k < DT_MESSAGE_KINDS; k++) {
        for (int i = 0; s->line[k] && i < KEPT; i++) forget(&s->line[k][i]);
        free(s->line[k]);
    }
    *s = (dt_messages){0};
}

const char *dt_report_text(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

int64_t dt_report_int(const json_t *object, const char *key) {
    return dt_json_count(json_object_get(object, key));
}

static const char *kept_text(dt_report_run *r, const char *text) {
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
    for (int i = 0; i < DT_STALENESS_BINS; i++) to->staleness[i] += more->staleness[i];
}

/* When a new attempt begins, adds the workers' counts of the previous attempt to the sums. */
static void keep_workers(dt_report_run *r) {
    add_workers(&r->workers_before, &r->workers);
    r->workers = (dt_report_workers){.n = r->workers.n};
}

static void start(dt_report_run *r, const dt_event_line *l, json_t *line) {
    const int64_t generation = l->generation, step = l->event.step;
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
    r->attempt[r->n_attempts++] = (dt_attempt){
        .began = kept_text(r, l->time), .from = step, .to = step, .resumed = l->event.resumed};
    json_decref(r->start);
    r->start = json_incref(line);
    r->weights_sha256 = NULL;
}

static void take_peak(dt_report_run *r, const dt_event_line *l) {
    r->peak_rss = fmax(r->peak_rss, (double)l->peak_rss_bytes);
}

static void end(dt_report_run *r, const dt_event_line *l, json_t *line) {
    dt_attempt *a = attempt_of(r);
    (void)line;
    if (!a) return;
    a->ended = kept_text(r, l->time);
    a->exit = l->exit;
    a->error = kept_text(r, l->error);
    a->finished = l->finished;
    a->stopped_early = l->stopped_early;
    a->to = l->event.step;
    r->weights_sha256 = kept_text(r, l->event.weights_sha256);
    take_peak(r, l);
}

/* ---- the data that the run read ---- */

const char *const dt_report_parts[DT_REPORT_PARTS] = {"train", "validation", "test"};

/* Whether two lines of the record about the data of a part have different hashes. Only hashes of
 * the same kind (`hashed`) are compared. */
static bool are_others(const json_t *a, const json_t *b) {
    const char *of_a = dt_report_text(a, "sha256"), *of_b = dt_report_text(b, "sha256"),
               *how_a = dt_report_text(a, "hashed"), *how_b = dt_report_text(b, "hashed");
    return of_a && of_b && how_a && how_b && strcmp(how_a, how_b) == 0 && strcmp(of_a, of_b) != 0;
}

static void data(dt_report_run *r, const dt_event_line *l, json_t *line) {
    const char *part = l->event.split;
    for (int i = 0; part && i < DT_REPORT_PARTS; i++)
        if (strcmp(part, dt_report_parts[i]) == 0) {
            r->other_data[i] |= r->data[i] && are_others(r->data[i], line);
            json_decref(r->data[i]);
            r->data[i] = json_incref(line);
        }
}

/* ---- other lines of the record ---- */

/* Returns a number. A value that is not a number gives NaN, which is a gap in the curve. */
static double number_of(const json_t *x) {
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static void steps(dt_report_run *r, const dt_event_line *l, json_t *line) {
    const struct {
        dt_series_list *of;
        const char *name;
        double value;
    } series[] = {
        {&r->by_step, "loss", l->loss},         {&r->by_step, "loss_min", l->loss_min},
        {&r->by_step, "loss_max", l->loss_max}, {&r->by_step, "learning_rate", l->learning_rate},
        {&r->work, "n", (double)l->n},          {&r->work, "examples", (double)l->event.examples},
        {&r->work, "seconds", l->seconds},      {&r->work, "waited_s", l->event.waited_s},
    };
    const double step = (double)l->event.step, slice = l->event.virtual_s;
    (void)line;
    if (l->n == 0) return;
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        dt_series_add(dt_series_of(series[i].of, series[i].name), step, series[i].value);
    if (slice > 0) dt_series_add(dt_series_of(&r->by_step, "virtual_ms"), step, 1e3 * slice);
}

/* Removes the values of an incomplete epoch when the line of the whole epoch is read. That line has
 * all times and examples of the epoch, but only the waiting time of its own attempt. So this
 * returns the waiting time removed, to be added. */
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

static void epoch(dt_report_run *r, const dt_event_line *l, json_t *line) {
    const dt_event *e = &l->event;
    const double step = (double)e->step, epoch = (double)e->epoch;
    const double waited = forget_part(r, epoch);
    (void)line;
    dt_series_add(dt_series_of(&r->of_epochs, "epoch"), step, epoch);
    dt_series_add(dt_series_of(&r->of_epochs, "wall_s"), step, e->wall_s);
    dt_series_add(dt_series_of(&r->of_epochs, "examples"), step, (double)e->examples);
    dt_series_add(dt_series_of(&r->of_epochs, "waited_s"), step, waited + e->waited_s);
    take_peak(r, l);
}

static void eval(dt_report_run *r, const dt_event_line *l, json_t *line) {
    const char *key;
    json_t *x;
    json_object_foreach(json_object_get(line, "metrics"), key, x)
        dt_series_add(dt_series_of(&r->by_step, key), (double)l->event.step, number_of(x));
}

static void message(dt_report_run *r, const dt_event_line *l, json_t *line) {
    const dt_event *e = &l->event;
    dt_message_line m = {.who = e->callback, .text = e->text, .step = e->step, .epoch = e->epoch};
    while (strcmp(dt_message_kind(m.kind), dt_report_text(line, "event")) != 0) m.kind++;
    if (m.text) messages_add(&r->messages, &m);
}

/* Larger counts are read as this number, so that sums over all attempts cannot overflow. */
#define MOST_UPDATES (INT64_C(1) << 40)
static int64_t limited(int64_t n) { return n < MOST_UPDATES ? n : MOST_UPDATES; }

/* Takes the counts of workers. The lines of an attempt have counts since its start. */
static void workers(dt_report_run *r, const dt_event_line *l, json_t *line) {
    const dt_event *e = &l->event;
    (void)line;
    r->has_workers = true;
    r->workers = (dt_report_workers){.n = limited(e->workers),
                                     .lost = limited(e->workers_lost),
                                     .again = limited(e->batches_again),
                                     .dropped = limited(e->pushes_dropped)};
    for (int i = 0; i < e->n_staleness; i++) r->workers.staleness[i] = limited(e->staleness[i]);
}

static void nothing(dt_report_run *r, const dt_event_line *l, json_t *line) {
    /* Nothing is read from these lines, because checkpoints are read from their directory. */
    (void)r, (void)l, (void)line;
}

static void (*const take[DT_LINES])(dt_report_run *r, const dt_event_line *l, json_t *line) = {
    [DT_EVENT_START] = start,      [DT_LINE_STEPS] = steps,         [DT_EVENT_EPOCH] = epoch,
    [DT_EVENT_EVAL] = eval,        [DT_EVENT_CHECKPOINT] = nothing, [DT_EVENT_WARNING] = message,
    [DT_EVENT_CALLBACK] = message, [DT_EVENT_FAULT] = message,      [DT_EVENT_TEXT] = message,
    [DT_EVENT_DATA] = data,        [DT_EVENT_WORKERS] = workers,    [DT_EVENT_END] = end,
};

/* Updates the attempt's time and step. */
static void update_attempt(dt_report_run *r, const dt_event_line *l) {
    dt_attempt *a = attempt_of(r);
    if (a && l->t >= 0) a->seconds = l->t;
    if (a && l->event.step > a->to) a->to = l->event.step;
}

bool dt_report_record_line(dt_report_run *r, json_t *line) {
    const char *event = dt_report_text(line, "event");
    int kind = 0;
    while (event && kind < DT_LINES &&
           !(take[kind] && strcmp(event, dt_event_rows[kind].name) == 0))
        kind++;
    if (!event || kind == DT_LINES) return false;
    int64_t staleness[DT_STALENESS_BINS];
    dt_event_line l = {.event.staleness = staleness};
    dt_json_members_lend(line, dt_event_rows[kind].record, &l);
    dt_json_members_lend(line, dt_record_tail, &l);
    take[kind](r, &l, line);
    update_attempt(r, &l);
    return true;
}

/* ---- history.jsonl ---- */

bool dt_report_history_line(dt_report_run *r, json_t *line) {
    const char *key;
    json_t *value;
    if (!json_is_integer(json_object_get(line, "epoch")) ||
        !json_is_integer(json_object_get(line, "step")))
        return false;
    const double steps = (double)dt_report_int(r->start, "steps_per_epoch"),
                 step = (double)dt_report_int(line, "step");
    /* A validation within an epoch is at a fraction of the epoch, if the number of steps per epoch
     * is known. */
    const double x = steps > 0 ? step / steps : (double)dt_report_int(line, "epoch");
    json_object_foreach(line, key, value) if (dt_history_is_metric(key))
        dt_series_add(dt_series_of(&r->by_epoch, key), x, number_of(value));
    return true;
}
