/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See keys.h. A request has three parts: what is asked, the key, the value; an answer two: what
 * came of it, and the value. The store answers at once, so that one thread that waits for a key
 * does not keep another from putting it: whoever waits asks again.
 */
#include "fabric/keys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"

enum { AGAIN_NS = 5000000 };
static const char put_it[] = "put", get_it[] = "get", done[] = "done", none[] = "none",
                  full[] = "full";

typedef struct entry {
    dt_str key, value;
} entry;

typedef struct store {
    dt_messenger *m;
    pthread_t thread;
    _Atomic bool ends;
    entry *entry;
    int n, cap;
} store;

struct dt_keys {
    dt_messenger *m;
    int server;
    double patience_s;
    pthread_mutex_t one; /* a request at a time */
    bool broken;  /* an answer has not come, and would be taken for that of another request */
    store *store; /* process 0; NULL: another process has it */
};

/* ---- the store ---- */

static entry *find(store *s, const dt_message_part *key) {
    for (int i = 0; i < s->n; i++)
        if (s->entry[i].key.size == key->n &&
            memcmp(dt_str_text(&s->entry[i].key), key->bytes, key->n) == 0)
            return &s->entry[i];
    return NULL;
}

static const char *keep(store *s, const dt_message_part *key, const dt_message_part *value) {
    entry *e = find(s, key);
    if (!e && s->n == DT_KEYS_MOST) return full;
    if (!e) {
        DT_GROW(s->entry, s->cap, s->n + 1);
        e = &s->entry[s->n++];
        *e = (entry){.key = {0}};
        dt_str_add(&e->key, key->bytes, key->n);
    }
    dt_str_clear(&e->value);
    dt_str_add(&e->value, value->bytes, value->n);
    return done;
}

static bool is_word(const dt_message_part *p, const char *word) {
    return p->n == strlen(word) && memcmp(p->bytes, word, p->n) == 0;
}

/* Whatever is no request gets no answer. */
static void answer(store *s, const dt_message *x) {
    const char *word = none;
    dt_message_part value = {"", 0};
    if (x->n != 3 || x->part[1].n > DT_KEY_MOST || x->part[2].n > DT_VALUE_MOST) return;
    if (is_word(&x->part[0], put_it)) {
        word = keep(s, &x->part[1], &x->part[2]);
    } else if (is_word(&x->part[0], get_it)) {
        const entry *e = find(s, &x->part[1]);
        word = e ? done : none;
        if (e) value = (dt_message_part){dt_str_text(&e->value), e->value.size};
    } else {
        return;
    }
    /* whoever asked sees that no answer comes */
    dt_status_free(dt_messenger_send(s->m, x->peer,
                                     (const dt_message_part[]){{word, strlen(word)}, value}, 2));
}

static void *serve(void *of) {
    store *s = of;
    while (!atomic_load(&s->ends)) {
        dt_message *x = NULL;
        dt_status_free(dt_messenger_wait(s->m, 0.05, &x));
        if (x && x->event == DT_PEER_MESSAGE) answer(s, x);
        dt_message_free(x);
    }
    return NULL;
}

static void close_store(store *s) {
    if (!s) return;
    if (s->thread) {
        atomic_store(&s->ends, true);
        pthread_join(s->thread, NULL);
    }
    dt_messenger_close(s->m);
    for (int i = 0; i < s->n; i++) {
        dt_str_release(&s->entry[i].key);
        dt_str_release(&s->entry[i].value);
    }
    free(s->entry);
    free(s);
}

static dt_status *open_store(store **out, const dt_keys_spec *spec) {
    store *s = *out = dt_alloc(sizeof *s);
    DT_TRY(dt_messenger_open(&s->m, &(dt_messenger_spec){.key = spec->key,
                                                         .open = spec->open,
                                                         .name = "keys",
                                                         .most_bytes = DT_VALUE_MOST}));
    DT_TRY(dt_messenger_listen(s->m, spec->address));
    const int bad = pthread_create(&s->thread, NULL, serve, s);
    if (bad) s->thread = 0;
    return bad ? dt_fail(DT_E_NO_MEMORY, NULL, "no thread for the store of keys: %s", strerror(bad))
               : NULL;
}

/* ---- those who ask ---- */

static dt_status *await(dt_keys *k, dt_peer_event event, dt_message **out) {
    dt_status *s = k->broken ? NULL : dt_messenger_wait(k->m, k->patience_s, out);
    dt_message *x = *out;
    if (s) return s;
    if (x && x->event == event && (event != DT_PEER_MESSAGE || x->n == 2)) return NULL;
    s = !x && !k->broken
            ? dt_fail(DT_E_WORKER_LATE, NULL, "the store of keys at %s has not answered for %g s",
                      dt_messenger_peer(k->m, k->server), k->patience_s)
            : dt_fail(DT_E_WORKER_GONE, NULL, "the store of keys at %s is gone",
                      dt_messenger_peer(k->m, k->server));
    dt_message_free(x);
    *out = NULL;
    k->broken = true;
    return s;
}

void dt_keys_close(dt_keys *k) {
    if (!k) return;
    dt_messenger_close(k->m);
    close_store(k->store);
    pthread_mutex_destroy(&k->one);
    free(k);
}

static dt_status *open_both(dt_keys *k, const dt_keys_spec *spec) {
    dt_message *x = NULL;
    char name[DT_PEER_NAME];
    if (spec->process == 0) DT_TRY(open_store(&k->store, spec));
    snprintf(name, sizeof name, "process %d", spec->process);
    DT_TRY(dt_messenger_open(&k->m, &(dt_messenger_spec){.key = spec->key,
                                                         .open = spec->open,
                                                         .name = name,
                                                         .most_bytes = DT_VALUE_MOST}));
    DT_TRY(dt_messenger_connect(k->m, k->store ? dt_messenger_address(k->store->m) : spec->address,
                                &k->server));
    DT_TRY(await(k, DT_PEER_JOINED, &x));
    dt_message_free(x);
    return NULL;
}

dt_status *dt_keys_open(dt_keys **out, const dt_keys_spec *spec) {
    dt_keys *k = dt_alloc(sizeof *k);
    k->patience_s = spec->patience_s;
    pthread_mutex_init(&k->one, NULL);
    dt_status *s = open_both(k, spec);
    if (s) {
        dt_keys_close(k);
        return s;
    }
    *out = k;
    return NULL;
}

/* *answer: "done", "none" or "full"; a value is added to *value, which may be NULL. */
static dt_status *ask(dt_keys *k, const dt_message_part part[3], const char **word, dt_str *value) {
    dt_message *x = NULL;
    pthread_mutex_lock(&k->one);
    dt_status *s = dt_messenger_send(k->m, k->server, part, 3);
    if (!s) s = await(k, DT_PEER_MESSAGE, &x);
    pthread_mutex_unlock(&k->one);
    if (s) return s;
    *word = is_word(&x->part[0], done) ? done : is_word(&x->part[0], full) ? full : none;
    if (value && *word == done) dt_str_add(value, x->part[1].bytes, x->part[1].n);
    dt_message_free(x);
    return NULL;
}

dt_status *dt_keys_put(dt_keys *k, const void *key, size_t n, const void *value, size_t size) {
    const char *word = none;
    if (n > DT_KEY_MOST || size > DT_VALUE_MOST)
        return dt_fail(DT_E_RANGE, NULL,
                       "a key of %zu and a value of %zu bytes; %d and %d are the most", n, size,
                       DT_KEY_MOST, DT_VALUE_MOST);
    DT_TRY(ask(k, (const dt_message_part[]){{put_it, sizeof put_it - 1}, {key, n}, {value, size}},
               &word, NULL));
    return word == done ? NULL
                        : dt_fail(DT_E_RANGE, NULL, "the store has %d keys, and takes no more",
                                  DT_KEYS_MOST);
}

dt_status *dt_keys_get(dt_keys *k, const void *key, size_t n, double seconds, dt_str *value) {
    const dt_message_part part[] = {{get_it, sizeof get_it - 1}, {key, n}, {"", 0}};
    const int64_t since = dt_now_ns();
    if (n > DT_KEY_MOST)
        return dt_fail(DT_E_RANGE, NULL, "a key of %zu bytes; %d are the most", n, DT_KEY_MOST);
    for (;;) {
        const char *word = none;
        DT_TRY(ask(k, part, &word, value));
        if (word == done) return NULL;
        if (dt_seconds_since(since) >= seconds)
            return dt_fail(DT_E_WORKER_LATE, NULL, "nobody has put '%.*s' in %g s", (int)n,
                           (const char *)key, seconds);
        nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
    }
}
