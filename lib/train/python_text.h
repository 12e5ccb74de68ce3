/* SPDX-License-Identifier: Apache-2.0 */
/* Formats text like Python, as Keras' callbacks do: numbers, and patterns such as
 * "{epoch:02d}-{val_loss:.2f}". */
#ifndef DT_TRAIN_PYTHON_TEXT_H
#define DT_TRAIN_PYTHON_TEXT_H

#include "conf/conf.h"

/* Writes x like Python's repr(x): "0.1", "1e-05", "3.0", "nan". */
void dt_python_float(dt_str *out, double x);

/* A named part of a pattern: {NAME:ZERO WIDTH .PRECISION KIND}. */
typedef struct dt_python_part {
    char name[64];
    bool zeros; /* whether the number is padded with zeros on the left */
    /* width: least number of characters; precision: digits as in printf, -1: the pattern gives
     * none */
    int width, precision;
    char kind; /* the conversion d, e, f, g, E, F or G, as in printf; 0: the pattern gives none */
} dt_python_part;
/* Reads a pattern up to the end of its next part: adds the text before the part to *text (NULL:
 * skips it), and moves *p behind the part. Returns false if no part is left. *wrong points to a
 * syntax error; NULL: there is none. */
bool dt_python_next(const char **p, dt_str *text, dt_python_part *part, const char **wrong);
/* Prints the value of a part. whole: the value is an integer. */
void dt_python_put(dt_str *out, const dt_python_part *part, double value, bool whole);

#endif
