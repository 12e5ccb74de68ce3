/* SPDX-License-Identifier: Apache-2.0 */
/* The open data set of a job; only for use within lib/data. Any number of iterators may read it in
 * their own threads, unless its rows are read once. */
#ifndef DT_DATA_PARTS_H
#define DT_DATA_PARTS_H

#include "data/data.h"
#include "data/map.h"

/* ---- example_cache.c ---- */

/*
 * Decoded examples that stay in memory: the job's `cache`. The first thread that decodes an example
 * writes it straight into the cache; from then on all threads read it there. Examples are cached as
 * they are before `map`, so all iterators over the same files share one cache.
 */
/* the most bytes that a cache takes if the job has no key `cache` */
#define DT_EXAMPLE_CACHE_AUTO ((int64_t)256 << 20)

typedef struct dt_example_cache dt_example_cache;

/* Makes a cache for `rows` examples of n elements, which are numbered in the format's own order.
 * bytes[e] is the size of element e in an example; 0 if the element is in memory anyway. Returns
 * NULL if the cache takes more than `limit` bytes or its memory cannot be allocated. */
dt_example_cache *dt_example_cache_create(int64_t rows, int n, const int64_t *bytes, int64_t limit);
void dt_example_cache_destroy(dt_example_cache *k); /* k may be NULL */
/* Returns the bytes of the cache when all examples are in it. */
int64_t dt_example_cache_bytes(const dt_example_cache *k, int64_t rows);
/* Returns the address of element e of an example in the cache, whether or not it has been filled;
 * NULL if the element is in memory anyway. */
void *dt_example_cache_place(const dt_example_cache *k, int e, int64_t row);
/* Whether the example has been decoded into the cache. */
bool dt_example_cache_has(dt_example_cache *k, int64_t row);
/* Returns true to one thread only, which then decodes the example into the cache and calls
 * dt_example_cache_filled with `right` set if that succeeded; if not, the example can be claimed
 * again. Until then other threads decode the example into their own memory. */
bool dt_example_cache_claim(dt_example_cache *k, int64_t row);
void dt_example_cache_filled(dt_example_cache *k, int64_t row, bool right);

/* ---- an open data set ---- */

/* A part. With a validation split, train and validation have the same source. */
typedef struct dt_rows {
    /* the examples that the format reads, or windows over them; NULL if there is no such part */
    dt_examples *x;
    /* a reference to the examples of the part: a source, which owns x, followed by `take` and the
     * validation split */
    dt_dataset *examples;
    /* [elements] the elements as stored, in the format's own order */
    const dt_element_spec *stored;
    const int *index; /* [elements] position of element i in `stored` */
    /* [elements] the steps of each element; NULL for an element whose steps have a fault */
    const dt_map_plan **plan;
    dt_example_cache *kept; /* cache of decoded examples; NULL: none */
    /* with dataset.window, where x has windows: the rows that they cover, each once; else NULL */
    struct dt_rows *single;
    const dt_examples *windows; /* in `single`: the windows over these rows; else NULL */
} dt_rows;

/* The parts of a job's data set: the args of its source. */
typedef struct dt_parts {
    _Atomic uint32_t preparing; /* number of threads, of all feeds, that are filling a batch now */
    dt_arena *arena;            /* memory of what opening the data set makes */
    /* an arena to release with the parts, such as that of the spec of a fragment, or of the row
     * source of dt_rows_open; NULL: none */
    dt_arena *owned;
    dt_dataset_spec spec;
    int n;
    dt_element_spec *element; /* [n] the elements, in the order of train */
    dt_rows rows[DT_PARTS];
    dt_learned learned; /* what steps of `map` learned */
    /* [n_named] files that the job names besides its data, as written, with their SHA-256 */
    dt_pair *named;
    int n_named;
    /* the columns and faults that are kept beside rows that are read once (rows_file.h); NULL:
     * none */
    struct dt_keeper *keeper;
} dt_parts;

/* Returns the parts of a data set. Those of a data set that is not a job's are empty, and
 * constant. */
dt_parts *dt_parts_of(const dt_dataset *d);
static inline const dt_rows *dt_rows_of(const dt_dataset *d, dt_part part) {
    return &dt_parts_of(d)->rows[part];
}
static inline bool dt_parts_are_once(const dt_parts *d) {
    return d->spec.rows && d->spec.rows->once;
}

/* Returns the request that opens the files of spec->rows with their format. */
dt_format_request dt_dataset_request_rows(const dt_dataset_spec *spec, dt_arena *arena);
/* Sets *out, even if it fails, to args for dt_format_held, allocated in the arena. They own the
 * tensors of all examples, (count, ...) each, which this function takes. */
dt_status *dt_held_make(dt_arena *arena, const dt_example_spec *spec, const dt_example *examples,
                        dt_examples **out) DT_MUST_USE;
void dt_held_release(dt_examples *held); /* may be called again, which does nothing */

/* Makes a data set of the examples that a format reads, which it takes. Feeds read them straight
 * into batches (fill.c); the data set only says how many there are. */
dt_dataset *dt_examples_source(dt_examples *x);
/* Returns the number of examples of a part: 0 if there is no such part, DT_UNCOUNTED if the number
 * is unknown before the end. */
static inline int64_t dt_rows_count(const dt_rows *r) {
    return r->examples ? r->examples->length : 0;
}
/* Returns the number, in its source, of example i of a part. i may be counted over several passes,
 * as `repeat` does. */
int64_t dt_rows_number(const dt_rows *r, int64_t i);
/* Applies `take`, then splits train (split.c). */
dt_status *dt_parts_split(dt_parts *d) DT_MUST_USE;

/* named_files.c: finds and hashes the files that steps of `map` and the format name. */
dt_status *dt_parts_hash_named(dt_parts *d) DT_MUST_USE;
/* See dt_dataset_check_named. */
dt_status *dt_parts_check_named(const dt_parts *d, const char *then) DT_MUST_USE;

/* ---- held_rows.c ---- */

/* Replaces *x by its rows, held in memory, to be read in any order. `once` is their source, if they
 * can be read only once; its `kept` then gives the columns of the chosen row. The caller closes *x
 * in any case. */
dt_status *dt_held_rows_open(dt_arena *arena, dt_examples **x, dt_row_source *once) DT_MUST_USE;
void dt_held_rows_choose(dt_examples *held, int64_t row);

/* ---- windows.c ---- */

/* Replaces the rows of a part by windows over them, ordered by the time of their last rows. */
dt_status *dt_windows_open(dt_parts *d, dt_rows *r) DT_MUST_USE;
/* Returns how many of the windows [0, first) end before the future rows of the windows
 * [first, all) begin; without future rows, before these windows begin. */
int64_t dt_windows_before(const dt_examples *windows, int64_t first, int64_t all);
/* Sets r->single to the rows that the windows cover. */
dt_status *dt_windows_list_rows(dt_parts *d, dt_rows *r) DT_MUST_USE;
/* Returns the index, among all rows that the format reads, of the row at which element e of a
 * window begins, not counting lags. */
int64_t dt_windows_row(const dt_examples *windows, int e, int64_t window);

/* Returns the group of an example of a part, of which `number` is dt_rows_number: the hash of the
 * element `group`; 0 without windows, or if they have no such element. */
uint64_t dt_rows_group(const dt_rows *r, int64_t number);

/* ---- rows of a part ---- */

typedef struct dt_element_rows {
    const dt_rows *rows;
    int e;
    const dt_map_plan *plan; /* the steps, which run as outside of training; NULL: none */
    const void *whole;       /* all stored rows, lent; NULL if they are read one by one */
    char *memory, *mapped, *scratch;
    dt_map_at at; /* identifies the row that was read last */
} dt_element_rows;
/* Prepares to read rows of element e. The caller frees x->memory, also after an error. */
dt_status *dt_element_rows_open(dt_element_rows *x, const dt_rows *r, int e,
                                const dt_map_plan *plan) DT_MUST_USE;
/* Gets the element of example i of the part, after the steps. It is lent until the next call. */
dt_status *dt_element_rows_get(dt_element_rows *x, int64_t i, const void **row) DT_MUST_USE;
/* Reads one stored element of the example `number`, by its index among those of the format. */
dt_status *dt_examples_read_one(dt_examples *x, int index, int64_t number, dt_read_buffer *buffer,
                                void *out) DT_MUST_USE;

/* Gets all stored rows of element e in one array; NULL if they have to be read one by one. */
dt_status *dt_rows_whole(const dt_rows *r, int e, const void **whole) DT_MUST_USE;
/* Returns the bytes of a row of element e, as stored. */
int64_t dt_rows_bytes(const dt_rows *r, int e);
/* Plans the steps of element e for a part. A step that has to learn does so over the rows of train,
 * so train must be planned first. */
dt_status *dt_rows_plan(dt_parts *d, dt_rows *r, int e) DT_MUST_USE;
/* Checks every row of a part against the limits that steps such as one_hot set for their input;
 * with dataset.window, every row that the windows cover. Rows that are read once, unless as
 * windows, are left to dt_rows_check_row. */
dt_status *dt_rows_check_limits(const dt_parts *d, const dt_rows *r) DT_MUST_USE;
/* Like dt_rows_check_limits, for one stored row of element e; used for examples that are read
 * once. */
dt_status *dt_rows_check_row(const dt_rows *r, int e, int64_t i, const void *row) DT_MUST_USE;

/* Keeps the columns of the row that has just been read, for rows that are read once. If the data
 * set answers faults, keeps the fault, too, instead of returning it. Else returns the fault or,
 * without one, that of a column that cannot be kept. Takes ownership of the fault. */
dt_status *dt_rows_keep_row(dt_parts *d, dt_status *fault) DT_MUST_USE;
void dt_keeper_destroy(struct dt_keeper *k); /* k may be NULL */

#endif
