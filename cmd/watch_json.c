/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a run as JSON Lines: one object for each event, with the schema version `v` first. The
 * event `end` always comes last. The event `step` comes about twice a second, or for every step
 * with --every-step.
 */
#include <stdlib.h>

#include "base/events.h"
#include "print.h"
#include "verb.h"
#include "watch.h"

#define STEP_SECONDS 0.5

/* Prints the line "explained" that follows the event `eval` of evaluate. Writing its text fails
 * only for lack of memory, which the library's next call reports. */
static void print_explained(struct watch *w, const dt_event *e) {
    struct json j;
    DT_LOCAL char *text = NULL;
    dt_status *s = dt_evaluation_json(e->evaluation, &text);
    json_open_event(&j, "explained");
    dt_json_int(&j.to, "step", e->step);
    if (!s) dt_json_raw(&j.to, "outputs", text);
    json_print(&j, w->out);
    dt_status_free(s);
}

/* Prints an event, except DT_EVENT_END, which is printed when the exit code is known. */
void watch_json(struct watch *w, const dt_event *e) {
    struct json j;
    const dt_event_row *row = &dt_event_rows[e->kind];
    if (!row->shown || e->kind == DT_EVENT_END) return;
    if (e->kind == DT_EVENT_STEP && !w->every_step && !watch_is_due(w, STEP_SECONDS)) return;
    json_open_event(&j, row->name);
    dt_json_members(&j.to, row->shown, e);
    json_print(&j, w->out);
    if (e->evaluation) print_explained(w, e);
}

void watch_json_error(const struct watch *w, const dt_status *s) {
    for (; s; s = dt_status_next(s)) {
        struct json j;
        json_open_event(&j, "error");
        json_error(&j.to, s);
        json_print(&j, w->out);
    }
}

/* Prints the event `end`. If the run failed, it names no result. If the run was stopped, or an
 * expectation is not met, it does. */
void watch_json_end(const struct watch *w, int code) {
    const bool result = w->ended || (code == EXIT_STOPPED && w->checkpoint);
    const dt_event_row *row = &dt_event_rows[DT_EVENT_END];
    struct json j;
    json_open_event(&j, row->name);
    dt_json_members(
        &j.to, row->shown,
        &(dt_event_line){.event.weights_sha256 = result && *w->weights ? w->weights : NULL,
                         .event.checkpoint = result ? w->checkpoint : NULL,
                         .event.virtual_s = w->virtual_s,
                         .exit = code});
    json_print(&j, w->out);
}
