/* SPDX-License-Identifier: Apache-2.0 */
/* What a status holds; for status.c and excerpt.c, which make it, and report.c, which prints it. */
#ifndef DT_BASE_STATUS_IMPL_H
#define DT_BASE_STATUS_IMPL_H

#include "base/status.h"

struct dt_status {
    const dt_error_row *row;
    char *text;
    char *file;    /* NULL: no place */
    int line, col; /* 0: none */
    char *excerpt; /* the line of source, fit to print; NULL: none */
    char *below;   /* blanks and carets for the line under it */
    int carets;    /* 0: no column was given */
    char *suggestion;
    char **notes;
    int notes_count, notes_cap;
    dt_status *next;
    int dropped; /* in the first of a list: how many were appended and not kept */
};

/* File, line and column of a new one, and its excerpt, where there is a place. */
void dt_status_set_place(dt_status *s, const dt_location *at);

#endif
