/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets: files of examples in, batches of rows out.
 *
 *     format (idx, npy, ...)  ->  part (train, validation, test)  ->  order
 *         ->  map (cast, rescale, one_hot)  ->  batches
 *
 * Unless examples are read once, a format gives random access to them, so the order of an epoch is
 * a pure function of (seed, epoch, index) and a position in training is three integers. An iterator
 * over batches hands out batches of all elements in that order, which its own threads usually read
 * ahead.
 *
 * There are two stages: reading the `dataset` mapping checks everything that needs no file; opening
 * the data set checks the files. Sizes that a file claims are checked before memory for them is
 * allocated. Arrays and tables with up to 256 MiB of values are kept in memory as a whole: tables
 * from opening on, uncompressed arrays once they are first needed. Examples of larger ones, of
 * TFRecords and of folders are read one by one.
 */
#ifndef DT_DATA_DATA_H
#define DT_DATA_DATA_H

#include "base/file.h"
#include "base/recorder.h"
#include "conf/conf.h"
#include "data/dataset.h"
#include "file/examples.h"
#include "file/file.h"
#include "file/records.h"
#include "graph/graph.h"

/* ---- what `map` learned ---- */

/*
 * What steps of `map` learned from the training part, such as means, variances and vocabularies, as
 * Keras layers do in `adapt`. The values are learned once, over the rows in file order, and stored
 * in checkpoints, so that evaluate and predict transform examples as training did.
 */
/* What one step learned. Members that the step does not learn are empty. */
typedef struct dt_lesson {
    /* name of the step, name of the element, and index of the step in the element's list, such as
     * "map/normalize/x/0" */
    const char *step;
    /* mean and variance of each feature; the features are the entries along the last axis. With
     * groups those of all features of the first group, then of the second, and so on */
    dt_reals mean, variance;
    /* the words of a vocabulary, in the order of their indices; for the steps date, impute and
     * normalize other texts, which map/date.c, map/impute.c and map/normalize.c describe */
    dt_texts words;
    /* fill: what replaces a missing value of each feature; gaps: with impute's `indicator`, indices
     * of the features that have missing values */
    dt_reals fill, gaps;
    dt_reals idf; /* [words.n] log(1 + texts / (1 + texts that contain the word)) */
} dt_lesson;

typedef struct dt_learned {
    int n;
    dt_lesson *lesson; /* [n] one for each step that has learned */
} dt_learned;

/* ---- the dataset mapping, and open data sets ---- */

/* the largest global batch, in examples */
enum { DT_LARGEST_BATCH = 1 << 24 };

typedef enum dt_last_batch { DT_LAST_PARTIAL, DT_LAST_DROP, DT_LAST_PAD } dt_last_batch;

/* Whether decoded examples are kept in memory: AUTO if those of a part take at most 256 MiB, YES if
 * there is memory for them, NO never. */
typedef enum dt_cache { DT_CACHE_AUTO, DT_CACHE_YES, DT_CACHE_NO } dt_cache;

/* Two lists with an element for each dt_auto_shard_policy: its name in job files (this list ends
 * with NULL), and what it does, such as "sharded by file". */
extern const char *const dt_policy_names[], *const dt_policy_words[];

typedef struct dt_map dt_map;

/* How examples of `train` are set aside for validation (split.c). */
typedef struct dt_validation_split {
    double fraction; /* the value of validation_split: the fraction to set aside; 0: none */
    /* the value of validation_folds, and the number of the fold to validate with, counted from 1.
     * folds is 0 if there are no folds; fold is 0 if each fold is used in turn */
    int64_t folds, fold;
    bool listed;  /* the job gives a mapping; if not, the members below have their default values */
    bool shuffle; /* choose the examples at random by the seed, not by their order in the file */
    /* name of the element whose values keep the same proportions in both parts; NULL: none */
    const char *stratify;
    /* `stratify` is a default that the job did not ask for: it is ignored if the element has more
     * than n / 2 different values in n examples */
    bool stratify_unasked;
    dt_location stratify_at;
    uint64_t seed; /* the job's seed, unless own_seed is set */
    bool own_seed;
} dt_validation_split;
static inline bool dt_validation_splits(const dt_validation_split *q) {
    return q->fraction > 0 || q->folds > 0;
}

/* Rows, in any format, that replace all parts of a data set: they become the part train. */
typedef struct dt_rows_file {
    /* Open source whose rows are read once, front to back, by the only iterator. NULL: rows can be
     * read again. The data set closes it, even if creating the data set fails. */
    dt_row_source *once;
    const dt_format *format;
    const dt_tree *path; /* the path, or "standard input": a scalar node */
    /* [n] the elements, in the form in which the data set stores them */
    const dt_element_spec *element;
    /* the number of elements; the first `asked` ones are in the examples, the others only sort or
     * group rows */
    int n, asked;
} dt_rows_file;

/* A job's `dataset`, checked as far as possible without files. */
typedef struct dt_dataset_spec {
    const dt_format *format;
    const void *format_args;
    /* tree: the mapping `dataset`; part: what the job gives for each part, NULL if nothing */
    const dt_tree *tree, *part[DT_PARTS];
    const dt_map *map; /* the steps of `map`, by element */
    /* values that steps of `map` learned in a run; NULL: they are learned from the training part
     * when it is opened */
    const dt_learned *learned;
    /* The files that a run was trained with, as dt_dataset_named_files gives them. Opening the data
     * set fails with OTHER_JOB if the content of one has changed. NULL: files are not compared. */
    const char *named_files;
    /* [n_stored] how a run's or the open data set stored the elements. Parts that are opened, and
     * rows to predict or evaluate, follow it; n_stored is 0 if that is unknown. */
    const dt_element_spec *stored;
    int n_stored;
    dt_location at;
    const char *directory;
    /* the seed of the shuffle is equal to seed, unless the job gives `shuffle: {seed: N}` or
     * dt_dataset_set_seed changes it */
    uint64_t seed, shuffle_seed;
    /* the seed of random steps of `map` that have none of their own; equal to `seed`, unless
     * dt_dataset_set_seed changes it */
    uint64_t map_seed;
    bool own_shuffle_seed;
    /* the job gives one of the two, and the other is 0; dt_dataset_set_global_batch sets the
     * first */
    int64_t global_batch_size, per_replica_batch_size;
    dt_last_batch last_batch;
    dt_validation_split split;
    /* With dataset.window, an example is a window of consecutive rows (windows.c); length is 0 if
     * an example is one row. */
    struct {
        /* the number of rows in the past, the number of rows after them for the elements in
         * `future`, and the number of rows from the beginning of one window to that of the next */
        int64_t length, horizon, stride;
        /* names of the elements that sort and group the rows; NULL: rows are in file order, or form
         * one group */
        const char *order, *group;
        /* names of the elements that have the `horizon` rows after the past ones */
        dt_texts future;
        dt_items lags; /* for each element that has lags: its name as the key, and a dt_ints */
        dt_location at, order_at, group_at;
    } window;
    bool shuffle, reshuffle; /* reshuffle is the value of the key reshuffle_each_iteration */
    /* how many examples of `train` are used, the first ones; applied before the split; -1: all */
    int64_t take;
    int64_t repeat; /* passes over the training part that make one epoch, >= 1 */
    int prefetch;   /* batches to read ahead; 0: chosen automatically */
    int parallel;   /* num_parallel_calls: threads that read ahead; 0: chosen automatically */
    dt_cache cache;
    /* AUTO: workers share the batches that a single process would read */
    dt_auto_shard_policy auto_shard_policy;
    bool as_stored; /* the steps of `map` are skipped, and texts stay texts */
    /* opening the data set decodes every example that needs it, and reports all that cannot be
     * read */
    bool checks_all;
    /* Rows that replace all parts; `learned` must then have the values that `map` learned. NULL:
     * none. */
    const dt_rows_file *rows;
} dt_dataset_spec;

/* Reads the mapping. Reports faults together, as far as possible. Relative paths start at
 * `directory`. Everything is allocated in the arena. */
dt_status *dt_dataset_read(dt_arena *arena, const dt_tree *t, const char *directory, uint64_t seed,
                           dt_dataset_spec *out) DT_MUST_USE;

/* Like dt_dataset_read, for examples in memory, so the mapping has neither `format` nor parts.
 * args: the examples, as dt_held_make makes them. */
dt_status *dt_dataset_read_held(dt_arena *arena, const dt_tree *t, const void *args,
                                dt_dataset_spec *out) DT_MUST_USE;
/* Whether examples do not contain the element, because dataset.window only sorts or groups rows by
 * it. */
bool dt_dataset_leaves_out(const dt_dataset_spec *spec, const char *element);
/* Returns the table of keys that all formats share, for listings of all keys. */
const dt_field *dt_dataset_fields(void);
extern const dt_format dt_format_held;
/* Whether d is a job's data set, whose source has parts (parts.h). The functions below are for such
 * data sets; the parts of all others are empty. */
bool dt_dataset_has_parts(const dt_dataset *d);
/* Fails unless d is a job's data set. */
dt_status *dt_dataset_check_job(const dt_dataset *d) DT_MUST_USE;

/* Returns the request that asks the format for one part. */
dt_format_request dt_dataset_request(const dt_dataset_spec *spec, dt_part part, dt_arena *arena);
/* Opens the files of a spec. The data set keeps a copy of *spec; the arena that the spec was read
 * into must outlive it. */
dt_status *dt_dataset_create(dt_dataset **out, const dt_dataset_spec *spec) DT_MUST_USE;
/* Creates a data set of examples in memory: tensors of (examples, ...) each, which it takes even
 * after an error. The fragment has the keys of `dataset`, without format and parts. */
dt_status *dt_dataset_hold(dt_dataset **out, const dt_example_spec *spec,
                           const dt_example *examples, const char *format, va_list args) DT_MUST_USE
    DT_PRINTF(4, 0);

/* Sets *elements to the elements of a batch, after `map`, of type (B, ...), lent by the data set.
 * Returns their number. */
int dt_dataset_elements(const dt_dataset *d, const dt_element_spec **elements);
/* Adds the element to a trace: an argument named like the element that takes stored examples,
 * followed by the steps of `map` as they run outside of training. Fails with NO_ONNX, naming the
 * step, if a step cannot be exported. */
dt_status *dt_dataset_declare(const dt_dataset *d, int element, dt_trace *t,
                              dt_value *out) DT_MUST_USE;
/* Returns the location of the step of `map` that, in training, combines the element of each example
 * with that of another example of the batch; NULL if no step does. */
const dt_location *dt_dataset_combines(const dt_dataset *d, int element);
/* Returns how the training part stores the element, lent; NULL for a pipeline. */
const dt_element_spec *dt_dataset_stored(const dt_dataset *d, int element);
/* Returns the index of the element with this name, or -1 if there is none. */
int dt_dataset_find(const dt_dataset *d, const char *name);
/* Returns the number of examples in an epoch, which for train is `repeat` passes. It is 0 if there
 * is no such part, and -1 if the number is not known before the end, because examples are read
 * once. */
int64_t dt_dataset_count(const dt_dataset *d, dt_part part);
/* Whether examples can only be read once, from front to back. */
bool dt_dataset_is_once(const dt_dataset *d);
/* Returns the name of a part for messages, such as "validation", or "input" if spec.rows replaces
 * the part. */
const char *dt_dataset_part_name(const dt_dataset *d, dt_part part);
/* Returns the path of the file that holds only this example, lent; NULL if examples are not files
 * of their own. */
const char *dt_dataset_example_file(const dt_dataset *d, dt_part part, int64_t example);
const dt_dataset_spec *dt_dataset_spec_of(const dt_dataset *d);
/* Returns the values that steps of `map` have learned, including those of spec.learned; lent. Their
 * n is 0 if no step learns. */
const dt_learned *dt_dataset_learned(const dt_dataset *d);
/* Returns a JSON object, in the arena, of the files that the job names besides its data
 * (vocabularies, a tokenizer.json), with the SHA-256 that each had when the data set was opened.
 * The characters of the training text count as such a file if they are its tokens. Returns NULL if
 * there are none. */
const char *dt_dataset_named_files(const dt_dataset *d, dt_arena *arena);
/* Fails with OTHER_JOB if the content of one of these files has changed since `then`, which is an
 * object that dt_dataset_named_files returned, or NULL. */
dt_status *dt_dataset_check_named(const dt_dataset *d, const char *then) DT_MUST_USE;
/* Checks all examples of all parts: fails with LABEL_RANGE, naming file and row, unless every value
 * of an element is a whole number in [0, classes). */
dt_status *dt_dataset_check_labels(dt_dataset *d, int element, int64_t classes) DT_MUST_USE;
/* Like dt_dataset_check_labels, but also accepts the value *ignored, which marks labels that do not
 * count. ignored may be NULL if there is no such value. */
dt_status *dt_dataset_check_labels_but(dt_dataset *d, int element, int64_t classes,
                                       const int64_t *ignored) DT_MUST_USE;
/* What dt_dataset_check_range checks. It fails with LABEL_RANGE, naming file and row, unless the
 * values of an element lie in [low, high], apart from rounding errors. It ignores values that are
 * not finite, and those with sample weight 0. If a part has more than about 64 Mi values and more
 * than 1000 examples, it checks a sample of the part's examples. */
typedef struct dt_target_range {
    /* indices of the element to check, and of the one with sample weights; weight -1: none */
    int element, weight;
    double low, high;
} dt_target_range;
dt_status *dt_dataset_check_range(const dt_dataset *d, const dt_target_range *q) DT_MUST_USE;
/* Appends the location of an example for messages: "example 17 of a.csv", counted from 1; or
 * "set/cat/1.png" if the example has its own file. */
void dt_dataset_locate(const dt_dataset *d, dt_part part, int element, int64_t example,
                       dt_str *out);
/* Describes the effect of `auto_shard_policy` for `workers` input workers, such as "sharded by
 * file". Fails for an explicit `file` policy if there are too few files. */
dt_status *dt_dataset_sharing(const dt_dataset *d, int64_t workers, dt_str *out) DT_MUST_USE;
/* Appends the tokens of a text, as the training part's format makes them. dt_dataset_decode
 * converts back. Both are only for formats whose reader has `encode` and `decode`. */
dt_status *dt_dataset_encode(const dt_dataset *d, const char *text, dt_tokens *out) DT_MUST_USE;
/* Returns how the training part's text is divided into documents; all members are 0 if it is
 * not. */
dt_documents dt_dataset_documents(const dt_dataset *d);
/* Appends the text of a token, or U+FFFD if there is no token with that number. first: no token
 * comes before this one. */
void dt_dataset_decode(const dt_dataset *d, int32_t token, bool first, dt_str *out);
/* Sets the global batch size; for jobs that gave per_replica_batch_size. */
void dt_dataset_set_global_batch(dt_dataset *d, int64_t global_batch_size);
/* Sets the seed for random steps of `map` and for the shuffle, except where the job gives these
 * their own seed. Does nothing to a data set that is not a job's. */
void dt_dataset_set_seed(dt_dataset *d, uint64_t seed);

/* A request to call a function with single examples of an element. Each example is passed after
 * `map`, in the shape (...) of the element without a batch dimension. */
typedef struct dt_survey {
    const dt_dataset *data;
    dt_part part;
    int element;
    /* about how many examples to pass, evenly spread over the part: at least so many, if there are,
     * and less than twice as many; 0: all */
    int64_t most;
    /* the function to call; it returns false to stop */
    bool (*see)(const dt_view *example, void *user);
    /* called instead of `see` if set; `row` is the example's index in the part */
    bool (*see_row)(const dt_view *example, int64_t row, void *user);
    void *user;
} dt_survey;
dt_status *dt_dataset_survey(const dt_survey *q) DT_MUST_USE;
/* Sets *out to a warning, in the arena, for each CSV column with whole numbers that float32 rounds.
 * A warning has the location of the first such number. An element gets at most eight warnings. */
void dt_dataset_rounded(const dt_dataset *d, dt_arena *arena, dt_texts *out);
/* Sets *out to a warning, in the data set's arena, for each part that leaves out some of its files
 * or records. */
void dt_dataset_left_out(const dt_dataset *d, dt_texts *out);
/* Whether `map` only casts an element to other dtypes, or has no steps for it. */
bool dt_dataset_is_plain(const dt_dataset *d, int element);

/* ---- batches, bytes and units ---- */

/* Reports which rows [*from, *to) of a batch of `rows` rows this process computes with. `batch`
 * counts the batches from the iterator's first one, which is 0. The iterator does not read the
 * other rows; their memory is undefined. Called by any thread. */
typedef void (*dt_own_rows)(const void *user, int64_t batch, int64_t rows, int64_t *from,
                            int64_t *to);
/* Functions by which a thread lends each complete batch that it has read to the device that will
 * compute with it. */
typedef struct dt_batch_lend {
    /* Called by any thread, once for each batch; sets *lent to what take_back is given for the
     * batch. NULL: batches are not lent. */
    dt_status *(*lend)(void *user, const dt_example *batch, void **lent);
    /* called before the memory of the batch is used again or freed */
    void (*take_back)(void *user, void *lent);
    void *user;
} dt_batch_lend;

typedef struct dt_batch_options {
    dt_part part;
    int64_t epoch; /* number of the epoch, from 0; selects the order of examples */
    /* number of batches of that epoch to skip, because a run that is resumed has used them */
    int64_t first_step;
    /* number of epochs to read one after the other; 0: one. dt_example.epoch and step of each batch
     * show where an epoch ends */
    int64_t epochs;
    int64_t batch; /* examples per batch, at least 1 */
    dt_last_batch last;
    /* the examples are shuffled; callers set this if the spec asks for it and part is train */
    bool shuffle;
    /* Number of threads that read ahead. 0: the number in the spec or, if that is 0, too, as many
     * as needed, up to one per core and at most 16. */
    int threads;
    /* number of input workers that share the examples by the sharding policy, and number of
     * replicas per worker; 0: one */
    int workers, replicas;
    dt_auto_shard_policy policy; /* AUTO: that of the spec */
    /* every batch, including the last, is divided evenly by the number of its rows; see
     * dt_workers.even */
    bool even;
    /* number of batches before the current one that stay valid: 0 or 1; 0 if examples are read once
     * or batches by number */
    int keeps;
    /* batches are read by number: no thread reads ahead, the caller reads batches with
     * dt_iterator_read_batch; a file that can be read as a whole is read when first needed */
    bool by_number;
    /* the examples are not used for training, so steps of `map` do nothing random, even in the
     * training part */
    bool looks;
    /* recorder of the work of reading threads and of the time that the caller waits; NULL: none */
    dt_recorder *recorder;
    /* function that reports the rows this process computes with; NULL: all rows of all batches are
     * read */
    dt_own_rows own;
    const void *own_user;
    dt_batch_lend lend;
} dt_batch_options;

/* The number of bytes of examples that training and validation hold in memory: right after opening,
 * and what will be added by the time all examples have been read. */
typedef struct dt_data_bytes {
    int64_t present, coming;
} dt_data_bytes;
dt_data_bytes dt_dataset_bytes(const dt_dataset *d);

/* Completes the conversion of an output of one example, of n values, to the units of the stored
 * target, for targets whose units depend on the group of the window. */
void dt_dataset_undo_group(const dt_dataset *d, dt_part part, const char *target, int64_t example,
                           float *x, int64_t n);
/* Returns the number of threads that are preparing batches of d. The pointer is valid as long as
 * d. */
const _Atomic uint32_t *dt_dataset_preparing(const dt_dataset *d);
/* Returns a data set whose examples are the batches of a part of a job's data set. Its iterators
 * begin with the epoch and batch that they are opened at, whatever o says. */
dt_dataset *dt_dataset_batches(const dt_dataset *d, const dt_batch_options *o);
/* Opens an iterator over dt_dataset_batches(d, o) at the batch o->first_step of o->epoch. Closing
 * it ends its threads. */
dt_status *dt_iterator_open_batches(dt_iterator **out, const dt_dataset *d,
                                    const dt_batch_options *o) DT_MUST_USE;
/* Returns the bytes of memory that an iterator over batches of `options` needs: for the batches
 * that it reads ahead, those that its caller uses, and decoding by its threads. 0 if the part has
 * no examples; INT64_MAX if the sum is too large. */
int64_t dt_batches_bytes(const dt_dataset *d, const dt_batch_options *options);
/* Lends the next batch: its tensors are valid until the next call, or until the one after it if
 * dt_batch_options.keeps is 1; tensors to which the caller has taken a reference by then
 * (dt_example_ref) stay valid. Waits only if the reading threads are behind, or if examples are
 * read once. If an example cannot be read, the call for its batch fails with one error of the
 * batch, which does not depend on the order of threads. After an error the iterator can only be
 * closed. */
dt_status *dt_iterator_next_batch(dt_iterator *it, dt_example *batch) DT_MUST_USE;
/* Reads batch `number` of an iterator with `by_number`, in any order. Batches are counted from 0
 * through all epochs, starting where the iterator starts. The batch is lent until the next call.
 * The caller's thread does the reading, so the iterator can also be used in a process that is
 * forked after it was opened. After an error other batches can still be read. */
dt_status *dt_iterator_read_batch(dt_iterator *it, int64_t number, dt_example *batch) DT_MUST_USE;
/* Returns the number of batches that can be taken without waiting. */
int dt_batches_ready(const dt_iterator *it);
/* Returns the number of batches in an epoch over n examples; `last` says whether a short last batch
 * counts. */
int64_t dt_steps_per_epoch(int64_t n, int64_t batch, dt_last_batch last);

/* ---- workers.c: which examples each worker and replica gets ---- */

typedef struct dt_workers {
    /* The caller sets these members. */
    dt_part part;
    dt_auto_shard_policy policy; /* the policy to use, as dt_workers_policy resolves it */
    int64_t n, replicas;         /* number of workers, and number of replicas that each has */
    /* number of examples in a global batch, and number of passes in an epoch */
    int64_t batch, repeat;
    dt_last_batch last;
    bool shuffle;
    /* every batch, including the last, is divided evenly by the number of its rows: each replica
     * gets ceil(rows / replicas of all workers) of them until they are used up. false: each gets as
     * many as of a full batch. dt_workers_prepare clears it for FILE and OFF, where each worker has
     * its own stream */
    bool even;
    /* dt_workers_deal numbers examples as this data set does, from which the part is made; NULL: as
     * the format does */
    const dt_dataset *to;
    /* dt_workers_prepare sets the members below. */
    int streams;
    /* [streams] references to the streams of an epoch: the part's examples, or those of a worker's
     * files, shuffled and repeated */
    dt_dataset **stream;
    int64_t *length;         /* [streams] number of examples of each stream that are read */
    int64_t steps, examples; /* number of steps in an epoch, and of examples in it */
} dt_workers;

/* Sets *out to the policy by which `workers` workers share the examples: AUTO, FILE, DATA or OFF,
 * which stands for HINT, too; AUTO if there is one worker. asked: the policy to use; AUTO: that of
 * the spec. Fails for FILE if there are too few files. */
dt_status *dt_workers_policy(const dt_dataset *d, dt_auto_shard_policy asked, int64_t workers,
                             dt_auto_shard_policy *out) DT_MUST_USE;

/* Sets streams, stream, length, steps and examples, from d and the members that the caller has set.
 * After an error, x must be released, too. */
dt_status *dt_workers_prepare(dt_workers *x, dt_arena *arena, const dt_dataset *d) DT_MUST_USE;
/* Releases the streams. Numbers of rows, steps and examples can still be asked for. */
void dt_workers_release(const dt_workers *x);

/* Returns the number of rows in a step. Unless offsets is NULL, offsets[n * replicas + 1] receives
 * the first row of each replica and, last, the number of rows. */
int64_t dt_workers_cut(const dt_workers *x, int64_t step, int32_t *offsets);
/* Returns the number of examples in the first `steps` steps of an epoch. */
int64_t dt_workers_fed(const dt_workers *x, int64_t steps);

/* Sets out->example to the examples in rows [from, from + out->n) of a step of an epoch, and
 * out->pass to the passes over the data that they belong to, counted through all epochs. */
void dt_workers_deal(const dt_workers *x, int64_t epoch, int64_t step, int64_t from,
                     const dt_indices *out);

#endif
