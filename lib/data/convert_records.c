/* Examples as records: CSV lines, TFRecords of tf.Examples; in one file, or in a set NAME-00000-of-00008.SUFFIX of equal parts in order. */
#include <stdlib.h>
#include <string.h>

#include "data/cast.h"
#include "data/convert.h"
#include "data/record/record.h"

/* ---- CSV ---- */

/* What examples are as they are stored: texts, places in a vocabulary; NULL: numbers. A default_value may be no place: its field was empty. */
static const char *text_of(const dt_element *e, const void *value)
{
    const dt_stored *x = e->stored;
    int64_t place;
    if (!x || (!x->text && x->vocabulary.n == 0))
        return NULL;
    if (x->text)
        return value;
    dt_cast(e->type.dtype, DT_INT64, value, &place, 1);
    return place >= 0 && place < x->vocabulary.n ? x->vocabulary.v[place] : "";
}

/* A text as a field: in quotes where it must be. An empty one, too: alone in a line it would be none, and readers skip empty lines. */
static void put_field(dt_str *out, const char *text)
{
    const bool quoted = !*text || text[strcspn(text, ",\"\r\n")] != '\0';
    dt_str_puts(out, quoted ? "\"" : "");
    for (; *text; text++) {
        if (*text == '"')
            dt_str_putc(out, '"');
        dt_str_putc(out, *text);
    }
    dt_str_puts(out, quoted ? "\"" : "");
}

static int64_t fields_of(const dt_element *e)
{
    const dt_type row = dt_row_type(e);
    return e->stored && e->stored->text ? 1 : dt_type_elements(&row);
}

/* The columns' own names; else "x" of single values, x_0, x_1, ... of others in the order of the array. */
static void put_column(const dt_element *e, int64_t i, dt_str *name)
{
    dt_str_clear(name);
    if (e->stored && e->stored->columns.n > 0)
        dt_str_puts(name, e->stored->columns.v[i]);
    else if (e->type.rank > 1 && !(e->stored && e->stored->text))
        dt_str_printf(name, "%s_%lld", e->name, (long long)i);
    else
        dt_str_puts(name, e->name);
}

static dt_status *csv_header(const dt_element *elements, int n, dt_str *out)
{
    dt_str name = {0};
    for (int e = 0; e < n; e++)
        for (int64_t i = 0; i < fields_of(&elements[e]); i++) {
            put_column(&elements[e], i, &name);
            dt_str_puts(out, e || i ? "," : "");
            put_field(out, dt_str_text(&name));
        }
    dt_str_puts(out, "\r\n");
    dt_str_release(&name);
    return NULL;
}

static void put_value(dt_str *out, dt_dtype d, const char *p)
{
    double real;
    int64_t integer;
    float f;
    if (d == DT_FLOAT32) {
        memcpy(&f, p, sizeof f);
        dt_str_float(out, f);
    } else if (d == DT_FLOAT64) {
        memcpy(&real, p, sizeof real);
        dt_str_double(out, real);
    } else {
        dt_cast(d, DT_INT64, p, &integer, 1);
        dt_str_printf(out, "%lld", (long long)integer);
    }
}

static dt_status *csv_record(const dt_element *elements, int n, const void *const *row, dt_str *out)
{
    for (int e = 0; e < n; e++) {
        const dt_type t = dt_row_type(&elements[e]);
        const size_t size = dt_dtype_size(t.dtype);
        for (int64_t i = 0; i < fields_of(&elements[e]); i++) {
            const char *value = (const char *)row[e] + i * (int64_t)size, *text = text_of(&elements[e], value);
            dt_str_puts(out, e || i ? "," : "");
            if (text)
                put_field(out, text);
            else
                put_value(out, t.dtype, value);
        }
    }
    dt_str_puts(out, "\r\n");
    return NULL;
}

const dt_record_writer dt_csv_writer = {.header = csv_header, .record = csv_record};

/* ---- tf.Example ---- */

static void put_varint(dt_str *out, uint64_t x)
{
    for (; x > 127; x >>= 7)
        dt_str_putc(out, (char)(x | 128));
    dt_str_putc(out, (char)x);
}

/* Field `number` of bytes; inside is emptied. */
static void put_message(dt_str *out, int number, dt_str *inside)
{
    put_varint(out, (uint64_t)number << 3 | 2);
    put_varint(out, inside->size);
    dt_str_add(out, dt_str_text(inside), inside->size);
    dt_str_clear(inside);
}

static void put_floats(dt_str *out, dt_dtype d, const char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float f;
        uint32_t bits;
        dt_cast(d, DT_FLOAT32, p + i * (int64_t)dt_dtype_size(d), &f, 1);
        memcpy(&bits, &f, sizeof bits);
        for (int shift = 0; shift < 32; shift += 8)
            dt_str_putc(out, (char)(bits >> shift & 255));
    }
}

static void put_integers(dt_str *out, dt_dtype d, const char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t x;
        dt_cast(d, DT_INT64, p + i * (int64_t)dt_dtype_size(d), &x, 1);
        put_varint(out, (uint64_t)x);
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
    put_message(&inside, 1, &packed);
    put_message(&feature, list, &inside);
    dt_str_puts(&inside, e->name);
    put_message(&entry, 1, &inside);
    put_message(&entry, 2, &feature);
    put_message(features, 1, &entry);
    dt_str_release(&packed);
    dt_str_release(&inside);
    dt_str_release(&feature);
    dt_str_release(&entry);
}

static void put_little(dt_str *out, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        dt_str_putc(out, (char)(x >> 8 * i & 255));
}

static dt_status *tfrecord_record(const dt_element *elements, int n, const void *const *row, dt_str *out)
{
    dt_str features = {0}, example = {0};
    for (int e = 0; e < n; e++)
        put_feature(&features, &elements[e], row[e]);
    put_message(&example, 1, &features);
    const size_t at = out->size;
    put_little(out, example.size, 8);
    put_little(out, dt_crc32c_masked(out->data + at, 8), 4);
    dt_str_add(out, dt_str_text(&example), example.size);
    put_little(out, dt_crc32c_masked(dt_str_text(&example), example.size), 4);
    dt_str_release(&features);
    dt_str_release(&example);
    return NULL;
}

const dt_record_writer dt_tfrecord_writer = {.record = tfrecord_record};

/* ---- files ---- */

typedef struct run {
    const dt_conversion *q;
    const dt_output_format *f;
    const dt_element *element;
    int n;
    const void **row; /* [n] */
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
        s = r->f->record->header(r->element, r->n, &header);
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
    for (int e = 0; e < r->n; e++) {
        const dt_type row = dt_row_type(&r->element[e]);
        r->row[e] = (const char *)b->element[e].data + i * dt_type_bytes(&row);
    }
    dt_str_clear(record);
    DT_TRY(r->f->record->record(r->element, r->n, r->row, record));
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
    r.n = dt_dataset_elements(q->data, &r.element);
    r.row = dt_alloc((size_t)r.n * sizeof *r.row);
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
    free(r.row);
    return s;
}
