/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated loops against the loops in C: random element-wise programs give the same bits, whether
 * what was generated is run or thrown away, on every instruction set. Operands are of all dtypes
 * and layouts and begin at any element; rows are short, long and odd; among the numbers are NaN,
 * infinities, denormals and both zeros. A NaN is a NaN. A failing program is drawn again from the
 * seed that is printed.
 */
#include "kit.h"

#include <math.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/strip_program.h"
#include "op/cells.h"

enum { PROGRAMS = 120, MOST_VALUES = 64, SHAPES_OF_ARGUMENTS = 10, MOST_OPS = 40 };

typedef struct drawn {
    dt_trace *t;
    dt_random r;
    dt_type shape;               /* of the program's values */
    dt_value value[MOST_VALUES]; /* float32 of that shape, or bool where is_bool */
    bool is_bool[MOST_VALUES];
    int n;
    dt_variable *variable[3];
    bool assigned[3];
} drawn;

static int below(dt_random *r, int n) { return (int)dt_random_below(r, (uint64_t)n); }

static void add_value(drawn *d, dt_value v, bool is_bool) {
    d->is_bool[d->n] = is_bool;
    d->value[d->n++] = v;
}

static dt_value some(drawn *d, bool is_bool) {
    int i = below(&d->r, d->n);
    while (d->is_bool[i] != is_bool) i = i > 0 ? i - 1 : d->n - 1;
    return d->value[i];
}

static dt_value declared(drawn *d, const char *name, dt_dtype dtype, int rank, const int64_t *dim) {
    dt_type type = dt_type_of(dtype, rank, dim);
    return dt_trace_declare(d->t, name, &type);
}

static void add_inputs(drawn *d) {
    const int64_t *dim = d->shape.dim;
    add_value(d, declared(d, "x", DT_FLOAT32, 2, dim), false);
    add_value(d, declared(d, "y", DT_FLOAT32, 2, dim), false);
    add_value(d, dt_convert(declared(d, "byte", DT_UINT8, 2, dim), DT_FLOAT32), false);
    add_value(d, dt_convert(declared(d, "count", DT_INT32, 2, dim), DT_FLOAT32), false);
    add_value(d, dt_convert(declared(d, "brain", DT_BFLOAT16, 2, dim), DT_FLOAT32), false);
    add_value(d, dt_convert(declared(d, "half", DT_FLOAT16, 2, dim), DT_FLOAT32), false);
    add_value(d, dt_broadcast_to(declared(d, "row", DT_FLOAT32, 1, dim + 1), &d->shape), false);
    add_value(d, dt_broadcast_rows(declared(d, "each", DT_FLOAT32, 1, dim), &d->shape), false);
    add_value(d, dt_broadcast_to(declared(d, "number", DT_FLOAT32, 0, NULL), &d->shape), false);
    add_value(d, declared(d, "mask", DT_BOOL, 2, dim), true);
    for (int i = 0; i < 3 && dim[0] != DT_BATCH; i++) {
        ok_for(
            dt_variable_alloc(&d->variable[i], (const char *[]){"a", "b", "c"}[i], &d->shape, true),
            0);
        add_value(d, dt_read(d->t, d->variable[i]), false);
    }
}

static dt_value (*const unary[])(dt_value) = {
    dt_negate, dt_abs,         dt_sqrt,         dt_rsqrt,
    dt_sign,   dt_exponential, dt_log_plus_one, dt_exponential_minus_one,
    dt_sine,   dt_cosine};
static dt_value (*const binary[])(dt_value, dt_value) = {
    dt_add, dt_subtract, dt_multiply, dt_divide, dt_maximum, dt_minimum, dt_power};
/* short ones: those that generated loops have */
enum { UNARY = 10, SHORT_UNARY = 5, BINARY = 7, SHORT_BINARY = 6, CONSTANTS = 8, DIRECTIONS = 6 };

static dt_value constant(drawn *d, int which) {
    static const double numbers[CONSTANTS] = {0, -0.0, 1, -0.5, 3, 1e-39, 1e30, INFINITY};
    return dt_broadcast_to(dt_constant(d->t, numbers[which]), &d->shape);
}

static void add_op(drawn *d) {
    dt_value a = some(d, false),
             b = below(&d->r, 4) == 0 ? constant(d, below(&d->r, CONSTANTS)) : some(d, false);
    int kind = below(&d->r, 12);
    if (kind < 6)
        add_value(d, binary[below(&d->r, below(&d->r, 4) == 0 ? BINARY : SHORT_BINARY)](a, b),
                  false);
    else if (kind < 8)
        add_value(d, unary[below(&d->r, below(&d->r, 4) == 0 ? UNARY : SHORT_UNARY)](a), false);
    else if (kind == 8)
        add_value(d, dt_compare(a, b, (dt_direction)below(&d->r, DIRECTIONS)), true);
    else if (kind == 9) add_value(d, dt_select(some(d, true), a, b), false);
    else if (kind == 10)
        add_value(d,
                  dt_convert(dt_convert(a, below(&d->r, 2) ? DT_BFLOAT16 : DT_FLOAT16), DT_FLOAT32),
                  false);
    else add_value(d, dt_convert(some(d, true), DT_FLOAT32), false);
}

static void add_results(drawn *d) {
    for (int i = 0; i < 3; i++)
        if (d->variable[i] && below(&d->r, 4)) dt_assign(d->t, d->variable[i], some(d, false));
    dt_return(d->t, "last", d->value[d->n - 1]);
    dt_return(d->t, "float", some(d, false));
    dt_return(d->t, "bool", some(d, true));
    dt_return(d->t, "brain", dt_convert(some(d, false), DT_BFLOAT16));
    dt_return(d->t, "half", dt_convert(some(d, false), DT_FLOAT16));
}

static dt_graph *draw_program(drawn *d, uint64_t seed, int64_t rows, int64_t n) {
    dt_graph *g = NULL;
    *d = (drawn){.t = dt_trace_create("loops"),
                 .r = dt_random_stream(seed, "loops", 0),
                 .shape = dt_type_of(DT_FLOAT32, 2, (int64_t[]){rows, n})};
    add_inputs(d);
    for (int i = 3 + below(&d->r, MOST_OPS); i > 0; i--) add_op(d);
    add_results(d);
    ok_for(dt_trace_end(d->t, &g), seed);
    return g;
}

/* ---- numbers ---- */

static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-40, -1e-40, 3e38, 65519.9, 6e-8};
enum { ODD = sizeof odd / sizeof *odd };

static void fill(dt_random *r, const dt_view *v) {
    for (int64_t i = 0; i < dt_type_elements(&v->type); i++)
        if (dt_dtype_is_float(v->type.dtype))
            dt_cell_set_double(v, i, below(r, 8) ? dt_random_normal(r) : odd[below(r, ODD)]);
        else dt_cell_set_int(v, i, below(r, v->type.dtype == DT_BOOL ? 2 : 256));
}

/* Arrays begin at any element of their memory. */
static char *draw_array(dt_random *r, const dt_type *t, dt_view *out) {
    char *memory = calloc(1, bytes_of(t) + 64);
    *out = (dt_view){*t, memory + (size_t)below(r, 8) * dt_dtype_size(t->dtype)};
    fill(r, out);
    return memory;
}

static bool same_number(const dt_view *a, const dt_view *b, int64_t i) {
    size_t size = dt_dtype_size(a->type.dtype);
    if (memcmp((char *)a->data + i * (int64_t)size, (char *)b->data + i * (int64_t)size, size) == 0)
        return true;
    return dt_dtype_is_float(a->type.dtype) && isnan(dt_cell_double(a, i)) &&
           isnan(dt_cell_double(b, i));
}

static void expect_same(const char *what, uint64_t seed, const dt_view *is, const dt_view *ought) {
    for (int64_t i = 0; i < dt_type_elements(&is->type); i++)
        if (!same_number(is, ought, i))
            fail_msg("seed %llu: element %lld of %s is %.9g, not %.9g", (unsigned long long)seed,
                     (long long)i, what, dt_cell_double(is, i), dt_cell_double(ought, i));
}

/* ---- running ---- */

/* Results, and variables behind them. */
typedef struct shown {
    dt_view view[8];
    int n;
} shown;

static void keep(shown *o, const dt_view *v) {
    dt_view copy = {v->type, malloc(bytes_of(&v->type) + 1)};
    memcpy(copy.data, v->data, bytes_of(&v->type));
    o->view[o->n++] = copy;
}

static void set_variables(const dt_graph *g, uint64_t seed) {
    dt_random r = dt_random_stream(seed, "variables", 0);
    for (int i = 0; i < g->n_states; i++)
        fill(&r, &(dt_view){g->state[i].variable->type, g->state[i].variable->host_data});
}

static void run(dt_exec *x, const dt_graph *g, uint64_t seed, int64_t batch, const dt_view *arg,
                shown *o) {
    dt_view result[5];
    set_variables(g, seed);
    ok_for(dt_exec_run(x, &(dt_env){.batch = batch, .replicas = 1}, arg, result), seed);
    for (int i = 0; i < g->n_results; i++) keep(o, &result[i]);
    for (int i = 0; i < g->n_states; i++)
        keep(o, &(dt_view){g->state[i].variable->type, g->state[i].variable->host_data});
}

static void release(shown *o) {
    for (int i = 0; i < o->n; i++) free(o->view[i].data);
    *o = (shown){0};
}

static void compare(const shown *is, const shown *ought, const char *what, uint64_t seed) {
    for (int i = 0; i < ought->n; i++) expect_same(what, seed, &is->view[i], &ought->view[i]);
}

static void run_on(const dt_simd *set, dt_graph *g, uint64_t seed, int64_t batch,
                   const dt_view *arg, shown *first) {
    dt_arena *arena = dt_arena_create();
    dt_engine *e = NULL;
    dt_exec *x = NULL;
    shown generated = {0}, plain = {0};
    ok_for(dt_engine_open(&e, &(dt_engine_options){.threads = 1,
                                                   .kernels = DT_KERNELS_OPENBLAS,
                                                   .isa = set->name}),
           seed);
    ok_for(
        dt_exec_compile(
            &x, e,
            dt_partition(g, &(dt_partition_options){.batch = batch, .can_split = dt_exec_can_split},
                         arena)),
        seed);
    run(x, g, seed, batch, arg, &generated);
    dt_code_release(&x->code);
    run(x, g, seed, batch, arg, first->n ? &plain : first);
    compare(&generated, first, set->generates ? "the generated program" : "the program", seed);
    compare(&plain, plain.n ? first : &plain, set->name, seed);
    release(&generated);
    release(&plain);
    dt_exec_destroy(x);
    dt_engine_close(e);
    dt_arena_destroy(arena);
}

static void run_everywhere(dt_graph *g, uint64_t seed, int64_t batch, const dt_view *arg) {
    const dt_simd *list[DT_MAX_SIMD];
    shown first = {0};
    for (int s = dt_simd_list(list) - 1; s >= 0; s--) run_on(list[s], g, seed, batch, arg, &first);
    release(&first);
}

static void run_program(uint64_t seed) {
    static const int64_t columns[] = {1, 3, 7, 8, 10, 37, 513, 1000, 1025, 2100};
    dt_random r = dt_random_stream(seed, "sizes", 0);
    int64_t n = columns[below(&r, 10)], batch = 1 + below(&r, 40);
    drawn d;
    dt_graph *g = draw_program(&d, seed, below(&r, 2) ? DT_BATCH : batch, n);
    dt_view arg[SHAPES_OF_ARGUMENTS];
    char *memory[SHAPES_OF_ARGUMENTS];
    for (int i = 0; i < g->n_args; i++) {
        dt_type type = dt_type_at(&g->node[g->arg[i].node].type, batch);
        memory[i] = draw_array(&r, &type, &arg[i]);
    }
    run_everywhere(g, seed, batch, arg);
    for (int i = 0; i < g->n_args; i++) free(memory[i]);
    dt_graph_destroy(g);
    for (int i = 0; i < 3; i++) dt_variable_unref(d.variable[i]);
}

static void test_generated_loops_keep_the_bits(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) run_program(seed);
}

/* ---- each op, of all pairs of odd numbers ---- */

static dt_value single(drawn *d, int which, dt_value x, dt_value y) {
    if (which < UNARY) return unary[which](x);
    which -= UNARY;
    if (which < BINARY * (CONSTANTS + 1)) {
        int number = which / BINARY;
        return binary[which % BINARY](x, number < CONSTANTS ? constant(d, number) : y);
    }
    which -= BINARY * (CONSTANTS + 1);
    if (which < DIRECTIONS) return dt_select(dt_compare(x, y, (dt_direction)which), y, x);
    return dt_convert(dt_convert(x, which == DIRECTIONS ? DT_BFLOAT16 : DT_FLOAT16), DT_FLOAT32);
}

static void run_single(int which) {
    enum { KINDS = ODD + 3 };
    float kind[KINDS] = {1.5f, -7, 0}, x[KINDS * KINDS], y[KINDS * KINDS];
    drawn d = {.t = dt_trace_create("single"),
               .shape = dt_type_of(DT_FLOAT32, 2, (int64_t[]){KINDS, KINDS})};
    dt_value a = declared(&d, "x", DT_FLOAT32, 2, d.shape.dim),
             b = declared(&d, "y", DT_FLOAT32, 2, d.shape.dim);
    dt_graph *g = NULL;
    memcpy(&kind[2], &(uint32_t){0x7fffffff}, sizeof *kind); /* a NaN of ones */
    for (int i = 0; i < ODD; i++) kind[3 + i] = (float)odd[i];
    for (int i = 0; i < KINDS * KINDS; i++) {
        x[i] = kind[i % KINDS];
        y[i] = kind[i / KINDS];
    }
    dt_return(d.t, "result", single(&d, which, a, b));
    dt_return(d.t, "inputs", dt_add(a, b));
    ok_for(dt_trace_end(d.t, &g), (uint64_t)which);
    dt_view arg[2];
    for (int i = 0; i < g->n_args; i++)
        arg[i] = (dt_view){d.shape, g->arg[i].name[0] == 'x' ? x : y};
    run_everywhere(g, (uint64_t)which, 1, arg);
    dt_graph_destroy(g);
}

static void test_each_op_of_odd_numbers(void **state) {
    (void)state;
    for (int i = 0; i < UNARY + BINARY * (CONSTANTS + 1) + DIRECTIONS + 2; i++) run_single(i);
}

/* ---- systems that refuse memory that can be executed ---- */

enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1, UNKNOWN_HERE = 77 };

static int seal_refused(void) {
    dt_code c = {0};
    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0) return UNKNOWN_HERE;
    dt_code_bytes(&c, "\xc3", 1);
    dt_code_seal(&c);
    return c.base == NULL && c.text == NULL ? 0 : 1;
}

static void test_refused_memory_is_no_error(void **state) {
    (void)state;
    int status, child = fork();
    if (child == 0) _exit(seal_refused());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == UNKNOWN_HERE) skip();
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_op_of_odd_numbers),
                                       cmocka_unit_test(test_generated_loops_keep_the_bits),
                                       cmocka_unit_test(test_refused_memory_is_no_error)};
    return cmocka_run_group_tests_name("exec/loops", tests, NULL, NULL);
}
