/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of the plug-in for an MPI library. Open MPI and MPICH have the same names and
 * different binary interfaces, so plugin/mpi.c is compiled once against each, and this file uses
 * nothing of MPI's headers. The plug-in moves bytes; only the program knows their meaning.
 */
#ifndef DT_NET_PLUGIN_MPI_H
#define DT_NET_PLUGIN_MPI_H

#include <stdbool.h>
#include <stddef.h>

#define DT_MPI_ABI 1
#define DT_MPI_SYMBOL "dt_mpi_plugin"

typedef struct dt_mpi_transfer dt_mpi_transfer; /* under way */

typedef struct dt_mpi_plugin {
    int abi; /* DT_MPI_ABI */
    /* 0, or an error of MPI whose text is in words[n]. Calls may come from any thread, one at a
     * time. */
    int (*start)(int *rank, int *ranks, char *words, size_t n);
    /* NULL: MPI refuses, or there is no memory. Transfers of a pair arrive in order. The bytes are
     * the caller's until the transfer is done. */
    dt_mpi_transfer *(*send)(int to, const void *bytes, size_t n);
    dt_mpi_transfer *(*recv)(int from, void *bytes, size_t n);
    /* 1: done, and the transfer is gone; 0: not yet; -1: failed, and it is gone. Does not wait. */
    int (*test)(dt_mpi_transfer *t);
    void (*stop)(void);           /* all have left: MPI ends; collective */
    const char *(*library)(void); /* "Open MPI v4.1.4"; lent */
} dt_mpi_plugin;

#endif
