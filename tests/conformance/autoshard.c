/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each worker reads. Files are TFRecords that the runner writes, records consecutive numbers.
 * The original fails under AUTO as under FILE when there are fewer files than workers, and only on
 * workers that have one; here the runner asks for that failure (no_fallback), which then is the
 * same on every worker: where the recorded worker has nothing, ours may have the error instead.
 */
#define _GNU_SOURCE
#include "pipelines.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 64 };

static int64_t number(const json_t *in, const char *key) {
    return json_integer_value(json_object_get(in, key));
}

/* ---- files ---- */

typedef struct files {
    char directory[64];
    char *path[MOST_FILES];
    int n;
} files;

/* CRC-32C bit by bit: another way than the library's. */
static uint32_t masked_crc(const unsigned char *p, size_t n) {
    uint32_t c = ~0u;

    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int b = 0; b < 8; b++) c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
    }
    c = ~c;
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

static void put32(FILE *f, uint32_t x) {
    for (int i = 0; i < 4; i++) putc((int)(x >> 8 * i & 255), f);
}

static void put_record(FILE *f, const char *data) {
    unsigned char length[8] = {(unsigned char)strlen(data)};

    fwrite(length, 1, 8, f);
    put32(f, masked_crc(length, 8));
    fputs(data, f);
    put32(f, masked_crc((const unsigned char *)data, strlen(data)));
}

static bool make_files(verdict *v, const json_t *counts, files *out) {
    int64_t value = 0;

    snprintf(out->directory, sizeof out->directory, "%s/conformance-XXXXXX",
             access("build/tmp", W_OK) == 0 ? "build/tmp" : "/tmp");
    if (!mkdtemp(out->directory)) {
        differs(v, "no directory for files: %s", out->directory);
        return false;
    }
    for (; out->n < (int)json_array_size(counts) && out->n < MOST_FILES; out->n++) {
        if (asprintf(&out->path[out->n], "%s/part-%02d", out->directory, out->n) < 0) abort();
        FILE *f = fopen(out->path[out->n], "wb");
        for (int64_t i = json_integer_value(json_array_get(counts, (size_t)out->n)); f && i > 0;
             i--) {
            char text[24];
            snprintf(text, sizeof text, "%lld", (long long)value++);
            put_record(f, text);
        }
        if (f) fclose(f);
    }
    return true;
}

static void remove_files(files *f) {
    for (int i = 0; i < f->n; i++) {
        unlink(f->path[i]);
        free(f->path[i]);
    }
    if (*f->directory) rmdir(f->directory);
    *f = (files){0};
}

/* ---- strings, which are vectors of bytes here ---- */

/* The words do not tell the strings: they are those that any worker got, in order. */
static json_t *recorded_strings(const json_t *workers) {
    json_t *all = json_object();
    size_t i, k;
    const json_t *w, *text;

    json_array_foreach((json_t *)workers, i, w) {
        const json_t *elements = json_object_get(w, "elements");
        json_array_foreach((json_t *)elements, k, text) if (json_is_string(text))
            json_object_set_new(all, json_string_value(text), json_true());
    }
    if (json_object_size(all) == 0) json_object_set_new(all, "a", json_true());
    return all;
}

static dt_status *append_string(dt_dataset **d, const char *text) {
    dt_values *v = NULL;
    dt_tensor *t = NULL;
    dt_dataset *one = NULL;
    dt_status *s = NULL;

    DT_GO(s, dt_values_create(&v));
    DT_GO(s, dt_tensor_create(&t, DT_UINT8, 1, &(int64_t){(int64_t)strlen(text)}, text));
    DT_GO(s, dt_values_set(v, "value", t));
    DT_GO(s, dt_dataset_from_tensors(&one, v));
    DT_GO(s, *d ? dt_dataset_concatenate(d, *d, one) : dt_dataset_from_tensors(d, v));
out:
    dt_dataset_unref(one);
    dt_tensor_unref(t);
    dt_values_unref(v);
    return s;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static dt_status *build_strings(const json_t *workers, dt_dataset **d) {
    json_t *all = recorded_strings(workers);
    const char *text[256], *key;
    json_t *value;
    dt_status *s = NULL;
    size_t n = 0;

    json_object_foreach(all, key, value) if (n < 256) text[n++] = key;
    qsort(text, n, sizeof *text, by_text);
    for (size_t i = 0; i < n && !s; i++) s = append_string(d, text[i]);
    json_decref(all);
    return s;
}

/* Lists of bytes as texts, where texts are wanted. */
static json_t *as_recorded(const json_t *want, json_t *got) {
    size_t i, k;
    json_t *list, *byte;

    if (!json_is_string(json_array_get(want, 0))) return got;
    json_array_foreach(got, i, list) {
        char text[256] = "";
        json_array_foreach(list, k, byte) if (k < sizeof text - 1) text[k] =
            (char)json_integer_value(byte);
        json_array_set_new(got, i, json_string(text));
    }
    return got;
}

/* ---- pipelines by name ---- */

static const struct {
    const char *name, *words[4];
} pipelines[] = {
    {"tfrecord", {"files()"}},
    {"tfrecord-list", {"files()"}},
    {"list-files", {"files()"}},
    {"shard-hint", {"files()", "shard(SHARD_HINT, SHARD_HINT)"}},
    {"range", {"range(SIZE)"}},
    {"range-shard-hint", {"range(SIZE)", "shard(SHARD_HINT, SHARD_HINT)"}},
    {"range-shuffle-after-hint", {"range(SIZE)", "shard(SHARD_HINT, SHARD_HINT)", "map(x+100)"}},
};

static dt_status *apply_sized(words *w, const char *word, int64_t size, dt_dataset **d) {
    char text[64];

    if (strcmp(word, "range(SIZE)") != 0) return words_apply(w, word, d);
    snprintf(text, sizeof text, "range(%lld)", (long long)size);
    return words_apply(w, text, d);
}

/* "range-batch-2-repeat": words joined by hyphens, each with the numbers that follow it. */
static dt_status *build_hyphenated(words *w, const char *name, int64_t size, dt_dataset **d) {
    static const char *const rows[][2] = {
        {"tfrecord-list", "files()"},
        {"list-files", "files()"},
        {"tfrecord", "files()"},
        {"files", "files()"},
        {"range", "range(SIZE)"},
        {"shard-hint", "shard(SHARD_HINT, SHARD_HINT)"},
        {"hint", "shard(SHARD_HINT, SHARD_HINT)"},
    };
    dt_status *s = NULL;

    while (*name && !s && !w->v->differences && !w->v->skipped) {
        char word[64];
        size_t i = 0, n = sizeof rows / sizeof *rows;
        while (i < n && strncmp(name, rows[i][0], strlen(rows[i][0])) != 0) i++;
        size_t length = i < n ? strlen(rows[i][0]) : strcspn(name, "-"),
               digits = name[length] == '-' ? strspn(name + length + 1, "0123456789") : 0;
        if (i < n) snprintf(word, sizeof word, "%s", rows[i][1]);
        else
            snprintf(word, sizeof word, "%.*s(%.*s)", (int)length, name, (int)digits,
                     name + length + 1);
        name += length + (i < n || !digits ? 0 : digits + 1);
        name += *name == '-';
        s = apply_sized(w, word, size, d);
    }
    return s;
}

static dt_status *build_named(words *w, const char *name, int64_t size, dt_dataset **d) {
    char text[64];
    int cycle;

    if (strcmp(name, "strings-not-files") == 0)
        return build_strings(json_object_get(w->v->c->out, "by_worker"), d);
    if (sscanf(name, "interleave-%d", &cycle) == 1) {
        snprintf(text, sizeof text, "files(%d)", cycle);
        return words_apply(w, text, d);
    }
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
        dt_status *s = NULL;
        if (strcmp(pipelines[i].name, name) != 0) continue;
        for (int k = 0; k < 4 && pipelines[i].words[k] && !s; k++)
            s = apply_sized(w, pipelines[i].words[k], size, d);
        return s;
    }
    return build_hyphenated(w, name, size, d);
}

/* The case's pipeline: a name, or words; a batch behind it where one is given. */
static dt_status *build(words *w, const json_t *in, const files *f, dt_dataset **d) {
    const json_t *pipeline = json_object_get(in, "pipeline"), *batch = json_object_get(in, "batch");

    w->files = (const char *const *)f->path;
    w->n_files = f->n;
    dt_status *s =
        json_is_array(pipeline)
            ? words_build(w, pipeline, d)
            : build_named(w, json_is_string(pipeline) ? json_string_value(pipeline) : "?",
                          number(in, "size"), d);
    if (!s && json_is_integer(batch) && *d)
        s = dt_dataset_batch(d, *d, json_integer_value(batch), false);
    return s;
}

static dt_auto_shard_policy policy_in(verdict *v, const json_t *in) {
    dt_auto_shard_policy policy = DT_AUTO_SHARD_AUTO;
    const json_t *name = json_object_get(in, "policy");

    if (!policy_of(json_string_value(name), &policy))
        differs(v, "unknown policy '%s'", json_is_string(name) ? json_string_value(name) : "?");
    return policy;
}

/* ---- worker by worker ---- */

typedef dt_status *sharer(dt_dataset **out, const dt_dataset *in, const dt_input_share *share);

static bool any_error(const json_t *workers) {
    size_t i;
    const json_t *w;

    json_array_foreach((json_t *)workers, i, w) if (json_object_get(w, "error")) return true;
    return false;
}

/* One worker's elements, or its error. */
static void expect_worker(verdict *v, const json_t *workers, int worker, json_t *got,
                          dt_status *s) {
    const json_t *want = json_array_get(workers, (size_t)worker),
                 *error = json_object_get(want, "error");
    const json_t *elements = json_object_get(want, "elements");
    golden_case one = *v->c;
    char what[32];

    snprintf(what, sizeof what, "worker %d", worker);
    if (error) {
        const golden_case *all = v->c;
        one.error = error;
        v->c = &one;
        expect_data_error(v, s);
        v->c = all;
        json_decref(got);
    } else if (s && json_array_size(elements) == 0 && any_error(workers)) {
        dt_status_free(s); /* ours fails alike on every worker */
        json_decref(got);
    } else {
        expect_ok(v, what, s);
        expect_json(v, what, elements, as_recorded(elements, got), EXACT);
    }
}

static void run_workers(verdict *v, dt_dataset *d, dt_status *s, dt_input_share share,
                        sharer *share_out) {
    const json_t *workers = json_object_get(v->c->out, "by_worker");

    if (s || !d || (int)json_array_size(workers) != share.workers) {
        expect_ok(v, "the pipeline", s);
        if (!v->differences)
            differs(v, "%d workers, recorded %zu", share.workers, json_array_size(workers));
        return;
    }
    for (share.worker = 0; share.worker < share.workers; share.worker++) {
        dt_dataset *mine = NULL;
        dt_status *bad = share_out(&mine, d, &share);
        json_t *got = bad ? NULL : elements_of(mine, 0, &bad);
        expect_worker(v, workers, share.worker, got, bad);
        dt_dataset_unref(mine);
    }
}

static dt_input_share share_of(verdict *v, const json_t *in) {
    const json_t *replicas = json_object_get(in, "num_replicas_per_worker");

    return (dt_input_share){.workers = (int)number(in, "num_workers"),
                            .replicas = replicas ? (int)json_integer_value(replicas) : 1,
                            .options = {.auto_shard_policy = policy_in(v, in),
                                        .rebatch = DT_REBATCH_EVEN,
                                        .no_fallback = true}};
}

static void run_autoshard(const golden_case *c, verdict *v) {
    words w = {.v = v};
    dt_dataset *d = NULL;
    files f = {0};
    const dt_input_share share = share_of(v, c->in);

    if (make_files(v, json_object_get(c->in, "files_record_counts"), &f)) {
        dt_status *s = build(&w, c->in, &f, &d);
        if (v->differences) dt_status_free(s);
        else run_workers(v, d, s, share, dt_dataset_auto_shard);
    }
    dt_dataset_unref(d);
    words_release(&w);
    remove_files(&f);
}

/* range(size) or files, in global batches. */
static dt_status *batches(words *w, const json_t *in, const files *f, dt_dataset **d) {
    w->files = (const char *const *)f->path;
    w->n_files = f->n;
    dt_status *s =
        f->n ? words_apply(w, "files()", d) : dt_dataset_range(d, 0, number(in, "size"), 1);
    return s ? s
             : dt_dataset_batch(d, *d, number(in, "global_batch_size"),
                                json_is_true(json_object_get(in, "drop_remainder")));
}

static void run_rebatch_autoshard(const golden_case *c, verdict *v) {
    words w = {.v = v};
    dt_dataset *d = NULL;
    files f = {0};
    const dt_input_share share = share_of(v, c->in);

    if (make_files(v, json_object_get(c->in, "files_record_counts"), &f)) {
        dt_status *s = batches(&w, c->in, &f, &d);
        run_workers(v, d, s, share, dt_dataset_for_worker);
    }
    dt_dataset_unref(d);
    words_release(&w);
    remove_files(&f);
}

/* ---- the whole, over a strategy of several workers ---- */

static void expect_steps(verdict *v, dt_dist_dataset *d, dt_status *s, int replicas) {
    json_t *steps = s ? NULL : steps_of(d, replicas, 0, &s);

    if (v->c->error) {
        expect_data_error(v, s);
        json_decref(steps);
        return;
    }
    bool ok = s == NULL;
    expect_ok(v, "distributing", s);
    if (!ok) {
        json_decref(steps);
        return;
    }
    expect_json(v, "element_spec", json_object_get(v->c->out, "element_spec"),
                json_of_spec(d, replicas), EXACT);
    expect_json(v, "steps", json_object_get(v->c->out, "steps"), steps, EXACT);
}

static void run_strategy(const golden_case *c, verdict *v) {
    const dt_input_share share = share_of(v, c->in);
    words w = {.v = v};
    dt_strategy *strategy = NULL;
    dt_dataset *data = NULL;
    dt_dist_dataset *d = NULL;
    files f = {0};

    expect_ok(v, "the strategy",
              dt_multi_worker_mirrored_strategy(
                  &strategy, &(dt_multi_worker_options){.workers = share.workers,
                                                        .devices_per_worker = share.replicas}));
    if (strategy && make_files(v, json_object_get(c->in, "files_record_counts"), &f)) {
        dt_status *s = batches(&w, c->in, &f, &data);
        if (!s) s = dt_strategy_distribute_dataset(strategy, data, &share.options, &d);
        expect_steps(v, d, s, dt_strategy_replicas(strategy));
    }
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(strategy);
    words_release(&w);
    remove_files(&f);
}

/* ---- shard alone ---- */

static dt_status *shard_alone(dt_dataset **out, const dt_dataset *in, const dt_input_share *share) {
    return dt_dataset_shard(out, in, share->workers, share->worker);
}

static void run_shard(const golden_case *c, verdict *v) {
    dt_dataset *d = NULL;

    dt_status *s = dt_dataset_range(&d, 0, number(c->in, "size"), 1);
    run_workers(v, d, s, (dt_input_share){.workers = (int)number(c->in, "num_workers")},
                shard_alone);
    dt_dataset_unref(d);
}

static void run_shard_bad(const golden_case *c, verdict *v) {
    dt_dataset *d = NULL;
    dt_status *s = dt_dataset_range(&d, 0, number(c->in, "size"), 1);

    if (!s) s = dt_dataset_shard(&d, d, number(c->in, "num_shards"), number(c->in, "index"));
    if (!s) json_decref(elements_of(d, 0, &s));
    expect_data_error(v, s);
    dt_dataset_unref(d);
}

const golden_op autoshard_ops[] = {
    {"autoshard_files", run_autoshard, NULL},
    {"autoshard_range", run_autoshard, NULL},
    {"autoshard_strings", run_autoshard, NULL},
    {"autoshard_pipeline", run_autoshard, NULL},
    {"rebatch_autoshard", run_rebatch_autoshard, NULL},
    {"distributed_dataset_workers", run_strategy, NULL},
    {"distributed_dataset_workers_files", run_strategy, NULL},
    {"dataset_shard", run_shard, NULL},
    {"dataset_shard_bad", run_shard_bad, NULL},
    {0},
};
