/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a status. status.c creates them, report.c prints them. */
#ifndef DT_BASE_STATUS_IMPL_H
#define DT_BASE_STATUS_IMPL_H

#include "base/status.h"

struct dt_status {
    int refs; /* 1, or 0 after the status was freed */
    const dt_error_row *row;
    char *text;
    char *file;    /* NULL: the status has no source location */
    int line, col; /* 0: none */
    char *excerpt; /* the line of source, fit to print; NULL: none */
    char *below;   /* blanks and carets for the line below the excerpt */
    int carets;    /* 0: the column is unknown */
    char *suggestion;
    char **notes;
    int notes_count, notes_cap;
    dt_status *next;
    int dropped; /* only in the first status of a list: how many were appended and dropped */
};

#endif
