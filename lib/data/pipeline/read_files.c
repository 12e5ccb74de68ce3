/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_files: the records of the files that the input names, one file after the other or
 * interleaved. Auto-sharding looks for this transformation, to give each worker some of the names.
 * Each file is a source of its own, which interleave opens.
 */
#include <stdlib.h>

#include "data/pipeline/build.h"
#include "file/records.h"

struct file {
    char *path;
    dt_record_options options;
};

/* ---- one file ---- */

static void release_file(void *args) { free(((struct file *)args)->path); }

static dt_status *open_file(dt_iterator *it) {
    const struct file *f = it->dataset->args;
    return dt_records_open(it->state, f->path, &f->options);
}

static dt_status *next_record(dt_iterator *it, dt_example *out) {
    dt_str record = {0};
    bool more;
    dt_status *s = dt_records_next(it->state, &record, &more);
    if (!s && more) s = dt_example_of_bytes(out, dt_str_text(&record), (int64_t)record.size);
    dt_str_release(&record);
    return s;
}

static void close_file(dt_iterator *it) { dt_records_close(it->state); }

static const dt_transform file_row = {
    .name = "file",
    .args_size = sizeof(struct file),
    .state_size = sizeof(dt_records),
    .open = open_file,
    .next = next_record,
    .close = close_file,
    .release = release_file,
};

static dt_example_spec record_spec(void) {
    const dt_type bytes = dt_type_of(DT_UINT8, 1, (const int64_t[]){DT_UNKNOWN_DIM});
    return dt_spec_single(DT_ONLY_COMPONENT, &bytes);
}

/* ---- many files ---- */

static dt_status *expand(const dt_example *example, void *user, dt_dataset **out) {
    const dt_tensor *name = example->tensor[0];
    dt_str path = {0};
    dt_str_add(&path, name->data, (size_t)name->type.dim[0]);
    const struct file args = {dt_str_take(&path), *(const dt_record_options *)user};
    return dt_dataset_build(out, &file_row, NULL, &args, record_spec());
}

static dt_status *check(const dt_dataset *names, const dt_file_options *o) {
    const dt_example_spec *spec = &names->spec;
    if (spec->n != 1 || spec->c[0].type.dtype != DT_UINT8 || spec->c[0].type.rank != 1)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "read_files: elements must be names of files, vectors of uint8 as "
                       "dt_dataset_list_files gives them");
    if ((int)o->kind < DT_TFRECORD || o->kind > DT_FIXED_LENGTH)
        return dt_fail(DT_E_PIPELINE, NULL, "read_files: unknown kind of file %d", (int)o->kind);
    return NULL;
}

dt_status *dt_dataset_read_files(dt_dataset **out, const dt_dataset *names,
                                 const dt_file_options *options) {
    DT_LIVE(names);
    const dt_file_options o = options ? *options : (dt_file_options){0};
    DT_TRY(dt_dataset_check_input(names, "read_files"));
    DT_TRY(check(names, &o));
    dt_record_options *kept = dt_alloc(sizeof *kept);
    *kept =
        (dt_record_options){o.kind, o.record_bytes, o.header_bytes, o.footer_bytes, .longest = 0};
    return dt_dataset_build_interleave(
        out, names,
        &(dt_example_function){.expand = expand,
                               .user = kept,
                               .release = free,
                               .cycle_length = o.cycle_length ? o.cycle_length : 1,
                               .block_length = o.block_length ? o.block_length : 1},
        true, record_spec());
}

static dt_status *read_kind(dt_dataset **out, const char *const *files, int n, dt_file_kind kind) {
    dt_dataset *names = NULL;
    DT_TRY(dt_dataset_list_files(&names, files, n));
    dt_status *s = dt_dataset_read_files(out, names, &(dt_file_options){.kind = kind});
    dt_dataset_unref(names);
    return s;
}

dt_status *dt_dataset_tfrecord(dt_dataset **out, const char *const *files, int n) {
    return read_kind(out, files, n, DT_TFRECORD);
}

dt_status *dt_dataset_text_lines(dt_dataset **out, const char *const *files, int n) {
    return read_kind(out, files, n, DT_TEXT_LINES);
}
