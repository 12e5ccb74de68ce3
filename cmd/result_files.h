/* SPDX-License-Identifier: Apache-2.0 */
/* Results as files for CI: --metrics, --summary and --junit. A file gets its name only when it is
 * complete. */
#ifndef CMD_RESULT_FILES_H
#define CMD_RESULT_FILES_H

#include "expect.h"

struct result_files {
    /* paths of the files to write; NULL: the file is not written */
    const char *metrics, *summary, *junit;
};

#define RESULT_FILE_OPTIONS(s)                                                                     \
    PATH(s, files.metrics, "metrics", "FILE",                                                      \
         "write the last value of each metric to FILE, as one JSON object"),                       \
        PATH(s, files.summary, "summary", "FILE", "write the results to FILE, in Markdown"),       \
        PATH(s, files.junit, "junit", "FILE",                                                      \
             "write a test case for each --expect to FILE, as JUnit XML")

/* Writes the files after a run whose exit code is `code`, if that is 0 or 80 (an --expect was not
 * met) and the watch is not silent. Returns the exit code to end with: that of a write that failed,
 * else `code`. */
int result_files_write(const struct result_files *f, const struct watch *w,
                       const struct expectations *e, int code);

#endif
