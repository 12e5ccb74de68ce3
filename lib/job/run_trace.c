/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the recording of a run's steps, for `dtrain trace RUN`. */
#include <stdlib.h>

#include "file/gzip.h"
#include "format/recording.h"
#include "job/job.h"

enum { PART = 1 << 20, LARGEST = 256 << 20 };

static dt_status *read_all(dt_inflow *f, const char *path, dt_str *out) {
    DT_LOCAL char *part = dt_alloc(PART);
    dt_status *s = NULL;
    for (int64_t got = PART; !s && got == PART;) {
        s = dt_inflow_read(f, part, PART, &got);
        if (!s && out->size + (size_t)got > LARGEST)
            s = dt_suggest(
                dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %d MiB", path, LARGEST >> 20),
                "print it with gunzip -c");
        if (!s) dt_str_add(out, part, (size_t)got);
    }
    return s;
}

static dt_status *read_file(const char *path, dt_str *out) {
    dt_inflow *f = NULL;
    dt_status *s = dt_inflow_open(&f, path);
    if (!s) s = read_all(f, path, out);
    dt_inflow_close(f);
    if (!s &&
        (out->size == 0 ||
         out->data[0] != '{')) /* the file is printed, possibly on a terminal, so it must be JSON */
        s = dt_fail(DT_E_DATA_FILE, NULL, "%s: not a recording of a run, which begins with '{'",
                    path);
    return s;
}

DT_API dt_status *dt_run_trace_text(const char *run, char **text) {
    dt_str out = {0};
    DT_REQUIRE({run, "run"}, {text, "place for the text"});
    char *path = dt_path_join(run, DT_RECORDING_FILE);
    dt_status *s = read_file(path, &out);
    if (s && dt_status_number(s) == DT_E_NO_INPUT)
        s = dt_suggest(s, "to record one, train with 'output.trace={steps: [10, 12]}'");
    free(path);
    if (s) dt_str_release(&out);
    else *text = dt_str_take(&out);
    return s;
}
