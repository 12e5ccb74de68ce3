/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples as records: TFRecords of tf.Examples, or lines of CSV (convert_csv.c); in one file, or in a set NAME-00000-of-00008.SUFFIX of equal parts
 * in order.
 */
#include <stdlib.h>
#include <string.h>

#include "file/cast.h"
#include "data/convert.h"
#include "file/records.h"
#include "file/protobuf.h"

/* ---- tf.Example ---- */

static void put_floats(dt_str *out, dt_dtype d, const char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float f;
        uint32_t bits;
        dt_cast(d, DT_FLOAT32, p + i * (int64_t)dt_dtype_size(d), &f, 1);
        memcpy(&bits, &f, sizeof bits);
        dt_put_little(out, bits, 4);
    }
}

static void put_integers(dt_str *out, dt_dtype d, const char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t x;
        dt_cast(d, DT_INT64, p + i * (int64_t)dt_dtype_size(d), &x, 1);
        dt_pb_put_varint(out, (uint64_t)x);
    }
}

enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 }; /* fields of Feature */

/* Arrays of bytes are one byte string; floats are float_list, which has no doubles; the rest int64_list. */
static int list_of(const dt_type *row)
{
    return dt_dtype_is_float(row->dtype) ? FLOAT_LIST : row->dtype == DT_UINT8 && row->rank > 0 ? BYTES_LIST : INT64_LIST;
}

/* An entry of Features: name, then Feature { list { values } }. */
static void put_feature(dt_str *features, const dt_element *e, const void *values)
{
    const dt_type row = dt_row_type(e);
    const int64_t n = dt_type_elements(&row);
    const int list = list_of(&row);
    dt_str packed = {0}, inside = {0}, feature = {0}, entry = {0};
    if (list == BYTES_LIST)
        dt_str_add(&packed, values, e->stored && e->stored->text ? strlen(values) : (size_t)n);
    else
        (list == FLOAT_LIST ? put_floats : put_integers)(&packed, row.dtype, values, n);
    dt_pb_put_message(&inside, DT_PB_TAG(1, DT_PB_BYTES), &packed);
    dt_pb_put_message(&feature, DT_PB_TAG(list, DT_PB_BYTES), &inside);
    dt_str_puts(&inside, e->name);
    dt_pb_put_message(&entry, DT_PB_TAG(1, DT_PB_BYTES), &inside);
    dt_pb_put_message(&entry, DT_PB_TAG(2, DT_PB_BYTES), &feature);
    dt_pb_put_message(features, DT_PB_TAG(1, DT_PB_BYTES), &entry);
    dt_str_release(&packed);
    dt_str_release(&inside);
    dt_str_release(&feature);
    dt_str_release(&entry);
}

static void put_record(const dt_record_form *f, const void *const *row, dt_str *out)
{
    dt_str features = {0}, example = {0};
    for (int e = 0; e < f->n; e++)
        put_feature(&features, &f->element[e], row[e]);
    dt_pb_put_message(&example, DT_PB_TAG(1, DT_PB_BYTES), &features);
    const size_t at = out->size;
    dt_put_little(out, example.size, 8);
    dt_put_little(out, dt_crc32c_masked(out->data + at, 8), 4);
    dt_str_add(out, dt_str_text(&example), example.size);
    dt_put_little(out, dt_crc32c_masked(dt_str_text(&example), example.size), 4);
    dt_str_release(&features);
    dt_str_release(&example);
}

const dt_record_writer dt_tfrecord_writer = {.record = put_record};

/* ---- files ---- */

typedef struct run {
    const dt_conversion *q;
    const dt_output_format *f;
    dt_record_form form;
    const void **row; /* [form.n] */
    dt_str *files;
    dt_sink sink;
    int64_t count, done, shard; /* examples; written; of the file that is open */
} run;

/* Examples before shard k: parts differ by one at most. */
static int64_t first_of(const run *r, int64_t k)
{
    return r->count / r->q->shards * k + (k < r->count % r->q->shards ? k : r->count % r->q->shards);
}

static void shard_name(const run *r, dt_str *out)
{
    const size_t n = strlen(r->q->output) - strlen(r->f->suffix);
    dt_str_clear(out);
    if (r->q->shards == 1)
        dt_str_puts(out, r->q->output);
    else
        dt_str_printf(out, "%.*s-%05lld-of-%05lld%s", (int)n, r->q->output, (long long)r->shard, (long long)r->q->shards, r->f->suffix);
}

static dt_status *open_shard(run *r)
{
    dt_str name = {0}, header = {0};
    shard_name(r, &name);
    dt_str_printf(r->files, "%s\n", dt_str_text(&name));
    dt_status *s = dt_sink_open(&r->sink, dt_str_text(&name));
    if (!s && r->f->record->header)
        r->f->record->header(&r->form, &header);
    if (!s)
        s = dt_sink_put(&r->sink, dt_str_text(&header), header.size);
    dt_str_release(&name);
    dt_str_release(&header);
    return s;
}

static dt_status *put_example(run *r, const dt_batch *b, int64_t i, dt_str *record)
{
    while (r->done == first_of(r, r->shard + 1)) { /* parts of no examples are files too */
        DT_TRY(dt_sink_commit(&r->sink));
        r->shard++;
        DT_TRY(open_shard(r));
    }
    for (int e = 0; e < r->form.n; e++) {
        const dt_type row = dt_row_type(&r->form.element[e]);
        r->row[e] = (const char *)b->element[e].data + i * dt_type_bytes(&row);
    }
    dt_str_clear(record);
    r->f->record->record(&r->form, r->row, record);
    r->done++;
    return dt_sink_put(&r->sink, dt_str_text(record), record->size);
}

static dt_status *put_batches(run *r, dt_feed *feed)
{
    dt_batch b;
    dt_str record = {0};
    dt_status *s = dt_feed_next(feed, &b);
    while (!s && b.rows > 0) {
        for (int64_t i = 0; i < b.rows && !s; i++)
            s = put_example(r, &b, i, &record);
        if (!s)
            s = dt_feed_next(feed, &b);
    }
    dt_str_release(&record);
    return s;
}

static dt_status *finish(run *r)
{
    DT_TRY(dt_sink_commit(&r->sink));
    while (++r->shard < r->q->shards) {
        DT_TRY(open_shard(r));
        DT_TRY(dt_sink_commit(&r->sink));
    }
    return NULL;
}

dt_status *dt_convert_records(const dt_conversion *q, const dt_output_format *f, dt_str *files)
{
    run r = {.q = q, .f = f, .files = files, .count = dt_dataset_count(q->data, q->part)};
    dt_feed *feed = NULL;
    dt_arena *arena = dt_arena_create();
    r.form.n = dt_dataset_elements(q->data, &r.form.element);
    if (f->record->plan)
        r.form.plan = f->record->plan(arena, &r.form);
    r.row = dt_alloc((size_t)r.form.n * sizeof *r.row);
    dt_status *s = dt_convert_feed(q, &feed);
    if (!s)
        s = open_shard(&r);
    if (!s)
        s = put_batches(&r, feed);
    if (!s)
        s = finish(&r);
    if (s)
        dt_sink_abandon(&r.sink);
    dt_feed_close(feed);
    dt_arena_destroy(arena);
    free(r.row);
    return s;
}
