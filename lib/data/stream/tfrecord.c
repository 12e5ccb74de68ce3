/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord of tf.Examples. Of a job whose data is TFRecords all that it says of its elements holds: names of features, padding, pictures, texts.
 * Else a feature has the input's name, and as many values as that.
 */
#include <string.h>

#include "file/records.h"
#include "data/stream/stream.h"
#include "file/tfrecord_words.h"

typedef struct reader {
    dt_records records;
    dt_str record;
    dt_parsed_example parsed;
    dt_tf_element *element; /* [n] */
    bool *pictures;         /* [n] as the first record tells */
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

static dt_status *read_element(const dt_stream_source *s, dt_stream_element *e, dt_tf_element *out)
{
    const dt_tree *words = strcmp(s->job->format->kind.name, "tfrecord") == 0 ? e->words : NULL;
    const dt_entry entry = {.key = e->name, .value = (dt_tree *)(uintptr_t)words};
    *out = (dt_tf_element){.element = e->name, .name = e->name, .type = e->stored, .text = e->text};
    if (!words)
        return NULL;
    DT_TRY(dt_tf_element_read(s->arena, dt_arena_copy(s->arena, &entry, sizeof entry), out));
    e->stored = out->type;
    e->text = out->text;
    return NULL;
}

static dt_status *open_records(dt_stream_source *s, void **state)
{
    reader *r = dt_arena_new(s->arena, reader);
    *r = (reader){.records = {.file = s->file, .path = s->path, .options = {.kind = DT_TFRECORD}}};
    r->element = dt_arena_array(s->arena, dt_tf_element, s->n);
    r->pictures = dt_arena_array(s->arena, bool, s->n);
    for (int e = 0; e < s->n; e++)
        DT_TRY(read_element(s, &s->element[e], &r->element[e]));
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
    for (int e = 0; e < s->n; e++) {
        const dt_tf_element *f = &r->element[e];
        if (r->records.number == 1)
            r->pictures[e] = dt_tf_element_is_picture(&r->parsed, f);
        DT_TRY(in_record(r->pictures[e] ? dt_tf_element_picture(&r->parsed, f, row[e]) : dt_tf_element_values(&r->parsed, f, row[e]), r));
    }
    return NULL;
}

const dt_stream_kind dt_stream_tfrecord = {.name = "tfrecord", .texts = true, .is = is_tfrecord, .open = open_records, .next = next_record,
                                           .close = close_records};
