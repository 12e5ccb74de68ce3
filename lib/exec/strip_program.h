/* SPDX-License-Identifier: Apache-2.0 */
/* Strip programs: strip_program.c builds them, strip_rows.c divides them into passes,
 * strip_emit.c generates loops, strip_run.c runs them. */
#ifndef DT_EXEC_STRIP_PROGRAM_H
#define DT_EXEC_STRIP_PROGRAM_H

#include "exec/exec_impl.h"

/* How the elements of an operand are found from the flat index in the shape of the fused step. */
typedef enum dt_strip_layout {
    /* the operand has the shape of the fused step, so the flat indices are equal */
    DT_STRIP_WHOLE,
    DT_STRIP_SPLAT,    /* the operand is a single value: a constant, or one in memory */
    DT_STRIP_REPEATED, /* `period` elements are repeated again and again: (128) over (B, 128) */
    /* each element is repeated `period` times in a row: (B) over (B, 10) with period 10 */
    DT_STRIP_PER_ROW,
    /* rows of `inner` elements; each row is repeated until it fills `period` elements: (B, 64) over
     * (B, 8, 8, 64) with inner 64, period 4096 */
    DT_STRIP_INSIDE
} dt_strip_layout;

typedef struct dt_strip_operand {
    dt_strip_layout layout;
    int node;    /* the node whose memory is read; -1: a constant */
    float value; /* value of the constant, if node is -1 */
    int64_t period, inner;
    /* the instruction that converts an element to float in a register; DT_S_COPY for float32 */
    dt_strip_op load;
    /* index of the register that the operand is loaded into; -1: instructions read the operand
     * from memory */
    int reg;
    /* a loop in C reads the operand, so a whole array is loaded into its register, if it has one;
     * generated loops convert its elements when they read them */
    bool laid_out;
    /* whether the operand's array is prefetched, because it is too large for a core's cache */
    bool far;
} dt_strip_operand;

typedef struct dt_strip_result {
    /* index of the register that receives the result; -1: the result is written directly to the
     * memory of `store` */
    int reg;
    /* node to whose memory the result is written; -1: to none. For an update in place it is the
     * variable's node */
    int store;
    /* the instruction that converts the result for storing, after it was computed in `reg`;
     * DT_S_COPY: stored as float32 */
    dt_strip_op convert;
} dt_strip_result;

/* An instruction of a strip program. Instruction i computes result i. */
typedef struct dt_strip_code {
    dt_strip_op op;
    int n_in;
    /* [n_in] the inputs: i >= 0 is the result of instruction i, i < 0 is operand -1 - i */
    int in[3];
} dt_strip_code;

/* the most arrays in memory that a generated loop reads and writes */
enum { DT_PASS_STREAMS = 10 };
/* A pass over the elements of a strip: instructions [from, to), run as one generated loop, or as a
 * loop in C for each instruction. */
typedef struct dt_strip_pass {
    int from, to;
    /* whether the pass can be a generated loop: all of its instructions have vector instructions */
    bool loop;
    bool sums; /* the pass' generated loop computes the program's sums */
    int at;    /* offset of the pass' code in the executable's code, in bytes */
    int n_streams, stream[DT_PASS_STREAMS]; /* nodes whose memory the loop reads or writes */
} dt_strip_pass;

/* The sum of a result or an operand over one piece of the batch: `period` sums, each over the
 * elements at the same position of all periods. */
typedef struct dt_strip_sum {
    int in;    /* the result or the operand that is summed, numbered as in dt_strip_code */
    int node;  /* the node to whose memory the sum is written */
    int reg;   /* index of the register with the sums of the current block of strips */
    int level; /* index of the first register of the tree that adds blocks (exec/sums.h) */
    int64_t period;
} dt_strip_sum;

/* number of strips in a block; a block's strips are added to its sums one after the other */
enum { DT_STRIP_BLOCK = 16 };

typedef struct dt_strip_program {
    int n_operands, n_code, n_regs;
    dt_strip_operand *operand;
    dt_strip_result *result;
    dt_strip_code *code;
    int n_passes;
    dt_strip_pass *pass;
    int n_sums;
    dt_strip_sum *sum;
    int rows_of; /* index of a node that has the shape over which the program iterates */
    /* number of elements of a strip, at most DT_STRIP: a multiple of the periods of all sums and,
     * unless row_break is set, of all repeated operands */
    int64_t strip;
    /* strips do not cross multiples of this number of elements; 0: there is no such limit */
    int64_t row_break;
} dt_strip_program;

/* strip_rows.c: divides the instructions of a program into passes, each of which goes over all
 * elements of a strip (sets p->pass), and marks the operands that loops in C read (laid_out).
 * Instructions and registers must be set. */
void dt_find_passes(dt_strip_program *p);
/* Returns the node whose memory a generated loop reads for an input; -1: it reads the input from a
 * register. */
int dt_strip_stream(const dt_strip_program *p, int in);
/* strip_emit.c: calls dt_find_passes, and appends the code of those passes that are loops to c. c
 * NULL: no code is made, because the engine's instruction set does not have AVX2. */
void dt_emit_loops(dt_strip_program *p, dt_code *c);
/* Runs the code of a pass for elements [0, n). stream: [pass->n_streams] address of element 0 in
 * each array of pass->stream; registers: the registers, DT_STRIP floats each. */
void dt_run_loop(const dt_strip_pass *pass, const dt_code *c, void *const *stream, int64_t n,
                 char *registers);

/* ---- the vector instructions of each op ---- */

/* The operands that a vector instruction (dt_strip_line) can have: the result R, the inputs X, Y
 * and Z, three further registers, and constants, which are in dt_strip_numbers. */
enum {
    R,
    X,
    Y,
    Z,
    T,
    U,
    V,
    NAMES,
    ONE = NAMES,
    MINUS_ONE,
    ZERO,
    SIGN,
    SIZE,
    HALF,
    UPPER,
    INT_ONE,
    QUIET,
    NUMBERS
};
extern const uint32_t dt_strip_numbers[NUMBERS - NAMES][8];

/* One vector instruction, to = a op b. If an instruction writes its last operand, as stores do,
 * `to` is the source and b is the destination. */
typedef struct dt_strip_line {
    uint8_t what, to, a, b, imm;
} dt_strip_line;
enum { NONE = 255, MOST_LINES = 8 };
/* The vector instructions of one op. The first one with DT_VEX_NONE ends the list; there is none if
 * all MOST_LINES are used. */
typedef dt_strip_line dt_strip_row[MOST_LINES];

/* How elements are stored and loaded: `pack` makes eight results adjacent, `store` stores eight and
 * `store_one` one; `load_one` loads one. */
typedef struct dt_strip_format {
    int scale; /* number of bytes of an element, as a power of two: 1 << scale */
    uint8_t load_one, store, store_one;
    dt_strip_row pack;
} dt_strip_format;

/* The vector instructions of each op; an empty list: it has none. The register R of the result may
 * be that of an input, so only the last instruction that reads X, Y or Z, or a later one, writes
 * R. */
extern const dt_strip_row dt_strip_rows[DT_S_COUNT];
/* How elements are loaded and stored, for DT_S_COPY and each conversion. */
extern const dt_strip_format dt_strip_formats[DT_S_COUNT];
/* Returns the vector instructions of an instruction: its row in dt_strip_rows, or a shorter list
 * that is possible for its inputs. */
const dt_strip_line *dt_strip_row_of(const dt_strip_program *p, const dt_strip_code *c);

#endif
