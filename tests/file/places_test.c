/* SPDX-License-Identifier: Apache-2.0 */
/* Places of records are found again, in any order, and take up to 2 bytes for a usual one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "file/places.h"

enum { RECORDS = 20000 };

typedef struct lists {
    dt_places places;
    dt_record_range plain[RECORDS];
} lists;

static uint64_t state = 7;
static int64_t below(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}

/* Files of some records; sizes below `most`, and now and then an odd distance or a huge record. */
static void fill(lists *l, int64_t most, int files, bool odd) {
    int64_t at = 0;
    for (int i = 0; i < RECORDS; i++) {
        const int file = (int)((int64_t)i * files / RECORDS);
        if (i > 0 && l->plain[i - 1].file != file) at = below(100);
        at += odd && below(20) == 0 ? below(1000000) : 1;
        l->plain[i] =
            (dt_record_range){at, odd && below(500) == 0 ? below(1 << 30) : below(most), file};
        at += l->plain[i].size;
        dt_places_add(&l->places, &l->plain[i]);
    }
    assert_int_equal(l->places.n, RECORDS);
}

static void assert_found(const lists *l, int row, dt_places_cursor *c) {
    const dt_record_range p = dt_places_find(&l->places, row, c);
    assert_int_equal(p.offset, l->plain[row].offset);
    assert_int_equal(p.size, l->plain[row].size);
    assert_int_equal(p.file, l->plain[row].file);
}

static void check_all(const lists *l) {
    dt_places_cursor c = {0};
    for (int i = 0; i < RECORDS; i++) assert_found(l, i, &c);
    for (int i = RECORDS - 1; i >= 0; i--) assert_found(l, i, &c);
    for (int i = 0; i < RECORDS; i++) assert_found(l, (int)below(RECORDS), &c);
    for (int i = 0; i < RECORDS; i += 1 + (int)below(9)) assert_found(l, i, &c);
}

static void test_places_are_found(void **unused) {
    static const int files[] = {1, 3, 700, RECORDS};
    (void)unused;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int odd = 0; odd < 2; odd++) {
            lists *l = calloc(1, sizeof *l);
            fill(l, 300, files[i], odd);
            check_all(l);
            dt_places_release(&l->places);
            free(l);
        }
}

/* An offset may also lie before the end of the record before it. */
static void test_distances_may_be_negative(void **unused) {
    const dt_record_range a[] = {
        {100, 10, 0}, {50, 20, 0}, {60, 0, 0}, {INT64_C(1) << 40, 1 << 30, 0}};
    dt_places p = {0};
    dt_places_cursor c = {0};
    (void)unused;
    for (int i = 0; i < 4; i++) dt_places_add(&p, &a[i]);
    for (int i = 3; i >= 0; i--) assert_int_equal(dt_places_find(&p, i, &c).offset, a[i].offset);
    for (int i = 0; i < 4; i++) assert_int_equal(dt_places_find(&p, i, &c).size, a[i].size);
    assert_int_equal(p.n_groups, 2); /* the last gap is more than 2 GiB */
    dt_places_release(&p);
}

/* Of the places of RECORDS records. */
static double bytes_each(const dt_places *p) {
    const int64_t groups = p->n_groups * (int64_t)sizeof *p->group;
    return (double)((int64_t)p->codes.size + groups) / RECORDS;
}

static double bytes_below(int64_t most) {
    lists *l = calloc(1, sizeof *l);
    fill(l, most, 1, false);
    const double bytes = bytes_each(&l->places);
    dt_places_release(&l->places);
    free(l);
    return bytes;
}

/* Records of `size` bytes, before every second of which are `gap` bytes more. */
static double bytes_with_gaps(int64_t size, int64_t gap) {
    dt_places p = {0};
    int64_t at = 0;
    for (int i = 0; i < RECORDS; i++, at += size) {
        at += 1 + i % 2 * gap;
        dt_places_add(&p, &(dt_record_range){at, size, 0});
    }
    const double bytes = bytes_each(&p);
    dt_places_release(&p);
    return bytes;
}

static void test_places_are_small(void **unused) {
    (void)unused;
    assert_true(bytes_below(127) <= 1.13);
    assert_true(bytes_below(300) <= 1.38);
    assert_true(bytes_below(16000) <= 2);
    assert_true(bytes_with_gaps(1000, 0) <= 0.26);
    assert_true(bytes_with_gaps(1000, 1) <= 0.39);
    assert_true(bytes_with_gaps(5, 100) <= 1.13);
    assert_true(bytes_with_gaps(5, INT64_C(1) << 20) <= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_are_found),
        cmocka_unit_test(test_distances_may_be_negative),
        cmocka_unit_test(test_places_are_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
