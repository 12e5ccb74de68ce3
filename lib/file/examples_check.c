/* SPDX-License-Identifier: Apache-2.0 */
/* Reads every example of a part once, to find those that cannot be read; see examples.h. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "file/examples.h"

enum { MOST_THREADS = 16 };

typedef struct check {
    dt_examples *x;
    dt_status **fault;    /* [x->count] receives the fault of each example; NULL: none */
    _Atomic int64_t next; /* the next example to read */
    /* [threads] the error with which each thread stopped that does not concern one example alone;
     * NULL: none */
    dt_status *stop[MOST_THREADS];
    _Atomic int threads; /* number of threads that have begun */
    _Atomic bool stops;
} check;

/* Whether an error concerns one example, because its data are bad. A missing library, for instance,
 * would affect other examples as well. */
static bool is_of_example(const dt_status *s) { return dt_status_code(s) == 65; }

/* Sets out[e] to memory for a value of each element e. After an error the caller frees those that
 * were allocated. */
static dt_status *allocate(const dt_examples *x, void **out) {
    for (int e = 0; e < x->n; e++) {
        out[e] = dt_try_alloc((size_t)dt_type_bytes(&x->stored[e].type) + 1);
        if (!out[e])
            return dt_fail(DT_E_NO_MEMORY, &x->stored[e].at, "out of memory for an example of '%s'",
                           x->stored[e].name);
    }
    return NULL;
}

static dt_status *read_examples(check *c, void *const *out) {
    dt_read_buffer buffer = {0};
    dt_status *s = NULL;
    while (!s && !c->stops) {
        const int64_t i = atomic_fetch_add(&c->next, 1);
        if (i >= c->x->count) break;
        s = c->x->reader->at(c->x, i, &buffer, out);
        if (!s || !is_of_example(s)) continue;
        c->fault[i] = s;
        s = NULL;
    }
    dt_str_release(&buffer.bytes);
    return s;
}

static void *work(void *user) {
    check *c = user;
    const int thread = atomic_fetch_add(&c->threads, 1);
    DT_LOCAL void **out = dt_alloc((size_t)c->x->n * sizeof *out);
    dt_status *s = allocate(c->x, out);
    if (!s) s = read_examples(c, out);
    c->stop[thread] = s;
    if (s) c->stops = true;
    for (int e = 0; e < c->x->n; e++) free(out[e]);
    return NULL;
}

dt_status *dt_examples_check(dt_examples *x, dt_status **fault) {
    check c = {.x = x, .fault = fault};
    pthread_t thread[MOST_THREADS];
    const int cores = dt_cores(), wanted = cores < MOST_THREADS ? cores : MOST_THREADS;
    int started = 0;
    while (started + 1 < wanted && dt_thread_start(&thread[started], work, &c) == 0) started++;
    work(&c);
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
    dt_status *s = NULL;
    for (int i = 0; i < MOST_THREADS; i++) {
        if (s) dt_status_free(c.stop[i]);
        else s = c.stop[i];
    }
    return s;
}

dt_status *dt_examples_faults(dt_examples *x) {
    dt_status **fault = dt_alloc((size_t)x->count * sizeof *fault), *all = NULL;
    dt_status *stop = dt_examples_check(x, fault);
    for (int64_t i = 0; i < x->count; i++) {
        if (stop) dt_status_free(fault[i]);
        else dt_status_append(&all, fault[i]);
    }
    free(fault);
    return stop ? stop : all;
}
