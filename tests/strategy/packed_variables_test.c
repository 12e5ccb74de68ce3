/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables that travel in place of them, and parts of gradients: what comes from another
 * process is checked before it is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "op/op.h"
#include "strategy/packed_variables.h"

enum { TABLE = 1000, WIDTH = 16, DENSE = 6 };

typedef struct kit {
    dt_arena *arena;
    dt_variable *variable[2]; /* a dense one, a table */
    dt_sent sent[2];
    dt_packed_variables s;
} kit;

static void open_kit(kit *k) {
    const dt_type dense = dt_type_of(DT_FLOAT32, 1, (int64_t[]){DENSE}),
                  table = dt_type_of(DT_FLOAT32, 2, (int64_t[]){TABLE, WIDTH});
    *k = (kit){.arena = dt_arena_create(), .sent = {DT_SENT_EACH_TIME, DT_SENT_BY_ROWS}};
    assert_null(dt_variable_alloc(&k->variable[0], "dense", &dense, true));
    assert_null(dt_variable_alloc(&k->variable[1], "table", &table, true));
    for (int i = 0; i < TABLE * WIDTH; i++) ((float *)k->variable[1]->host_data)[i] = (float)i;
    assert_null(
        dt_packed_make(&k->s, k->arena, k->variable, 2, k->sent, &(dt_servers_spec){.servers = 2}));
}

static void close_kit(kit *k) {
    dt_variable_unref(k->variable[0]);
    dt_variable_unref(k->variable[1]);
    dt_arena_destroy(k->arena);
}

static void add(dt_str *request, int64_t variable, int64_t n, const int64_t *row) {
    const int64_t head[] = {variable, n};
    dt_str_add(request, head, sizeof head);
    if (row) dt_str_add(request, row, (size_t)n * sizeof *row);
}

static void only_rows_travel(void **state) {
    kit k, far;
    dt_str request = {0}, rows = {0};
    (void)state;
    open_kit(&k);
    open_kit(&far);
    assert_int_equal(k.s.slices.bytes, 64);
    assert_int_equal(k.s.all, 64 + TABLE * WIDTH * 4);
    memset(far.variable[1]->host_data, 0, TABLE * WIDTH * 4);
    add(&request, 1, 3, (int64_t[]){999, 0, 999});
    add(&request, 1, 1, (int64_t[]){7});
    assert_null(dt_rows_answer(&k.s, NULL, request.data, (int64_t)request.size, &rows));
    assert_int_equal(rows.size, 4 * WIDTH * 4);
    assert_null(dt_rows_take(&far.s, &request, rows.data, (int64_t)rows.size));
    const float *at = far.variable[1]->host_data;
    for (int i = 0; i < TABLE; i++)
        assert_true(at[i * WIDTH + 1] ==
                    (i == 999 || i == 7 || i == 0 ? (float)(i * WIDTH + 1) : 0));
    /* an answer that is cut off, or longer than what was asked for */
    for (int64_t bytes = 0; bytes < (int64_t)rows.size; bytes += 60) {
        dt_status *s = dt_rows_take(&far.s, &request, rows.data, bytes);
        assert_int_equal(dt_status_number(s), DT_E_WORKERS_DISAGREE);
        dt_status_free(s);
    }
    dt_str_release(&request);
    dt_str_release(&rows);
    close_kit(&k);
    close_kit(&far);
}

/* The last bytes and slices are those of variables that are sent once. */
static void still_variables_are_last(void **state) {
    static const dt_sent sent[] = {DT_SENT_ONCE, DT_SENT_EACH_TIME};
    char packed[64 + TABLE * WIDTH * 4];
    kit k;
    (void)state;
    open_kit(&k);
    assert_null(dt_packed_make(
        &k.s, k.arena, k.variable, 2, sent,
        &(dt_servers_spec){.servers = 2, .partitioner = {DT_PARTITION_FIXED, .shards = 3}}));
    const dt_byte_ranges *e = &k.s.slices;
    int64_t bytes[] = {0, 0};
    assert_int_equal(e->bytes, sizeof packed);
    assert_int_equal(e->still_bytes, 64);
    for (int server = 0; server < 2; server++)
        for (int i = 0; i < e->n[server]; i++) {
            const bool still = i >= e->n[server] - e->n_still[server];
            assert_int_equal(e->slice[server][i].offset >= e->bytes - e->still_bytes, still);
            bytes[still] += e->slice[server][i].bytes;
        }
    assert_int_equal(bytes[0], TABLE * WIDTH * 4);
    assert_int_equal(bytes[1], DENSE * 4);
    assert_null(dt_packed_write(&k.s, DT_SENT_ONCE, packed));
    ((float *)k.variable[1]->host_data)[5] = -1;
    assert_false(dt_packed_differs(&k.s, packed));
    ((float *)k.variable[0]->host_data)[5] = -1;
    assert_true(dt_packed_differs(&k.s, packed));
    dt_packed_read(&k.s, DT_SENT_EACH_TIME, packed);
    assert_true(((float *)k.variable[1]->host_data)[5] == 5);
    assert_true(dt_packed_differs(&k.s, packed));
    close_kit(&k);
}

/* From memory that was packed before the variables changed. */
static void rows_of_an_older_version(void **state) {
    kit k;
    dt_str request = {0}, rows = {0};
    (void)state;
    open_kit(&k);
    char *packed = dt_try_alloc((size_t)k.s.all);
    assert_null(dt_packed_write(&k.s, DT_SENT_BY_ROWS, packed));
    memset(k.variable[1]->host_data, 0, TABLE * WIDTH * 4);
    add(&request, 1, 1, (int64_t[]){3});
    assert_null(dt_rows_answer(&k.s, packed, request.data, (int64_t)request.size, &rows));
    assert_true(((const float *)(const void *)rows.data)[2] == 3 * WIDTH + 2);
    dt_str_release(&request);
    dt_str_release(&rows);
    free(packed);
    close_kit(&k);
}

/* Row numbers of any dtype that a lookup takes. Those that the table does not have are left out. */
static void row_numbers_of_any_dtype(void **state) {
    const uint8_t u8[] = {7, 255, 100};
    const int8_t i8[] = {7, -1, 100};
    const uint16_t u16[] = {7, 65535, 999};
    const int16_t i16[] = {7, -1, 999};
    const uint32_t u32[] = {7, UINT32_MAX, 999};
    const int32_t i32[] = {7, -1, 999};
    const uint64_t u64[] = {7, UINT64_MAX, 999};
    const int64_t i64[] = {7, TABLE, 999};
    const struct {
        dt_dtype dtype;
        const void *numbers;
        int64_t n, last;
    } rows[] = {{DT_UINT8, u8, 3, 100},   {DT_INT8, i8, 2, 100},    {DT_UINT16, u16, 2, 999},
                {DT_INT16, i16, 2, 999},  {DT_UINT32, u32, 2, 999}, {DT_INT32, i32, 2, 999},
                {DT_UINT64, u64, 2, 999}, {DT_INT64, i64, 2, 999}};
    kit k;
    (void)state;
    open_kit(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const dt_view numbers = {dt_type_of(rows[i].dtype, 1, (int64_t[]){3}),
                                 (char *)(uintptr_t)rows[i].numbers};
        dt_str request = {0};
        int64_t asked[5] = {0};
        assert_null(
            dt_rows_ask(&k.s, &(dt_graph){.n_results = 1}, &k.variable[1], &numbers, &request));
        assert_int_equal(request.size, (2 + rows[i].n) * 8);
        memcpy(asked, request.data, request.size);
        assert_int_equal(asked[0], 1);
        assert_int_equal(asked[1], rows[i].n);
        assert_int_equal(asked[2], 7);
        assert_int_equal(asked[1 + rows[i].n], rows[i].last);
        dt_str_release(&request);
    }
    close_kit(&k);
}

static void expect_refused(const kit *k, const dt_str *request, const char *why) {
    dt_str rows = {0};
    dt_status *s = dt_rows_answer(&k->s, NULL, request->data, (int64_t)request->size, &rows);
    assert_non_null(s);
    assert_int_equal(dt_status_number(s), DT_E_WORKERS_DISAGREE);
    assert_non_null(strstr(dt_status_text(s), why));
    dt_status_free(s);
    dt_str_release(&rows);
}

static void invalid_requests(void **state) {
    static const struct {
        int64_t variable, n, row;
        size_t bytes;
        const char *why;
    } bad[] = {
        {1, 1, TABLE, 24, "row 1000 of 'table', which has 1000 rows"},
        {1, 1, -1, 24, "row -1 of 'table'"},
        {1, 1, INT64_MIN, 24, "row -9223372036854775808"},
        {1, 2, 0, 24, "2 row numbers in 8 bytes"},
        {1, -1, 0, 24, "-1 row numbers"},
        {1, INT64_MAX, 0, 24, "row numbers in 8 bytes"},
        {0, 1, 0, 24, "names variable 0, which is not sent by rows"},
        {2, 1, 0, 24, "names variable 2"},
        {-1, 1, 0, 24, "names variable -1"},
        {INT64_MAX, 1, 0, 24, "names variable"},
        {1, 0, 0, 24, "cut off"}, /* the number begins another lookup */
        {1, 1, 0, 15, "cut off"},
        {1, 1, 0, 1, "cut off"},
    };
    kit k;
    (void)state;
    open_kit(&k);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_str request = {0};
        add(&request, bad[i].variable, bad[i].n, NULL);
        dt_str_add(&request, &bad[i].row, sizeof bad[i].row);
        request.size = bad[i].bytes;
        expect_refused(&k, &request, bad[i].why);
        dt_str_release(&request);
    }
    const int64_t many = DT_MOST_MORE / (WIDTH * 4) + 1;
    int64_t *zeros = dt_alloc((size_t)many * sizeof *zeros);
    dt_str request = {0};
    add(&request, 1, many, zeros);
    expect_refused(&k, &request, "an answer of more than 67108864 bytes");
    dt_str_release(&request);
    free(zeros);
    close_kit(&k);
}

/* Whatever the bytes are: an answer of the right length, or an error. */
static void random_requests(void **state) {
    kit k;
    (void)state;
    open_kit(&k);
    for (uint64_t seed = 0; seed < 3000; seed++) {
        dt_random r = dt_random_stream(seed, "request", 0);
        dt_str request = {0}, rows = {0};
        const int lookups = (int)dt_random_below(&r, 4);
        for (int i = 0; i < lookups; i++) {
            const int64_t row[] = {(int64_t)dt_random_below(&r, TABLE + 2) - 1, 5};
            add(&request, (int64_t)dt_random_below(&r, 20) ? 1 : 0, (int64_t)dt_random_below(&r, 3),
                NULL);
            dt_str_add(&request, row, 8 * dt_random_below(&r, 3));
        }
        if (request.size > 0 && dt_random_below(&r, 4) == 0)
            request.data[dt_random_below(&r, (uint32_t)request.size)] ^= 0x40;
        dt_status *s = dt_rows_answer(&k.s, NULL, request.data, (int64_t)request.size, &rows);
        if (s) assert_int_equal(dt_status_number(s), DT_E_WORKERS_DISAGREE);
        else assert_null(dt_rows_take(&k.s, &request, rows.data, (int64_t)rows.size));
        dt_status_free(s);
        dt_str_release(&request);
        dt_str_release(&rows);
    }
    close_kit(&k);
}

static void parts_are_checked(void **state) {
    int result[] = {0, 1, 2}, argument[] = {2, 0, 1};
    dt_type part[] = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3}),
                      dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH}), dt_scalar_type(DT_FLOAT32)};
    int64_t used = 0;
    int whole[] = {-1, -1, -1};
    const dt_halves h = {.n_parts = 3,
                         .part_result = result,
                         .part_argument = argument,
                         .part = part,
                         .numbers = whole};
    float values[6] = {1, 2, 3, 4, 5, 6}, scale = 0.5;
    int32_t numbers[2] = {9, 0};
    const dt_view from[] = {
        {dt_type_at(&part[0], 2), values}, {dt_type_at(&part[1], 2), numbers}, {part[2], &scale}};
    char parts[256], copy[256];
    dt_view to[3];
    (void)state;
    assert_int_equal(dt_parts_bytes(&h, 2), sizeof parts);
    dt_parts_write(&h, 2, from, parts);
    assert_true(dt_parts_are_sound(&h, parts, sizeof parts, &used));
    assert_int_equal(used, sizeof parts);
    dt_parts_read(&h, parts, copy, to);
    assert_int_equal(to[2].type.dim[0], 2);
    assert_memory_equal(to[2].data, values, sizeof values);
    assert_memory_equal(to[0].data, numbers, sizeof numbers);
    assert_memory_equal(to[1].data, &scale, sizeof scale);

    for (int64_t bytes = 0; bytes < (int64_t)sizeof parts; bytes++)
        assert_false(dt_parts_are_sound(&h, parts, bytes, &used));
    static const int64_t rows[] = {-1, INT64_MIN, INT32_MAX, (int64_t)INT32_MAX + 1, INT64_MAX, 40};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(parts, &rows[i], sizeof rows[i]);
        assert_false(dt_parts_are_sound(&h, parts, sizeof parts, &used));
    }
}

/* Of rows only those are sent that the receiver's part of the table has: here rows 5 to 8. */
static void rows_of_a_part_are_sent(void **state) {
    int result[] = {1, 0}, argument[] = {0, 1}, by[] = {-1, 0};
    int64_t first[] = {0, 5}, end[] = {0, 9}, used = 0;
    dt_type part[] = {dt_type_of(DT_INT32, 2, (int64_t[]){DT_BATCH, 3}),
                      dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 3, 4})};
    const dt_halves h = {.n_parts = 2,
                         .part_result = result,
                         .part_argument = argument,
                         .part = part,
                         .numbers = by,
                         .first_row = first,
                         .end_row = end};
    int32_t numbers[6] = {8, 9, 5, -1, 4, 5};
    float rows[6][4];
    char parts[256], copy[256];
    dt_view to[2];
    (void)state;
    for (int i = 0; i < 6; i++)
        for (int d = 0; d < 4; d++) rows[i][d] = (float)(10 * i + d);
    const dt_view from[] = {{dt_type_at(&part[1], 2), rows}, {dt_type_at(&part[0], 2), numbers}};
    assert_int_equal(dt_parts_bytes(&h, 2), 64 + 64 + 128);
    assert_int_equal(dt_parts_write(&h, 2, from, parts), 64 + 64 + 64); /* three rows of 16 bytes */
    for (int64_t bytes = 0; bytes < 64 + 64 + 64; bytes++)
        assert_false(dt_parts_are_sound(&h, parts, bytes, &used));
    assert_true(dt_parts_are_sound(&h, parts, sizeof parts, &used));
    assert_int_equal(used, 64 + 64 + 64);
    dt_parts_read(&h, parts, copy, to);
    assert_memory_equal(to[0].data, numbers, sizeof numbers);
    for (int i = 0; i < 6; i++)
        if (numbers[i] >= 5 && numbers[i] < 9)
            assert_memory_equal((const char *)to[1].data + 16 * i, rows[i], 16);
    for (int i = 0; i < 6; i++) ((int32_t *)(void *)(parts + 64))[i] = 6; /* more than came */
    assert_false(dt_parts_are_sound(&h, parts, used, &used));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(still_variables_are_last), cmocka_unit_test(only_rows_travel),
        cmocka_unit_test(rows_of_a_part_are_sent),  cmocka_unit_test(rows_of_an_older_version),
        cmocka_unit_test(invalid_requests),         cmocka_unit_test(random_requests),
        cmocka_unit_test(parts_are_checked),        cmocka_unit_test(row_numbers_of_any_dtype)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
