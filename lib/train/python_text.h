/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as Python makes them, which Keras' callbacks leave to it: numbers, and
 * "{epoch:02d}-{val_loss:.2f}". */
#ifndef DT_TRAIN_PYTHON_TEXT_H
#define DT_TRAIN_PYTHON_TEXT_H

#include "conf/conf.h"

/* repr(x): "0.1", "1e-05", "3.0", "nan" */
void dt_python_float(dt_str *out, double x);

/* A named part of a pattern: {NAME:ZERO WIDTH .PRECISION KIND}. */
typedef struct dt_python_part {
    char name[64];
    bool zeros;           /* fill up to the width */
    int width, precision; /* precision -1: none */
    char kind;            /* d, e, f, g, as printf's; 0: none */
} dt_python_part;
/*
 * Walks through a pattern: text up to the next part is added to *text (NULL: nobody wants it), *p
 * moves behind the part. False: there was none. What is neither text nor a part stays: *wrong
 * points to it; NULL: all is well.
 */
bool dt_python_next(const char **p, dt_str *text, dt_python_part *part, const char **wrong);
/* A part with a value; whole: it is an integer. */
void dt_python_put(dt_str *out, const dt_python_part *part, double value, bool whole);

#endif
