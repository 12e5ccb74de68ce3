/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets: of files or of memory, as a job has them; cut for replicas by distribution; and as pipelines of transformations.
 */
#ifndef DTRAIN_DATA_H
#define DTRAIN_DATA_H

#include "strategy.h"

DT_BEGIN_C

/* ---- data --------------------------------------------------------------------------------------------------------- */

typedef struct dt_dataset dt_dataset;

/* "{format: npy, train: {image: x.npy, label: y.npy}, global_batch_size: 64}", keys as in the job file's `dataset`. */
DT_API dt_status *dt_dataset_open(dt_dataset **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
/* The same for examples in memory: single tensors (examples, ...), which are copied. "{global_batch_size: 64, shuffle: true}", keys as above
 * without `format` and the parts; validation_split divides. InvalidArgumentError where the numbers of examples differ. */
DT_API dt_status *dt_dataset_from_values(dt_dataset **out, const dt_values *examples, const char *format, ...) DT_CHECKED DT_FORMAT(3, 4);
DT_API void dt_dataset_unref(dt_dataset *d);
DT_API int64_t dt_dataset_examples(const dt_dataset *d); /* of the training part */
DT_API int64_t dt_dataset_batch_size(const dt_dataset *d); /* global */

typedef struct dt_dist_dataset dt_dist_dataset;
typedef struct dt_iterator dt_iterator;

/* How workers share what is read. AUTO: FILE where files are read, else DATA. */
typedef enum dt_auto_shard_policy {
    DT_AUTO_SHARD_AUTO, DT_AUTO_SHARD_FILE, DT_AUTO_SHARD_DATA, DT_AUTO_SHARD_OFF, DT_AUTO_SHARD_HINT
} dt_auto_shard_policy;
/*
 * How batches are cut. GLOBAL: by the global batch size, each replica's part as large as in a full batch until the rows are used up (6
 * rows of 8 on 2 replicas: 4 and 2), as documented. EVEN: under AUTO and DATA each batch into equal parts (3 and 3), as the original does.
 */
typedef enum dt_rebatch { DT_REBATCH_GLOBAL, DT_REBATCH_EVEN } dt_rebatch;
typedef enum dt_replication_mode { DT_PER_WORKER, DT_PER_REPLICA } dt_replication_mode;
/* tf.distribute.InputOptions and the auto-shard options; all 0 is the default. */
typedef struct dt_input_options {
    dt_auto_shard_policy auto_shard_policy;
    dt_rebatch rebatch;
    dt_replication_mode replication_mode; /* DT_PER_REPLICA: of dt_strategy_distribute_datasets_from_function only */
    int workers;      /* virtual workers that the replicas are divided among, evenly; 0: as many as the strategy has */
    bool no_fallback; /* AUTO with fewer files than workers is an error, as FILE is; else it becomes DATA */
} dt_input_options;
/*
 * Batches of a data set, cut for the replicas. Each step takes a piece for every replica from its worker's share; a replica for which
 * there is none gets no rows, except where all shapes are known or the data is endless: then only full steps are given. An element
 * without batch dimension is an error on more than one replica. What comes out is no data set: transformations stand before the
 * distribution. Options may be NULL.
 *
 * The options hold for a job's data set (dt_dataset_open), too, with two differences: AUTO is what its own auto_shard_policy says, and that is the
 * order of one process however many workers there are, with every batch cut among all replicas; HINT shares nothing, since there is no place for a
 * hint. Its `prefetch` says how much is read ahead.
 */
DT_API dt_status *dt_strategy_distribute_dataset(dt_strategy *s, dt_dataset *data, const dt_input_options *options,
                                                 dt_dist_dataset **out) DT_CHECKED;
/* Which input pipeline a function makes. */
typedef struct dt_input_context {
    int num_input_pipelines, input_pipeline_id; /* workers (or replicas), counted from 0 */
    int num_replicas_in_sync;
} dt_input_context;
/* global / num_replicas_in_sync; an error when that leaves a rest. */
DT_API dt_status *dt_input_context_per_replica_batch_size(const dt_input_context *c, int64_t global_batch_size, int64_t *out) DT_CHECKED;
/* "tf.distribute.InputContext(input pipeline id 0, total: 1)" into text[size]; returns text. */
DT_API char *dt_input_context_text(const dt_input_context *c, char *text, size_t size);
/*
 * Calls fn once per worker (per replica with DT_PER_REPLICA) for a data set of its own, batched per replica and sharded by fn: nothing
 * is cut or shared. Each step takes one element per replica. *out of fn is NULL at first; the data set becomes the library's.
 */
typedef dt_status *(*dt_dataset_fn)(const dt_input_context *c, void *user, dt_dataset **out);
DT_API dt_status *dt_strategy_distribute_datasets_from_function(dt_strategy *s, dt_dataset_fn fn, void *user,
                                                                const dt_input_options *options, dt_dist_dataset **out) DT_CHECKED;
DT_API void dt_dist_dataset_unref(dt_dist_dataset *d);
/* What was decided: "data: 1 file for 2 workers, so each reads all of it and keeps its part"; lent. */
DT_API const char *dt_dist_dataset_sharding(const dt_dist_dataset *d);
/* Each iterator made from a data set is one epoch further (the shuffle differs, as with reshuffle_each_iteration). */
DT_API dt_status *dt_iterator_create(dt_iterator **out, dt_dist_dataset *data) DT_CHECKED;
/* The next batch, one value per replica and element; *batch becomes NULL at the end, which is no error. Not within a step function. */
DT_API dt_status *dt_iterator_next(dt_iterator *it, dt_values **batch) DT_CHECKED;
DT_API void dt_iterator_unref(dt_iterator *it);

/* ---- pipelines ---------------------------------------------------------------------------------------------------- */

/*
 * Data sets in tf.data's words: each function describes a transformation of another data set and reads nothing yet. Descriptions are
 * never changed; they may be built upon and iterated any number of times. The new handle replaces *out, which may be the input's own:
 *
 *     DT_GO(s, dt_dataset_range(&d, 0, 8, 1));
 *     DT_GO(s, dt_dataset_batch(&d, d, 4, false));
 *
 * An element has named components, each a tensor: "value" where there is one without a name, "0", "1", ... in tuples.
 */

/* What is known of a component of all elements. */
typedef struct dt_spec {
    const char *name;  /* lent by the data set */
    dt_dtype dtype;
    int rank;
    int64_t shape[8];  /* -1: unknown, or not the same in all elements */
} dt_spec;
DT_API int dt_dataset_components(const dt_dataset *d);
/* element_spec: component i, false when there is none. Of a distributed data set: what each replica gets. */
DT_API bool dt_dataset_element_spec(const dt_dataset *d, int i, dt_spec *out);
DT_API int dt_dist_dataset_components(const dt_dist_dataset *d);
DT_API bool dt_dist_dataset_element_spec(const dt_dist_dataset *d, int i, dt_spec *out);
#define DT_INFINITE_CARDINALITY (-1)
#define DT_UNKNOWN_CARDINALITY (-2)
DT_API int64_t dt_dataset_cardinality(const dt_dataset *d);
/* Rows of each element as far as they are known without reading: -1 when not; an error when elements are scalars. */
DT_API dt_status *dt_dataset_static_batch_size(const dt_dataset *d, int64_t *size) DT_CHECKED;
/* Elements of the data set itself, each component one tensor. */
DT_API dt_status *dt_dataset_iterate(dt_iterator **out, dt_dataset *d) DT_CHECKED;

/* Sources. */
DT_API dt_status *dt_dataset_range(dt_dataset **out, int64_t start, int64_t stop, int64_t step) DT_CHECKED; /* int64 scalars */
DT_API dt_status *dt_dataset_from_tensors(dt_dataset **out, const dt_values *v) DT_CHECKED;        /* one element */
DT_API dt_status *dt_dataset_from_tensor_slices(dt_dataset **out, const dt_values *v) DT_CHECKED;  /* one per row */
/* Names of files, sorted: names and patterns of the shell; one that matches nothing is an error, an incomplete set of shards too. */
DT_API dt_status *dt_dataset_list_files(dt_dataset **out, const char *const *patterns, int n) DT_CHECKED;
/* Records of the files that `names` gives, each a vector of bytes (uint8). TFRecords are checked, and may be compressed by gzip or zlib. */
typedef enum dt_file_kind { DT_TFRECORD, DT_TEXT_LINES, DT_FIXED_LENGTH } dt_file_kind;
typedef struct dt_file_options {
    dt_file_kind kind;
    int64_t record_bytes, header_bytes, footer_bytes; /* DT_FIXED_LENGTH */
    int64_t cycle_length, block_length;               /* files read in turn, records of each; 0: 1 */
} dt_file_options;
DT_API dt_status *dt_dataset_read_files(dt_dataset **out, const dt_dataset *names, const dt_file_options *options) DT_CHECKED;
/* list_files and read_files in one. */
DT_API dt_status *dt_dataset_tfrecord(dt_dataset **out, const char *const *files, int n) DT_CHECKED;
DT_API dt_status *dt_dataset_text_lines(dt_dataset **out, const char *const *files, int n) DT_CHECKED;

/* Records that are tf.Examples: the named features' values. int64_list goes with integer dtypes, float_list with floats, bytes_list (one
 * string) with uint8; a shape (-1) takes as many values as come. */
DT_API dt_status *dt_dataset_parse_example(dt_dataset **out, const dt_dataset *in, const dt_spec *features, int n) DT_CHECKED;

/* Batches. */
DT_API dt_status *dt_dataset_batch(dt_dataset **out, const dt_dataset *in, int64_t size, bool drop_remainder) DT_CHECKED;
/* Elements of different sizes are filled up with zeros to the largest of the batch. */
DT_API dt_status *dt_dataset_padded_batch(dt_dataset **out, const dt_dataset *in, int64_t size, bool drop_remainder) DT_CHECKED;
DT_API dt_status *dt_dataset_unbatch(dt_dataset **out, const dt_dataset *in) DT_CHECKED;
/* The rows of all elements cut anew by sizes[n] in turn; or each element into n parts, the first ones ceil(rows / n) long. */
DT_API dt_status *dt_dataset_rebatch(dt_dataset **out, const dt_dataset *in, const int64_t *sizes, int n, bool drop_remainder) DT_CHECKED;
DT_API dt_status *dt_dataset_rebatch_even(dt_dataset **out, const dt_dataset *in, int64_t n) DT_CHECKED;

/* Which elements, in which order. A count of -1: for ever, all. */
DT_API dt_status *dt_dataset_repeat(dt_dataset **out, const dt_dataset *in, int64_t count) DT_CHECKED;
DT_API dt_status *dt_dataset_take(dt_dataset **out, const dt_dataset *in, int64_t count) DT_CHECKED;
DT_API dt_status *dt_dataset_skip(dt_dataset **out, const dt_dataset *in, int64_t count) DT_CHECKED;
/* Draws from a buffer of buffer_size elements, by (seed, iteration) alone. */
DT_API dt_status *dt_dataset_shuffle(dt_dataset **out, const dt_dataset *in, int64_t buffer_size, uint64_t seed,
                                     bool reshuffle_each_iteration) DT_CHECKED;
/* num_shards: where the auto-shard policy HINT puts the worker's share. */
#define DT_SHARD_HINT (-1)
DT_API dt_status *dt_dataset_shard(dt_dataset **out, const dt_dataset *in, int64_t num_shards, int64_t index) DT_CHECKED;
DT_API dt_status *dt_dataset_concatenate(dt_dataset **out, const dt_dataset *first, const dt_dataset *second) DT_CHECKED;
/* Side by side, as long as all last; components "0", "1", ..., or "0/name". enumerate: "0" counts. */
DT_API dt_status *dt_dataset_zip(dt_dataset **out, const dt_dataset *const *in, int n) DT_CHECKED;
DT_API dt_status *dt_dataset_enumerate(dt_dataset **out, const dt_dataset *in, int64_t start) DT_CHECKED;
DT_API dt_status *dt_dataset_prefetch(dt_dataset **out, const dt_dataset *in, int64_t buffer_size) DT_CHECKED;

/* C functions of the caller's; `user` must outlive the data set and its iterators. The first error ends the iteration. */
typedef dt_status *(*dt_filter_fn)(const dt_values *element, void *user, bool *keep);
DT_API dt_status *dt_dataset_filter(dt_dataset **out, const dt_dataset *in, dt_filter_fn fn, void *user) DT_CHECKED;
/* fn sets the components of `result`, which is empty at first. */
typedef dt_status *(*dt_map_fn)(const dt_values *element, void *user, dt_values *result);
typedef struct dt_map_options {
    dt_map_fn fn;
    void *user;
    const dt_spec *spec; /* (n_spec) of the results; NULL: as the input's */
    int n_spec;
} dt_map_options;
DT_API dt_status *dt_dataset_map(dt_dataset **out, const dt_dataset *in, const dt_map_options *options) DT_CHECKED;
/* fn makes a data set of each element; their elements follow each other, cycle_length of them open at a time. */
typedef dt_status *(*dt_expand_fn)(const dt_values *element, void *user, dt_dataset **result);
typedef struct dt_interleave_options {
    dt_expand_fn fn;
    void *user;
    const dt_spec *spec; /* (n_spec) of the elements of those data sets */
    int n_spec;
    int64_t cycle_length, block_length; /* 0: 1, which is flat_map */
} dt_interleave_options;
DT_API dt_status *dt_dataset_interleave(dt_dataset **out, const dt_dataset *in, const dt_interleave_options *options) DT_CHECKED;

/*
 * The rows of all elements of a pipeline, read once into memory: a data set for dt_model_fit, evaluate and predict, which cut and shuffle it
 * themselves. Keys as in dt_dataset_from_values: "{global_batch_size: 64, shuffle: true}".
 */
DT_API dt_status *dt_dataset_collect(dt_dataset **out, dt_dataset *in, const char *format, ...) DT_CHECKED DT_FORMAT(3, 4);

/* One worker's share, as distribution makes it. */
typedef struct dt_input_share {
    int workers, replicas, worker; /* replicas: of each worker; worker: which, from 0 */
    dt_input_options options;      /* auto_shard_policy, rebatch, no_fallback */
} dt_input_share;
/* Only shared (replicas is not looked at); or also cut for the replicas. */
DT_API dt_status *dt_dataset_auto_shard(dt_dataset **out, const dt_dataset *in, const dt_input_share *share) DT_CHECKED;
DT_API dt_status *dt_dataset_for_worker(dt_dataset **out, const dt_dataset *in, const dt_input_share *share) DT_CHECKED;
/* sizes[workers * replicas]: the rows of its pieces in turn, for a global batch. */
DT_API dt_status *dt_batch_sizes_for_worker(int64_t global_batch_size, const dt_input_share *share, int64_t *sizes) DT_CHECKED;

DT_END_C

#endif
