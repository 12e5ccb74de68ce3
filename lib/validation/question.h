/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions of books about rooflines and meshes, and the rules that answer them. A rule is a row of questions.c: words that the question has, the
 * unit it is asked in, the facts that it needs, and a function of these. It never sees the row's formula.
 */
#ifndef DT_VALIDATION_QUESTION_H
#define DT_VALIDATION_QUESTION_H

#include "validation/operation.h"

enum { DT_QUESTION_NEEDS = 8 };

typedef struct dt_ask {
    const char *question; /* in small letters */
    const char *text;    /* the same, or with those that it goes on from: where rules look for their words */
    const char *unit;
    const dt_facts *own; /* inputs and words of the row, and of those it goes on from ("same: ...") */
    const dt_facts *all; /* these, and the chip's */
    dt_operation operation;
    double v[DT_QUESTION_NEEDS]; /* what the rule needs, in its order */
} dt_ask;

typedef struct dt_question {
    const char *words; /* "kv per|each token !sequence": all of them, one of those between bars, none of those behind '!' */
    const char *unit;  /* "s"; several: "days hours" */
    const char *needs; /* "flops peak =W": '=' in front: from the row itself, the chip's does not do */
    bool (*answer)(const dt_ask *ask, double *out); /* false: the question is another one */
} dt_question;

const dt_question *dt_questions(int *n);
/* The first rule that answers; false: none does. */
bool dt_question_answer(dt_ask *ask, double *out);

/* A fact of the row or the chip, or what stands for it when nothing is said. */
double dt_ask_or(const dt_ask *ask, const char *name, double otherwise);

#endif
