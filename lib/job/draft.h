/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job written from data: `config init --from`. Each kind of data (a table, a folder of pictures
 * or texts, arrays, a text) has a reader. It fills a dt_draft with the lines of `dataset` and
 * describes the model's inputs and target. Except for a text, one writer adds the model, compile
 * and fit. Comments in the job give reasons.
 */
#ifndef DT_JOB_DRAFT_H
#define DT_JOB_DRAFT_H

#include "data/describe.h"

/* the number of words in the vocabulary that a drafted job has for texts */
enum { DT_DRAFT_TOKENS = 10000 };

typedef enum dt_draft_body {
    DT_DRAFT_DENSE, /* the inputs are concatenated and followed by Dense layers */
    /* a model of convolutions over its only input, of shape (rows, columns, channels) */
    DT_DRAFT_PICTURES,
    DT_DRAFT_LANGUAGE, /* a language model: the reader has written all sections to `dataset` */
} dt_draft_body;

/* An input of the model: values as `map` returns them, or indices of `rows` words, for which the
 * model has an embedding. */
typedef struct dt_draft_input {
    const char *name;
    dt_type type; /* type of one example's value, without the batch dimension */
    /* rows and columns of the embedding's table; 0: the input has no embedding */
    int64_t rows, width;
    /* whether the input has a weight for each word; the output should depend on these linearly */
    bool words;
} dt_draft_input;

typedef struct dt_draft {
    dt_arena *arena;
    const dt_guess *guess; /* the files that are given, and what was guessed about them */
    const char *target;    /* the column or array that the user wants to predict; NULL: not given */
    /* the text of `dataset` in the job, without its keys for the split and the batch; for
     * DT_DRAFT_LANGUAGE that of all sections after the head */
    dt_str dataset;
    dt_draft_body body;
    dt_draft_input *input; /* [n_inputs] the model's inputs */
    int n_inputs;
    int64_t examples;
    const char *element;    /* name of the target's element */
    int64_t classes;        /* number of classes of the target; 0: the target is a number */
    int64_t rarest;         /* number of examples of the rarest class */
    double mean, deviation; /* mean and deviation of the target, if it is a number */
    /* the data is a table without texts and lists, whose numbers do not look like pixels */
    bool mixed;
    /* a summary of the target: "'species' (3 classes) from 344 records" */
    const char *about;
} dt_draft;

/* Each function drafts a job for one kind of data. It sets `dataset` and the members after it, as
 * far as the body of the model needs them; the caller sets those before. */
dt_status *dt_draft_table(dt_draft *d) DT_MUST_USE;
dt_status *dt_draft_pictures(dt_draft *d, const char *folder) DT_MUST_USE;
dt_status *dt_draft_arrays(dt_draft *d) DT_MUST_USE;
dt_status *dt_draft_texts(dt_draft *d, const char *folder) DT_MUST_USE;
dt_status *dt_draft_language(dt_draft *d, const char *path) DT_MUST_USE;
/* draft.c: returns an error if files in a folder are broken, or if all are of one class. `folder`
 * is the folder's name, `file` says what its files are, such as "picture". */
dt_status *dt_draft_check_folder(const char *folder, const char *file, int64_t broken,
                                 int64_t classes) DT_MUST_USE;
/* Appends the whole job to `out`. */
void dt_draft_write(const dt_draft *d, dt_str *out);

/* Returns a name for an element or a layer, in the arena: letters, digits and _, different from the
 * names of the target, of the inputs so far and of the layers that draft_write.c writes for a
 * table. */
const char *dt_draft_name(dt_draft *d, const char *text);

#endif
