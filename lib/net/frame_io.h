/* SPDX-License-Identifier: Apache-2.0 */
/* A frame that is being sent or received on a non-blocking link. */
#ifndef DT_NET_FRAME_IO_H
#define DT_NET_FRAME_IO_H

#include "net/frame.h"

typedef struct dt_frame_io {
    dt_frame head;
    int part;     /* the current part: -1: the head; 0 to n - 1: a slice; n: the `more` bytes */
    int64_t done; /* number of bytes of the current part that were sent or received */
    /* for sending: set by the caller; for receiving: allocated when the head has arrived */
    char *more;
} dt_frame_io;

/* Send or receive as many bytes as the socket accepts or has. Return 1: the frame is complete; 0:
 * call again later; -1: the link is closed, or the bytes are not a frame. slices: the buffer that
 * holds the slices at their offsets. */
int dt_frame_send(dt_frame_io *p, int fd, const dt_byte_ranges *e, int server, const char *slices);
int dt_frame_receive(dt_frame_io *p, int fd, const dt_byte_ranges *e, int server, char *slices);

#endif
