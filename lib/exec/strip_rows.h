/* SPDX-License-Identifier: Apache-2.0 */
/* The vector instructions of each op of strip programs: the table is in strip_rows.c,
 * strip_emit.c writes them. */
#ifndef DT_EXEC_STRIP_ROWS_H
#define DT_EXEC_STRIP_ROWS_H

#include "exec/strip_program.h"

/* Operands of a line: the result, the inputs, three further registers, and constants, which are
 * at dt_strip_numbers. */
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

/* to = a op b. Where an instruction writes its last operand, as stores do, `to` names the source
 * and b the destination. */
typedef struct dt_strip_line {
    uint8_t what, to, a, b, imm;
} dt_strip_line;
enum { NONE = 255, MOST_LINES = 8 };
typedef dt_strip_line dt_strip_row[MOST_LINES]; /* the first of DT_VEX_NONE ends it */

/* How eight elements are packed for a store, how eight or one are stored, and how one is loaded. */
typedef struct dt_strip_format {
    int scale; /* an element has 1 << scale bytes */
    uint8_t load_one, store, store_one;
    dt_strip_row pack;
} dt_strip_format;

/* R is written by the last line that reads X, Y or Z, or later, so that it may share a register
 * with them. */
extern const dt_strip_row dt_strip_rows[DT_S_COUNT];
extern const dt_strip_format dt_strip_formats[DT_S_COUNT]; /* for DT_S_COPY and conversions */
/* The row of an instruction, or a faster one that its inputs permit. */
const dt_strip_line *dt_strip_row_of(const dt_strip_program *p, const dt_strip_code *c);

#endif
