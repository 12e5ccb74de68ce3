/* SPDX-License-Identifier: Apache-2.0 */
/* Documents for language models, in files of JSON lines. */
#ifndef DT_FILE_DOCUMENTS_H
#define DT_FILE_DOCUMENTS_H

#include "base/file.h"
#include "base/str.h"

#define DT_LARGEST_TEXT ((int64_t)256 << 20)

typedef struct dt_documents_file {
    const char *path;
    const char *text_key;    /* the key of a row under which its text is */
    const char *end_of_text; /* appended to each document; NULL: a line break */
} dt_documents_file;
/* Whether a file has documents, by its name: .jsonl or .jsonl.gz. */
bool dt_is_documents_file(const char *path);
/* Appends the documents of a file. Error DATA_FILE, with the row's location, if a row has no text;
 * TOO_LARGE if `out` becomes longer than DT_LARGEST_TEXT. */
dt_status *dt_documents_read(const dt_documents_file *a, dt_str *out) DT_MUST_USE;

#endif
