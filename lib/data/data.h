/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets: files of examples in, batches of rows out.
 *
 *     format (idx, npy, ...)  ->  map (cast, rescale, one_hot)  ->  part (train, validation, test)  ->  order  ->  feed
 *
 * A format gives random access to examples, so the order of an epoch is a pure function of (seed,
 * epoch, index) and a position in training is three integers. A feed reads ahead in threads of its
 * own and hands out batches of all elements in that order.
 *
 * Two stages: reading the `dataset` mapping checks everything that needs no file; opening checks
 * the files. Files are refused before anything of their size is allocated; what fits (256 MiB) is
 * read whole into memory of our own, so a file that shrinks later harms nothing; larger ones are
 * read record by record. Plain files are read when their first batch is wanted, by the thread that
 * wants it.
 */
#ifndef DT_DATA_DATA_H
#define DT_DATA_DATA_H

#include "base/file.h"
#include "base/recorder.h"
#include "conf/conf.h"
#include "data/learned.h"
#include "file/examples.h"
#include "file/file.h"
#include "file/records.h"
#include "graph/graph.h"

/* ---- the dataset mapping ---- */

/* The most examples of a global batch. */
enum { DT_LARGEST_BATCH = 1 << 24 };

typedef enum dt_last_batch { DT_LAST_PARTIAL, DT_LAST_DROP, DT_LAST_PAD } dt_last_batch;

/* Whether decoded examples are kept in memory: AUTO if they fit (256 MiB), YES for any size. */
typedef enum dt_cache { DT_CACHE_AUTO, DT_CACHE_YES, DT_CACHE_NO } dt_cache;

typedef struct dt_map dt_map;

/* A file of rows, in any format, that replaces the training part of a data set. */
typedef struct dt_rows_file {
    const dt_format *format;
    const dt_tree *path;            /* a scalar */
    const dt_element_spec *element; /* [n] as the data set stores them */
    int n;
} dt_rows_file;

/* A job's `dataset`, checked as far as possible without files. */
typedef struct dt_dataset_spec {
    const dt_format *format;
    const void *format_args;
    const dt_tree *tree, *part[DT_PARTS]; /* part: NULL where not given */
    const dt_map *map;                    /* steps per element */
    /* what these learned in a run; NULL: they learn from the training part when it is opened */
    const dt_learned *learned;
    /* [n_stored] the elements as a run stored them, for rows that are predicted; n_stored 0: not
     * known */
    const dt_element_spec *stored;
    int n_stored;
    dt_location at;
    const char *directory;
    uint64_t seed, shuffle_seed; /* shuffle_seed: seed, unless `shuffle: {seed: N}` */
    uint64_t map_seed;           /* for random steps without a seed of their own: seed */
    bool own_shuffle_seed;
    int64_t global_batch_size, per_replica_batch_size; /* exactly one is > 0 */
    dt_last_batch last_batch;
    double validation_split;
    bool shuffle, reshuffle; /* reshuffle_each_iteration */
    int64_t take;            /* the first examples of `train`, before the split; -1: all */
    int64_t repeat;          /* passes over the training part that make one epoch, >= 1 */
    int prefetch;            /* batches; 0: auto */
    int parallel;            /* num_parallel_calls: threads that read ahead; 0: auto */
    dt_cache cache;
    const char *auto_shard_policy;
    bool as_stored; /* without `map`: texts are texts */
    /* replaces all parts; then learned values of `map` must be given; NULL: none */
    const dt_rows_file *rows;
} dt_dataset_spec;

/* Reads the mapping; all faults at once. Files are relative to `directory`. Everything lives in the
 * arena. */
dt_status *dt_dataset_read(dt_arena *arena, const dt_tree *t, const char *directory, uint64_t seed,
                           dt_dataset_spec *out) DT_MUST_USE;

/* The same for examples in memory: no `format`, no parts. args: of dt_format_held. */
dt_status *dt_dataset_read_held(dt_arena *arena, const dt_tree *t, const void *args,
                                dt_dataset_spec *out) DT_MUST_USE;
/* The keys that all formats share, for lists of all keys. */
const dt_field *dt_dataset_fields(void);
extern const dt_format dt_format_held;
/* The description, when it is a pipeline (pipeline/pipe.h), lent; else NULL: then everything below
 * applies. */
struct dt_pipe *dt_dataset_pipe(const dt_dataset *d);
/* An error for what takes no pipeline: it has no examples that can be counted and looked up. */
dt_status *dt_dataset_check_job(const dt_dataset *d) DT_MUST_USE;
/* Counts an iteration of a pipeline that begins; returns how many were begun before. */
uint64_t dt_dataset_begin(dt_dataset *d);
/* The next one is this. */
void dt_dataset_begin_at(dt_dataset *d, uint64_t next);

/* A part of it, as its format is asked for it. */
dt_format_request dt_dataset_request(const dt_dataset_spec *spec, dt_part part, dt_arena *arena);
/* Opens the files of a spec. The dataset keeps what it needs of the spec; the arena must outlive
 * it. */
dt_status *dt_dataset_create(dt_dataset **out, const dt_dataset_spec *spec) DT_MUST_USE;
void dt_dataset_ref(dt_dataset *d);
/* A data set of `n` elements in memory, (examples, ...) each, which are copied. The fragment has
 * the keys of `dataset`, without format and parts. */
dt_status *dt_dataset_hold(dt_dataset **out, const dt_named_view *element, int n,
                           const char *format, va_list args) DT_MUST_USE DT_PRINTF(4, 0);

/* The elements as batches carry them, after `map`: (B, ...); lent. */
int dt_dataset_elements(const dt_dataset *d, const dt_element_spec **elements);
/* The element in a trace: an argument of its name with examples as they are stored, then `map` as
 * outside of training. NO_ONNX names a step that has no form in a graph. */
dt_status *dt_dataset_declare(const dt_dataset *d, int element, dt_trace *t,
                              dt_value *out) DT_MUST_USE;
/* The element as the training part stores it, lent; NULL: of a pipeline. */
const dt_element_spec *dt_dataset_stored(const dt_dataset *d, int element);
int dt_dataset_find(const dt_dataset *d, const char *name); /* index or -1 */
/* Examples of an epoch (for train: `repeat` passes); 0: no such part. */
int64_t dt_dataset_count(const dt_dataset *d, dt_part part);
/* The name of a part in messages: "validation"; "input" if spec.rows replaces it. */
const char *dt_dataset_part_name(const dt_dataset *d, dt_part part);
/* The file of an example of a part, lent; NULL where files hold several examples. */
const char *dt_dataset_example_file(const dt_dataset *d, dt_part part, int64_t example);
const dt_dataset_spec *dt_dataset_spec_of(const dt_dataset *d);
/* The values that steps of `map` learned or were given, lent; n 0: no step learns. */
const dt_learned *dt_dataset_learned(const dt_dataset *d);
/* DATA unless every value of an integer element lies in [0, classes), every example of all parts:
 * names file and row. */
dt_status *dt_dataset_check_labels(dt_dataset *d, int element, int64_t classes) DT_MUST_USE;
/* The same, where one number more may stand, for what does not count; NULL: none. */
dt_status *dt_dataset_check_labels_but(dt_dataset *d, int element, int64_t classes,
                                       const int64_t *ignored) DT_MUST_USE;
/* LABEL_RANGE unless the values of an element lie in [low, high], as far as they are finite and of
 * examples whose weight is not 0: names file and row. Of more than 64 Mi values some examples are
 * looked at. */
typedef struct dt_target_range {
    int element, weight; /* weight: the element of sample weights; -1: none */
    double low, high;
} dt_target_range;
dt_status *dt_dataset_check_range(const dt_dataset *d, const dt_target_range *q) DT_MUST_USE;
/* Appends the location of an example for messages: "example 17 of a.csv", counted from 1, or its
 * own file, "set/cat/1.png". */
void dt_dataset_locate(const dt_dataset *d, dt_part part, int element, int64_t example,
                       dt_str *out);
/* What `auto_shard_policy` comes to for so many input workers: "sharded by file". An explicit
 * `file` that they cannot follow is an error. */
dt_status *dt_dataset_sharing(const dt_dataset *d, int64_t workers, dt_str *out) DT_MUST_USE;
/* Text as the training part's format makes tokens of it, and back; see dt_format, whose row must
 * have both. */
dt_status *dt_dataset_encode(const dt_dataset *d, const char *text, int32_t *tokens,
                             int64_t *n) DT_MUST_USE;
/* U+FFFD for a token that the text does not have */
void dt_dataset_decode(const dt_dataset *d, int32_t token, dt_str *out);
/* Sets the global batch when the job gave per_replica_batch_size. */
void dt_dataset_set_global_batch(dt_dataset *d, int64_t global_batch_size);
/* Sets the seed of random map steps, and of the shuffle, unless these have one of their own. */
void dt_dataset_set_seed(dt_dataset *d, uint64_t seed);

/* Examples of an element, after `map`, each alone: (...). */
typedef struct dt_survey {
    const dt_dataset *data;
    dt_part part;
    int element;
    int64_t most;                                    /* examples, evenly spread; 0: all */
    bool (*see)(const dt_view *example, void *user); /* false: enough */
    /* in its place: with the example's number in the part */
    bool (*see_row)(const dt_view *example, int64_t row, void *user);
    void *user;
} dt_survey;
dt_status *dt_dataset_survey(const dt_survey *q) DT_MUST_USE;
/* A warning for each CSV column whose whole numbers float32 rounds, with the place of the first, in
 * the arena; at most eight columns of an element. */
void dt_dataset_rounded(const dt_dataset *d, dt_arena *arena, dt_texts *out);
/* Whether `map` leaves the values of an element as they are stored, but for their dtype. */
bool dt_dataset_is_plain(const dt_dataset *d, int element);

/* ---- feeds ---- */

typedef struct dt_feed dt_feed;
/* Of batch number `batch` of a feed, from 0, which has so many rows, those that this process
 * computes with: [*from, *to). The others are not read, and their memory holds anything. Any thread
 * calls it. */
typedef void (*dt_own_rows)(const void *user, int64_t batch, int64_t rows, int64_t *from,
                            int64_t *to);
/* A reading thread lends each batch, as soon as it is complete, to the device that will compute
 * with it. */
struct dt_batch;
typedef struct dt_feed_lend {
    /* by any thread, one batch at a time each; NULL: not wanted */
    dt_status *(*lend)(void *user, const struct dt_batch *batch, void **lent);
    void (*take_back)(void *user, void *lent); /* before the batch's memory has other examples */
    void *user;
} dt_feed_lend;

typedef struct dt_feed_options {
    dt_part part;
    int64_t epoch;      /* selects the order, from 0 */
    int64_t first_step; /* batches of that epoch to skip, for a resumed run */
    /* the number of epochs to read without a break, 0: one. Batches mark the ends */
    int64_t epochs;
    int64_t batch; /* examples a batch, at least 1 */
    dt_last_batch last;
    bool shuffle; /* requested by the spec, and part is train */
    /* that read ahead; 0: the spec's number, or as many as are needed, up to one per core */
    int threads;
    /* input workers that share the examples by the policy, and replicas of each; 0: one */
    int workers, replicas;
    const char *policy; /* instead of the spec's auto_shard_policy; NULL: that */
    bool even;          /* all batches, the last one too, in equal parts, which the offsets show */
    int keeps;          /* batches before the current one that stay valid, too: 0 or 1 */
    /* no thread reads ahead: batches are read by dt_feed_read, files whole when first needed */
    bool by_number;
    bool looks; /* not to train: `map` draws nothing, of the training part either */
    /* records the work of reading threads, and the caller's waits; NULL: none */
    dt_recorder *recorder;
    dt_own_rows own; /* NULL: all rows of all batches are wanted */
    const void *own_user;
    dt_feed_lend lend;
} dt_feed_options;

/* What preparing a batch consists of. */
typedef enum dt_spent_on {
    DT_SPENT_READING,
    DT_SPENT_DECODING,
    DT_SPENT_MAP,
    DT_SPENT_KINDS
} dt_spent_on;

typedef struct dt_batch {
    int64_t rows;        /* 0: the end */
    int64_t from, to;    /* the rows that were read: all, unless dt_feed_options has own */
    int64_t epoch, step; /* which batch this is; step within the epoch, from 0 */
    double waited_s;     /* how long the caller stood still for it */
    double spent_s[DT_SPENT_KINDS]; /* how long threads worked on it */
    int n;                          /* elements */
    /* (rows, ...) each, aligned to 64; valid until the next call, or that after it: `keeps` */
    const dt_view *element;
    /* [replicas in all + 1] where each one's rows begin, lent like them; NULL: parts of one
     * batch, as dt_cut_rows has them */
    const int32_t *offsets;
} dt_batch;

/* What training and validation hold of the examples in memory of their own: now, and when all have
 * been read once. */
typedef struct dt_data_bytes {
    int64_t present, coming;
} dt_data_bytes;
dt_data_bytes dt_dataset_bytes(const dt_dataset *d);

/* How many threads prepare batches of d at the moment; it lives as long as d. */
const _Atomic uint32_t *dt_dataset_preparing(const dt_dataset *d);
dt_status *dt_feed_open(dt_feed **out, dt_dataset *d, const dt_feed_options *options) DT_MUST_USE;
/* Bytes of the batches that it reads ahead, and of the one that its caller has. */
int64_t dt_feed_bytes(dt_dataset *d, const dt_feed_options *options);
/* The next batch; waits for the reading threads only when they are behind. Errors come with the
 * batch of their example, only the first one of a batch, for any order of threads. After an
 * error the feed can only be closed. */
dt_status *dt_feed_next(dt_feed *f, dt_batch *batch) DT_MUST_USE;
/* Of a feed `by_number`: batch `number`, from 0, counted from the feed's beginning through all
 * epochs, in any order. Lent until the next call. The caller's thread reads it, so the feed may be
 * used in a process forked since it was opened. After an error other batches can be read. */
dt_status *dt_feed_read(dt_feed *f, int64_t number, dt_batch *batch) DT_MUST_USE;
/* Nanoseconds that dt_feed_next has waited so far. */
int64_t dt_feed_waited_ns(const dt_feed *f);
int dt_feed_threads(const dt_feed *f); /* that were started so far */
int dt_feed_ready(const dt_feed *f);   /* batches that can be had without waiting */
void dt_feed_close(dt_feed *f);        /* takes NULL; ends the threads */
/* Batches of one epoch over n examples. */
int64_t dt_steps_per_epoch(int64_t n, int64_t batch, dt_last_batch last);

#endif
