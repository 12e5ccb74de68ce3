/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of the plug-in for an MPI library. Open MPI and MPICH have the same function names
 * and different binary interfaces. So plugin/mpi.c is compiled against each, and this file needs no
 * MPI headers. The plug-in moves bytes without interpreting them.
 */
#ifndef DT_NET_PLUGIN_MPI_H
#define DT_NET_PLUGIN_MPI_H

#include <stdbool.h>
#include <stddef.h>

#define DT_MPI_ABI 1
#define DT_MPI_SYMBOL "dt_mpi_plugin"

typedef struct dt_mpi_transfer dt_mpi_transfer; /* a send or a receive that has started */

typedef struct dt_mpi_plugin {
    int abi; /* version of this interface, which must be DT_MPI_ABI */
    /* Starts MPI, unless it runs already. Returns 0, or another number after an error, whose text
     * is written to words[n]. Any thread may call these functions, but only one at a time. */
    int (*start)(int *rank, int *ranks, char *words, size_t n);
    /* Start a transfer. The bytes must stay valid until it is done. Transfers between two ranks
     * arrive in order. Return NULL if MPI reports an error or there is no memory. */
    dt_mpi_transfer *(*send)(int to, const void *bytes, size_t n);
    dt_mpi_transfer *(*recv)(int from, void *bytes, size_t n);
    /* Checks a transfer without waiting. Returns 1 if it is done, -1 if it has failed, 0 if it is
     * not done yet. Frees the transfer unless it returns 0. */
    int (*test)(dt_mpi_transfer *t);
    /* ends MPI, if `start` has started it; all ranks must call it, because MPI_Finalize is
     * collective */
    void (*stop)(void);
    /* returns the library's name and version, such as "Open MPI v4.1.4"; lent */
    const char *(*library)(void);
} dt_mpi_plugin;

#endif
