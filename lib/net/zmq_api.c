/* SPDX-License-Identifier: Apache-2.0 */
/* Finds libzmq and its functions (zmq_api.h). */
#include "net/zmq_api.h"

#include <dlfcn.h>
#include <string.h>

#include "base/library.h"

static const struct entry {
    const char *name;
    size_t at;
} entries[] = {
#define ENTRY(member, name)                                                                        \
    { name, offsetof(dt_zmq, member) }
    ENTRY(last_error, "zmq_errno"),
    ENTRY(words, "zmq_strerror"),
    ENTRY(has, "zmq_has"),
    ENTRY(context, "zmq_ctx_new"),
    ENTRY(context_end, "zmq_ctx_term"),
    ENTRY(socket, "zmq_socket"),
    ENTRY(close, "zmq_close"),
    ENTRY(set, "zmq_setsockopt"),
    ENTRY(get, "zmq_getsockopt"),
    ENTRY(bind, "zmq_bind"),
    ENTRY(connect, "zmq_connect"),
    ENTRY(monitor, "zmq_socket_monitor"),
    ENTRY(poll, "zmq_poll"),
    ENTRY(msg_init, "zmq_msg_init"),
    ENTRY(msg_init_size, "zmq_msg_init_size"),
    ENTRY(msg_close, "zmq_msg_close"),
    ENTRY(msg_send, "zmq_msg_send"),
    ENTRY(msg_recv, "zmq_msg_recv"),
    ENTRY(msg_data, "zmq_msg_data"),
    ENTRY(msg_size, "zmq_msg_size"),
    ENTRY(msg_get, "zmq_msg_get"),
    ENTRY(z85_encode, "zmq_z85_encode"),
    ENTRY(z85_decode, "zmq_z85_decode"),
    ENTRY(curve_public, "zmq_curve_public"),
#undef ENTRY
};

dt_status *dt_zmq_open(dt_zmq *out) {
    static const char *const names[] = {"libzmq.so.5", "libzmq.so", NULL};
    void *library = NULL;
    DT_TRY(dt_library_open(&library, names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE, NULL));
    if (!library)
        return dt_suggest(dt_fail(DT_E_MESSAGES, NULL,
                                  "ZeroMQ (libzmq.so.5) is needed to connect processes without "
                                  "MPI, and is not installed"),
                          "install it (Debian and Ubuntu: libzmq5), or start the job with mpirun");
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *p = dlsym(library, entries[i].name);
        if (!p)
            return dt_fail(DT_E_MESSAGES, NULL,
                           "the installed libzmq has no %s; version 4.2 or later is needed",
                           entries[i].name);
        memcpy((char *)out + entries[i].at, &p, sizeof p);
    }
    return NULL;
}

dt_status *dt_zmq_failed(const dt_zmq *z, const char *what, const char *of) {
    return dt_fail(DT_E_MESSAGES, NULL, "%s %s: %s", what, of, z->words(z->last_error()));
}
