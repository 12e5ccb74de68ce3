/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 by OpenSSL's SHA256_* functions, which use SHA instructions if the processor has them,
 * and fast hashes for maps.
 *
 * EVP is not used: since OpenSSL 3 its first call reads a configuration file and sets up
 * providers, with 4,500 allocations in a millisecond, and may crash when one of them fails.
 * SHA256_* allocate nothing. OpenSSL 3.0 deprecates them, hence OPENSSL_API_COMPAT.
 */
#define OPENSSL_API_COMPAT 0x10101000L
#include "base/hash.h"

#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/thread.h"

struct dt_sha256 {
    SHA256_CTX context;
};

dt_sha256 *dt_sha256_create(void) {
    dt_sha256 *h = dt_alloc(sizeof *h);
    SHA256_Init(&h->context);
    return h;
}

void dt_sha256_add(dt_sha256 *h, const void *bytes, size_t n) {
    if (n) SHA256_Update(&h->context, bytes, n);
}

dt_digest dt_sha256_end(dt_sha256 *h) {
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[SHA256_DIGEST_LENGTH];
    dt_digest digest = {{0}};
    SHA256_Final(bytes, &h->context);
    for (int i = 0; i < SHA256_DIGEST_LENGTH; i++) {
        digest.hex[2 * i] = hex[bytes[i] >> 4];
        digest.hex[2 * i + 1] = hex[bytes[i] & 15];
    }
    free(h);
    return digest;
}

dt_digest dt_sha256_of(const void *bytes, size_t n) {
    dt_sha256 *h = dt_sha256_create();
    dt_sha256_add(h, bytes, n);
    return dt_sha256_end(h);
}

uint64_t dt_name_hash(const char *name) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

uint64_t dt_hash_bytes(uint64_t h, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint64_t word;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = mix(h, word);
    }
    word = 0;
    for (size_t i = 0; i < n; i++) word |= (uint64_t)p[i] << 8 * i;
    return n > 0 ? mix(h, word) : h;
}

/*
 * SHA-256 beside other work: a separate thread hashes what is put into a queue. The thread starts
 * after the first MiB; less data is hashed by the caller, and so is all data if there is one core
 * only, or the system refuses a thread.
 */

static const size_t least = 1 << 20;

typedef struct span {
    const void *bytes;
    size_t n;
} span;

struct dt_hash_thread {
    dt_sha256 *hash;
    size_t bytes; /* number of bytes that were put so far */
    bool runs, ends;
    pthread_t thread;
    pthread_mutex_t lock;
    /* come: signals that a span was put into the queue; gone: that the whole queue is hashed */
    pthread_cond_t come, gone;
    span *queue;
    /* numbers of spans. n: put into the queue so far; cap: for which the queue has room; taken:
     * taken from it by the thread; done: hashed */
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
