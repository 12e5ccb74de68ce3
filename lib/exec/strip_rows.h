/* SPDX-License-Identifier: Apache-2.0 */
/* The vector instructions of each op of strip programs. The table is in strip_rows.c, and
 * strip_emit.c emits them. */
#ifndef DT_EXEC_STRIP_ROWS_H
#define DT_EXEC_STRIP_ROWS_H

#include "exec/strip_program.h"

/* The operands that a line can have: the result R, the inputs X, Y and Z, three further registers,
 * and constants, which are in dt_strip_numbers. */
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

/* A line: one instruction, to = a op b. If an instruction writes its last operand, as stores do,
 * `to` is the source and b is the destination. */
typedef struct dt_strip_line {
    uint8_t what, to, a, b, imm;
} dt_strip_line;
enum { NONE = 255, MOST_LINES = 8 };
typedef dt_strip_line dt_strip_row[MOST_LINES]; /* the first line with DT_VEX_NONE ends a row */

/* How eight elements are packed for a store, how eight or one are stored, and how one is loaded. */
typedef struct dt_strip_format {
    int scale; /* number of bytes of an element, as a power of two: 1 << scale */
    uint8_t load_one, store, store_one;
    dt_strip_row pack;
} dt_strip_format;

/* R is written by the last line that reads X, Y or Z, or by a later line, so that it may share a
 * register with them. */
extern const dt_strip_row dt_strip_rows[DT_S_COUNT];
/* formats for DT_S_COPY and the conversions */
extern const dt_strip_format dt_strip_formats[DT_S_COUNT];
/* Returns the row of an instruction, or a faster one if its inputs allow that. */
const dt_strip_line *dt_strip_row_of(const dt_strip_program *p, const dt_strip_code *c);

#endif
