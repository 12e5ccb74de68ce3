/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a status. status.c creates them, report.c prints them. */
#ifndef DT_BASE_STATUS_IMPL_H
#define DT_BASE_STATUS_IMPL_H

#include "base/status.h"

struct dt_status {
    int refs; /* 1; 0 after the status was freed */
    const dt_error_row *row;
    char *text;
    char *file;    /* name of the source, such as a path; NULL: the status has no location */
    int line, col; /* line and column of the location; 0: unknown */
    char *excerpt; /* the part of the source line around the location, fit to print; NULL:
                    * unknown */
    char *below;   /* the blanks and carets to print below the excerpt */
    int carets;    /* number of characters that are underlined; 0: none */
    char *suggestion;
    char **notes;
    int notes_count, notes_cap;
    dt_status *next;
    /* in the first status of a list: how many statuses were appended and then dropped */
    int dropped;
};

#endif
