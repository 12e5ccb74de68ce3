/* SPDX-License-Identifier: Apache-2.0 */
/* Strip programs: strip_program.c builds them, strip_pass.c divides them into passes,
 * strip_emit.c generates loops, strip_run.c runs them. */
#ifndef DT_EXEC_STRIP_PROGRAM_H
#define DT_EXEC_STRIP_PROGRAM_H

#include "exec/exec_impl.h"

/* How an operand is laid out over the flat index of the group's shape. */
typedef enum dt_strip_layout {
    DT_STRIP_WHOLE,    /* element i is element i */
    DT_STRIP_SPLAT,    /* one value: a constant, or one in memory */
    DT_STRIP_REPEATED, /* period elements again and again: (128) over (B, 128) */
    DT_STRIP_PER_ROW,  /* each of period elements in turn: (B) over (B, 10), period 10 */
    /* rows of `inner` elements, each again and again over period elements: (B, 64) over (B, 8,
     * 8, 64) */
    DT_STRIP_INSIDE
} dt_strip_layout;

typedef struct dt_strip_operand {
    dt_strip_layout layout;
    int node;    /* the node whose memory is read; -1: a constant */
    float value; /* value of a constant */
    int64_t period, inner;
    /* DT_S_COPY for float32: read in place; else a conversion into a register */
    dt_strip_op load;
    int reg; /* the register that it is loaded into; -1: read from memory */
    /* loops in C read it from a register; generated loops convert it when they read it */
    bool laid_out;
    bool far; /* should be prefetched */
} dt_strip_operand;

typedef struct dt_strip_result {
    int reg;   /* -1: straight to the memory of `store` */
    int store; /* node whose memory gets it, -1: none; of an update in place the variable's */
    /* DT_S_COPY: stored without conversion; else computed in reg, then converted */
    dt_strip_op convert;
} dt_strip_result;

/* Instruction i makes result i. */
typedef struct dt_strip_code {
    dt_strip_op op;
    int n_in;
    int in[3]; /* >= 0: a result; < 0: operand -1 - in */
} dt_strip_code;

/* Instructions [from, to): one generated loop, or loops in C, one for each. */
enum { DT_PASS_STREAMS = 10 };
typedef struct dt_strip_pass {
    int from, to;
    bool loop;                              /* each of its instructions has vector instructions */
    bool sums;                              /* the pass forms the program's sums */
    int at;                                 /* offset of its code */
    int n_streams, stream[DT_PASS_STREAMS]; /* nodes whose memory the loop reads or writes */
} dt_strip_pass;

/* The sum of a result or an operand over all rows but the last `period` elements, for one piece of
 * the batch. */
typedef struct dt_strip_sum {
    int in;    /* as in dt_strip_code */
    int node;  /* the node whose memory gets the sum */
    int reg;   /* a strip of sums of the current block of strips */
    int level; /* the first of the strips of the tree over blocks (exec/sums.h) */
    int64_t period;
} dt_strip_sum;

enum { DT_STRIP_BLOCK = 16 }; /* strips whose sums are added one after the other */

typedef struct dt_strip_program {
    int n_operands, n_code, n_regs;
    dt_strip_operand *operand;
    dt_strip_result *result;
    dt_strip_code *code;
    int n_passes;
    dt_strip_pass *pass;
    int n_sums;
    dt_strip_sum *sum;
    int rows_of;       /* a node that has the shape of the program */
    int64_t strip;     /* elements a strip, a multiple of the repeated periods */
    int64_t row_break; /* strips do not cross multiples of it; 0: no such border */
} dt_strip_program;

/* strip_pass.c: finds the passes of a program whose instructions and registers are set. */
void dt_find_passes(dt_strip_program *p);
/* The node whose memory the program reads for an input; -1: the input is in a strip. */
int dt_strip_stream(const dt_strip_program *p, int in);
/* strip_emit.c: dt_find_passes, and appends the passes' code to c; it is NULL if the processor
 * cannot run it. */
void dt_emit_loops(dt_strip_program *p, dt_code *c);
/* Elements [0, n) of a pass, by its code. stream: where they are in the memory of its streams;
 * registers: strips. */
void dt_run_loop(const dt_strip_pass *pass, const dt_code *c, void *const *stream, int64_t n,
                 char *registers);

#endif
