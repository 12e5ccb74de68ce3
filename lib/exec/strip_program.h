/* SPDX-License-Identifier: Apache-2.0 */
/* Strip programs: what strip_program.c builds, strip_idiom.c rewrites and strip_run.c runs. */
#ifndef DT_EXEC_STRIP_PROGRAM_H
#define DT_EXEC_STRIP_PROGRAM_H

#include "exec/exec_impl.h"

/* How an operand is laid out over the flat index of the group's shape. */
typedef enum dt_strip_layout {
    DT_STRIP_WHOLE,    /* element i is element i */
    DT_STRIP_SPLAT,    /* one value: a constant, or one in memory */
    DT_STRIP_REPEATED, /* period elements again and again: (128) over (B, 128) */
    DT_STRIP_PER_ROW,  /* each of period elements in turn: (B) over (B, 10), period 10 */
    DT_STRIP_INSIDE    /* rows of `inner` elements, each again and again over period elements: (B, 64) over (B, 8, 8, 64) */
} dt_strip_layout;

typedef struct dt_strip_operand {
    dt_strip_layout layout;
    int node;              /* whose memory; -1: a constant */
    float value;           /* of a constant */
    int64_t period, inner;
    dt_strip_op load;      /* DT_S_COPY for float32: read in place; else a conversion into a register */
    int reg;               /* register it lies in, -1: read in place */
    bool far;              /* worth asking for ahead */
} dt_strip_operand;

typedef struct dt_strip_result {
    int reg;               /* -1: straight to the memory of `store` */
    int store;             /* node whose memory gets it, -1: none */
    dt_strip_op convert;   /* DT_S_COPY: stored as it is; else computed in reg, then converted */
} dt_strip_result;

typedef struct dt_strip_code {
    dt_strip_op op;
    dt_idiom idiom;        /* DT_IDIOM_NONE: op */
    bool rounded;          /* op, then to bfloat16 */
    int n_in, n_out;       /* n_out = 0: gone, part of an idiom now */
    int in[DT_IDIOM_IN];   /* >= 0: a result; < 0: operand -1 - in */
    int out[DT_IDIOM_OUT]; /* results */
} dt_strip_code;

/* The sum of a result or an operand over all rows but the last `period` elements, for one piece of the batch. */
typedef struct dt_strip_sum {
    int in;                /* as in dt_strip_code */
    int node;              /* whose memory gets it */
    int reg;               /* a strip of sums */
    int64_t period;
} dt_strip_sum;

typedef struct dt_strip_program {
    int n_operands, n_results, n_code, n_regs;
    dt_strip_operand *operand;
    dt_strip_result *result;
    dt_strip_code *code;
    int n_sums;
    dt_strip_sum *sum;
    int rows_of;           /* a node of the shape that it goes over */
    int64_t strip;         /* elements a strip, a multiple of the repeated periods */
    int64_t row_break;     /* strips do not cross multiples of it; 0: no such border */
} dt_strip_program;

/* Instructions that make up an idiom become one. Result i must be that of instruction i, no instruction gone. */
void dt_find_idioms(dt_strip_program *p, const dt_graph *g);

#endif
