/* SPDX-License-Identifier: Apache-2.0 */
/* What a program did with the files of a folder, call by call, as the shim recorded it. */
#ifndef TESTS_FAULTS_STORY_H
#define TESTS_FAULTS_STORY_H

#include "tree.h"

enum { NEVER = 1 << 30 };
/* what became of a call; else the byte of the file where its write is cut */
enum { KEPT = 0, LOST = -1, ZEROED = -2 };

typedef enum kind { CREATE, MKDIR, REMOVE, RENAME, EXCHANGE, WRITE, TRUNCATE, SYNC } kind;

typedef struct event {
    kind kind;
    place from, to;  /* `to` of renames */
    char *path;      /* of `to` below the folder */
    int node, other; /* who has the first name, the second */
    long long at;    /* in the file; the length to cut it to */
    const char *bytes;
    size_t n;
    int lasts; /* from this moment on it cannot be lost */
} event;

typedef struct story {
    const char *folder;
    tree before, now; /* before it all, and with all of it so far */
    event *event;
    int n;
} story;

bool is_of_names(kind k);
/* What the event does to a tree of the story's nodes. */
void event_apply(tree *t, const event *e, long long way);
/* The story of FOLDER, and a folder RECORD.base, where there is one, as it began. Ends the program
 * on a fault. */
void story_read(story *s, const char *record, const char *folder);

#endif
