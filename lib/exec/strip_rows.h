/* SPDX-License-Identifier: Apache-2.0 */
/* The vector instructions of each op of strip programs: what strip_rows.c has and strip_emit.c
 * writes. */
#ifndef DT_EXEC_STRIP_ROWS_H
#define DT_EXEC_STRIP_ROWS_H

#include "exec/strip_program.h"

/* What a line of a row works on: the result, the inputs, three registers more, and numbers, which
 * lie at dt_strip_numbers. */
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

/* to = a op b. Stores and their like name what they read first, and where it goes last. */
typedef struct dt_strip_line {
    uint8_t what, to, a, b, imm;
} dt_strip_line;
enum { NONE = 255, MOST_LINES = 8 };
typedef dt_strip_line dt_strip_row[MOST_LINES]; /* the first of DT_VEX_NONE ends it */

/* How eight elements are packed for a store, eight and one are stored, one is loaded. */
typedef struct dt_strip_format {
    int scale; /* an element has 1 << scale bytes */
    uint8_t load_one, store, store_one;
    dt_strip_row pack;
} dt_strip_format;

/* R is written by the last line that reads X, Y or Z, or later: it may lie in the register of one
 * of them. */
extern const dt_strip_row dt_strip_rows[DT_S_COUNT];
extern const dt_strip_format dt_strip_formats[DT_S_COUNT]; /* of DT_S_COPY, and of conversions */
/* The row of an instruction; it may be a better one because of what it reads. */
const dt_strip_line *dt_strip_row_of(const dt_strip_program *p, const dt_strip_code *c);

#endif
