/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that are divided among tasks of type ps: which rows each task gets, what stays whole,
 * and that all parts of an update together do what the whole update does.
 */
#include "kit.h"

#include "base/arena.h"
#include "model/optimizer.h"
#include "op/op.h"
#include "strategy/parameter_tasks.h"

enum { ROWS = 10, WIDTH = 3, MOST_TASKS = 4, MOST_STATES = 32 };

/* The variables table (10, 3), kernel (3, 4) and bias (4), and how they are updated. */
typedef struct world {
    dt_arena *arena;
    dt_strategy *strategy;
    dt_variable *v[3];
    dt_optimizer *optimizer;
    dt_compiled *update;
    dt_graph *worker; /* its results are what a push has */
    dt_servers_spec how;
    dt_worker_pool_spec spec;
    dt_ps_tasks tasks;
    dt_parameter_store here;
} world;

static dt_sent way_of(void *user, const dt_variable *v) {
    const world *w = user;
    return v == w->v[0] ? DT_SENT_BY_ROWS : DT_SENT_EACH_TIME;
}

static dt_status *compile(void *user, int program, dt_graph *g, dt_compiled **out) {
    const world *w = user;
    (void)program;
    return dt_compiled_create(
        out, w->strategy, g,
        &(dt_compile_options){.distributed = dt_arena_array(w->arena, bool, g->n_args + 1)});
}

static dt_status *match(void *user, const dt_packed_variables *s, int program,
                        dt_parameter_program *p) {
    const world *w = user;
    const dt_graph *own = dt_compiled_step(p->run);
    (void)program;
    p->halves = dt_halves_none(w->arena, s->n);
    for (int i = 0; i < s->n; i++)
        dt_halves_bind(&p->halves, s, i, dt_variable_whole(s->variable[i])->path, w->worker, own,
                       w->arena);
    dt_halves_match_parts(&p->halves, s, w->worker, own, w->arena);
    return NULL;
}

/* The gradient of the table comes as rows and their numbers. reads: the bias is added to, and the
 * kernel by a sum that has the bias in it. */
static dt_graph *trace(world *w, bool reads) {
    const dt_type numbers = dt_type_of(DT_INT32, 1, (int64_t[]){6}),
                  rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){6, WIDTH});
    dt_trace *t = dt_trace_create("update");
    dt_graph *g = NULL;
    const dt_value n = dt_trace_declare(t, "numbers", &numbers),
                   x = dt_trace_declare(t, "rows", &rows);
    dt_value gradient[3] = {dt_scatter_add(x, n, ROWS)};
    for (int i = 1; i < 3; i++) gradient[i] = dt_trace_declare(t, w->v[i]->path, &w->v[i]->type);
    if (!reads) dt_optimizer_emit(w->optimizer, t, &(dt_variables){.v = w->v, .n = 3}, gradient);
    else {
        const dt_value bias = dt_read(t, w->v[2]), kernel = dt_read(t, w->v[1]);
        dt_assign(t, w->v[1],
                  dt_add(dt_add(kernel, gradient[1]), dt_broadcast_to(bias, &w->v[1]->type)));
        dt_assign(t, w->v[2], dt_add(bias, gradient[2]));
    }
    OK(dt_trace_end(t, &g));
    return g;
}

/* Returns all arguments of the update, the rows before their numbers. */
static dt_graph *trace_worker(const dt_graph *update) {
    dt_trace *t = dt_trace_create("worker");
    dt_graph *g = NULL;
    for (int i = update->n_args - 1; i >= 0; i--)
        dt_return(
            t, update->arg[i].name,
            dt_trace_declare(t, update->arg[i].name, &update->node[update->arg[i].node].type));
    OK(dt_trace_end(t, &g));
    return g;
}

static void fill(dt_variable *v) {
    float *x = dt_host_edit(v);
    for (int64_t i = 0; i < dt_type_elements(&v->type); i++) x[i] = (float)(i % 7) / 4 - 1;
}

static void open_world(world *w, const char *optimizer, bool reads, int tasks, dt_partitioner p) {
    static const char *const path[] = {"table", "kernel", "bias"};
    const dt_type type[] = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){ROWS, WIDTH}),
                            dt_type_of(DT_FLOAT32, 2, (int64_t[]){3, 4}),
                            dt_type_of(DT_FLOAT32, 1, (int64_t[]){4})};
    *w = (world){.arena = dt_arena_create(), .how = {.partitioner = p, .servers = 1}};
    w->spec = (dt_worker_pool_spec){.how = &w->how};
    w->tasks = (dt_ps_tasks){.n = tasks, .spec = &w->spec};
    OK(dt_parameter_server_strategy(&w->strategy, NULL));
    for (int i = 0; i < 3; i++) {
        OK(dt_variable_alloc(&w->v[i], path[i], &type[i], true));
        fill(w->v[i]);
    }
    OK(dt_optimizer_create(&w->optimizer, "%s", optimizer));
    OK(dt_optimizer_prepare(w->optimizer, &(dt_variables){.v = w->v, .n = 3}));
    OK(compile(w, 0, trace(w, reads), &w->update));
    w->worker = trace_worker(dt_compiled_step(w->update));
    OK(dt_ps_divide(&w->here, &w->tasks,
                    &(dt_ps_division){.variable = w->v,
                                      .n = 3,
                                      .n_read = 3,
                                      .update = &w->update,
                                      .n_programs = 1,
                                      .way_of = way_of,
                                      .compile = compile,
                                      .match = match,
                                      .user = w},
                    w->arena));
}

static void close_world(world *w) {
    dt_ps_close(&w->tasks, false);
    dt_compiled_destroy(w->update);
    dt_graph_destroy(w->worker);
    dt_optimizer_unref(w->optimizer);
    for (int i = 0; i < 3; i++) dt_variable_unref(w->v[i]);
    dt_strategy_unref(w->strategy);
    dt_arena_destroy(w->arena);
}

/* "table[0:4] bias | kernel": what workers read from each task. */
static void has(const world *w, const char *wanted) {
    dt_str text = {0};
    for (int k = 0; k < w->tasks.n; k++) {
        const dt_parameter_store *h = &w->tasks.task[k].held;
        if (k) dt_str_puts(&text, " |");
        for (int i = 0; i < h->n; i++) dt_str_printf(&text, " %s", h->variable[i]->path);
    }
    assert_string_equal(dt_str_text(&text), wanted);
    dt_str_release(&text);
}

#define FIXED(n)                                                                                   \
    (dt_partitioner) { DT_PARTITION_FIXED, .shards = (n) }

static void test_rows(void **state) {
    static const struct {
        int tasks;
        dt_partitioner p;
        const char *optimizer, *has;
    } all[] = {
        {2, {DT_PARTITION_NONE, 0, 0}, "Adam", " table bias | kernel"},
        {1, {DT_PARTITION_FIXED, 2, 0}, "Adam", " table kernel bias"},
        {2,
         {DT_PARTITION_FIXED, 2, 0},
         "Adam",
         " table[0:5] kernel[0:2] bias[0:2] | table[5:10] kernel[2:3] bias[2:4]"},
        {3,
         {DT_PARTITION_FIXED, 2, 0},
         "Adam",
         " table[0:5] kernel[2:3] | table[5:10] bias[0:2] | kernel[0:2] bias[2:4]"},
        /* four shards of 3, 3, 2 and 2 rows, the kernel's three */
        {3,
         {DT_PARTITION_FIXED, 4, 0},
         "Adam",
         " table[0:3] kernel[2:3] bias[2:4] | table[3:6] kernel[0:1] bias[0:1] | table[6:10] "
         "kernel[1:2] bias[1:2]"},
        {4,
         {DT_PARTITION_MIN_SIZE, 3, 48},
         "SGD: {momentum: 0.9}",
         " table[0:5] | table[5:10] | kernel | bias"},
        {4, {DT_PARTITION_MAX_SIZE, 0, 60}, "Ftrl", " table[0:5] | table[5:10] | kernel | bias"},
        /* one row needs the others */
        {2, {DT_PARTITION_FIXED, 2, 0}, "SGD: {clipnorm: 1}", " table bias | kernel"},
        {2, {DT_PARTITION_FIXED, 2, 0}, "Lamb", " table bias | kernel"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        world w;
        open_world(&w, all[i].optimizer, false, all[i].tasks, all[i].p);
        has(&w, all[i].has);
        close_world(&w);
    }
}

/* A task is sent the rows that its part of the table has; one that has the whole table, all. */
static void test_rows_that_are_pushed(void **state) {
    static const int64_t end[] = {4, 7, 10};
    world w;
    (void)state;
    for (int tasks = 2; tasks <= 3; tasks++) {
        open_world(&w, "SGD", false, tasks, FIXED(tasks == 3 ? 3 : 1));
        for (int k = 0; k < tasks; k++) {
            const dt_halves *h = &w.tasks.task[k].held.program->halves;
            if (tasks == 2) {
                assert_int_equal(h->n_parts, k == 0 ? 2 : 0);
                for (int i = 0; i < h->n_parts; i++) assert_int_equal(h->numbers[i], -1);
                continue;
            }
            assert_int_equal(h->n_parts, 2);
            assert_true(h->numbers[0] == -1 && h->numbers[1] == 0);
            assert_true(h->part[0].dtype == DT_INT32 && h->end_row[1] == end[k]);
            assert_int_equal(h->first_row[1], k ? end[k - 1] : 0);
        }
        close_world(&w);
    }
}

/* A variable that another one's update reads is on both tasks, and both change it. */
static void test_a_variable_on_several_tasks(void **state) {
    world w;
    (void)state;
    open_world(&w, "SGD", true, 3, FIXED(1));
    has(&w, " table bias | kernel bias | bias");
    for (int k = 0; k < 3; k++) {
        const dt_graph *g = dt_compiled_step(w.tasks.task[k].held.program->run);
        bool moves = false;
        for (int i = 0; i < g->n_states; i++)
            moves |= g->state[i].variable == w.v[2] && g->state[i].update >= 0;
        assert_true(moves);
    }
    close_world(&w);
}

/* ---- the bits ---- */

static void set_argument(const dt_graph *g, int i, dt_view *a) {
    static const int32_t numbers[] = {9, 0, 4, 9, 5, 2};
    static float x[ROWS * WIDTH];
    int64_t first = 0;
    const char *rows = strstr(g->arg[i].name, " from row ");
    for (int k = 0; k < ROWS * WIDTH; k++) x[k] = (float)(k % 5) / 3 - 1;
    if (rows) sscanf(rows, " from row %lld", (long long *)&first);
    a->type = g->node[g->arg[i].node].type;
    if (strcmp(g->arg[i].name, "numbers") == 0) a->data = (void *)(uintptr_t)numbers;
    else a->data = x + first * (a->type.rank > 1 ? a->type.dim[1] : 1);
}

static void run(dt_compiled *c) {
    static const int32_t rows[] = {0, 1};
    const dt_graph *g = dt_compiled_step(c);
    dt_view argument[8], none[1];
    assert_true(g->n_args <= 8);
    for (int i = 0; i < g->n_args; i++) set_argument(g, i, &argument[i]);
    OK(dt_compiled_run(c, rows, argument, none));
}

/* Copies state that all tasks update, such as the number of updates. Tasks have it apart, but here
 * they share this process. */
static void copy_common(const world *w, int64_t *kept, bool restore) {
    const dt_graph *g = dt_compiled_step(w->update);
    assert_true(g->n_states <= MOST_STATES);
    for (int i = 0; i < g->n_states; i++) {
        dt_variable *v = g->state[i].variable;
        if (v->type.rank > 0) continue;
        memcpy(restore ? dt_host_edit(v) : &kept[i], restore ? &kept[i] : dt_host_data(v),
               (size_t)dt_type_bytes(&v->type));
    }
}

/* The variables after three updates. */
static void train(const char *optimizer, int tasks, float *out) {
    world w;
    open_world(&w, optimizer, false, tasks ? tasks : 2, FIXED(7));
    for (int times = 0; times < 3; times++) {
        int64_t kept[MOST_STATES];
        copy_common(&w, kept, false);
        if (!tasks) run(w.update);
        for (int k = 0; k < tasks; k++) {
            copy_common(&w, kept, true);
            run(w.tasks.task[k].held.program->run);
        }
    }
    for (int i = 0; i < 3; i++) {
        const int64_t n = dt_type_elements(&w.v[i]->type);
        memcpy(out, dt_host_data(w.v[i]), (size_t)n * sizeof *out);
        out += n;
    }
    close_world(&w);
}

static void test_bits(void **state) {
    static const char *const optimizers[] = {
        "SGD",
        "Adam: {weight_decay: 0.1, use_ema: true}",
        "RMSprop: {momentum: 0.5, centered: true}",
        "Adafactor",
        "Ftrl",
        "Lion",
        "Nadam",
        "SGD: {momentum: 0.9, nesterov: true, clipvalue: 0.1}"};
    (void)state;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
        for (int tasks = 1; tasks <= MOST_TASKS; tasks++) {
            float whole[46], parts[46];
            train(optimizers[i], 0, whole);
            train(optimizers[i], tasks, parts);
            assert_memory_equal(whole, parts, sizeof whole);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows), cmocka_unit_test(test_rows_that_are_pushed),
        cmocka_unit_test(test_a_variable_on_several_tasks), cmocka_unit_test(test_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
