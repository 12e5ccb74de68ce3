/* SPDX-License-Identifier: Apache-2.0 */
/* Which format is written, and files that appear when they are complete; see convert.h. */
#include "data/convert.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 20, LARGEST_BATCH = 1024, MOST_SHARDS = 100000 };
#define BATCH_BYTES ((int64_t)4 << 20)

static const dt_output_format formats[] = {
    {".npy", &dt_npy_writer, NULL, false}, {".npz", &dt_npy_writer, NULL, true}, {".idx", &dt_idx_writer, NULL, false},
    {"-ubyte", &dt_idx_writer, NULL, false}, {".csv", NULL, &dt_csv_writer, false}, {".tfrecord", NULL, &dt_tfrecord_writer, false},
};

/* ---- files ---- */

dt_status *dt_sink_open(dt_sink *s, const char *path)
{
    dt_str temporary = {0};
    *s = (dt_sink){0};
    DT_TRY(dt_file_target(path, &s->path));
    dt_str_printf(&temporary, "%s.tmp", s->path);
    dt_status *bad = dt_writer_open(&s->w, dt_str_text(&temporary));
    s->open = !bad;
    dt_str_release(&temporary);
    return bad;
}

static dt_status *flush(dt_sink *s)
{
    dt_status *bad = dt_writer_put(&s->w, dt_str_text(&s->buffer), s->buffer.size);
    dt_str_clear(&s->buffer);
    return bad;
}

dt_status *dt_sink_put(dt_sink *s, const void *bytes, size_t n)
{
    dt_str_add(&s->buffer, bytes, n);
    s->written += (int64_t)n;
    return s->buffer.size < BUFFER ? NULL : flush(s);
}

static void release(dt_sink *s)
{
    dt_str_release(&s->buffer);
    free(s->path);
    *s = (dt_sink){0};
}

static dt_status *adopt(const dt_sink *s)
{
    dt_str temporary = {0};
    dt_str_printf(&temporary, "%s.tmp", s->path);
    dt_status *bad = dt_file_adopt(dt_str_text(&temporary), s->path);
    dt_str_release(&temporary);
    return bad;
}

dt_status *dt_sink_commit(dt_sink *s)
{
    DT_TRY(flush(s));
    DT_TRY(dt_writer_sync(&s->w));
    DT_TRY(dt_writer_close(&s->w));
    s->open = false;
    DT_TRY(adopt(s));
    release(s);
    return NULL;
}

void dt_sink_abandon(dt_sink *s)
{
    if (s->open)
        dt_writer_abandon(&s->w);
    release(s);
}

/* ---- what is shared ---- */

dt_type dt_row_type(const dt_element *e)
{
    return dt_type_of(e->type.dtype, e->type.rank - 1, e->type.dim + 1);
}

dt_status *dt_convert_feed(const dt_conversion *q, dt_feed **out)
{
    const dt_element *element;
    int64_t bytes = 1;
    const int n = dt_dataset_elements(q->data, &element);
    for (int e = 0; e < n; e++) {
        const dt_type row = dt_row_type(&element[e]);
        bytes += dt_type_bytes(&row);
    }
    int64_t batch = BATCH_BYTES / bytes;
    batch = batch < 1 ? 1 : batch > LARGEST_BATCH ? LARGEST_BATCH : batch;
    return dt_feed_open(out, q->data, &(dt_feed_options){.part = q->part, .batch = batch});
}

static bool ends_with(const char *text, const char *suffix)
{
    const size_t n = strlen(text), k = strlen(suffix);
    return n > k && strcmp(text + n - k, suffix) == 0;
}

static dt_status *check_texts(const dt_conversion *q, const dt_output_format *f)
{
    const dt_element *element;
    const int n = dt_dataset_elements(q->data, &element);
    for (int e = 0; e < n; e++)
        if (!f->record && element[e].stored && element[e].stored->text)
            return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "'%s' is text, which %s cannot hold; write .csv or .tfrecord, or use --mapped to write the numbers that the model gets",
                           element[e].name, f->suffix);
    return NULL;
}

static dt_status *check_records(const dt_conversion *q, const dt_output_format *f)
{
    const dt_element *element;
    const int n = dt_dataset_elements(q->data, &element);
    return f->record && f->record->check ? f->record->check(element, n) : NULL;
}

dt_status *dt_dataset_convert(const dt_conversion *q, dt_str *files)
{
    const size_t n = sizeof formats / sizeof *formats;
    size_t i = 0;
    while (i < n && !ends_with(q->output, formats[i].suffix))
        i++;
    if (i == n)
        return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "no output format for '%s': the name must end in .npy, .npz, .idx, -ubyte, .csv or .tfrecord", q->output);
    if (q->shards > 1 && !formats[i].record)
        return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "'%s' must be one file; only .csv and .tfrecord can be split into several", q->output);
    if (q->shards < 1 || q->shards > MOST_SHARDS)
        return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "cannot write %lld files: choose from 1 to %d", (long long)q->shards, MOST_SHARDS);
    DT_TRY(check_texts(q, &formats[i]));
    DT_TRY(check_records(q, &formats[i]));
    return (formats[i].array ? dt_convert_arrays : dt_convert_records)(q, &formats[i], files);
}
