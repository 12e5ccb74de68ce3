/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations as people write them down, read by rule:
 *
 *     matmul bf16 8192^3        gemm bf16 m=n=k=128        bf16[32,1024,8192] x bf16[8192,32768], 4-way data x 2-way model
 *     AllGather_Y bf16[2048,8192] on a mesh X8 Y4          psum over ICI, bf16 17408x17408           HBM copy f32 8192x8192
 *
 * An array is a dtype and its sizes; a size may be named and say which axes of the mesh cut it:
 * bf16[B_X=128], [I_XY,J].
 */
#ifndef CMD_SIMULATOR_OPERATION_H
#define CMD_SIMULATOR_OPERATION_H

#include "rows.h"

typedef enum dt_operation_kind {
    DT_OPERATION_NONE,
    DT_OPERATION_MATMUL,
    DT_OPERATION_COPY,
    DT_OPERATION_ALL_GATHER,
    DT_OPERATION_REDUCE_SCATTER,
    DT_OPERATION_ALL_REDUCE,
    DT_OPERATION_ALL_TO_ALL
} dt_operation_kind;

enum { DT_WRITTEN_RANK = 6, DT_WRITTEN_AXES = 8 };

typedef struct dt_written {
    double element; /* bytes; 0: not said */
    int rank;
    double size[DT_WRITTEN_RANK];                /* 0: only a name */
    char axes[DT_WRITTEN_RANK][DT_WRITTEN_AXES]; /* "XY": cut by these; "" */
} dt_written;

typedef struct dt_operation {
    dt_operation_kind kind;
    dt_written array[2];
    int arrays;
    char axes[DT_WRITTEN_AXES]; /* of a collective: "Y"; "": all */
    double data, model;         /* "4-way data x 2-way model"; 1 where not said */
} dt_operation;

/* The next array in a text and what follows it; NULL: there is none. */
const char *dt_written_read(const char *text, dt_written *out);
double dt_written_elements(const dt_written *a); /* 0: a size is not known */
double dt_written_bytes(const dt_written *a);    /* 0: not known */
/* What a text says; NONE where it names no operation. */
dt_operation dt_operation_read(const char *text);

#endif
