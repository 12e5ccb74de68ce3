/* SPDX-License-Identifier: Apache-2.0 */
/* See hashing.h. */
#define _GNU_SOURCE /* gettid */
#include "train/hashing.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NICE = 10 };

struct dt_hashing {
    const dt_dataset *data;
    pthread_t thread;
    bool joined;
    atomic_bool stop, done;
    dt_identity part[DT_PARTS];
    dt_status *fault[DT_PARTS];
};

static void *take_all(void *user) {
    dt_hashing *h = user;
    /* on Linux that is the thread's; refused, it is as quick as the others */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    for (dt_part p = 0; p < DT_PARTS; p++)
        h->fault[p] = dt_identity_take(h->data, p, &h->stop, &h->part[p]);
    atomic_store_explicit(&h->done, true, memory_order_release);
    return NULL;
}

dt_hashing *dt_hashing_begin(const dt_dataset *d) {
    dt_hashing *h = dt_alloc(sizeof *h);
    sigset_t all, before;
    *h = (dt_hashing){.data = d};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&h->thread, NULL, take_all, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) return h;
    free(h);
    return NULL;
}

bool dt_hashing_is_done(const dt_hashing *h) {
    return h && atomic_load_explicit(&h->done, memory_order_acquire);
}

const dt_identity *dt_hashing_of(const dt_hashing *h, dt_part p, const char **fault) {
    *fault = h->fault[p] ? dt_status_text(h->fault[p]) : NULL;
    return h->fault[p] ? NULL : &h->part[p];
}

void dt_hashing_wait(dt_hashing *h) {
    if (h && !h->joined) pthread_join(h->thread, NULL);
    if (h) h->joined = true;
}

void dt_hashing_end(dt_hashing *h) {
    if (!h) return;
    atomic_store_explicit(&h->stop, true, memory_order_relaxed);
    dt_hashing_wait(h);
    for (dt_part p = 0; p < DT_PARTS; p++) dt_status_free(h->fault[p]);
    free(h);
}
