/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines in time: valid schedules, the lengths that are known for equal stages, few
 * micro-batches under way. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "pass/timeline.h"

enum { STAGES = 6, TASKS = 3 * STAGES, EDGES = 4 * STAGES };

typedef struct line {
    dt_pipeline p;
    dt_stage_task task[TASKS];
    dt_task_edge edge[EDGES];
} line;

static void connect(line *x, int from, int to, double seconds) {
    x->edge[x->p.n_edges++] = (dt_task_edge){from, to, seconds};
}

/* Stage s forward is task s, backward 2 S - 1 - s, its update 2 S + s. */
static void make(line *x, int stages, int micro, dt_pipeline_order order, const double *seconds,
                 double wire) {
    *x = (line){.p = {.devices = stages,
                      .micro = micro,
                      .n_tasks = 3 * stages,
                      .task = x->task,
                      .edge = x->edge,
                      .order = order}};
    for (int i = 0; i < 2 * stages; i++) {
        int stage = i < stages ? i : 2 * stages - 1 - i;
        x->task[i] = (dt_stage_task){
            .device = stage, .stage = stage, .kind = i < stages ? 'F' : 'B', .seconds = seconds[i]};
        if (i > 0) connect(x, i - 1, i, i == stages ? 0 : wire);
        if (i >= stages) connect(x, stage, i, 0);
    }
    for (int s = 0; s < stages; s++) {
        x->task[2 * stages + s] = (dt_stage_task){.device = s, .stage = s, .kind = 'U'};
        connect(x, 2 * stages - 1 - s, 2 * stages + s, 0);
    }
}

static double end_of(const dt_timeline *t, int task, int micro) {
    for (int i = 0; i < t->n; i++)
        if (t->run[i].task == task && t->run[i].micro == micro) return t->run[i].end;
    return -1;
}

static void expect_valid(const line *x, const dt_timeline *t) {
    int stages = x->p.devices;
    assert_int_equal(t->n, 2 * stages * x->p.micro + stages); /* all ran, once each */
    for (int i = 0; i < t->n; i++) {
        const dt_run *r = &t->run[i];
        for (int k = 0; k < i; k++) { /* one at a time on a device */
            const dt_run *o = &t->run[k];
            bool apart = o->end <= r->start || r->end <= o->start;
            assert_true(x->task[r->task].device != x->task[o->task].device || apart);
        }
        for (int e = 0; e < x->p.n_edges; e++)
            for (int m = 0; m < x->p.micro && x->edge[e].to == r->task; m++)
                if (m == r->micro || x->task[r->task].kind == 'U')
                    assert_true(end_of(t, x->edge[e].from, m) + x->edge[e].seconds <= r->start);
    }
}

static void test_equal_stages_take_what_is_known(void **state) {
    (void)state;
    for (int order = DT_1F1B; order <= DT_GPIPE; order++)
        for (int stages = 1; stages <= STAGES; stages++)
            for (int micro = 1; micro <= 9; micro++) {
                const double f = 1, b = 2;
                double seconds[2 * STAGES];
                line x;
                for (int i = 0; i < 2 * stages; i++) seconds[i] = i < stages ? f : b;
                make(&x, stages, micro, (dt_pipeline_order)order, seconds, 0);
                dt_arena *arena = dt_arena_create();
                dt_timeline t = dt_timeline_create(&x.p, arena);
                expect_valid(&x, &t);
                assert_true(fabs(t.seconds - (micro + stages - 1) * (f + b)) < 1e-9);
                assert_true(fabs(t.bubble - (stages - 1) / (double)(micro + stages - 1)) < 1e-9);
                dt_arena_destroy(arena);
            }
}

/* Micro-batches that a stage has begun and not given back, at most. */
static int under_way(const line *x, const dt_timeline *t, int stage) {
    int most = 0, now = 0;
    for (int i = 0; i < t->n; i++) {
        now += t->run[i].task == stage;
        now -= t->run[i].task == 2 * x->p.devices - 1 - stage;
        most = now > most ? now : most;
    }
    return most;
}

static void test_random_stages(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        dt_random r = dt_random_stream(seed, "stages", 0);
        int stages = 1 + (int)dt_random_below(&r, STAGES), micro = 1 + (int)dt_random_below(&r, 8);
        double seconds[2 * STAGES], wire = (double)dt_random_below(&r, 4);
        for (int i = 0; i < 2 * STAGES; i++) seconds[i] = 1 + (double)dt_random_below(&r, 9);
        for (int order = DT_1F1B; order <= DT_GPIPE; order++) {
            line x;
            dt_arena *arena = dt_arena_create();
            make(&x, stages, micro, (dt_pipeline_order)order, seconds, wire);
            dt_timeline t = dt_timeline_create(&x.p, arena);
            expect_valid(&x, &t);
            for (int s = 0; s < stages && order == DT_1F1B; s++)
                assert_true(under_way(&x, &t, s) <= stages - s);
            dt_arena_destroy(arena);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_stages_take_what_is_known),
        cmocka_unit_test(test_random_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
