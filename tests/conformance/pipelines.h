/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded pipelines are given in words: "range(7)", "batch(4, drop_remainder)", "map(x*10)". The
 * runner reads them as a small language (python.h, words.c, arrays.c) and makes calls of them; a
 * word that it does not know is a difference that says so.
 */
#ifndef TESTS_CONFORMANCE_PIPELINES_H
#define TESTS_CONFORMANCE_PIPELINES_H

#include "conformance.h"
#include "python.h"

/* ---- arrays.c: numbers of one shape, and expressions over them ---- */

enum { ARRAY_RANK = 4, INDEX_ERROR = 48 /* a number of the catalogue whose kind is IndexError */ };

typedef struct array {
    dt_dtype dtype;
    int rank;
    int64_t dim[ARRAY_RANK], n;
    double *v; /* [n] */
} array;

/* What an expression may name. */
typedef struct names {
    int n;
    const char *const *name;
    const array *const *value;
    const dt_input_context *c;  /* its fields; NULL: none */
    const dt_value_context *vc; /* likewise */
    bool shapes; /* a list of up to four positive whole numbers is 0, 1, ... in that shape */
} names;

void array_release(array *a);
dt_tensor *array_tensor(const array *a);
array array_of_tensor(const dt_tensor *t);
/* False with what is wrong in *why: a text of the function's own, or the library's error in *s. */
bool array_eval(const py *p, const names *n, array *out, const char **why, dt_status **s);
/* The value of an expression of numbers; NULL with a difference, or with an error in *s. */
dt_tensor *tensor_of_words(verdict *v, const py *p, dt_status **s);

/* ---- words.c: pipelines ---- */

enum { MOST_KEPT = 64 };

typedef struct words {
    verdict *v;
    const char *const *files; /* what files() reads */
    int n_files;
    const dt_input_context *context;
    bool order_free; /* elements are not compared, so that they may be shuffled */
    /* What words said about the distribution. */
    dt_auto_shard_policy policy;
    int first_steps;      /* 0: all */
    bool returns_nothing; /* a function that returns something else */
    /* what the pipeline's functions use, freed by words_release; so are the trees of words */
    void *kept[MOST_KEPT];
    int n_kept;
    py *tree[MOST_KEPT];
    int n_trees;
} words;

/* Applies one word to *d (NULL at first). An error of the library is returned; a difference leaves
 * *d NULL. */
dt_status *words_apply(words *w, const char *word, dt_dataset **d);
dt_status *words_build(words *w, const json_t *pipeline, dt_dataset **d);
void words_release(words *w);
bool policy_of(const char *name, dt_auto_shard_policy *out);

/* ---- elements.c: what comes out ---- */

/* Elements of a data set; an error in *s. most: 0 for all. */
json_t *elements_of(dt_dataset *d, int most, dt_status **s);
/* steps[step][replica] */
json_t *steps_of(dt_dist_dataset *d, int replicas, int most, dt_status **s);
json_t *json_of_spec(const dt_dist_dataset *d, int replicas);
/* The recorded error is the interpreter's own where ours is a ValueError. */
void expect_data_error(verdict *v, dt_status *s);

#endif
