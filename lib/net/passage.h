/* SPDX-License-Identifier: Apache-2.0 */
/* A frame that is being sent or received on a non-blocking link. */
#ifndef DT_NET_PASSAGE_H
#define DT_NET_PASSAGE_H

#include "net/frame.h"

typedef struct dt_passage {
    dt_frame head;
    int part;     /* -1: the head; then the slices; then more */
    int64_t done; /* bytes of the part */
    char *more;   /* sent: whole; received: made when the head has come */
} dt_passage;

/* Move as many bytes as the link takes. 1: the frame is complete; 0: call again later; -1: the link
 * is closed, or the bytes are not a frame. slices: memory that contains the server's slices. */
int dt_passage_send(dt_passage *p, int fd, const dt_extents *e, int server, const char *slices);
int dt_passage_receive(dt_passage *p, int fd, const dt_extents *e, int server, char *slices);

#endif
