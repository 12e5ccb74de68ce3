/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the `dataset` mapping and checks everything that does not need files. The mapping has the
 * common keys and those of its format, so the tables of both are joined before it is read. Faults
 * are reported together, as far as possible.
 */
#include <string.h>

#include "data/data.h"
#include "data/parts.h"

enum { MOST_PREFETCH = 1024, MOST_PARALLEL = 64 };

static const char *const last_batches[] = {"partial", "drop_remainder", "pad", NULL};
const char *const dt_policy_names[] = {"auto", "file", "data", "off", "hint", NULL};

/* The common keys as they are read. `spec` has the final settings. */
struct dataset {
    dt_dataset_spec spec;
    const dt_tree *format, *map;
    int64_t buffer_size;
    bool cache, has_cache;
};

#define PART(name, index, ...)                                                                     \
    DT_KEY(TREE, name, struct dataset, spec.part[index],                                           \
           .forms = DT_FORMS(DT_FORM(DT_FIELD_TEXT), DT_FORM(DT_FIELD_TEXTS),                      \
                             DT_FORM(DT_FIELD_INT, .min = 1, .max = 1e12),                         \
                             DT_MAP_BY_NAME(DT_FORM(DT_FIELD_TEXT))),                              \
           __VA_ARGS__)
#define SPEC(kind, member, ...) DT_KEY(kind, #member, struct dataset, spec.member, __VA_ARGS__)

static const dt_field shuffle_fields[] = {
    DT_INT(struct dataset, buffer_size, .min = 1, .max = 1e15,
           .help = "accepted for compatibility; the whole epoch is always shuffled"),
    DT_KEY(BOOL, "reshuffle_each_iteration", struct dataset, spec.reshuffle, .preset = "true",
           .help = "shuffle again in every epoch"),
    DT_KEY(INT, "seed", struct dataset, spec.shuffle_seed, .min = 0, .max = 9.2e18,
           DT_SET(struct dataset, spec.own_shuffle_seed), .help = "seed; default: the job's seed"),
    DT_END};

static const dt_field split_fields[] = {
    DT_KEY(REAL, "fraction", struct dataset, spec.split.fraction, .required = true, .min = 0,
           .max = 1, .above_min = true, .below_max = true,
           .help = "fraction of `train` to use for validation"),
    DT_KEY(BOOL, "shuffle", struct dataset, spec.split.shuffle, .preset = "true",
           .help = "draw the examples, by the seed; false: the last ones"),
    DT_KEY(TEXT, "stratify", struct dataset, spec.split.stratify,
           DT_AT(struct dataset, spec.split.stratify_at),
           .help = "an element, such as the label: its values have equal shares in both parts"),
    DT_KEY(INT, "seed", struct dataset, spec.split.seed, .min = 0, .max = 9.2e18,
           DT_SET(struct dataset, spec.split.own_seed), .help = "seed; default: the job's seed"),
    DT_END};

static const dt_field fold_fields[] = {
    DT_KEY(INT, "folds", struct dataset, spec.split.folds, .required = true, .min = 2, .max = 1000,
           .help = "number of folds"),
    DT_KEY(BOOL, "shuffle", struct dataset, spec.split.shuffle, .preset = "true",
           .help = "draw the folds, by the seed; false: runs of the file's order"),
    DT_KEY(TEXT, "stratify", struct dataset, spec.split.stratify,
           DT_AT(struct dataset, spec.split.stratify_at),
           .help = "an element, such as the label: its values have equal shares in all folds"),
    DT_KEY(INT, "seed", struct dataset, spec.split.seed, .min = 0, .max = 9.2e18,
           DT_SET(struct dataset, spec.split.own_seed), .help = "seed; default: the job's seed"),
    DT_END};

static const dt_field window_fields[] = {
    DT_KEY(INT, "length", struct dataset, spec.window.length, .required = true, .min = 1,
           .max = 1e6, .help = "rows of a window that come before"),
    DT_KEY(INT, "horizon", struct dataset, spec.window.horizon, .min = 1, .max = 1e6, .preset = "1",
           .help = "rows that follow them, for the elements in `future`"),
    DT_KEY(INT, "stride", struct dataset, spec.window.stride, .min = 1, .max = 1e9, .preset = "1",
           .help = "rows from one window to the next"),
    DT_KEY(TEXT, "order", struct dataset, spec.window.order,
           DT_AT(struct dataset, spec.window.order_at),
           .help = "element that sorts the rows: numbers or dates; default: as they are stored"),
    DT_KEY(TEXT, "group", struct dataset, spec.window.group,
           DT_AT(struct dataset, spec.window.group_at),
           .help = "element that tells series apart; no window has rows of two"),
    DT_KEY(TEXTS, "future", struct dataset, spec.window.future,
           .help = "elements that hold the rows that follow; all others hold those before"),
    DT_ONE_OF(
        lags,
        DT_FORMS(DT_FIELD(MAP, struct dataset, spec.window.lags, .by_name = true,
                          .size = sizeof(dt_ints),
                          .forms = DT_FORMS(DT_FORM(DT_FIELD_INTS, .max = 1e6, .noun = "lags")))),
        .help = "{element: [1, 7]}: each row of the element holds, side by side, the values that "
                "many rows earlier in its series; 0 is the row itself"),
    DT_END};

static dt_status *refuse_cache(const dt_tree *t) {
    bool yes;
    if (t->kind != DT_TREE_SCALAR) return dt_tree_bool(t, "cache", &yes);
    return dt_fail(DT_E_DATASET_KEYS, &t->at,
                   "cache must be true or false; caching in a file is not supported, got '%s'",
                   t->text);
}

static const char *const auto_words[] = {"auto", NULL};
static const dt_field common[] = {
    DT_TREE(struct dataset, format, .forms = DT_FORMS(DT_NAMED("format")), .required = true,
            .help = "csv, jsonl, libsvm, idx, npy, tfrecord, text, image_folder, text_folder, or "
                    "synthetic (generated)"),
    PART("train", DT_PART_TRAIN,
         .help = "training data: {element: file} for idx and npy; a file, pattern or list for csv, "
                 "jsonl and tfrecord; a text file; a folder of images"),
    PART("validation", DT_PART_VALIDATION,
         .help = "validation data, given like train; for synthetic data the number of examples"),
    PART("test", DT_PART_TEST,
         .help = "test data, given like train; used by evaluate --split test"),
    DT_ONE_OF(validation_split,
              DT_FORMS(DT_KEY(REAL, "validation_split", struct dataset, spec.split.fraction,
                              .min = 0, .max = 1, .below_max = true),
                       DT_FORM(DT_FIELD_TABLE, .table = split_fields,
                               DT_SET(struct dataset, spec.split.listed))),
              .help = "fraction of `train` to use for validation: its last examples, before "
                      "shuffling; or {fraction, shuffle, stratify, seed}: drawn, of each class "
                      "alike"),
    DT_ONE_OF(validation_folds,
              DT_FORMS(DT_KEY(INT, "validation_folds", struct dataset, spec.split.folds, .min = 2,
                              .max = 1000),
                       DT_FORM(DT_FIELD_TABLE, .table = fold_fields,
                               DT_SET(struct dataset, spec.split.listed))),
              .help = "number of folds of `train`: `fit` trains a model for each, which validates "
                      "with that fold and trains on the others, and reports mean and deviation of "
                      "each metric; stratified by a target of classes; or {folds, shuffle, "
                      "stratify, seed}"),
    DT_KEY(INT, "fold", struct dataset, spec.split.fold, .min = 1, .max = 1000,
           .help = "of validation_folds the one that validates, from 1; default: each in turn"),
    DT_ONE_OF(window, DT_FORMS(DT_FORM(DT_FIELD_TABLE, .table = window_fields)),
              .help =
                  "{length, horizon, stride, order, group, future, lags}: an example is a window "
                  "of consecutive rows, as for time series"),
    DT_TREE(struct dataset, map, .forms = DT_FORMS(DT_MAP_BY_NAME(DT_LIST_OF(DT_NAMED("step")))),
            .help = "preprocessing steps for each element: cast, rescale, normalize, one_hot, "
                    "resize, random_flip, ..."),
    DT_ONE_OF(shuffle,
              DT_FORMS(SPEC(BOOL, shuffle, ), DT_FORM(DT_FIELD_TABLE, .table = shuffle_fields,
                                                      DT_SET(struct dataset, spec.shuffle))),
              .help = "true, or {reshuffle_each_iteration, seed}: shuffle the whole epoch"),
    SPEC(INT, global_batch_size, .min = 1, .max = DT_LARGEST_BATCH,
         .help = "examples per step, over all replicas"),
    SPEC(INT, per_replica_batch_size, .min = 1, .max = DT_LARGEST_BATCH,
         .help = "examples per step on each replica, instead of global_batch_size"),
    DT_INSTEAD("batch_size", "write global_batch_size (all replicas together, never multiplied) or "
                             "per_replica_batch_size"),
    DT_INSTEAD("compression", "leave it out: gzip is seen by a file's first bytes"),
    SPEC(ENUM, last_batch, .choices = last_batches,
         .help = "final, incomplete batch. partial: train on it; drop_remainder: skip it, "
                 "unless it is the only one; "
                 "pad: like partial, padded with zero-weight examples"),
    SPEC(INT, take, .min = -1, .max = 1e15, .preset = "-1",
         .help = "use only the first N examples of `train`; -1: all"),
    SPEC(INT, repeat, .min = 1, .max = 1e6, .preset = "1",
         .help = "number of passes over `train` per epoch"),
    DT_ONE_OF(cache, DT_FORMS(DT_FLAG(struct dataset, cache, DT_SET(struct dataset, has_cache))),
              .refuse = refuse_cache,
              .help = "keep decoded examples in memory; default: if they take at most 256 MiB"),
    DT_ONE_OF(prefetch,
              DT_FORMS(DT_WORDS(auto_words), SPEC(INT, prefetch, .min = 1, .max = MOST_PREFETCH)),
              .help = "number of batches to prepare ahead: auto or a number"),
    DT_ONE_OF(num_parallel_calls,
              DT_FORMS(DT_WORDS(auto_words), SPEC(INT, parallel, .min = 1, .max = MOST_PARALLEL)),
              .help =
                  "number of reading threads: auto (as many as needed, at most one per core) or "
                  "a number"),
    SPEC(ENUM, auto_shard_policy, .choices = dt_policy_names,
         .help = "how to divide the data among workers; with all but auto, results depend on "
                 "their number"),
    DT_END};

/* ---- the format and its keys ---- */

/* Refuses the keys that make no sense for examples in memory: their format is known, and they are
 * all for training (or to be split). */
static dt_status *check_held(const dt_tree *t) {
    static const char *const keys[] = {"format", "train", "validation", "test"};
    dt_status *s = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const dt_tree *value = dt_given(dt_tree_get(t, keys[i]));
        if (value)
            dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, &value->at,
                                         "the examples are in memory: leave out '%s'", keys[i]));
    }
    return s;
}

static dt_status *read_format(dt_arena *arena, const dt_tree *t, const dt_format **out) {
    const int n = dt_formats();
    const dt_kind **kinds = dt_arena_array(arena, const dt_kind *, n);
    dt_named named;
    const dt_tree *name = dt_given(dt_tree_get(t, "format"));
    if (*out) return check_held(t);
    if (!name) /* dt_fields_read reports that the key `format` is missing */
        return NULL;
    for (int i = 0; i < n; i++) kinds[i] = &dt_format_at(i)->kind;
    DT_TRY(dt_named_read_name(arena, kinds, n, "data format", name, &named));
    *out = dt_format_at(named.row);
    return NULL;
}

/* Reads all keys. If the format is unknown, the keys of all formats are accepted, since they cannot
 * be checked. */
static dt_status *read_keys(dt_arena *arena, const dt_tree *t, struct dataset *d) {
    const dt_kind all = {.fields = common, .size = sizeof *d};
    const dt_format *format = d->spec.format;
    /* If examples are in memory, the caller sets format_args, and no key is required. */
    const bool held = format && !dt_format_is_named(format);
    size_t size = 0;
    const dt_field *table = dt_fields_join(arena, NULL, &all, !held, &size);
    const size_t base = size;
    if (format) table = dt_fields_join(arena, table, &format->kind, true, &size);
    for (int i = 0; !format && i < dt_formats(); i++)
        table = dt_fields_join(arena, table, &dt_format_at(i)->kind, false, &size);
    char *both = dt_arena_alloc(arena, size);
    memcpy(both, d, sizeof *d);
    dt_status *s = dt_fields_read(arena, table, t, &t->at, "dataset", both);
    memcpy(d, both, sizeof *d);
    if (!held) d->spec.format_args = both + base;
    return s;
}

/* ---- single keys ---- */

/* Checks the batch size keys. A key `batch_size` has been refused and explained already. */
static dt_status *check_batch(const dt_tree *t) {
    const bool global = dt_given(dt_tree_get(t, "global_batch_size")),
               per_replica = dt_given(dt_tree_get(t, "per_replica_batch_size"));
    if (global && per_replica)
        return dt_fail(DT_E_BATCH_SIZE, dt_tree_key_at(t, "per_replica_batch_size"),
                       "give global_batch_size or per_replica_batch_size, not both");
    if (!global && !per_replica && !dt_tree_get(t, "batch_size"))
        return dt_fail(DT_E_BATCH_SIZE, &t->at, "dataset lacks 'global_batch_size'");
    return NULL;
}

static dt_status *check_split(const dt_tree *t, const dt_dataset_spec *spec) {
    if (spec->split.fraction > 0 && spec->part[DT_PART_VALIDATION])
        return dt_fail(DT_E_DATASET_KEYS, dt_tree_key_at(t, "validation_split"),
                       "give validation or validation_split, not both");
    if (spec->split.folds > 0 && (spec->part[DT_PART_VALIDATION] || spec->split.fraction > 0))
        return dt_fail(DT_E_DATASET_KEYS, dt_tree_key_at(t, "validation_folds"),
                       "give validation, validation_split or validation_folds, one of them");
    if (spec->split.fold > spec->split.folds)
        return dt_fail(DT_E_DATASET_KEYS, dt_tree_key_at(t, "fold"),
                       spec->split.folds > 0 ? "fold %lld is beyond the %lld of validation_folds"
                                             : "fold %lld: there is no validation_folds",
                       (long long)spec->split.fold, (long long)spec->split.folds);
    if (spec->take == 0)
        return dt_fail(DT_E_DATASET_KEYS, dt_tree_key_at(t, "take"),
                       "take must be at least 1, or -1 for all, got 0");
    return NULL;
}

/* ---- parts ---- */

/* Checks that a part has the same elements as train. */
static dt_status *compare_names(const dt_tree *t, dt_part part, const dt_texts *train,
                                const dt_texts *names) {
    dt_status *s = NULL;
    const char *name = dt_part_name(part);
    for (int i = 0; i < names->n; i++)
        if (!dt_texts_have(train, names->v[i]))
            dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, dt_tree_key_at(t, names->v[i]),
                                         "%s has '%s', but train does not", name, names->v[i]));
    for (int i = 0; i < train->n; i++)
        if (!dt_texts_have(names, train->v[i]))
            dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, &t->at,
                                         "%s lacks '%s', but train has it", name, train->v[i]));
    return s;
}

dt_format_request dt_dataset_request(const dt_dataset_spec *spec, dt_part part, dt_arena *arena) {
    return (dt_format_request){.arena = arena,
                               .tree = spec->part[part],
                               .train = spec->part[DT_PART_TRAIN],
                               .at = &spec->at,
                               .keys = spec->tree,
                               .args = spec->format_args,
                               .format = spec->format,
                               .directory = spec->directory,
                               .part = part,
                               .seed = spec->seed,
                               .checks_all = spec->checks_all,
                               .splits = dt_validation_splits(&spec->split)};
}

dt_format_request dt_dataset_request_rows(const dt_dataset_spec *spec, dt_arena *arena) {
    return (dt_format_request){.arena = arena,
                               .tree = spec->rows->path,
                               .at = &spec->at,
                               .keys = spec->tree,
                               .format = spec->rows->format,
                               .directory = "",
                               .element = spec->rows->element,
                               .n = spec->rows->n,
                               .foreign = spec->rows->format != spec->format};
}

static dt_status *check_parts(dt_arena *arena, const dt_dataset_spec *spec, dt_texts *train) {
    dt_status *s = NULL;
    for (dt_part p = 0; p < DT_PARTS; p++) {
        dt_texts names = {0};
        if (p > 0 && !spec->part[p]) continue;
        const dt_format_request r = dt_dataset_request(spec, p, arena);
        dt_status_append(&s, spec->format->check(&r, &names));
        if (p == DT_PART_TRAIN) *train = names;
        else if (train->n > 0 && names.n > 0)
            dt_status_append(&s, compare_names(spec->part[p], p, train, &names));
    }
    return s;
}

/* ---- windows ---- */

bool dt_dataset_leaves_out(const dt_dataset_spec *spec, const char *element) {
    const bool sorts = spec->window.order && strcmp(spec->window.order, element) == 0,
               groups = spec->window.group && strcmp(spec->window.group, element) == 0;
    return (sorts || groups) &&
           !dt_given(dt_tree_get(dt_given(dt_tree_get(spec->tree, "map")), element));
}

static dt_status *no_element(const char *key, const char *name, const dt_location *at,
                             const dt_texts *names) {
    dt_status *s =
        dt_fail(DT_E_DATASET_KEYS, at, "window.%s: the data has no element '%.80s'", key, name);
    return dt_suggest_nearest(s, name, names->v, names->n);
}

/* Refuses to split windows in another way than by time: at random, by `stratify` or by folds.
 * Windows overlap, so an example for validation would consist of rows that training has seen. */
static dt_status *check_window_split(const dt_tree *t, const dt_dataset_spec *spec) {
    const dt_tree *split = dt_given(dt_tree_get(t, "validation_split"));
    if (spec->split.folds > 0)
        return dt_fail(DT_E_DATASET_KEYS, dt_tree_key_at(t, "validation_folds"),
                       "windows are split by time: give validation_split or validation");
    if (!spec->split.listed || (!spec->split.shuffle && !spec->split.stratify)) return NULL;
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, &split->at,
                              "windows are split by time: they overlap, so that drawn ones would "
                              "be known from training"),
                      "write a number, or shuffle: false");
}

/* Checks the lags of one element: the element exists, and has at least one lag. Those of an element
 * in `future` must be at least the horizon, so that they do not reach the rows that are
 * predicted. */
static dt_status *check_lags(const dt_dataset_spec *spec, int which, const dt_texts *names) {
    const dt_entry *e = &spec->window.lags.entry[which];
    const dt_ints *lags = (const dt_ints *)spec->window.lags.v + which;
    const bool future = dt_texts_have(&spec->window.future, e->key);
    if (!dt_texts_have(names, e->key)) return no_element("lags", e->key, &e->key_at, names);
    if (lags->n == 0)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at, "window.lags: '%.80s' has no lags",
                       e->key);
    for (int i = 0; i < lags->n; i++)
        if (future && lags->v[i] < spec->window.horizon)
            return dt_suggest(
                dt_fail(DT_E_DATASET_KEYS, &e->value->item[i]->at,
                        "window.lags: lag %lld of '%.80s' is shorter than the horizon, so it "
                        "reaches rows that are predicted",
                        (long long)lags->v[i], e->key),
                "an element in 'future' takes lags of at least %lld",
                (long long)spec->window.horizon);
    return NULL;
}

static dt_status *check_window(const dt_tree *t, const dt_dataset_spec *spec,
                               const dt_texts *names) {
    const dt_tree *window = dt_tree_get(t, "window");
    const dt_content content = spec->format ? spec->format->content : DT_CONTENT_TABLE;
    const char *order = spec->window.order, *group = spec->window.group;
    dt_status *s = NULL;
    if (!dt_given(window)) return NULL;
    if (content == DT_CONTENT_TEXT || content == DT_CONTENT_OTHER)
        return dt_fail(DT_E_DATASET_KEYS, dt_tree_key_at(t, "window"),
                       "window needs rows of a table, which '%s' does not have",
                       spec->format->kind.name);
    if (order && !dt_texts_have(names, order))
        dt_status_append(&s, no_element("order", order, &spec->window.order_at, names));
    if (group && !dt_texts_have(names, group))
        dt_status_append(&s, no_element("group", group, &spec->window.group_at, names));
    const dt_texts *future = &spec->window.future;
    for (int i = 0; i < future->n; i++)
        if (!dt_texts_have(names, future->v[i]))
            dt_status_append(&s, no_element("future", future->v[i], &future->at[i], names));
    for (int i = 0; i < spec->window.lags.n; i++) dt_status_append(&s, check_lags(spec, i, names));
    dt_status_append(&s, check_window_split(t, spec));
    return s;
}

/* ---- the whole mapping ---- */

/* Reads the mapping. *out has directory and seed and, for examples in memory, the format and its
 * args. */
static dt_status *read_mapping(dt_arena *arena, const dt_tree *t, dt_dataset_spec *out) {
    struct dataset d = {.spec = *out};
    dt_dataset_spec *spec = &d.spec;
    dt_texts names = {0};
    DT_TRY(dt_tree_expect(t, DT_TREE_MAP, "dataset"));
    spec->tree = t;
    spec->at = t->at;
    spec->map_seed = spec->seed;
    dt_status *s = read_format(arena, t, &spec->format);
    dt_status_append(&s, read_keys(arena, t, &d));
    if (!spec->own_shuffle_seed) spec->shuffle_seed = spec->seed;
    if (!spec->split.listed) spec->split.shuffle = spec->split.folds > 0;
    if (!spec->split.own_seed) spec->split.seed = spec->seed;
    spec->window.at = dt_given(dt_tree_get(t, "window")) ? *dt_tree_key_at(t, "window") : t->at;
    dt_status_append(&s, check_batch(t));
    dt_status_append(&s, check_split(t, spec));
    if (d.has_cache) spec->cache = d.cache ? DT_CACHE_YES : DT_CACHE_NO;
    if (spec->format) dt_status_append(&s, check_parts(arena, spec, &names));
    dt_status_append(&s, dt_map_read(arena, d.map, &names, &spec->map));
    if (names.n > 0) dt_status_append(&s, check_window(t, spec, &names));
    if (!s && dt_map_by_group(spec->map) && !spec->window.group)
        s = dt_fail(DT_E_DATASET_KEYS, dt_map_by_group(spec->map),
                    "per_group needs dataset.window.group, the element that tells series apart");
    *out = *spec;
    return s;
}

dt_status *dt_dataset_read(dt_arena *arena, const dt_tree *t, const char *directory, uint64_t seed,
                           dt_dataset_spec *out) {
    *out = (dt_dataset_spec){.directory = dt_arena_strdup(arena, directory ? directory : ""),
                             .seed = seed};
    return read_mapping(arena, t, out);
}

dt_status *dt_dataset_read_held(dt_arena *arena, const dt_tree *t, const void *args,
                                dt_dataset_spec *out) {
    *out = (dt_dataset_spec){.directory = "", .format = &dt_format_held, .format_args = args};
    return read_mapping(arena, t, out);
}

const dt_field *dt_dataset_fields(void) { return common; }
