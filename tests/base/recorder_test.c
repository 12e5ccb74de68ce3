/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings: what is kept, in which order, what is lost; and that reading beside writers is sound.
 * Run it with SAN=tsan too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/recorder.h"
#include "base/thread.h"

static void test_nothing_is_kept_while_off(void **state) {
    (void)state;
    dt_recorder *r = dt_recorder_create();
    dt_track *t = dt_recorder_track(r, "main", 1);
    uint64_t first;

    assert_true(dt_span_begin(NULL) == 0);
    assert_true(dt_span_begin(t) == 0);
    dt_span_end(t, 0, 0, (dt_numbers){{1}});
    dt_recorder_switch(r, true);
    int64_t since = dt_span_begin(t);
    assert_true(since > 0);
    dt_recorder_switch(r, false);
    dt_span_end(t, 0, since, (dt_numbers){{2}}); /* it was switched off within */
    dt_recorder_sample(r, "memory", "MiB", 1);
    assert_int_equal(dt_track_spans(t, &first), 0);
    assert_int_equal(r->n_samples, 0);
    dt_recorder_destroy(r);
}

static void test_nobody_listens(void **state) {
    (void)state;
    assert_null(dt_recorder_track(NULL, "main", 1));
    assert_int_equal(dt_recorder_mark(NULL, &(dt_mark){.name = "op"}), 0);
    dt_recorder_sample(NULL, "memory", "MiB", 1);
    dt_recorder_destroy(NULL);
}

static void test_names_find_their_track(void **state) {
    (void)state;
    dt_recorder *r = dt_recorder_create();
    dt_track *a = dt_recorder_track(r, "main", 100), *b = dt_recorder_track(r, "worker 1", 1);

    assert_ptr_equal(dt_recorder_track(r, "main", 5), a);
    assert_ptr_not_equal(a, b);
    assert_true(a->capacity >= 100 && (a->capacity & (a->capacity - 1)) == 0);
    dt_recorder_destroy(r);
}

/* Numbers of all that a track holds follow each other, up to the last one. */
static void expect_latest(const dt_track *t, int64_t written) {
    uint64_t first, end = dt_track_spans(t, &first);

    assert_int_equal(end, written);
    assert_int_equal(first, written < t->capacity ? 0 : written - t->capacity + 1);
    for (uint64_t i = first; i < end; i++) {
        const dt_span *s = dt_track_span(t, i);
        assert_int_equal(s->number.at[0], i);
        assert_true(s->begin_ns <= s->end_ns);
    }
}

static void test_a_full_ring_keeps_the_latest(void **state) {
    (void)state;
    dt_recorder *r = dt_recorder_create();
    dt_track *t = dt_recorder_track(r, "main", 64);

    dt_recorder_switch(r, true);
    for (int64_t i = 0, since = dt_span_begin(t); i < 1000; i++) {
        since = dt_span_end(t, 0, since, (dt_numbers){{i}});
        expect_latest(t, i + 1);
    }
    dt_recorder_destroy(r);
}

typedef struct writer {
    dt_track *track;
    _Atomic int *stop;
} writer;

static void *write_on(void *argument) {
    const writer *w = argument;
    for (int64_t i = 0; !*w->stop; i += dt_is_recording(w->track))
        dt_span_end(w->track, 0, dt_span_begin(w->track), (dt_numbers){{i, i, i, i, i}});
    return NULL;
}

/* Writers go on while one reads what they wrote before it was switched off: each span is whole. */
static void test_reading_beside_writers(void **state) {
    (void)state;
    enum { WRITERS = 3 };
    dt_recorder *r = dt_recorder_create();
    _Atomic int stop = 0;
    pthread_t thread[WRITERS];
    writer w[WRITERS];
    const char *const names[WRITERS] = {"a", "b", "c"};

    for (int i = 0; i < WRITERS; i++) {
        w[i] = (writer){dt_recorder_track(r, names[i], 64), &stop};
        assert_int_equal(pthread_create(&thread[i], NULL, write_on, &w[i]), 0);
    }
    dt_recorder_switch(r, true);
    for (uint64_t first; dt_track_spans(w[0].track, &first) < 200;)
        ;
    dt_recorder_switch(r, false);
    for (int i = 0; i < WRITERS; i++) {
        uint64_t first, end = dt_track_spans(w[i].track, &first);
        for (uint64_t k = first; k < end; k++)
            for (int n = 1; n < DT_SPAN_NUMBERS; n++)
                assert_int_equal(dt_track_span(w[i].track, k)->number.at[n],
                                 dt_track_span(w[i].track, k)->number.at[0]);
    }
    stop = 1;
    for (int i = 0; i < WRITERS; i++) pthread_join(thread[i], NULL);
    dt_recorder_destroy(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_kept_while_off),
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_names_find_their_track),
        cmocka_unit_test(test_a_full_ring_keeps_the_latest),
        cmocka_unit_test(test_reading_beside_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
