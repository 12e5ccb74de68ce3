/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints executables, and records runs for a trace. Each step of the executable has a kind of span
 * (a mark), which is created in the first run after a recorder was set. A mark has the nodes that
 * the step computes, without those of other steps that it computes again, and the shape and layer
 * of the last one. A span is one piece of the step on one lane. Waiting between segments is
 * recorded, too.
 *
 *     main      | train  [ dot_general ][ multiply, add ][ wait ][ dot_general ][ wait ] |
 *     worker 1          [ dot_general ][ dot_general     ]      [ dot_general      ]
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "exec/exchange.h"
#include "exec/exec_impl.h"

/* ---- an executable as text ---- */

/* Prints the op, input types and type of a node: " add (f32[34,4], f32[34,4]) -> f32[34,4]". */
static void print_op(const dt_exec *x, const dt_node *n, int node, dt_str *out) {
    dt_str_printf(out, " %s (", n->op->name);
    for (int k = 0; k < n->n_in; k++) {
        dt_str_puts(out, k ? ", " : "");
        dt_type_print(&x->type[n->in[k]], out);
    }
    dt_str_puts(out, ") -> ");
    dt_type_print(&x->type[node], out);
}

static void print_step(const dt_exec *x, const dt_step *step, dt_str *out) {
    dt_str_printf(out, "      %s", step->kernel->name);
    if (step->kernel == &dt_kernel_copy_back) {
        dt_str_printf(out, " %s\n", x->g->state[step->node].variable->path);
        return;
    }
    if (step->kernel == &dt_kernel_fused) {
        for (int i = 0; i < x->g->n_nodes; i++)
            if (x->fused_in[i] >= 0 && x->fused_in[i] == x->fused_in[step->node])
                dt_str_printf(out, " %%%d", i);
        dt_fused_print(step, out);
    } else {
        dt_str_printf(out, " %%%d", step->node);
    }
    if (step->kernel == &dt_kernel_eval) print_op(x, &x->g->node[step->node], step->node, out);
    dt_str_puts(out, "\n");
}

static void print_memory(const dt_exec *x, dt_str *out) {
    for (int i = 0; i < x->g->n_nodes; i++) {
        const dt_value_slot *s = &x->slot[i];
        const bool of_task = s->home == DT_HOME_TASK;
        if (!of_task && !s->kept && (s->home != DT_HOME_ARENA || s->owner != i)) continue;
        dt_str_printf(out, s->kept ? "  old %%%d " : "  %%%d ", i);
        dt_type_print(&x->type[i], out);
        dt_str_printf(out, "%s at %lld, %lld bytes, %s %d to %d\n", of_task ? " of a task" : "",
                      (long long)s->offset, (long long)s->bytes, of_task ? "steps" : "segments",
                      s->first, s->last);
    }
}

static void print_group(const dt_exec *x, int number, dt_str *out) {
    const dt_group *group = &x->group[number];

    dt_str_printf(out, "    group %d, %d piece%s", number, group->units,
                  group->units == 1 ? "" : "s");
    if (group->own_bytes) dt_str_printf(out, " with %lld bytes each", (long long)group->own_bytes);
    dt_str_puts(out, "\n");
    for (int j = 0; j < group->n_steps; j++) print_step(x, &group->step[j], out);
}

void dt_exec_print(const dt_exec *x, dt_str *out) {
    dt_str_printf(out, "executable for B = %lld: %d segment%s, arena %lld bytes\n",
                  (long long)x->p->batch, x->n_segments, x->n_segments == 1 ? "" : "s",
                  (long long)x->arena_bytes);
    for (int i = 0; i < x->n_segments; i++) {
        dt_str_printf(out, "  segment %d\n", i);
        for (int k = 0; k < x->n_groups; k++)
            if (x->group[k].segment == i) print_group(x, k, out);
    }
    dt_str_puts(out, "  memory\n");
    print_memory(x, out);
}

enum { LANE_ROOM = 1 << 17, MOST_NAMES = 4 };

/* ---- starting and ending a recording ---- */

void dt_engine_record(dt_engine *e, dt_recorder *r) {
    int lanes = dt_engine_threads(e);
    char name[32] = "main";

    e->recorder = r;
    e->recordings++;
    if (!r) return;
    free(e->track);
    e->track = dt_alloc((size_t)lanes * sizeof *e->track);
    for (int l = 0; l < lanes; l++) {
        if (l) snprintf(name, sizeof name, "worker %d", l);
        e->track[l] = dt_recorder_track(r, name, LANE_ROOM);
    }
    e->wake_mark = dt_recorder_mark(r, &(dt_mark){.name = "wake other threads", .kind = "wait"});
    e->wait_mark = dt_recorder_mark(
        r,
        &(dt_mark){.name = "wait for other threads", .kind = "wait", .number = {"after segment"}});
}

/* ---- marks: kinds of spans ---- */

/* The nodes of a step (list_nodes). */
typedef struct nodes {
    int n, *v;
} nodes;

/* Lists the nodes of a step: those of a fused step without the ones that it computes again, none of
 * a copy. */
static void list_nodes(const dt_exec *x, const dt_step *step, nodes *out) {
    out->n = 0;
    if (step->kernel == &dt_kernel_copy_back) return;
    if (step->kernel != &dt_kernel_fused) {
        out->v[out->n++] = step->node;
        return;
    }
    for (int i = 0; i < x->g->n_nodes; i++)
        if (x->fused_in[i] >= 0 && x->fused_in[i] == x->fused_in[step->node]) out->v[out->n++] = i;
}

static void put_name(const dt_exec *x, const dt_step *step, const nodes *list, dt_str *out) {
    if (step->kernel == &dt_kernel_copy_back)
        dt_str_printf(out, "copy %s", x->g->state[step->node].variable->path);
    for (int i = 0; i < list->n && i < MOST_NAMES; i++)
        dt_str_printf(out, "%s%s", i ? ", " : "", x->g->node[list->v[i]].op->name);
    if (list->n > MOST_NAMES) dt_str_printf(out, " and %d more", list->n - MOST_NAMES);
}

static void put_nodes(const dt_exec *x, const nodes *list, dt_json *j) {
    dt_str text = {0};

    dt_json_open(j, "ops", '[');
    for (int i = 0; i < list->n; i++) {
        const dt_node *n = &x->g->node[list->v[i]];
        dt_str_clear(&text);
        dt_str_printf(&text, "%%%d %s ", list->v[i], n->op->name);
        dt_type_print(&x->type[list->v[i]], &text);
        if (*n->path) dt_str_printf(&text, " of %s", n->path);
        dt_json_string(j, NULL, dt_str_text(&text));
    }
    dt_json_close(j, ']');
    dt_str_release(&text);
}

/* Writes facts about a step for its spans: layer and shape of the last node, if there is one, the
 * kernel's name, and the nodes. */
static void put_facts(const dt_exec *x, const dt_step *step, const nodes *list, dt_json *j) {
    dt_str shape = {0};

    if (list->n > 0) {
        dt_type_print(&x->type[list->v[list->n - 1]], &shape);
        dt_json_string(j, "layer", x->g->node[list->v[list->n - 1]].path);
        dt_json_string(j, "shape", dt_str_text(&shape));
    }
    dt_json_string(j, "kernel", step->kernel->name);
    put_nodes(x, list, j);
    dt_str_release(&shape);
}

static int mark_step(const dt_exec *x, const dt_group *group, int number, nodes *list) {
    const dt_step *step = &group->step[number];
    dt_str name = {0}, facts = {0};
    dt_json j = {.out = &facts};

    list_nodes(x, step, list);
    put_name(x, step, list, &name);
    put_facts(x, step, list, &j);
    dt_json_int(&j, "segment", group->segment);
    dt_json_int(&j, "group", group - x->group);
    dt_json_int(&j, "step", number);
    int mark = dt_recorder_mark(x->engine->recorder, &(dt_mark){.name = dt_str_text(&name),
                                                                .kind = "op",
                                                                .facts = dt_str_text(&facts),
                                                                .number = {"piece", "from", "to"}});
    dt_str_release(&name);
    dt_str_release(&facts);
    return mark;
}

static void make_marks(dt_exec *x) {
    nodes list = {.v = dt_alloc((size_t)(x->g->n_nodes + 1) * sizeof *list.v)};

    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++)
            x->group[i].step[k].mark = mark_step(x, &x->group[i], k, &list);
    x->run_mark = dt_recorder_mark(
        x->engine->recorder, &(dt_mark){.name = x->g->name, .kind = "run", .number = {"rows"}});
    dt_exchanges_mark(x);
    x->marked = x->engine->recordings;
    free(list.v);
}

void dt_exec_listen(dt_exec *x) {
    const dt_engine *e = x->engine;

    if (e->recorder && x->marked != e->recordings)
        /* spans are registered in the first run even if it is not recorded, because registering
         * takes time */
        make_marks(x);
    x->track = e->recorder && dt_is_recording(e->track[0]) ? e->track : NULL;
}
