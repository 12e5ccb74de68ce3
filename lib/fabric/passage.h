/* SPDX-License-Identifier: Apache-2.0 */
/* A frame on its way through a non-blocking link, as far as it has come. */
#ifndef DT_FABRIC_PASSAGE_H
#define DT_FABRIC_PASSAGE_H

#include "fabric/frame.h"

typedef struct dt_passage {
    dt_frame head;
    int part;     /* -1: the head; then the slices; then more */
    int64_t done; /* bytes of the part */
    char *more;   /* sent: whole; received: made when the head has come */
} dt_passage;

/* Both: as much as the link takes. 1: it is whole; 0: later; -1: the link is closed, or what comes
 * is no frame. slices: where those of the server lie in. */
int dt_passage_send(dt_passage *p, int fd, const dt_extents *e, int server, const char *slices);
int dt_passage_receive(dt_passage *p, int fd, const dt_extents *e, int server, char *slices);

#endif
