/* SPDX-License-Identifier: Apache-2.0 */
/* Steps divided for a parameter server: gradients from parts have the same bits, and only tables of
 * which few rows are read are looked up by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "pass/sparse.h"
#include "../support/feed.h"

enum { TABLE = 4096, WIDTH = 20, EACH = 3, ROWS = 10 };

typedef enum kind { PLAIN, TWICE, PENALTY, SUMMED, FOLLOWED } kind;

/* The gradient of a table of which three rows for each example are read, and its use besides. */
static dt_graph *step_of(kind use) {
    dt_trace *t = dt_trace_create("step");
    dt_type numbers = dt_type_of(DT_INT32, 2, (int64_t[]){DT_BATCH, EACH}),
            shape = dt_type_of(DT_FLOAT32, 2, (int64_t[]){TABLE, WIDTH});
    dt_variable *v = NULL;
    dt_graph *out = NULL;
    assert_null(dt_variable_alloc(&v, "table", &shape, true));
    for (int64_t i = 0; i < TABLE * WIDTH; i++)
        ((float *)v->host_data)[i] = (float)(i % 23 - 11) / 7;
    dt_value n = dt_trace_declare(t, "numbers", &numbers), table = dt_read(t, v),
             x = dt_gather(table, n), gradient[1];
    if (use == TWICE) x = dt_add(x, dt_gather(table, dt_add(n, dt_like(n, 1))));
    dt_value loss = dt_reduce_sum(dt_tanh(x), DT_NO_AXIS);
    if (use == FOLLOWED)
        loss = dt_add(loss, dt_reduce_sum(dt_gather(table, dt_convert(x, DT_INT32)), DT_NO_AXIS));
    if (use == SUMMED) loss = dt_add(loss, dt_reduce_sum(table, DT_NO_AXIS));
    dt_gradients_of(loss, &table, 1, gradient);
    gradient[0] = dt_multiply(dt_all_reduce(DT_SUM, gradient[0]), dt_like(gradient[0], 0.1));
    if (use == PENALTY) gradient[0] = dt_add(gradient[0], dt_multiply(table, dt_like(table, 0.5)));
    dt_return(t, "loss", dt_all_reduce(DT_SUM, loss));
    dt_return(t, "gradient", gradient[0]);
    dt_variable_unref(v);
    assert_null(dt_trace_end(t, &out));
    return out;
}

/* table -= gradient */
static dt_graph *update_of(const dt_graph *step) {
    dt_trace *t = dt_trace_create("update");
    dt_variable *v = step->state[0].variable;
    dt_graph *out = NULL;
    dt_value gradient = dt_trace_declare(t, "gradient", &v->type);
    dt_assign(t, v, dt_subtract(dt_read(t, v), gradient));
    assert_null(dt_trace_end(t, &out));
    return out;
}

static dt_interpretation run(const dt_graph *g, const dt_view *arg) {
    const int64_t rows = ROWS;
    dt_interpretation out;
    assert_null(dt_interpret(g, NULL, 1, &rows, arg, &out));
    return out;
}

static int find(const dt_named_node *list, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return i;
    return -1;
}

static dt_view numbers_at(int32_t *room) {
    for (int i = 0; i < ROWS * EACH; i++) room[i] = i * 37 % 11 * 300;
    return (dt_view){dt_type_of(DT_INT32, 2, (int64_t[]){ROWS, EACH}), room};
}

static dt_status *divide(const dt_graph *g, dt_graph **head, dt_graph **tail) {
    return dt_divide_step(g, (const char *const[]){"gradient", "other"}, 2, ROWS, head, tail);
}

/* The update of parts has the bits of the update of the whole gradient, and parts are small. */
static void parts_have_the_same_bits(void **state) {
    (void)state;
    for (kind use = PLAIN; use <= TWICE; use++) {
        int32_t room[ROWS * EACH];
        dt_graph *g = step_of(use), *u = update_of(g), *head = NULL, *tail = NULL, *both = NULL;
        const dt_view numbers = numbers_at(room);
        assert_null(divide(g, &head, &tail));
        assert_non_null(head);
        assert_null(dt_compose(tail, u, &both));
        dt_interpretation whole = run(g, &numbers), parts = run(head, &numbers);
        dt_view arg[8];
        int64_t bytes = 0;
        assert_in_range(both->n_args, 1, 8);
        for (int i = 0; i < both->n_args; i++) {
            const int at = find(head->result, head->n_results, both->arg[i].name);
            assert_true(at >= 0);
            arg[i] = parts.result[at];
            bytes += dt_type_bytes(&arg[i].type);
        }
        assert_in_range(bytes, 1, TABLE * WIDTH * 4 / 4);
        assert_int_equal(find(head->result, head->n_results, "gradient"), -1);
        assert_true(find(head->result, head->n_results, "loss") >= 0);
        dt_interpretation first = run(u, &whole.result[1]), second = run(both, arg);
        assert_true(views_identical(&first.update[0], &second.update[0]));
        dt_interpretation_release(&first);
        dt_interpretation_release(&second);
        dt_interpretation_release(&whole);
        dt_interpretation_release(&parts);
        dt_graph_destroy(both);
        dt_graph_destroy(head);
        dt_graph_destroy(tail);
        dt_graph_destroy(u);
        dt_graph_destroy(g);
    }
}

/* A gradient that needs the table itself is sent whole. */
static void a_penalty_is_not_divided(void **state) {
    dt_graph *g = step_of(PENALTY), *head = NULL, *tail = NULL;
    (void)state;
    assert_null(divide(g, &head, &tail));
    assert_null(head);
    assert_null(tail);
    dt_graph_destroy(g);
}

static void expect_numbers(kind use, int n) {
    dt_arena *arena = dt_arena_create();
    dt_graph *g = step_of(use), *numbers = NULL;
    dt_variable **table = NULL;
    int32_t room[ROWS * EACH];
    const dt_view given = numbers_at(room);
    assert_null(dt_row_numbers(g, ROWS, arena, &numbers, &table));
    assert_int_equal(numbers ? numbers->n_results : 0, n);
    if (numbers) {
        dt_interpretation x = run(numbers, &given);
        for (int k = 0; k < n; k++) {
            assert_ptr_equal(table[k], g->state[0].variable);
            for (int i = 0; i < ROWS * EACH; i++)
                assert_int_equal(((const int32_t *)x.result[k].data)[i], room[i] + k);
        }
        dt_interpretation_release(&x);
        assert_int_equal(numbers->n_states, 0);
    }
    dt_graph_destroy(numbers);
    dt_graph_destroy(g);
    dt_arena_destroy(arena);
}

static void numbers_of_tables(void **state) {
    (void)state;
    expect_numbers(PLAIN, 1);
    expect_numbers(TWICE, 2);
    expect_numbers(PENALTY, 0); /* the whole table is read */
    expect_numbers(SUMMED, 0);
    expect_numbers(FOLLOWED, 0); /* numbers follow from the table's values */
}

/* In a large batch most of the table would be sent. */
static void a_large_batch_is_sent_whole(void **state) {
    dt_arena *arena = dt_arena_create();
    dt_graph *g = step_of(PLAIN), *head = NULL, *tail = NULL, *numbers = NULL;
    dt_variable **table = NULL;
    (void)state;
    assert_null(dt_divide_step(g, (const char *const[]){"gradient"}, 1, TABLE, &head, &tail));
    assert_null(head);
    assert_null(dt_row_numbers(g, TABLE, arena, &numbers, &table));
    assert_null(numbers);
    dt_graph_destroy(g);
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_same_bits), cmocka_unit_test(a_penalty_is_not_divided),
        cmocka_unit_test(numbers_of_tables), cmocka_unit_test(a_large_batch_is_sent_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
