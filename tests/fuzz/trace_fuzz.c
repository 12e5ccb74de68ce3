/* SPDX-License-Identifier: Apache-2.0 */
/* trace.json.gz of a run, as `dtrain trace RUN` prints it: the bytes as they are, or behind the
 * first one compressed. */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "dtrain.h"
#include "fuzz.h"
#include "format/recording.h"

enum { GZIP = 15 + 16 };

static const char *packed(const uint8_t *data, size_t size, unsigned char *room, size_t n) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)size,
                  .next_out = room,
                  .avail_out = (uInt)n};
    FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib has no memory");
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return fuzz_folder(DT_RECORDING_FILE, room, z.total_out);
}

FUZZ_TARGET(trace) {
    char *text = NULL;
    const size_t n = 2 * size + 256;
    unsigned char *room = calloc(1, n);
    FUZZ_CHECK(room, "no memory for the input");
    const char *folder = size > 0 && data[0] % 2 ? packed(data + 1, size - 1, room, n)
                                                 : fuzz_folder(DT_RECORDING_FILE, data, size);
    dt_status *s = dt_run_trace_text(folder, &text);
    char none[256], *nothing = NULL;
    snprintf(none, sizeof none, "%s/none", folder);
    fuzz_done(dt_run_trace_text(none, &nothing));
    FUZZ_CHECK(s || (text && *text == '{'), "a recording that is none");
    fuzz_done(s);
    free(text);
    free(room);
    return 0;
}
