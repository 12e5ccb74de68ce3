/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other processes send: tags of collectives, messages of a parameter server and their values,
 * failures, and the stream of a worker on this machine. The first byte says which of them the rest
 * is. What is read is written again as the same bytes, because there is one way to say it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/address.h"
#include "net/frame.h"
#include "net/zmq_carrier.h"
#include "net/wire.h"
#include "fuzz.h"
#include "strategy/closure_values.h"
#include "strategy/worker_pool.h"

static const dt_byte_range own[] = {{0, 8}, {16, 4}}, other[] = {{8, 8}};
static const dt_byte_ranges extents = {.servers = 2,
                                       .n = (const int[]){2, 1},
                                       .slice = (const dt_byte_range *const[]){own, other},
                                       .bytes = 24};

static void read_tag(const uint8_t *data, size_t size) {
    unsigned char again[DT_WIRE_BYTES];
    uint64_t n = 0;
    dt_tag tag;
    if (!dt_wire_read(&tag, &n, data, size)) return;
    FUZZ_CHECK((int)tag.collective < DT_COLLECTIVES && tag.dtype <= DT_BFLOAT16 && tag.round >= 0 &&
                   tag.elements >= 0 && tag.step >= 0,
               "a tag out of range");
    dt_wire_write(again, &tag, n);
    FUZZ_CHECK(memcmp(again, data, size) == 0, "another tag");
}

/* The bytes of a message, three of which say how long its parts are. */
static void read_frame(const uint8_t *data, size_t size) {
    dt_message x = {.event = DT_PEER_MESSAGE};
    dt_frame m;
    if (size < 3) return;
    const uint8_t *lengths = data;
    data += 3, size -= 3;
    for (x.n = 0; x.n < 3; x.n++) {
        const size_t n = lengths[x.n] < size ? lengths[x.n] : size;
        x.part[x.n] = (dt_message_part){data, n};
        data += n, size -= n;
    }
    if (dt_frame_read(&x, &extents, &m))
        FUZZ_CHECK(m.more >= 0 && (size_t)m.more == x.part[2].n &&
                       (x.part[1].n == 0 || x.part[1].n == 24),
                   "a message of another size than it says");
}

static void read_values(const uint8_t *data, size_t size) {
    dt_values *v = NULL;
    dt_str again = {0};
    fuzz_done(dt_values_create(&v));
    dt_status *s = dt_closure_values_read((const char *)data, size, v);
    if (!s) {
        dt_closure_values_write(v, &again);
        FUZZ_CHECK(again.size == size && (size == 0 || memcmp(again.data, data, size) == 0),
                   "other values");
    }
    fuzz_done(s);
    dt_str_release(&again);
    dt_values_unref(v);
}

static void read_failure(const uint8_t *data, size_t size) {
    char *more = calloc(size + 1, 1);
    if (size > 0) memcpy(more, data, size);
    dt_status *s = dt_worker_pool_failure(
        &(dt_arrival){.message = {.kind = DT_FRAME_FAILED, .more = (int64_t)size}, .more = more},
        "batch");
    FUZZ_CHECK(s && dt_status_code(s) > 0, "a failure that is none");
    dt_status_free(s); /* with any row's number */
    free(more);
}

static void read_stream(const uint8_t *data, size_t size) {
    char slices[24];
    int pair[2], came = 0;
    dt_frame_io p = {.part = -1};
    if (size > 100000 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0) return;
    if (size > 0 && send(pair[0], data, size, MSG_NOSIGNAL) < 0) came = -1;
    while (came >= 0 && (came = dt_frame_receive(&p, pair[1], &extents, size % 2, slices)) == 1) {
        free(p.more);
        p = (dt_frame_io){.part = -1};
    }
    free(p.more);
    close(pair[0]);
    close(pair[1]);
}

FUZZ_TARGET(wire) {
    static void (*const readers[])(const uint8_t *, size_t) = {read_tag, read_frame, read_values,
                                                               read_failure, read_stream};
    dt_address a;
    if (size == 0) return 0;
    if (data[0] < sizeof readers / sizeof *readers) readers[data[0]](data + 1, size - 1);
    else fuzz_done(dt_address_read(&a, fuzz_string(data + 1, size - 1)));
    return 0;
}
