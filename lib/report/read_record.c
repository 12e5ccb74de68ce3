/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of record.jsonl, in their order: each start takes back what a killed attempt had done beyond it. See train/record.h. */
#include <string.h>

#include "report/run.h"

const char *dt_report_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Counts, all of them; more than this is nobody's, and no double. */
static const int64_t largest = (int64_t)1 << 53;

int64_t dt_report_int(const json_t *object, const char *key)
{
    int64_t x = json_integer_value(json_object_get(object, key));
    return x > largest ? largest : x < 0 ? 0 : x;
}

void dt_report_metric(const dt_report_run *r, const char *metric, dt_str *out)
{
    const char *bare = strncmp(metric, "val_", 4) == 0 ? metric + 4 : metric;
    const char *class = dt_report_text(json_object_get(r->start, "classes"), bare);
    dt_str_puts(out, metric);
    if (class)
        dt_str_printf(out, " (%s)", class);
}

static const char *kept_text(dt_report_run *r, const json_t *line, const char *key)
{
    const char *text = dt_report_text(line, key);
    return text ? dt_arena_strdup(r->arena, text) : NULL;
}

/* ---- attempts ---- */

static dt_attempt *attempt_of(dt_report_run *r)
{
    return r->n_attempts > 0 ? &r->attempt[r->n_attempts - 1] : NULL;
}

static void void_lines(dt_report_run *r, double step)
{
    dt_series_cut(&r->by_step, step);
    dt_series_cut(&r->of_epochs, step);
}

static void forget_data(dt_report_run *r)
{
    for (int i = 0; i < DT_REPORT_PARTS; i++) {
        json_decref(r->data[i]);
        r->data[i] = NULL;
        r->other_data[i] = false;
    }
}

static void start(dt_report_run *r, const dt_line *l)
{
    json_t *line = l->json;
    int64_t generation = dt_report_int(line, "generation"), step = dt_report_int(line, "step");
    if (generation != r->generation) {
        dt_messages_clear(&r->messages);
        forget_data(r);
    }
    void_lines(r, generation == r->generation ? (double)step : -1);
    r->generation = generation;
    DT_GROW(r->attempt, r->cap_attempts, r->n_attempts + 1);
    r->attempt[r->n_attempts++] = (dt_attempt){.began = kept_text(r, line, "time"), .from = step, .to = step,
                                               .resumed = json_is_true(json_object_get(line, "resumed"))};
    json_decref(r->start);
    json_decref(r->end);
    r->start = json_incref(line);
    r->end = NULL;
    r->weights_sha256 = NULL;
}

static void take_peak(dt_report_run *r, const dt_line *l)
{
    r->peak_rss = fmax(r->peak_rss, (double)dt_figures_int(&l->own, "peak_rss_bytes"));
}

static void end(dt_report_run *r, const dt_line *l)
{
    json_t *line = l->json;
    dt_attempt *a = attempt_of(r);
    if (!a)
        return;
    a->ended = kept_text(r, line, "time");
    a->exit = (int)dt_report_int(line, "exit");
    a->error = kept_text(r, line, "error");
    a->finished = json_is_true(json_object_get(line, "finished"));
    a->stopped_early = json_is_true(json_object_get(line, "stopped_early"));
    a->to = dt_report_int(line, "step");
    r->weights_sha256 = kept_text(r, line, "weights_sha256");
    take_peak(r, l);
    json_decref(r->end);
    r->end = json_incref(line);
}

/* ---- what it read ---- */

const char *const dt_report_parts[DT_REPORT_PARTS] = {"train", "validation", "test"};

/* Hashes of different kinds, or none, say nothing of each other. */
static bool are_others(const json_t *a, const json_t *b)
{
    const char *of_a = dt_report_text(a, "sha256"), *of_b = dt_report_text(b, "sha256"), *how_a = dt_report_text(a, "hashed"), *how_b = dt_report_text(b, "hashed");
    return of_a && of_b && how_a && how_b && strcmp(how_a, how_b) == 0 && strcmp(of_a, of_b) != 0;
}

static void data(dt_report_run *r, const dt_line *l)
{
    json_t *line = l->json;
    const char *part = dt_report_text(line, "part");
    for (int i = 0; part && i < DT_REPORT_PARTS; i++)
        if (strcmp(part, dt_report_parts[i]) == 0) {
            r->other_data[i] |= r->data[i] && are_others(r->data[i], line);
            json_decref(r->data[i]);
            r->data[i] = json_incref(line);
        }
}

/* ---- what was measured ---- */

static void steps(dt_report_run *r, const dt_line *l)
{
    static const char *const keys[] = {"loss", "loss_min", "loss_max", "learning_rate", "n", "examples", "seconds", "waited_s"};
    double step = (double)dt_figures_int(&l->own, "step"), slice = dt_figures_number(&l->own, "virtual_s");
    if (dt_figures_int(&l->own, "n") == 0)
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        dt_series_add(dt_series_of(&r->by_step, keys[i]), step, dt_figures_number(&l->own, keys[i]));
    if (slice > 0)
        dt_series_add(dt_series_of(&r->by_step, "virtual_ms"), step, 1e3 * slice);
}

/* What was told of the epoch when a run ended within it goes: times and examples of the whole one have it, but waits are of each attempt. */
static double forget_part(dt_report_run *r, double epoch)
{
    const dt_series *numbers = dt_series_find(&r->of_epochs, "epoch"), *waits = dt_series_find(&r->of_epochs, "waited_s");
    if (!numbers || numbers->n == 0 || numbers->p[numbers->n - 1].y != epoch || !waits || waits->n == 0)
        return 0;
    const dt_point last = waits->p[waits->n - 1];
    dt_series_cut(&r->of_epochs, last.x - 1);
    return isfinite(last.y) ? last.y : 0;
}

static void epoch(dt_report_run *r, const dt_line *l)
{
    const double step = (double)dt_figures_int(&l->own, "step"), number = (double)dt_figures_int(&l->own, "epoch");
    const double waited = forget_part(r, number);
    dt_series_add(dt_series_of(&r->of_epochs, "epoch"), step, number);
    dt_series_add(dt_series_of(&r->of_epochs, "wall_s"), step, dt_figures_number(&l->own, "wall_s"));
    dt_series_add(dt_series_of(&r->of_epochs, "examples"), step, dt_figures_number(&l->own, "examples"));
    dt_series_add(dt_series_of(&r->of_epochs, "waited_s"), step, waited + dt_figures_number(&l->own, "waited_s"));
    take_peak(r, l);
}

static void add_all(dt_series_list *to, double x, const dt_figures *f)
{
    for (int i = 0; i < f->n; i++)
        dt_series_add(dt_series_named(to, f->v[i].key, (size_t)f->v[i].n_key), x, dt_figure_number(&f->v[i]));
}

static void eval(dt_report_run *r, const dt_line *l)
{
    add_all(&r->by_step, (double)dt_figures_int(&l->own, "step"), &l->metrics);
}

static void read_message(dt_report_run *r, const dt_line *l)
{
    dt_message_line line = {.step = dt_figures_int(&l->own, "step"), .epoch = dt_figures_int(&l->own, "epoch")};
    line.who = dt_figures_text(&l->own, "callback", &line.n_who);
    line.text = dt_figures_text(&l->own, "text", &line.n_text);
    while (!dt_line_is(l, dt_message_kind(line.kind)))
        line.kind++;
    if (line.text)
        dt_messages_add(&r->messages, &line);
}

static void nothing(dt_report_run *r, const dt_line *l)
{
    (void)r, (void)l; /* the directory of checkpoints tells itself what is there */
}

static const struct {
    const char *event;
    void (*take)(dt_report_run *r, const dt_line *l);
    bool whole; /* all of it, by jansson */
} kinds[] = {
    {"epoch", epoch, false}, {"eval", eval, false}, {"steps", steps, false}, {"checkpoint", nothing, false}, {"start", start, true}, {"end", end, true},
    {"data", data, true}, {"warning", read_message, false}, {"callback", read_message, false}, {"fault", read_message, false}, {"text", read_message, false},
};

/* When, and up to which step. */
static void go_on(dt_report_run *r, const dt_line *l)
{
    dt_attempt *a = attempt_of(r);
    double t = dt_figures_number(&l->own, "t");
    int64_t step = dt_figures_int(&l->own, "step");
    if (a && t >= 0)
        a->seconds = t;
    if (a && step > a->to)
        a->to = step;
}

bool dt_report_record_line(dt_report_run *r, dt_line *l)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (dt_line_is(l, kinds[i].event)) {
            if (kinds[i].whole && !l->json && !dt_line_read_slowly(l))
                return false;
            kinds[i].take(r, l);
            go_on(r, l);
            return true;
        }
    return false;
}

/* ---- history.jsonl ---- */

bool dt_report_history_line(dt_report_run *r, dt_line *l)
{
    if (!dt_figures_has_int(&l->own, "epoch") || !dt_figures_has_int(&l->own, "step"))
        return false;
    const double steps = (double)dt_report_int(r->start, "steps_per_epoch"), step = (double)dt_figures_int(&l->own, "step");
    const double x = steps > 0 ? step / steps : (double)dt_figures_int(&l->own, "epoch"); /* validation by steps lies within one */
    for (int i = 0; i < l->own.n; i++)
        if (!dt_figure_is(&l->own.v[i], "epoch") && !dt_figure_is(&l->own.v[i], "step"))
            dt_series_add(dt_series_named(&r->by_epoch, l->own.v[i].key, (size_t)l->own.v[i].n_key), x, dt_figure_number(&l->own.v[i]));
    return true;
}
