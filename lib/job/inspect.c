/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects, shares out or converts the data of a job, or files without a job, for which a `dataset`
 * mapping is guessed. */
#include <string.h>
#include <sys/stat.h>

#include "data/guess.h"
#include "data/inspect.h"
#include "job/job.h"

/* The data that a request is about, and what was guessed about it. */
typedef struct opened {
    dt_dataset *data;
    dt_part part;
    dt_guess guess;
    const char *title;
} opened;

static dt_status *find_part(const char *split, dt_part *out) {
    for (*out = 0; *out < DT_PARTS; ++*out)
        if (strcmp(split ? split : "train", dt_part_name(*out)) == 0) return NULL;
    return dt_fail(DT_E_MISUSE, NULL, "no part '%s': train, validation, test", split);
}

static dt_status *open_files(const dt_data_request *q, opened *x) {
    DT_TRY(dt_want_texts(q->files, q->n_files, "a request for data", "file"));
    x->guess.files = q->files;
    x->guess.n = q->n_files;
    size_t name;
    x->title = q->n_files > 0 ? dt_guess_path(q->files[0], &name) : "";
    DT_TRY(dt_guess_files(&x->guess));
    /* columns are known already, and this request needs nothing else of the files */
    if (x->guess.table.v) return NULL;
    /* the error's location is removed, because it points into a guessed mapping that the user has
     * not written */
    return dt_without_place(dt_dataset_open(&x->data, "%s", dt_str_text(&x->guess.out)), "dataset");
}

static dt_status *open_job(const dt_data_request *q, opened *x) {
    x->title = q->title ? q->title : q->job->name;
    dt_dataset_spec stored = q->job->dataset;
    stored.as_stored = true;
    if (q->as_stored) return dt_dataset_create(&x->data, &stored);
    DT_TRY(dt_job_open_data(q->job));
    dt_dataset_ref(q->job->data);
    x->data = q->job->data;
    return NULL;
}

static dt_status *open_request(const dt_data_request *q, opened *x) {
    DT_TRY(dt_want_live(q->job, "a request for data", "job"));
    DT_TRY(find_part(q->split, &x->part));
    DT_TRY(q->job ? open_job(q, x) : open_files(q, x));
    if (x->guess.table.v ? x->part == DT_PART_TRAIN : dt_dataset_count(x->data, x->part) > 0)
        return NULL;
    return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no %s part", x->title, dt_part_name(x->part));
}

/* Checks what all requests have in common, then opens the data. */
static dt_status *begin(const dt_data_request *q, char **text, const char *call, opened *x) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(q, call, "request"));
    DT_TRY(dt_want(text, call, "place for the text"));
    *text = NULL;
    return open_request(q, x);
}

static dt_status *end(opened *x, dt_status *s, dt_str *out, char **text) {
    if (s) dt_str_release(out);
    else *text = dt_str_take(out);
    dt_dataset_unref(x->data);
    dt_guess_release(&x->guess);
    return s;
}

static bool is_folder(const dt_data_request *q) {
    struct stat st;
    return q && !q->job && q->n_files == 1 && q->files && q->files[0] &&
           stat(q->files[0], &st) == 0 && S_ISDIR(st.st_mode);
}

static dt_status *inspect_folder(const dt_data_request *q, char **text) {
    dt_str out = {0};
    DT_TRY(dt_want(text, "dt_data_inspect", "place for the text"));
    *text = NULL;
    dt_status *s = (dt_texts_are_in(q->files[0]) ? dt_texts_inspect
                                                 : dt_pictures_inspect)(q->files[0], q->json, &out);
    if (s) dt_str_release(&out);
    else *text = dt_str_take(&out);
    return s;
}

static void note_left_out(opened *x) {
    dt_texts files;
    dt_dataset_left_out(x->data, &files);
    for (int i = 0; i < files.n; i++) dt_str_printf(&x->guess.notes, "%s\n", files.v[i]);
}

DT_API dt_status *dt_data_inspect(const dt_data_request *q, int64_t records, char **text) {
    opened x = {0};
    dt_str out = {0};
    DT_TRY(dt_status_kept());
    if (is_folder(q)) return inspect_folder(q, text);
    x.guess.wants_table = true;
    x.guess.table.wanted = records;
    dt_status *s = begin(q, text, "dt_data_inspect", &x);
    if (!s && x.data) note_left_out(&x);
    if (!s && x.guess.table.v) dt_table_inspect(&x.guess, x.title, q->json, &out);
    else if (!s)
        s = dt_dataset_inspect(&(dt_inspection){.data = x.data,
                                                .part = x.part,
                                                .title = x.title,
                                                .notes = dt_str_text(&x.guess.notes),
                                                .records = records,
                                                .json = q->json},
                               &out);
    return end(&x, s, &out, text);
}

/* Returns the number of replicas of each worker: the job's replicas, if they can be divided evenly
 * among the workers; else 1. */
static int64_t replicas_of(const dt_data_request *q, int workers) {
    return q->job && q->job->replicas > 0 && q->job->replicas % workers == 0
               ? q->job->replicas / workers
               : 1;
}

/* Returns the size of the global batch. For files without a job, each worker gets one example, the
 * smallest possible batch. */
static int64_t batch_of(const opened *x, const dt_data_request *q, int workers) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(x->data);
    if (!q->job) return workers;
    return spec->global_batch_size > 0
               ? spec->global_batch_size
               : spec->per_replica_batch_size * workers * replicas_of(q, workers);
}

/* Returns the number of workers that `fit` would have, so that the answer describes what each
 * worker reads; 2 if there is no job, or its number is unknown. */
static int workers_of(const dt_data_request *q) {
    return q->job && q->job->workers > 0 ? (int)q->job->workers : 2;
}

DT_API dt_status *dt_data_shards(const dt_data_request *q, int workers, const char *policy,
                                 char **text) {
    opened x = {0};
    dt_str out = {0};
    dt_status *s = begin(q, text, "dt_data_shards", &x);
    if (!s && (workers < 0 || workers > (1 << 16)))
        s = dt_fail(DT_E_SHARD, NULL, "%d workers: there are 1 to %d", workers, 1 << 16);
    if (!s && workers == 0) workers = workers_of(q);
    if (!s)
        s = dt_dataset_shares(&(dt_sharing){.data = x.data,
                                            .part = x.part,
                                            .title = x.title,
                                            .policy = policy,
                                            .workers = workers,
                                            .replicas = replicas_of(q, workers),
                                            .batch = batch_of(&x, q, workers),
                                            .json = q->json},
                              &out);
    return end(&x, s, &out, text);
}

DT_API dt_status *dt_data_convert(const dt_data_request *q, const char *output, int shards,
                                  char **text) {
    opened x = {0};
    dt_str out = {0};
    dt_status *s = begin(q, text, "dt_data_convert", &x);
    if (!s) s = dt_want(output, "dt_data_convert", "output");
    if (!s)
        s = dt_dataset_convert(
            &(dt_conversion){.data = x.data, .part = x.part, .output = output, .shards = shards},
            &out);
    if (!s) note_left_out(&x);
    if (q && q->notes)
        *q->notes = !s && x.guess.notes.size > 0 ? dt_str_take(&x.guess.notes) : NULL;
    return end(&x, s, &out, text);
}
