/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling and running executables.
 *
 * Usually all lanes take part in a run. In each segment a lane first runs the tasks assigned to it
 * when compiling (so that a slice of the weights stays in one core's cache from run to run), then
 * any that are left; then all lanes join. Which lane runs a task does not change the bits of its
 * results. So lane 0 runs all tasks alone if measurements show that this is faster (lane_choice.h),
 * and it runs the segments of a single task at the start of a run alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "exec/exchange.h"
#include "exec/exec_impl.h"
#include "exec/instructions.h"

/* ---- dealing tasks out ---- */

static int heavier_first(const void *a, const void *b) {
    const dt_exec_task *x = a, *y = b;
    if (x->turn != y->turn) return x->turn - y->turn;
    if (x->work != y->work) return x->work < y->work ? 1 : -1;
    return x->group != y->group ? x->group - y->group : x->unit - y->unit;
}

static void collect_tasks(dt_exec *x, int segment) {
    dt_segment *s = &x->segment[segment];
    int n = 0;

    for (int i = 0; i < x->n_groups; i++)
        if (x->group[i].segment == segment) s->n_tasks += x->group[i].units;
    s->task = dt_arena_array(x->arena, dt_exec_task, s->n_tasks + 1);
    for (int i = 0; i < x->n_groups; i++)
        for (int u = 0; x->group[i].segment == segment && u < x->group[i].units; u++) {
            s->task[n].group = i;
            s->task[n].unit = u;
            s->task[n].turn = dt_exchanges_turn(x, &x->group[i]);
            s->task[n++].work = x->group[i].work / x->group[i].units;
        }
    qsort(s->task, (size_t)n, sizeof *s->task, heavier_first);
}

/* Sets s->of_lane: for each lane the order in which it looks for tasks, first the tasks assigned to
 * it, then those of other lanes. Tasks are assigned in the order of s->task, each to the lane whose
 * tasks have the least work so far. */
static void deal(dt_exec *x, dt_segment *s, int lanes) {
    double *load = dt_alloc((size_t)lanes * sizeof *load);
    int *lane_of = dt_alloc((size_t)(s->n_tasks + 1) * sizeof *lane_of);

    for (int t = 0; t < s->n_tasks; t++) {
        for (int l = 1; l < lanes; l++)
            if (load[l] < load[lane_of[t]]) lane_of[t] = l;
        load[lane_of[t]] += s->task[t].work + 1;
    }
    s->of_lane = dt_arena_array(x->arena, int, (int64_t)lanes *(s->n_tasks + 1));
    for (int l = 0; l < lanes; l++) {
        int n = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int t = 0; t < s->n_tasks; t++)
                if ((lane_of[t] == l) == (pass == 0)) s->of_lane[l * s->n_tasks + n++] = t;
    }
    free(load);
    free(lane_of);
}

/* ---- executables ---- */

dt_status *dt_exec_compile(dt_exec **out, dt_engine *e, const dt_program *p) {
    dt_arena *arena = dt_arena_create();
    dt_exec *x = dt_arena_new(arena, dt_exec);
    int n = p->graph->n_nodes;

    *x = (dt_exec){.arena = arena,
                   .engine = e,
                   .p = p,
                   .g = p->graph,
                   .type = dt_arena_array(arena, dt_type, n + 1),
                   .slot = dt_arena_array(arena, dt_value_slot, n + 1),
                   .at = dt_arena_array(arena, void *, n + 1),
                   .fused_in = dt_arena_array(arena, int, n + 1),
                   .overwrites = dt_arena_array(arena, int, n + 1),
                   .renamed = dt_arena_array(arena, bool, n + 1)};
    x->group = NULL;
    for (int i = 0; i < n; i++) x->type[i] = dt_type_at(&p->graph->node[i].type, p->batch);
    dt_status *s = dt_build_steps(x);
    if (s) {
        dt_exec_destroy(x);
        return s;
    }
    dt_packed_count(x);
    x->segment = dt_arena_array(arena, dt_segment, x->n_segments + 1);
    dt_exchanges_list(x);
    dt_plan_memory(x);
    for (int i = 0; i < x->n_segments; i++) {
        collect_tasks(x, i);
        deal(x, &x->segment[i], dt_engine_threads(e));
    }
    while (x->n_alone < x->n_segments && x->segment[x->n_alone].n_tasks == 1) x->n_alone++;
    *out = x;
    return NULL;
}

void dt_exec_destroy(dt_exec *x) {
    if (!x) return;
    dt_exchanges_close(x);
    dt_packed_release(x);
    for (int i = 0; i < x->n_groups; i++) {
        for (int k = 0; k < x->group[i].n_steps; k++)
            if (x->group[i].step[k].kernel->release)
                x->group[i].step[k].kernel->release(x->group[i].step[k].state);
        free(x->group[i].step);
    }
    dt_code_release(&x->code);
    free(x->memory);
    free(x->scratch);
    dt_arena_destroy(x->arena);
}

static size_t lane_scratch(const dt_exec *x) {
    /* rounded up to a multiple of 128 bytes, two cache lines, so that lanes do not write to the
     * same line */
    return (x->scratch_bytes + x->kept_bytes + 127) & ~(size_t)127;
}

int64_t dt_exec_arena_bytes(const dt_exec *x) {
    return dt_memory_sum(dt_memory_sum(dt_memory_sum(x->arena_bytes, x->task_bytes),
                                       (int64_t)lane_scratch(x) * dt_engine_threads(x->engine)),
                         dt_packed_bytes(x));
}

/* ---- memory ---- */

static void fill_splat(const dt_type *t, double value, void *p) {
    dt_node n = {.op = &dt_op_constant, .type = *t};
    dt_constant_attr a = {.type = *t, .value = value};
    n.attr = &a;
    dt_op_constant.eval(&(dt_call){.node = &n, .out = {.type = *t, .data = p}});
}

static void place_values(dt_exec *x) {
    for (int i = 0; i < x->g->n_nodes; i++) {
        const dt_value_slot *s = &x->slot[i], *owner = &x->slot[s->owner];
        if (s->home == DT_HOME_VARIABLE) x->at[i] = x->g->state[s->index].variable->host_data;
        else if (s->home == DT_HOME_ARENA && owner->home == DT_HOME_ARENA)
            x->at[i] = x->memory + owner->offset;
        else if (s->home == DT_HOME_ARENA && owner->home == DT_HOME_VARIABLE)
            x->at[i] = x->g->state[owner->index].variable->host_data;
        if (x->g->node[i].op->role == DT_ROLE_CONSTANT && s->home == DT_HOME_ARENA)
            fill_splat(&x->type[i], ((const dt_constant_attr *)x->g->node[i].attr)->value,
                       x->at[i]);
    }
}

static dt_status *allocate(dt_exec *x) {
    size_t scratch = lane_scratch(x) * (size_t)dt_engine_threads(x->engine);

    x->memory = dt_try_alloc_dense((size_t)dt_memory_sum(x->arena_bytes, x->task_bytes));
    x->scratch = x->memory ? dt_try_alloc(scratch) : NULL;
    if (!x->scratch) {
        free(x->memory);
        x->memory = NULL;
        return dt_fail(DT_E_NO_MEMORY, NULL,
                       "out of memory: a step over %lld rows needs %lld bytes",
                       (long long)x->p->batch, (long long)dt_exec_arena_bytes(x));
    }
    for (int l = 0; l < dt_engine_threads(x->engine); l++)
        memset(x->scratch + (size_t)l * lane_scratch(x) + x->scratch_bytes, 0, x->kept_bytes);
    place_values(x);
    dt_open_views(x);
    return NULL;
}

/* ---- running ---- */

static void run_task(dt_exec *x, const dt_exec_task *t, int lane) {
    const dt_group *group = &x->group[t->group];
    dt_track *track = x->track ? x->track[lane] : NULL;
    int64_t since = dt_span_begin(track);
    dt_kernel_call c = {.x = dt_view_of_task(x, t, lane),
                        .unit = t->unit,
                        .lane = lane,
                        .scratch = x->scratch + lane_scratch(x) * (size_t)lane};

    for (int i = 0; i < group->n_steps; i++) {
        c.step = &group->step[i];
        c.kept = c.scratch + x->scratch_bytes + c.step->kept_at;
        if (group->node >= 0)
            dt_part_rows(x->p, c.step->pieces_of, t->unit, group->units, &c.lo, &c.hi);
        c.step->kernel->run(&c);
        if (track)
            since = dt_span_end(track, c.step->mark, since, (dt_numbers){{t->unit, c.lo, c.hi}});
    }
    if (group->n_feeds) dt_exchanges_feed(x, group);
}

/* Waits until all lanes have ended this segment, and records the wait. */
static void join_lanes(dt_exec *x, int lane, int segment) {
    int64_t since = x->track ? dt_span_begin(x->track[lane]) : 0;

    dt_pool_join(x->engine->pool);
    if (x->track) dt_span_end(x->track[lane], x->engine->wait_mark, since, (dt_numbers){{segment}});
}

static void run_lane(int lane, void *user) {
    dt_exec *x = user;
    const unsigned before = dt_instructions_flush();

    if (x->track && lane == 0)
        dt_span_end(x->track[0], x->engine->wake_mark, x->since_ns, (dt_numbers){{0}});
    for (int i = x->n_alone; i < x->n_segments; i++) {
        dt_segment *s = &x->segment[i];
        for (int k = 0; k < s->n_tasks; k++) {
            dt_exec_task *t = &s->task[s->of_lane[lane * s->n_tasks + k]];
            if (atomic_exchange_explicit(&t->taken, x->run, memory_order_relaxed) != x->run)
                run_task(x, t, lane);
        }
        if (i + 1 < x->n_segments && !x->alone) join_lanes(x, lane, i);
    }
    dt_instructions_restore(before);
    if (x->track && lane == 0) x->since_ns = dt_span_begin(x->track[0]);
}

static void place_argument(dt_exec *x, int node, void *at) {
    x->at[node] = at;
    for (int l = 0; l < x->n_views; l++) x->view[l].at[node] = at;
}

/* Sets the addresses of arguments and of their reshapes, which share the memory. */
static void place_arguments(dt_exec *x, const dt_view *arg) {
    for (int i = 0; i < x->g->n_args; i++) place_argument(x, x->g->arg[i].node, arg[i].data);
    for (int i = 0; i < x->g->n_nodes; i++)
        if (x->slot[i].home == DT_HOME_ARENA && x->slot[x->slot[i].owner].home == DT_HOME_ARG)
            place_argument(x, i, x->at[x->slot[i].owner]);
}

static void keep_old_values(const dt_exec *x) {
    for (int i = 0; i < x->g->n_states; i++) {
        const dt_value_slot *s = &x->slot[x->g->state[i].node];
        if (s->kept)
            memcpy(x->memory + s->offset, x->g->state[i].variable->host_data,
                   (size_t)dt_type_bytes(&x->g->state[i].variable->type));
    }
}

const void *dt_final_value(const dt_exec *x, int node) {
    const dt_value_slot *source = &x->slot[dt_named_by(x->g, node)];
    return source->kept ? x->memory + source->offset : x->at[node];
}

/* Whether the number of lanes is chosen by measurements. With other workers the time of a run
 * depends more on them than on the number of lanes. */
static bool chooses_lanes(const dt_exec *x) {
    return dt_engine_threads(x->engine) > 1 && !x->exchanges;
}

/* Runs the segments from x->n_alone on: on lane 0 alone, or on all lanes. If measurements choose
 * the lanes, passes the time to dt_lane_choice_ran, except for recorded runs, since recording takes
 * time. */
static void run_lanes(dt_exec *x) {
    const int64_t since = dt_now_ns();

    x->alone = chooses_lanes(x) && dt_lane_choice_is_alone(&x->lanes);
    if (x->alone) run_lane(0, x);
    else dt_pool_run(x->engine->pool, run_lane, x);
    if (chooses_lanes(x) && !x->track) dt_lane_choice_ran(&x->lanes, since, dt_now_ns());
}

/* Runs all segments. The x->n_alone segments at the start, which have a single task each, run on
 * lane 0 without waking the other lanes. The rest run on the chosen lanes. */
static void run_segments(dt_exec *x) {
    const unsigned before = dt_instructions_flush();
    for (int i = 0; i < x->n_alone; i++) run_task(x, &x->segment[i].task[0], 0);
    dt_instructions_restore(before);
    if (x->n_alone == x->n_segments) return;
    x->since_ns = x->track ? dt_span_begin(x->track[0]) : 0;
    run_lanes(x);
    if (x->track)
        dt_span_end(x->track[0], x->engine->wait_mark, x->since_ns,
                    (dt_numbers){{x->n_segments - 1}});
}

dt_status *dt_exec_run(dt_exec *x, const dt_env *env, const dt_view *arg, dt_view *result) {
    if (!x->memory) DT_TRY(allocate(x));
    DT_TRY(dt_packed_begin(x));
    dt_exec_listen(x);
    int64_t since = x->track ? dt_span_begin(x->track[0]) : 0;
    place_arguments(x, arg);
    keep_old_values(x);
    x->env = env;
    x->run++;
    dt_pool_beside(x->engine->pool, env->beside);
    dt_begin_views(x);
    dt_exchanges_begin(x);
    run_segments(x);
    dt_exchanges_end(x);
    dt_packed_end(x);
    dt_status *failure = x->failure;
    x->failure = NULL;
    if (failure) return failure;
    if (x->track) dt_span_end(x->track[0], x->run_mark, since, (dt_numbers){{x->p->batch}});
    for (int i = 0; i < x->g->n_results; i++) {
        int node = x->g->result[i].node;
        result[i] = (dt_view){.type = x->type[node], .data = (void *)dt_final_value(x, node)};
    }
    return NULL;
}
