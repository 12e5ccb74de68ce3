/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of `compile`. `accuracy` means the accuracy that fits the shapes of an output and of
 * its targets, as in Keras, and keeps its short name in the history. In a model of several outputs
 * a metric's key begins with its output's name. A metric that gives several numbers, of which Keras
 * makes an array in the history, has a key for each: "f1_score_0", "f1_score_1", ...
 */
#include <string.h>

#include "model/compile.h"

double dt_mean_of_sum(const void *args, const double *sum, double examples) {
    (void)args;
    return examples != 0 ? sum[0] / examples : 0;
}

static dt_status *read_row(dt_arena *arena, const dt_tree *t, dt_named *out) {
    int n;
    const dt_kind *const *rows = dt_metrics(&n);
    return dt_named_read(arena, rows, n, "metric", t, out);
}

static const dt_fitting accuracies = {read_row, "BinaryAccuracy", "CategoricalAccuracy",
                                      "SparseCategoricalAccuracy"};

/* Returns the metric's `name` argument; NULL if it is not set or the metric has no such
 * argument. */
static const char *given_name(const dt_named *n) {
    for (const dt_field *f = n->kind->fields; f && f->kind != DT_FIELD_END; f++)
        if (strcmp(f->name, "name") == 0)
            return *(const char *const *)((const char *)n->args + f->offset);
    return NULL;
}

static dt_status *check_row(const dt_named *named) {
    const dt_metric_row *row = (const dt_metric_row *)named->kind;
    if (row->alone)
        return dt_fail(
            DT_E_METRICS, &named->at,
            "%s does not compare predictions with targets: use it in custom training loops",
            named->kind->name);
    return NULL;
}

/* The output whose metrics are being read, and the settings of `compile` that affect them. */
typedef struct owner {
    int output;
    const dt_type *type; /* type of the output; NULL: unknown */
    /* prefix of the names of this output's metrics, such as "kind_"; "" unless the model has
     * several outputs */
    const char *prefix;
    bool from_logits, weighted;
} owner;

static const char *label_of(dt_arena *arena, const dt_kind *kind) {
    const char *label = ((const dt_metric_row *)kind)->label;
    return label ? label : dt_snake_case(arena, kind->name);
}

static const char *key_of(dt_arena *arena, const dt_named *named, const owner *w) {
    const char *key = given_name(named);
    if (!key) key = named->alias ? named->written : label_of(arena, named->kind);
    return *w->prefix && *key ? dt_arena_printf(arena, "%s%s", w->prefix, key) : key;
}

static dt_status *read_metric(dt_arena *arena, const dt_tree *t, const owner *w,
                              dt_metric_use *out) {
    dt_named named;
    DT_TRY(read_row(arena, t, &named));
    DT_TRY(check_row(&named));
    const char *key = key_of(arena, &named, w);
    const bool is_named = given_name(&named) || named.alias;
    dt_location at = named.at;
    const dt_named *if_sparse = NULL;
    if (named.kind == &dt_metric_accuracy.kind)
        DT_TRY(dt_read_fitting(arena, &accuracies, w->type, &named, &if_sparse));
    const dt_metric_row *row = (const dt_metric_row *)named.kind;
    if (row->follow) row->follow(named.args, w->from_logits);
    *out = (dt_metric_use){.row = row,
                           .args = named.args,
                           .if_sparse = if_sparse,
                           .key = key,
                           .at = at,
                           .output = w->output,
                           .weighted = w->weighted,
                           .is_named = is_named};
    return NULL;
}

/* Returns the number of the metric's results for targets with the predictions' shape, which all
 * metrics with several results require; 1 if the type of the output is unknown or does not fit. */
static int count_numbers(const dt_metric_use *use, const owner *w) {
    int n = w->type ? dt_metric_width(use->row, use->args, w->type, w->type) : 1;
    return n > 0 ? n : 1; /* a mismatch is reported when the data's types are known */
}

static void name_numbers(dt_arena *arena, dt_metric_use *use, int n) {
    const char **keys = dt_arena_array(arena, const char *, n);
    for (int i = 0; i < n; i++)
        keys[i] = n == 1 ? use->key : dt_arena_printf(arena, "%s_%d", use->key, i);
    use->n = n;
    use->keys = keys;
}

static bool is_loss_key(const dt_compile_spec *c, const char *key) {
    bool is = strcmp(key, "loss") == 0;
    for (int i = 0; i < c->n_outputs; i++)
        is |= c->output[i].loss_key && strcmp(c->output[i].loss_key, key) == 0;
    return is;
}

/* Returns the index of the first of n metrics that has the key; -1: none. */
static int find_key(const dt_metric_use *use, int n, const char *key) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < use[i].n; k++)
            if (strcmp(use[i].keys[k], key) == 0) return i;
    return -1;
}

/* Renames the weighted metric i to, for example, "weighted_accuracy" if a metric before it has its
 * name, as Keras does. */
static void name_weighted(dt_arena *arena, const owner *w, dt_metric_use *use, int i) {
    bool taken = false;
    for (int k = 0; k < i; k++) taken |= strcmp(use[k].key, use[i].key) == 0;
    if (w->weighted && taken)
        use[i].key =
            dt_arena_printf(arena, "%sweighted_%s", w->prefix, use[i].key + strlen(w->prefix));
}

/* Renames metric i from, for example, "auc" to "auc_1" or the next free number if an earlier metric
 * has its name, as in Keras. A name or alias from the job is kept. */
static void name_again(dt_arena *arena, dt_metric_use *use, int i) {
    const char *first = use[i].key;
    for (int k = 1; !use[i].is_named && find_key(use, i, use[i].keys[0]) >= 0; k++) {
        use[i].key = dt_arena_printf(arena, "%s_%d", first, k);
        name_numbers(arena, &use[i], use[i].n);
    }
}

/* Refuses metric names with white space or one of the characters , < > = ! because logs and
 * --expect separate names from numbers by these. */
static dt_status *check_word(dt_arena *arena, const dt_metric_use *use, const char *key) {
    size_t bad = strcspn(key, " \t\r\n,<>=!");
    if (!key[bad]) return NULL;
    char *word = dt_arena_strdup(arena, key);
    for (size_t i = bad; word[i]; i += 1 + strcspn(word + i + 1, " \t\r\n,<>=!")) word[i] = '_';
    return dt_suggest(dt_fail(DT_E_METRICS, &use->at,
                              "invalid metric name '%.80s': --expect and logs need a single word",
                              key),
                      "write '%.80s'", word);
}

/*
 * Names that metrics must not have, because other fields of a run's output have them: fields of
 * history.jsonl, --json and record.jsonl, the first column of CSVLogger, and values that callbacks
 * add to logs or use in file names.
 */
static const char *const fields_of_lines[] = {
    "epoch",
    "step",
    "crc32c",
    "v",
    "event",
    "t",
    "steps",
    "epoch_step",
    "examples",
    "split",
    "metrics",
    "wall_s",
    "wall_ms",
    "virtual_s",
    "virtual_ms",
    "examples_per_s",
    "waited_s",
    "idle",
    "idle_reading",
    "idle_decoding",
    "idle_map",
    "peak_rss_bytes",
    "device_peak_bytes",
    "n",
    "loss_min",
    "loss_max",
    "seconds",
    "learning_rate",
    "batch",
    "steps_per_second",
};

static bool is_field(const char *key) {
    for (size_t i = 0; i < sizeof fields_of_lines / sizeof *fields_of_lines; i++)
        if (strcmp(fields_of_lines[i], key) == 0) return true;
    return false;
}

static dt_status *check_key(const dt_compile_spec *c, const dt_metric_use *use, int i,
                            const char *key) {
    int other = find_key(use, i, key);
    if (other >= 0)
        return dt_suggest(dt_fail(DT_E_METRICS, &use[i].at,
                                  "'%s' is already the name of metrics[%d]", key, other),
                          "give one of the two another name: {%s: {name: ...}}",
                          use[i].row->kind.name);
    if (is_loss_key(c, key) || strncmp(key, "val_", 4) == 0 || !*key)
        return dt_fail(DT_E_METRICS, &use[i].at,
                       "metric name '%s' is reserved: the history uses it", key);
    if (is_field(key))
        return dt_fail(DT_E_METRICS, &use[i].at,
                       "metric name '%s' is reserved: a field of the run's log has that name", key);
    return NULL;
}

static dt_status *check_numbers(const dt_metric_use *use, int before) {
    if (before + use->n <= DT_MAX_NUMBERS) return NULL;
    return dt_suggest(dt_fail(DT_E_METRICS, &use->at,
                              "%s returns %d numbers; all metrics together may return at most %d",
                              use->row->kind.name, use->n, DT_MAX_NUMBERS),
                      "use a single threshold, or average over classes");
}

/* ---- lists ---- */

typedef struct list {
    dt_arena *arena;
    dt_compile_spec *c;
    dt_metric_use *use;
    const char *what; /* name of the key whose list is read, such as "metrics" */
    bool weighted;
} list;

static int numbers_before(const dt_compile_spec *c, const dt_metric_use *use) {
    int n = 0;
    for (int i = 0; i < c->n_metrics; i++) n += use[i].n;
    return n;
}

static dt_status *add_metric(const list *l, const dt_tree *t, const owner *w) {
    dt_compile_spec *c = l->c;
    if (c->n_metrics == DT_MAX_METRICS)
        return dt_fail(DT_E_RANGE, &t->at, "metrics must be at most %d", DT_MAX_METRICS);
    DT_TRY(read_metric(l->arena, t, w, &l->use[c->n_metrics]));
    dt_metric_use *use = &l->use[c->n_metrics];
    name_weighted(l->arena, w, l->use, c->n_metrics);
    name_numbers(l->arena, use, count_numbers(use, w));
    name_again(l->arena, l->use, c->n_metrics);
    DT_TRY(check_word(l->arena, use, use->key));
    DT_TRY(check_numbers(use, numbers_before(c, l->use)));
    for (int k = 0; k < use->n; k++) DT_TRY(check_key(c, l->use, c->n_metrics, use->keys[k]));
    c->n_metrics++;
    return NULL;
}

static dt_status *add_list(const list *l, const dt_tree *t, const owner *w) {
    dt_status *faults = NULL;
    if (t->kind != DT_TREE_LIST) return add_metric(l, t, w);
    for (int i = 0; i < t->n; i++)
        if (dt_given(t->item[i])) dt_status_append(&faults, add_metric(l, t->item[i], w));
    return faults;
}

static owner owner_of(const list *l, const dt_outputs *o, int i) {
    const dt_named *loss = &l->c->output[i].loss;
    return (owner){.output = i,
                   .type = o->n ? &o->v[i].type : NULL,
                   .prefix = o->n > 1 ? dt_arena_printf(l->arena, "%s_", o->v[i].name) : "",
                   .from_logits = dt_loss_takes_logits(loss),
                   .weighted = l->weighted};
}

static dt_status *add_by_output(const list *l, const dt_tree *t, const dt_outputs *o) {
    const dt_tree *of[DT_MAX_OUTPUTS];
    DT_TRY(dt_by_output(o, t, l->what, of));
    dt_status *faults = NULL;
    for (int i = 0; i < o->n; i++) {
        const owner w = owner_of(l, o, i);
        if (dt_given(of[i])) dt_status_append(&faults, add_list(l, of[i], &w));
    }
    return faults;
}

static dt_status *add_all(const list *l, const dt_tree *t, const dt_outputs *o) {
    int n;
    const dt_kind *const *rows = dt_metrics(&n);
    if (o->n > 1 || (o->n == 1 && dt_is_by_output(o, t, rows, n))) return add_by_output(l, t, o);
    if (o->n == 0 && t->kind == DT_TREE_MAP)
        /* If the model has errors, its outputs are unknown and nothing can be checked. */
        return NULL;
    DT_TRY(dt_tree_expect(t, DT_TREE_LIST, l->what));
    const owner w = owner_of(l, o, 0);
    return add_list(l, t, &w);
}

dt_status *dt_compile_read_metrics(dt_arena *arena, const dt_compile_trees *t, const dt_outputs *o,
                                   dt_compile_spec *out) {
    dt_metric_use *use = dt_arena_array(arena, dt_metric_use, DT_MAX_METRICS);
    const list plain = {arena, out, use, "metrics", false},
               weighted = {arena, out, use, "weighted_metrics", true};
    out->metric = use;
    dt_status *faults = dt_given(t->metrics) ? add_all(&plain, t->metrics, o) : NULL;
    if (dt_given(t->weighted_metrics))
        dt_status_append(&faults, add_all(&weighted, t->weighted_metrics, o));
    return faults;
}
