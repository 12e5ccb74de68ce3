/* SPDX-License-Identifier: Apache-2.0 */
/* Files of records in every framing: TFRecord, lines of text, records of one length. The first byte
 * says which. */
#include "file/records.h"
#include "fuzz.h"
#include "repair.h"

enum { MOST_RECORDS = 1000 };

static const dt_record_options framings[] = {
    {.kind = DT_TFRECORD},
    {.kind = DT_TEXT_LINES},
    {.kind = DT_FIXED_LENGTH, .record_bytes = 3},
    {.kind = DT_FIXED_LENGTH, .record_bytes = 5, .header_bytes = 2, .footer_bytes = 4},
};
enum { FRAMINGS = sizeof framings / sizeof *framings };

static void look(const char *path) {
    int64_t length;
    bool more = false;
    dt_records r = {0};
    dt_status *s = dt_records_open(&r, path, &framings[0]);
    if (!s && !dt_inflow_is_gzip(r.file)) s = dt_tfrecord_look(&r, &length, &more);
    fuzz_done(s);
    dt_records_close(&r);
}

FUZZ_TARGET(records) {
    if (size == 0) return 0;
    dt_records r = {0};
    dt_str record = {0};
    bool more = true;
    const char *path = fuzz_file(data + 1, size - 1);
    dt_status *s = dt_records_open(&r, path, &framings[data[0] % FRAMINGS]);
    for (int i = 0; !s && more && i < MOST_RECORDS; i++) s = dt_records_next(&r, &record, &more);
    fuzz_done(s);
    dt_records_close(&r);
    dt_str_release(&record);
    look(path);
    return 0;
}

FUZZ_REPAIRED_BY(repair_records)
