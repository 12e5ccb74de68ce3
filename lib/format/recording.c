/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording as Trace Event JSON: one process, "this machine", with a track for each thread
 * and one for each counter. The text is about ten times as long as the compressed file, so it is
 * compressed while it is generated, and only a part of its text is in memory at a time.
 */
#include "format/recording.h"

#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"

enum { PID = 1, CHUNK = 1 << 16, GZIP = 15 + 16 };

typedef struct sheet {
    dt_str text, packed;
    dt_json json;
    z_stream z;
    bool failed;
    int64_t zero_ns; /* the time, on the recorder's clock, that the trace shows as 0 */
} sheet;

/* ---- compressing ---- */

static void deflate_text(sheet *s, int flush) {
    unsigned char buffer[8192];

    s->z.next_in = (unsigned char *)s->text.data;
    s->z.avail_in = (uInt)s->text.size;
    do {
        s->z.next_out = buffer;
        s->z.avail_out = sizeof buffer;
        s->failed |= deflate(&s->z, flush) == Z_STREAM_ERROR;
        dt_str_add(&s->packed, buffer, sizeof buffer - s->z.avail_out);
    } while (s->z.avail_out == 0);
    dt_str_clear(&s->text);
}

static void maybe_deflate(sheet *s) {
    if (s->text.size >= CHUNK) deflate_text(s, Z_NO_FLUSH);
}

/* ---- events ---- */

static void begin_event(dt_json *j, const char *phase, const char *name, int tid) {
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "ph", phase);
    dt_json_string(j, "name", name);
    dt_json_int(j, "pid", PID);
    dt_json_int(j, "tid", tid);
}

static void put_name(dt_json *j, const char *what, int tid, const char *name) {
    begin_event(j, "M", what, tid);
    dt_json_open(j, "args", '{');
    dt_json_string(j, "name", name);
    dt_json_close(j, '}');
    dt_json_close(j, '}');
}

/* Writes a sort index, since viewers sort threads without one by name. */
static void put_place(dt_json *j, int tid) {
    begin_event(j, "M", "thread_sort_index", tid);
    dt_json_open(j, "args", '{');
    dt_json_int(j, "sort_index", tid);
    dt_json_close(j, '}');
    dt_json_close(j, '}');
}

static void put_facts(dt_json *j, const dt_mark *m, const dt_numbers *number) {
    dt_json_open(j, "args", '{');
    if (m->facts && *m->facts) {
        dt_str_puts(j->out, m->facts);
        j->comma = true;
    }
    for (int i = 0; i < DT_SPAN_NUMBERS && m->number[i]; i++)
        dt_json_int(j, m->number[i], number->at[i]);
    dt_json_close(j, '}');
}

static double microseconds(int64_t ns) { return (double)ns / 1000; }

static void put_span(sheet *s, const dt_recorder *r, const dt_span *span, int tid) {
    const dt_mark *m = &r->mark[span->mark];
    dt_json *j = &s->json;

    begin_event(j, "X", m->name, tid);
    dt_json_string(j, "cat", m->kind);
    dt_json_double(j, "ts", microseconds(span->begin_ns - s->zero_ns));
    dt_json_double(j, "dur", microseconds(span->end_ns - span->begin_ns));
    put_facts(j, m, &span->number);
    dt_json_close(j, '}');
    maybe_deflate(s);
}

static void put_sample(sheet *s, const dt_sample *sample) {
    dt_json *j = &s->json;

    begin_event(j, "C", sample->name, 0);
    dt_json_double(j, "ts", microseconds(sample->ns - s->zero_ns));
    dt_json_open(j, "args", '{');
    dt_json_double(j, sample->unit, sample->value);
    dt_json_close(j, '}');
    dt_json_close(j, '}');
    maybe_deflate(s);
}

/* ---- the file ---- */

static void put_track(sheet *s, const dt_recorder *r, int number) {
    const dt_track *t = r->track[number];
    uint64_t first, end = dt_track_spans(t, &first);

    if (end == first) return;
    put_name(&s->json, "thread_name", number + 1, t->name);
    put_place(&s->json, number + 1);
    for (uint64_t i = first; i < end; i++) put_span(s, r, dt_track_span(t, i), number + 1);
}

/* Returns the earliest time in the recording, on the recorder's clock in ns; INT64_MAX if it is
 * empty. Sets *lost to the number of spans that were overwritten. */
static int64_t find_zero(const dt_recorder *r, int64_t *lost) {
    int64_t zero = r->n_samples ? r->sample[0].ns : INT64_MAX;

    *lost = 0;
    for (int i = 0; i < r->n_tracks; i++) {
        uint64_t first, end = dt_track_spans(r->track[i], &first);
        *lost += (int64_t)first;
        for (uint64_t k = first; k < end; k++)
            if (dt_track_span(r->track[i], k)->begin_ns < zero)
                zero = dt_track_span(r->track[i], k)->begin_ns;
    }
    return zero;
}

static void put_about(dt_json *j, const dt_recording *what, int64_t lost) {
    dt_json_string(j, "displayTimeUnit", "ms");
    dt_json_open(j, "otherData", '{');
    dt_json_string(j, "job", what->job);
    dt_json_int(j, "first_step", what->first);
    dt_json_int(j, "last_step", what->last);
    dt_json_int(j, "spans_lost", lost);
    dt_json_close(j, '}');
}

static void put_all(sheet *s, const dt_recording *what, int64_t lost) {
    const dt_recorder *r = what->recorder;

    dt_json_open(&s->json, NULL, '{');
    put_about(&s->json, what, lost);
    dt_json_open(&s->json, "traceEvents", '[');
    put_name(&s->json, "process_name", 0, "this machine");
    for (int i = 0; i < r->n_tracks; i++) put_track(s, r, i);
    for (int i = 0; i < r->n_samples; i++) put_sample(s, &r->sample[i]);
    dt_json_close(&s->json, ']');
    dt_json_close(&s->json, '}');
    dt_str_putc(&s->text, '\n');
}

dt_status *dt_recording_write(const char *path, const dt_recording *what, int64_t *lost) {
    int64_t none;
    sheet s = {.zero_ns = find_zero(what->recorder, lost ? lost : &none)};

    s.json.out = &s.text;
    if (deflateInit2(&s.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory to compress the recording", path);
    put_all(&s, what, lost ? *lost : none);
    deflate_text(&s, Z_FINISH);
    deflateEnd(&s.z);
    dt_status *bad = s.failed ? dt_fail(DT_E_INTERNAL, NULL, "the recording cannot be compressed")
                              : dt_file_commit(path, s.packed.data, s.packed.size);
    dt_str_release(&s.text);
    dt_str_release(&s.packed);
    return bad;
}
