/* SPDX-License-Identifier: Apache-2.0 */
/* Step functions in words: expressions of the argument, traced with the library's calls. */
#ifndef TESTS_CONFORMANCE_TRACED_H
#define TESTS_CONFORMANCE_TRACED_H

#include "conformance.h"
#include "python.h"

typedef struct traced_words {
    verdict *v;
    dt_trace *trace;
    dt_value x;     /* the argument, whatever name the words give it; trace NULL: there is none */
    dt_dtype dtype; /* its own, which numbers beside it take */
    int axis;       /* what "axis" stands for in words */
    const char *op; /* what "op" stands for in words; NULL: nothing */
} traced_words;

/* The value of an expression; no value, with a difference, where it cannot be read. */
dt_value traced_value(const traced_words *w, const py *p);
dt_value words_value(const traced_words *w, const char *text);
/* The dtype of the first TENSOR of a recorded value; float32 where there is none. */
dt_dtype words_dtype(const json_t *value);
/* Returns it from the step as "result", or each part of a nest under its path. */
void traced_return(const traced_words *w, const char *path, const py *p);
void words_return(const traced_words *w, const char *text);

#endif
