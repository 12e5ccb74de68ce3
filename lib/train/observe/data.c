/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a run's data. A thread hashes the files while the run trains. A run that resumes
 * compares the hashes with those that earlier attempts wrote to the record, and warns if the files
 * have changed. Training does not depend on the hashes. Without a record, or if earlier attempts
 * ended before their hashes were known, nothing is compared.
 */
#define _GNU_SOURCE /* makes the headers declare gettid() */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/events.h"
#include "base/file.h"
#include "base/thread.h"
#include "file/json_read.h"
#include "train/hook.h"
#include "train/record.h"

enum { NICE = 10 };

typedef struct dt_hashing {
    const dt_dataset *data;
    pthread_t thread;
    bool joined;
    atomic_bool stop, done;
    dt_identity part[DT_PARTS];
    dt_status *fault[DT_PARTS];
} hashing;

static void *take_all(void *user) {
    hashing *h = user;
    /* On Linux this changes the priority of this thread alone. If it fails, the thread keeps its
     * priority. */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    for (dt_part p = 0; p < DT_PARTS; p++)
        h->fault[p] = dt_identity_take(h->data, p, &h->stop, &h->part[p]);
    atomic_store_explicit(&h->done, true, memory_order_release);
    return NULL;
}

/* Starts a thread that hashes the files; the data set must outlive the thread. NULL: the thread
 * could not be started, and the hashes stay unknown. */
static hashing *begin_hashing(const dt_dataset *d) {
    hashing *h = dt_alloc(sizeof *h);
    *h = (hashing){.data = d};
    if (dt_thread_start(&h->thread, take_all, h) == 0) return h;
    free(h);
    return NULL;
}

bool dt_run_is_hashed(const run *r) {
    return r->hashing && atomic_load_explicit(&r->hashing->done, memory_order_acquire);
}

const dt_identity *dt_run_identity(const run *r, dt_part p, const char **fault) {
    const hashing *h = r->hashing;
    *fault = h->fault[p] ? dt_status_text(h->fault[p]) : NULL;
    return h->fault[p] ? NULL : &h->part[p];
}

static void wait_for(hashing *h) {
    if (h && !h->joined) pthread_join(h->thread, NULL);
    if (h) h->joined = true;
}

static void end_hashing(hashing *h) {
    if (!h) return;
    atomic_store_explicit(&h->stop, true, memory_order_relaxed);
    wait_for(h);
    for (dt_part p = 0; p < DT_PARTS; p++) dt_status_free(h->fault[p]);
    free(h);
}

/* Each attempt adds up to about a thousand lines about steps to the record, and a few for each
 * epoch and checkpoint. A record of more than MOST_BYTES is not read. */
enum { MOST_BYTES = 64 << 20 };

/* What a record says about one part of the data: how it was hashed, and its SHA-256. Texts are in
 * the run's arena; NULL: unknown. */
typedef struct known {
    const char *hashed, *sha256;
} known;
typedef struct previous {
    int64_t generation;
    known part[DT_PARTS];
} previous;

static const char *kept_text(dt_arena *arena, const char *text) {
    return text ? dt_arena_strdup(arena, text) : NULL;
}

/* Returns the hash in a line about the data. Returns NULL if the line has none, or something else
 * than a SHA-256, because another program may have written the file. */
static const char *hash_of(dt_arena *arena, const dt_event *data) {
    const char *text = data->data_sha256;
    return text && strspn(text, "0123456789abcdef") == 64 && !text[64] ? kept_text(arena, text)
                                                                       : NULL;
}

static void take_data(dt_arena *arena, const dt_event *data, previous *e) {
    for (dt_part p = 0; data->split && p < DT_PARTS; p++)
        if (strcmp(dt_part_name(p), data->split) == 0)
            e->part[p] = (known){kept_text(arena, data->hashed), hash_of(arena, data)};
}

/* Reads a line of the record. The start of an attempt with another generation begins another
 * training, so hashes before it do not count. */
static void take_line(dt_arena *arena, const char *line, size_t n, previous *e) {
    static const char begin[] = "{\"event\": \"start\"", data[] = "{\"event\": \"data\"";
    const bool begins = n > sizeof begin && memcmp(line, begin, sizeof begin - 1) == 0;
    if (!begins && (n <= sizeof data || memcmp(line, data, sizeof data - 1) != 0)) return;
    const dt_json_text t = {DT_RECORD_FILE, "a line", "key", line, n, DT_E_CHECKPOINT};
    dt_event_line l = {0};
    json_t *object = NULL;
    /* The last line may be cut, if the run that wrote it was killed. */
    dt_status_free(dt_json_parse(&t, &object));
    if (!object) return;
    dt_json_members_lend(object, dt_event_rows[begins ? DT_EVENT_START : DT_EVENT_DATA].record, &l);
    if (!begins) take_data(arena, &l.event, e);
    else if (l.generation != e->generation) *e = (previous){.generation = l.generation};
    json_decref(object);
}

static previous *read_record(const run *r) {
    previous *e = dt_arena_new(r->arena, previous);
    dt_local_str text = {0};
    DT_LOCAL char *path = dt_path_join(r->q->directory, DT_RECORD_FILE);
    dt_status *s = dt_file_read(path, MOST_BYTES, &text);
    *e = (previous){.generation = -1};
    for (const char *line = dt_str_text(&text); !s && *line;
         line += strcspn(line, "\n"), line += *line == '\n')
        take_line(r->arena, line, strcspn(line, "\n"), e);
    bool is_known = !s && e->generation == r->out.generation;
    dt_status_free(s);
    return is_known ? e : NULL;
}

/* Whether the data has changed since `then`. Only hashes of the same kind are compared. */
static bool is_other(const known *then, const dt_identity *now) {
    return now && now->files > 0 && then->hashed && then->sha256 &&
           strcmp(then->hashed, dt_hashed_name(now->hashed)) == 0 &&
           strcmp(then->sha256, now->sha256.hex) != 0;
}

/* As soon as the hashes are known, warns of files that have changed since earlier attempts. Does so
 * once. */
static dt_status *compare(run *r, dt_hook *h) {
    const previous *e = h->state;
    if (!e || !dt_run_is_hashed(r)) return NULL;
    h->state = NULL;
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const char *fault;
        const dt_identity *now = dt_run_identity(r, p, &fault);
        if (is_other(&e->part[p], now))
            dt_run_warn(r, dt_arena_printf(r->arena,
                                           "the files of dataset.%s have changed: this run "
                                           "continues with different data than before "
                                           "(sha %.12s, now %.12s)",
                                           dt_part_name(p), e->part[p].sha256, now->sha256.hex));
    }
    return NULL;
}

/* If this process writes files and has steps to train: starts to hash the data. A run that resumes
 * first reads the hashes of earlier attempts from the record, before it adds lines itself. */
static dt_status *begin(run *r, dt_hook *h) {
    if (!r->out.writes || !dt_run_is_training(r)) return NULL;
    if (r->out.resumed) h->state = read_record(r);
    r->hashing = begin_hashing(r->data);
    return NULL;
}

/* Waits for the hashes, unless the run was stopped while it had steps to train, and compares them,
 * if they are known, with the earlier ones. */
static dt_status *end(run *r, dt_hook *h) {
    if (!dt_run_is_training(r)) wait_for(r->hashing);
    return compare(r, h);
}

static void close_data(run *r, dt_hook *h) {
    (void)h;
    end_hashing(r->hashing);
    r->hashing = NULL;
}

const dt_hook_row dt_hook_data = {
    .begin = begin, .settled = compare, .end = end, .close = close_data};
