/* TFRecord of tf.Examples. A feature has the name that the job's `element` gives it, else the input's. */
#include <string.h>

#include "data/feature.h"
#include "data/record/record.h"
#include "data/stream/stream.h"

typedef struct reader {
    dt_records records;
    dt_str record;
    dt_parsed_example parsed;
    const char **feature; /* [n] */
} reader;

/* A length, and its checksum. */
static bool is_tfrecord(const unsigned char *first, int64_t n)
{
    uint32_t crc = 0;
    if (n < DT_TFRECORD_HEADER)
        return false;
    for (int i = 0; i < 4; i++)
        crc |= (uint32_t)first[8 + i] << 8 * i;
    return dt_crc32c_masked(first, 8) == crc;
}

static dt_status *open_records(dt_stream_source *s, void **state)
{
    reader *r = dt_arena_new(s->arena, reader);
    *r = (reader){.records = {.file = s->file, .path = s->path, .options = {.kind = DT_TFRECORD}}};
    r->feature = dt_arena_array(s->arena, const char *, s->n);
    for (int e = 0; e < s->n; e++) {
        const dt_tree *name = dt_tree_get(s->element[e].words, "feature");
        r->feature[e] = name && name->kind == DT_TREE_SCALAR && *name->text ? name->text : s->element[e].name;
    }
    *state = r;
    return NULL;
}

static void close_records(void *state)
{
    reader *r = state;
    dt_parsed_example_release(&r->parsed);
    dt_str_release(&r->records.window);
    dt_str_release(&r->record);
}

static dt_status *in_record(dt_status *s, const reader *r)
{
    if (!s)
        return NULL;
    dt_status *named = dt_fail((dt_error)dt_status_number(s), NULL, "%s: record %lld: %s", r->records.path, (long long)r->records.number - 1,
                               dt_status_text(s));
    dt_status_free(s);
    return named;
}

static dt_status *next_record(dt_stream_source *s, void *state, void *const *row, bool *more)
{
    reader *r = state;
    const char *why = "";
    DT_TRY(dt_records_next(&r->records, &r->record, more));
    if (!*more)
        return NULL;
    if (!dt_parsed_example_read(&r->parsed, r->record.data, r->record.size, &why))
        return in_record(dt_fail(DT_E_EXAMPLE, NULL, "is not a tf.Example%s%s%s", *why ? " (" : "", why, *why ? ")" : ""), r);
    for (int e = 0; e < s->n; e++)
        DT_TRY(in_record(dt_feature_read(&r->parsed, r->feature[e], &s->element[e].stored, row[e]), r));
    return NULL;
}

const dt_stream_kind dt_stream_tfrecord = {.name = "tfrecord", .is = is_tfrecord, .open = open_records, .next = next_record, .close = close_records};
