/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 beside other work: a separate thread hashes what is put into a queue. The thread starts
 * after the first MiB; less data is hashed by the caller, and so is all data if there is one core
 * only, or the system refuses a thread.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/thread.h"

static const size_t least = 1 << 20;

typedef struct span {
    const void *bytes;
    size_t n;
} span;

struct dt_hash_thread {
    dt_sha256 *hash;
    size_t bytes; /* bytes put so far */
    bool runs, ends;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t come, gone; /* signals: a span was put into the queue; the queue is hashed */
    span *queue;
    /* the queue: number of spans, capacity, spans taken from it, spans hashed */
    int n, cap, taken, done;
};

static void *hash_all(void *user) {
    dt_hash_thread *h = user;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (h->taken == h->n && !h->ends) pthread_cond_wait(&h->come, &h->lock);
        if (h->taken == h->n) break;
        const span s = h->queue[h->taken++];
        pthread_mutex_unlock(&h->lock);
        dt_sha256_add(h->hash, s.bytes, s.n);
        pthread_mutex_lock(&h->lock);
        if (++h->done == h->n) pthread_cond_signal(&h->gone);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

dt_hash_thread *dt_hash_begin(void) {
    dt_hash_thread *h = dt_alloc(sizeof *h);
    *h = (dt_hash_thread){.hash = dt_sha256_create()};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->come, NULL);
    pthread_cond_init(&h->gone, NULL);
    return h;
}

static void start(dt_hash_thread *h) {
    h->runs = dt_cores() > 1 && dt_thread_start(&h->thread, hash_all, h) == 0;
}

static void enqueue(dt_hash_thread *h, const void *bytes, size_t n) {
    pthread_mutex_lock(&h->lock);
    if (h->n == h->cap) {
        h->cap = h->cap ? 2 * h->cap : 64;
        h->queue = dt_realloc(h->queue, (size_t)h->cap * sizeof *h->queue);
    }
    h->queue[h->n++] = (span){bytes, n};
    pthread_cond_signal(&h->come);
    pthread_mutex_unlock(&h->lock);
}

void dt_hash_put(dt_hash_thread *h, const void *bytes, size_t n) {
    const bool were_few = h->bytes < least;
    h->bytes += n;
    if (were_few && h->bytes >= least) start(h);
    if (h->runs) enqueue(h, bytes, n);
    else dt_sha256_add(h->hash, bytes, n);
}

void dt_hash_wait(dt_hash_thread *h) {
    pthread_mutex_lock(&h->lock);
    while (h->done < h->n) pthread_cond_wait(&h->gone, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

dt_digest dt_hash_end(dt_hash_thread *h) {
    if (h->runs) {
        pthread_mutex_lock(&h->lock);
        h->ends = true;
        pthread_cond_signal(&h->come);
        pthread_mutex_unlock(&h->lock);
        pthread_join(h->thread, NULL);
    }
    const dt_digest digest = dt_sha256_end(h->hash);
    pthread_cond_destroy(&h->come);
    pthread_cond_destroy(&h->gone);
    pthread_mutex_destroy(&h->lock);
    free(h->queue);
    free(h);
    return digest;
}
