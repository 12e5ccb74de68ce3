/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets: from files or memory, as in a job; distributed to replicas; and as pipelines of
 * transformations.
 */
#ifndef DTRAIN_DATA_H
#define DTRAIN_DATA_H

#include "strategy.h"

DT_BEGIN_C

/* ---- data ---- */

typedef struct dt_dataset dt_dataset;

/* Opens a job's data set, with keys as in the job file's `dataset`: "{format: npy, train: {image:
 * x.npy, label: y.npy}, global_batch_size: 64}". */
DT_API dt_status *dt_dataset_open(dt_dataset **out, const char *format, ...) DT_CHECKED
    DT_FORMAT(2, 3);
/* Opens a data set of examples in memory: single tensors of shape (examples, ...), which the data
 * set shares. Keys as above without `format` and the parts: "{global_batch_size: 64, shuffle:
 * true}"; validation_split sets examples aside. InvalidArgumentError: the tensors differ in their
 * number of examples. */
DT_API dt_status *dt_dataset_from_values(dt_dataset **out, const dt_values *examples,
                                         const char *format, ...) DT_CHECKED DT_FORMAT(3, 4);
DT_API void dt_dataset_unref(dt_dataset *d);
/* number of training examples; of a pipeline, its cardinality */
DT_API int64_t dt_dataset_examples(const dt_dataset *d);
/* the global batch size, 0 with per_replica_batch_size before the first use; of a pipeline, what
 * dt_dataset_static_batch_size returns, 0 if that is an error */
DT_API int64_t dt_dataset_batch_size(const dt_dataset *d);

typedef struct dt_dist_dataset dt_dist_dataset;
typedef struct dt_iterator dt_iterator;

/* How the data is divided among workers. AUTO: FILE if the pipeline reads files, otherwise DATA. */
typedef enum dt_auto_shard_policy {
    DT_AUTO_SHARD_AUTO,
    DT_AUTO_SHARD_FILE,
    DT_AUTO_SHARD_DATA,
    DT_AUTO_SHARD_OFF,
    DT_AUTO_SHARD_HINT
} dt_auto_shard_policy;
/*
 * How batches are divided among replicas. GLOBAL: each replica gets as many rows as in a full batch
 * until the rows run out, as TensorFlow documents it: a last batch of 6 rows with batch size 8 on 2
 * replicas gives 4 and 2. EVEN: each batch is divided by the number of its own rows (3 and 3), as
 * TensorFlow does it: of b rows, each of n replicas gets ceil(b / n) until they run out. EVEN
 * affects only DATA, and AUTO unless that chooses FILE or OFF; a pipeline whose batch size is not
 * known is always divided so.
 */
typedef enum dt_rebatch { DT_REBATCH_GLOBAL, DT_REBATCH_EVEN } dt_rebatch;
typedef enum dt_replication_mode { DT_PER_WORKER, DT_PER_REPLICA } dt_replication_mode;
/* tf.distribute.InputOptions and the auto-shard options. All fields 0: the defaults. */
typedef struct dt_input_options {
    dt_auto_shard_policy auto_shard_policy;
    dt_rebatch rebatch;
    /* DT_PER_REPLICA: for dt_strategy_distribute_datasets_from_function only */
    dt_replication_mode replication_mode;
    /* number of virtual workers that feed the replicas, an error unless it divides the number of
     * replicas; 0: dt_strategy_input_workers */
    int workers;
    /* whether AUTO fails if there are fewer files than workers, as FILE does; false: AUTO then
     * divides as DATA does */
    bool no_fallback;
} dt_input_options;
/*
 * Distributes the batches of a data set to the replicas. In each step, every replica gets a tile of
 * a batch from its worker's share. If no tile is left for a replica, it gets no rows. If all shapes
 * are known or the data is endless, only full steps are returned. With more than one replica,
 * elements without a batch dimension are an error. The result cannot be transformed further, so
 * apply transformations before you distribute. options may be NULL.
 *
 * The options also apply to a job's data set (dt_dataset_open), with two differences. AUTO follows
 * the data set's own auto_shard_policy, which by default reads in the order of a single process for
 * any number of workers and divides every batch among all replicas. HINT divides nothing, because a
 * job has no position for the hint. The data set's `prefetch` sets how much is read ahead.
 */
DT_API dt_status *dt_strategy_distribute_dataset(dt_strategy *s, dt_dataset *data,
                                                 const dt_input_options *options,
                                                 dt_dist_dataset **out) DT_CHECKED;
/* The context in which a function creates an input pipeline. */
typedef struct dt_input_context {
    /* the number of workers (or replicas), and the number of this one, from 0 */
    int num_input_pipelines, input_pipeline_id;
    int num_replicas_in_sync;
} dt_input_context;
/* global_batch_size / num_replicas_in_sync. An error if it is not an integer. */
DT_API dt_status *dt_input_context_per_replica_batch_size(const dt_input_context *c,
                                                          int64_t global_batch_size,
                                                          int64_t *out) DT_CHECKED;
/* Writes "tf.distribute.InputContext(input pipeline id 0, total: 1)" to text[size]; returns
 * `text`. */
DT_API char *dt_input_context_text(const dt_input_context *c, char *text, size_t size);
/*
 * Calls fn once per worker (with DT_PER_REPLICA, once per replica) to create that worker's data
 * set. fn must shard it and batch it by the per-replica batch size: each step takes one element per
 * replica and divides nothing. fn gets *out as NULL and sets it; the library takes ownership.
 */
typedef dt_status *(*dt_dataset_fn)(const dt_input_context *c, void *user, dt_dataset **out);
DT_API dt_status *dt_strategy_distribute_datasets_from_function(dt_strategy *s, dt_dataset_fn fn,
                                                                void *user,
                                                                const dt_input_options *options,
                                                                dt_dist_dataset **out) DT_CHECKED;
DT_API void dt_dist_dataset_unref(dt_dist_dataset *d);
/* How the data is sharded: "data: 1 file for 2 workers, so each reads everything and keeps its
 * share"; lent. */
DT_API const char *dt_dist_dataset_sharding(const dt_dist_dataset *d);
/* Creates an iterator. Each new iterator of a data set is the next epoch. Data that is reshuffled
 * for each iteration then has another order. */
DT_API dt_status *dt_iterator_create(dt_iterator **out, dt_dist_dataset *data) DT_CHECKED;
/* The next batch: an entry per component, with a value per replica or, from an iterator of
 * dt_dataset_iterate, a single tensor. At the end *batch becomes NULL, which is not an error. Not
 * in a step function. */
DT_API dt_status *dt_iterator_next(dt_iterator *it, dt_values **batch) DT_CHECKED;
DT_API void dt_iterator_unref(dt_iterator *it);

/* ---- pipelines ---- */

/*
 * Data sets as in tf.data. Each function describes a transformation of another data set and reads
 * nothing yet. Descriptions are immutable; you can build on them and iterate them any number of
 * times. The new handle replaces *out, which may be the input's own:
 *
 *     DT_GO(s, dt_dataset_range(&d, 0, 8, 1));
 *     DT_GO(s, dt_dataset_batch(&d, d, 4, false));
 *
 * An element has named components, each a tensor. A single unnamed component is called "value";
 * those of tuples are "0", "1", ...
 */

/* What is known about one component in all elements. */
typedef struct dt_spec {
    const char *name; /* lent by the data set */
    dt_dtype dtype;
    int rank;
    int64_t shape[8]; /* -1: the size is unknown, or differs between elements */
} dt_spec;
DT_API int dt_dataset_components(const dt_dataset *d);
/* element_spec: component i; false: no such component. For a distributed data set, the components
 * that each replica gets. */
DT_API bool dt_dataset_element_spec(const dt_dataset *d, int i, dt_spec *out);
DT_API int dt_dist_dataset_components(const dt_dist_dataset *d);
DT_API bool dt_dist_dataset_element_spec(const dt_dist_dataset *d, int i, dt_spec *out);
#define DT_INFINITE_CARDINALITY (-1)
#define DT_UNKNOWN_CARDINALITY (-2)
DT_API int64_t dt_dataset_cardinality(const dt_dataset *d);
/* The number of rows of each element (the size of its first dimension), except perhaps of the last
 * ones, if it is known without reading, otherwise -1. It is an error if elements are scalars. */
DT_API dt_status *dt_dataset_static_batch_size(const dt_dataset *d, int64_t *size) DT_CHECKED;
/* Iterates a pipeline; each component is a single tensor. It is an error for data sets of
 * dt_dataset_open and dt_dataset_from_values, which must be distributed first. */
DT_API dt_status *dt_dataset_iterate(dt_iterator **out, dt_dataset *d) DT_CHECKED;

/* range: int64 scalars from start up to stop (excluded) in steps of `step`. from_tensors: a single
 * element, which has the tensors. from_tensor_slices: an element for each index of the tensors'
 * first dimension. */
DT_API dt_status *dt_dataset_range(dt_dataset **out, int64_t start, int64_t stop,
                                   int64_t step) DT_CHECKED;
DT_API dt_status *dt_dataset_from_tensors(dt_dataset **out, const dt_values *v) DT_CHECKED;
DT_API dt_status *dt_dataset_from_tensor_slices(dt_dataset **out, const dt_values *v) DT_CHECKED;
/* The names of files, from names and shell patterns, sorted within each pattern. It is an error if
 * a pattern matches nothing, or if a set of shards is incomplete. */
DT_API dt_status *dt_dataset_list_files(dt_dataset **out, const char *const *patterns,
                                        int n) DT_CHECKED;
/* The records of the files listed by `names`, each a vector of bytes (uint8). The checksums of
 * TFRecords are verified; files may be compressed with gzip or zlib. */
typedef enum dt_file_kind { DT_TFRECORD, DT_TEXT_LINES, DT_FIXED_LENGTH } dt_file_kind;
typedef struct dt_file_options {
    dt_file_kind kind;
    int64_t record_bytes, header_bytes, footer_bytes; /* sizes in bytes for DT_FIXED_LENGTH */
    /* how many files are read in turn, and how many records from each at a time; 0: 1 */
    int64_t cycle_length, block_length;
} dt_file_options;
DT_API dt_status *dt_dataset_read_files(dt_dataset **out, const dt_dataset *names,
                                        const dt_file_options *options) DT_CHECKED;
/* dt_dataset_list_files and dt_dataset_read_files in one call. */
DT_API dt_status *dt_dataset_tfrecord(dt_dataset **out, const char *const *files, int n) DT_CHECKED;
DT_API dt_status *dt_dataset_text_lines(dt_dataset **out, const char *const *files,
                                        int n) DT_CHECKED;

/* Parses records that are tf.Examples into the given features[n]. int64_list requires an integer
 * dtype, float_list a float, and bytes_list (a single string) uint8. Shape (-1) accepts any number
 * of values. */
DT_API dt_status *dt_dataset_parse_example(dt_dataset **out, const dt_dataset *in,
                                           const dt_spec *features, int n) DT_CHECKED;

/* Groups `size` consecutive elements of the same shape into a batch. drop_remainder leaves out a
 * final, incomplete batch. */
DT_API dt_status *dt_dataset_batch(dt_dataset **out, const dt_dataset *in, int64_t size,
                                   bool drop_remainder) DT_CHECKED;
/* Pads elements of different sizes with zeros to the largest of the batch. */
DT_API dt_status *dt_dataset_padded_batch(dt_dataset **out, const dt_dataset *in, int64_t size,
                                          bool drop_remainder) DT_CHECKED;
DT_API dt_status *dt_dataset_unbatch(dt_dataset **out, const dt_dataset *in) DT_CHECKED;
/*
 * Regroups the rows of all elements (along their first dimension) into batches of sizes[0],
 * sizes[1], ..., sizes[n - 1] rows, repeatedly. rebatch_even divides each element into n parts of
 * ceil(rows / n) rows, until its rows are used up: 6 rows in 4 parts are 2, 2, 2 and 0.
 */
DT_API dt_status *dt_dataset_rebatch(dt_dataset **out, const dt_dataset *in, const int64_t *sizes,
                                     int n, bool drop_remainder) DT_CHECKED;
DT_API dt_status *dt_dataset_rebatch_even(dt_dataset **out, const dt_dataset *in,
                                          int64_t n) DT_CHECKED;

/* repeat: all elements `count` times (-1: forever). take: only the first `count` elements (-1:
 * all). skip: all but the first `count` elements (-1: leaves none). */
DT_API dt_status *dt_dataset_repeat(dt_dataset **out, const dt_dataset *in,
                                    int64_t count) DT_CHECKED;
DT_API dt_status *dt_dataset_take(dt_dataset **out, const dt_dataset *in, int64_t count) DT_CHECKED;
DT_API dt_status *dt_dataset_skip(dt_dataset **out, const dt_dataset *in, int64_t count) DT_CHECKED;
/* Takes elements at random from a buffer of buffer_size elements. For the same input and
 * buffer_size, the order depends only on the seed and, with reshuffle_each_iteration, the number of
 * the iteration. */
DT_API dt_status *dt_dataset_shuffle(dt_dataset **out, const dt_dataset *in, int64_t buffer_size,
                                     uint64_t seed, bool reshuffle_each_iteration) DT_CHECKED;
/* In place of num_shards: marks the position at which the auto-shard policy HINT takes the worker's
 * share. */
#define DT_SHARD_HINT (-1)
DT_API dt_status *dt_dataset_shard(dt_dataset **out, const dt_dataset *in, int64_t num_shards,
                                   int64_t index) DT_CHECKED;
DT_API dt_status *dt_dataset_concatenate(dt_dataset **out, const dt_dataset *first,
                                         const dt_dataset *second) DT_CHECKED;
/* Combines elements side by side, until the shortest data set ends. The components of in[0] are
 * called "0", or "0/name" if they have names, those of in[1] "1" or "1/name", and so on. enumerate
 * zips a counter from `start` on, which is "0", with the elements. */
DT_API dt_status *dt_dataset_zip(dt_dataset **out, const dt_dataset *const *in, int n) DT_CHECKED;
DT_API dt_status *dt_dataset_enumerate(dt_dataset **out, const dt_dataset *in,
                                       int64_t start) DT_CHECKED;
DT_API dt_status *dt_dataset_prefetch(dt_dataset **out, const dt_dataset *in,
                                      int64_t buffer_size) DT_CHECKED;

/* Keeps the elements for which fn sets *keep. Here, in dt_dataset_map and in dt_dataset_interleave,
 * fn is your C function: `user` must outlive the data set and its iterators, and the first error
 * from fn ends the iteration. */
typedef dt_status *(*dt_filter_fn)(const dt_values *element, void *user, bool *keep);
DT_API dt_status *dt_dataset_filter(dt_dataset **out, const dt_dataset *in, dt_filter_fn fn,
                                    void *user) DT_CHECKED;
/* Replaces each element by the result of fn, which sets the components of `result`, empty at
 * first. fn is not called for elements that skip, shard or a restored position leaves out, unless
 * an earlier transformation, such as shuffle or filter, reads its input in order. */
typedef dt_status *(*dt_map_fn)(const dt_values *element, void *user, dt_values *result);
typedef struct dt_map_options {
    dt_map_fn fn;
    void *user;
    const dt_spec *spec; /* [n_spec] the components of the results; NULL: those of the input */
    int n_spec;
} dt_map_options;
DT_API dt_status *dt_dataset_map(dt_dataset **out, const dt_dataset *in,
                                 const dt_map_options *options) DT_CHECKED;
/* fn turns each element into a data set. The elements of these data sets are interleaved:
 * cycle_length of them are read in turn, block_length elements from each at a time. */
typedef dt_status *(*dt_expand_fn)(const dt_values *element, void *user, dt_dataset **result);
typedef struct dt_interleave_options {
    dt_expand_fn fn;
    void *user;
    const dt_spec *spec; /* [n_spec] the components of the elements of these data sets */
    int n_spec;
    /* how many data sets are read in turn, and how many elements from each at a time; 0: 1. With
     * cycle_length 1 this is flat_map */
    int64_t cycle_length, block_length;
} dt_interleave_options;
DT_API dt_status *dt_dataset_interleave(dt_dataset **out, const dt_dataset *in,
                                        const dt_interleave_options *options) DT_CHECKED;

/*
 * Reads the rows of all elements of a pipeline into memory, as a data set for dt_model_fit,
 * dt_model_evaluate and dt_model_predict, which batch and shuffle it themselves. Keys as in
 * dt_dataset_from_values: "{global_batch_size: 64, shuffle: true}".
 */
DT_API dt_status *dt_dataset_collect(dt_dataset **out, dt_dataset *in, const char *format,
                                     ...) DT_CHECKED DT_FORMAT(3, 4);

/* One worker's share of a data set. */
typedef struct dt_input_share {
    /* Number of workers, replicas of each worker, and the number of this worker, from 0. */
    int workers, replicas, worker;
    dt_input_options options; /* only auto_shard_policy, rebatch and no_fallback are used */
} dt_input_share;
/* auto_shard: the worker's share of the elements (`replicas` is ignored). for_worker: that share,
 * divided into the parts of the worker's replicas. */
DT_API dt_status *dt_dataset_auto_shard(dt_dataset **out, const dt_dataset *in,
                                        const dt_input_share *share) DT_CHECKED;
DT_API dt_status *dt_dataset_for_worker(dt_dataset **out, const dt_dataset *in,
                                        const dt_input_share *share) DT_CHECKED;
/* Sets sizes[workers * replicas] to the numbers of rows of the successive parts into which a worker
 * divides its share; these parts together have global_batch_size rows. */
DT_API dt_status *dt_batch_sizes_for_worker(int64_t global_batch_size, const dt_input_share *share,
                                            int64_t *sizes) DT_CHECKED;

DT_END_C

#endif
