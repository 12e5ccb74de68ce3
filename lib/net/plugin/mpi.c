/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in for an MPI library (mpi.h), compiled by that library's mpicc. MPI counts bytes in
 * an int, so larger messages are sent in pieces. */
#include "net/plugin/mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 7, PIECE = 1 << 30 };

struct dt_mpi_transfer {
    int n, done;
    MPI_Request piece[];
};

/* A communicator for dtrain alone, so that its messages do not mix with other MPI traffic of the
 * process. */
static MPI_Comm group;
static bool ours; /* whether this plug-in has called MPI_Init, so that it must call MPI_Finalize */

static int error_text(int error, char *words, size_t n) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (error != MPI_SUCCESS) {
        MPI_Error_string(error, text, &length);
        snprintf(words, n, "%s", text);
    }
    return error;
}

static int start(int *rank, int *ranks, char *words, size_t n) {
    int running = 0, level = 0, error = MPI_Initialized(&running);
    if (!error && !running) {
        error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
        ours = !error;
    } else if (!error) {
        error = MPI_Query_thread(&level);
    }
    if (error) return error_text(error, words, n);
    if (level < MPI_THREAD_SERIALIZED) {
        snprintf(words, n, "it has no MPI_THREAD_SERIALIZED");
        return -1;
    }
    error = MPI_Comm_dup(MPI_COMM_WORLD, &group);
    if (!error) error = MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN);
    if (!error) error = MPI_Comm_rank(group, rank);
    if (!error) error = MPI_Comm_size(group, ranks);
    return error_text(error, words, n);
}

static dt_mpi_transfer *begin(int peer, char *in, const char *out, size_t n) {
    const size_t pieces = n ? (n + PIECE - 1) / PIECE : 1;
    dt_mpi_transfer *t = pieces < 1 << 20 ? malloc(sizeof *t + pieces * sizeof *t->piece) : NULL;
    int error = MPI_SUCCESS;
    if (!t) return NULL;
    t->done = 0;
    for (t->n = 0; !error && t->n < (int)pieces; t->n++) {
        const size_t from = (size_t)t->n * PIECE;
        const int count = (int)(n - from < PIECE ? n - from : PIECE);
        error = in ? MPI_Irecv(in + from, count, MPI_BYTE, peer, TAG, group, &t->piece[t->n])
                   : MPI_Isend(out + from, count, MPI_BYTE, peer, TAG, group, &t->piece[t->n]);
    }
    if (!error) return t;
    free(t); /* MPI may still use pieces that have started, but the job ends anyway. */
    return NULL;
}

static dt_mpi_transfer *send_bytes(int to, const void *bytes, size_t n) {
    return begin(to, NULL, n ? bytes : "", n);
}

static dt_mpi_transfer *recv_bytes(int from, void *bytes, size_t n) {
    static char nothing[1];
    return begin(from, n ? bytes : nothing, NULL, n);
}

static int test(dt_mpi_transfer *t) {
    int done = 1, error = MPI_SUCCESS;
    while (!error && done && t->done < t->n) {
        error = MPI_Test(&t->piece[t->done], &done, MPI_STATUS_IGNORE);
        t->done += done;
    }
    if (!error && !done) return 0;
    free(t);
    return error ? -1 : 1;
}

static void stop(void) {
    MPI_Comm_free(&group);
    if (ours) MPI_Finalize();
}

static const char *library(void) {
    static char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    if (!name[0] && MPI_Get_library_version(name, &length) == MPI_SUCCESS)
        name[strcspn(name, ",\n")] = '\0';
    for (char *c = name; *c; c++) *c = *c == '\t' ? ' ' : *c;
    return name;
}

__attribute__((visibility("default"))) extern const dt_mpi_plugin
    dt_mpi_plugin_row __asm__(DT_MPI_SYMBOL);
const dt_mpi_plugin dt_mpi_plugin_row = {
    .abi = DT_MPI_ABI,
    .start = start,
    .send = send_bytes,
    .recv = recv_bytes,
    .test = test,
    .stop = stop,
    .library = library,
};
