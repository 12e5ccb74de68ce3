/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How data sets are cut and handed to replicas. All cases are recorded with the original's division
 * of batches, which is DT_REBATCH_EVEN here.
 */
#include "pipelines.h"

#include <stdlib.h>
#include <string.h>

static int64_t number(const json_t *in, const char *key) {
    return json_integer_value(json_object_get(in, key));
}

static const dt_input_options as_recorded = {.rebatch = DT_REBATCH_EVEN, .no_fallback = true};

/* ---- distributing ---- */

/* Either the recorded error, wherever it comes, or spec and steps. */
static void expect_distributed(verdict *v, dt_dist_dataset *d, dt_status *s, int replicas,
                               int most) {
    const json_t *spec = json_object_get(v->c->out, "element_spec");
    json_t *steps = NULL;

    if (!s && d) steps = steps_of(d, replicas, most, &s);
    if (v->c->error) {
        expect_data_error(v, s);
        json_decref(steps);
        return;
    }
    bool ok = s == NULL;
    expect_ok(v, "distributing", s);
    if (ok && spec) expect_json(v, "element_spec", spec, json_of_spec(d, replicas), EXACT);
    if (ok) expect_json(v, "steps", json_object_get(v->c->out, "steps"), steps, EXACT);
    else json_decref(steps);
}

static dt_status *range_batch(const json_t *in, dt_dataset **d) {
    dt_status *s = dt_dataset_range(d, 0, number(in, "size"), 1);
    return s ? s
             : dt_dataset_batch(d, *d, number(in, "global_batch_size"),
                                json_is_true(json_object_get(in, "drop_remainder")));
}

static void distribute(verdict *v, dt_dataset *data, dt_status *s, const words *w) {
    dt_strategy *strategy = strategy_of(v, json_object_get(v->c->in, "strategy"));
    dt_input_options o = as_recorded;
    dt_dist_dataset *d = NULL;

    o.auto_shard_policy = w->policy;
    if (v->skipped) {
        dt_status_free(s);
        dt_strategy_unref(strategy);
        return;
    }
    if (!s && strategy && !v->differences)
        s = dt_strategy_distribute_dataset(strategy, data, &o, &d);
    if (strategy && !v->differences)
        expect_distributed(v, d, s, dt_strategy_replicas(strategy), w->first_steps);
    else dt_status_free(s);
    dt_dist_dataset_unref(d);
    dt_strategy_unref(strategy);
}

static void run_range_batch(const golden_case *c, verdict *v) {
    dt_dataset *data = NULL;
    dt_status *s = range_batch(c->in, &data);

    distribute(v, data, s, &(words){.v = v});
    dt_dataset_unref(data);
}

static void run_pipeline(const golden_case *c, verdict *v) {
    words w = {.v = v};
    dt_dataset *data = NULL;
    dt_status *s = words_build(&w, json_object_get(c->in, "pipeline"), &data);

    distribute(v, data, s, &w);
    dt_dataset_unref(data);
    words_release(&w);
}

/* Something other than a data set: in C, NULL. */
static void run_bad_dataset(const golden_case *c, verdict *v) {
    (void)c;
    distribute(v, NULL, NULL, &(words){.v = v});
}

static void run_per_replica_mode(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_dataset *data = NULL;
    dt_dist_dataset *d = NULL;

    expect_ok(v, "range", dt_dataset_range(&data, 0, 8, 1));
    expect_ok(v, "batch", dt_dataset_batch(&data, data, 4, false));
    expect_data_error(
        v, dt_strategy_distribute_dataset(
               strategy, data, &(dt_input_options){.replication_mode = DT_PER_REPLICA}, &d));
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(strategy);
}

static void run_iterated_twice(const golden_case *c, verdict *v) {
    static const char *const keys[] = {"first", "second"};
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_dataset *data = NULL;
    dt_dist_dataset *d = NULL;

    expect_ok(v, "the data set", range_batch(c->in, &data));
    expect_ok(v, "distributing", dt_strategy_distribute_dataset(strategy, data, &as_recorded, &d));
    for (int i = 0; i < 2; i++) {
        dt_status *s = NULL;
        json_t *steps = steps_of(d, dt_strategy_replicas(strategy), 0, &s);
        expect_ok(v, keys[i], s);
        expect_json(v, keys[i], json_object_get(c->out, keys[i]), steps, EXACT);
    }
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(strategy);
}

/* ---- from a function ---- */

typedef struct maker {
    words w;
    const json_t *pipeline;
    json_t *contexts; /* seen */
} maker;

static dt_status *make(const dt_input_context *c, void *user, dt_dataset **out) {
    maker *m = user;
    char text[128];

    json_array_append_new(m->contexts, json_pack("{s:i,s:i,s:i,s:s}", "num_input_pipelines",
                                                 c->num_input_pipelines, "input_pipeline_id",
                                                 c->input_pipeline_id, "num_replicas_in_sync",
                                                 c->num_replicas_in_sync, "str",
                                                 dt_input_context_text(c, text, sizeof text)));
    m->w.context = c;
    dt_status *s = words_build(&m->w, m->pipeline, out);
    m->w.context = NULL; /* the library's own */
    return s;
}

static void run_from_function(const golden_case *c, verdict *v) {
    maker m = {
        .w = {.v = v}, .pipeline = json_object_get(c->in, "dataset_fn"), .contexts = json_array()};
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_dist_dataset *d = NULL;
    dt_status *s = dt_strategy_distribute_datasets_from_function(strategy, make, &m, NULL, &d);

    if (!v->differences && !v->skipped)
        expect_distributed(v, d, s, dt_strategy_replicas(strategy), m.w.first_steps);
    else dt_status_free(s);
    if (c->out && json_object_get(c->out, "contexts"))
        expect_json(v, "contexts", json_object_get(c->out, "contexts"), json_incref(m.contexts),
                    EXACT);
    json_decref(m.contexts);
    dt_dist_dataset_unref(d);
    dt_strategy_unref(strategy);
    words_release(&m.w);
}

/* ---- the parts of it ---- */

static void run_batch_sizes(const golden_case *c, verdict *v) {
    dt_input_share share = {.workers = (int)number(c->in, "num_workers"),
                            .replicas = (int)number(c->in, "num_replicas_per_worker")};
    json_t *all = json_array();
    int64_t sizes[1024];

    for (; share.worker < share.workers && share.workers * share.replicas <= 1024; share.worker++) {
        json_t *list = json_array();
        expect_ok(v, "batch sizes",
                  dt_batch_sizes_for_worker(number(c->in, "global_batch_size"), &share, sizes));
        for (int i = 0; i < share.workers * share.replicas; i++)
            json_array_append_new(list, json_integer(sizes[i]));
        json_array_append_new(all, list);
    }
    expect_json(v, "batch_sizes_by_worker", json_object_get(c->out, "batch_sizes_by_worker"), all,
                EXACT);
}

static void expect_elements(verdict *v, dt_dataset *d, dt_status *s) {
    json_t *got = s ? NULL : elements_of(d, 0, &s);

    if (v->c->error) {
        expect_data_error(v, s);
        json_decref(got);
        return;
    }
    expect_ok(v, "rebatching", s);
    expect_json(v, "elements", json_object_get(v->c->out, "elements"), got, EXACT);
}

static dt_status *input_batches(const json_t *in, dt_dataset **d) {
    dt_status *s = dt_dataset_range(d, 0, number(in, "size"), 1);
    return s ? s : dt_dataset_batch(d, *d, number(in, "input_batch_size"), false);
}

static void run_rebatch(const golden_case *c, verdict *v) {
    const json_t *list = json_object_get(c->in, "batch_sizes");
    dt_dataset *d = NULL;
    int64_t sizes[256];
    int n = 0;

    for (; n < (int)json_array_size(list) && n < 256; n++)
        sizes[n] = json_integer_value(json_array_get(list, (size_t)n));
    dt_status *s = input_batches(c->in, &d);
    if (!s)
        s = dt_dataset_rebatch(&d, d, sizes, n,
                               json_is_true(json_object_get(c->in, "drop_remainder")));
    expect_elements(v, d, s);
    dt_dataset_unref(d);
}

static void run_rebatch_even(const golden_case *c, verdict *v) {
    dt_dataset *d = NULL;
    dt_status *s = input_batches(c->in, &d);

    if (!s) s = dt_dataset_rebatch_even(&d, d, number(c->in, "num_replicas"));
    expect_elements(v, d, s);
    dt_dataset_unref(d);
}

static void run_compute_batch_size(const golden_case *c, verdict *v) {
    words w = {.v = v, .order_free = true};
    dt_dataset *d = NULL;
    int64_t size = 0;
    dt_status *s = words_build(&w, json_object_get(c->in, "pipeline"), &d);

    if (!s && d && !v->differences && !v->skipped) s = dt_dataset_static_batch_size(d, &size);
    if (v->skipped) {
        dt_status_free(s);
    } else if (c->error) {
        expect_data_error(v, s);
    } else if (s && dt_status_number(s) == 93) {
        v->skipped = "the words describe scalars, which have no batch size; the recorded elements "
                     "were vectors of a size not told";
        dt_status_free(s);
    } else {
        expect_ok(v, "the batch size", s);
        expect_int(v, "batch_size", json_object_get(c->out, "batch_size"), size);
    }
    dt_dataset_unref(d);
    words_release(&w);
}

const golden_op distribute_dataset_ops[] = {
    {"distribute_range_batch", run_range_batch, NULL},
    {"distribute_range_batch_other_strategy", run_range_batch, NULL},
    {"distribute_pipeline", run_pipeline, NULL},
    {"distribute_from_function", run_from_function, NULL},
    {"distribute_bad_dataset", run_bad_dataset, NULL},
    {"distribute_per_replica_mode", run_per_replica_mode, NULL},
    {"iterated_twice", run_iterated_twice, NULL},
    {"batch_sizes_for_worker", run_batch_sizes, NULL},
    {"rebatch_v2", run_rebatch, NULL},
    {"rebatch_legacy", run_rebatch_even, NULL},
    {"compute_batch_size", run_compute_batch_size, NULL},
    {0},
};
