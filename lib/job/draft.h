/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job written from data: `config init --from`. A reader for each kind of data (a table, a folder
 * of pictures or texts, arrays, a text) fills a dt_draft with the lines of `dataset` and with what
 * the model's inputs and target are; one writer adds the model, compile and fit. Each decision has
 * a comment in the job.
 */
#ifndef DT_JOB_DRAFT_H
#define DT_JOB_DRAFT_H

#include "data/describe.h"

enum { DT_DRAFT_TOKENS = 10000 }; /* words of the vocabulary of texts */

typedef enum dt_draft_body {
    DT_DRAFT_DENSE,    /* inputs side by side, then Dense layers */
    DT_DRAFT_PICTURES, /* convolutions over the only input, (rows, columns, channels) */
    DT_DRAFT_LANGUAGE, /* `dataset` has all sections of a language model */
} dt_draft_body;

/* An input of the model: values after `map`, or indices of `rows` texts that get an embedding. */
typedef struct dt_draft_input {
    const char *name;
    dt_type type;        /* type of an example */
    int64_t rows, width; /* size of an embedding's table; 0: no embedding */
    bool words;          /* weights of words, which the output is to be linear in */
} dt_draft_input;

typedef struct dt_draft {
    dt_arena *arena;
    const dt_guess *guess; /* the files */
    const char *target;    /* the column or array to predict, as asked for; NULL: not given */
    dt_str dataset;        /* lines of `dataset`, without the split and the batch */
    dt_draft_body body;
    dt_draft_input *input; /* [n_inputs] */
    int n_inputs;
    int64_t examples;
    const char *element;    /* name of the target's element */
    int64_t classes;        /* 0: the target is a number */
    int64_t rarest;         /* examples of the smallest class */
    double mean, deviation; /* mean and deviation of a target that is a number */
    bool mixed;             /* a table with columns of several kinds */
    const char *about;      /* "3 classes of 'species' from penguins.csv" */
} dt_draft;

/* Fills in everything but guess and target, which are given. Errors say what to do. */
dt_status *dt_draft_table(dt_draft *d) DT_MUST_USE;
dt_status *dt_draft_pictures(dt_draft *d, const char *folder) DT_MUST_USE;
dt_status *dt_draft_arrays(dt_draft *d) DT_MUST_USE;
dt_status *dt_draft_texts(dt_draft *d, const char *folder) DT_MUST_USE;
dt_status *dt_draft_language(dt_draft *d, const char *path) DT_MUST_USE;
/* draft.c: fails if files of a folder, such as "picture", are broken, or all are of one class. */
dt_status *dt_draft_check_folder(const char *folder, const char *file, int64_t broken,
                                 int64_t classes) DT_MUST_USE;
/* Appends the whole job. */
void dt_draft_write(const dt_draft *d, dt_str *out);

/* A name for an element or a layer, in the arena: letters, digits and _, unlike those of inputs. */
const char *dt_draft_name(dt_draft *d, const char *text);

#endif
