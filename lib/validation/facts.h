/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with names that a row gives. What is added first is found first: inputs, what the question says in words, the architecture that it
 * names, rows before it ("same: ..."), and last the chip.
 */
#ifndef DT_VALIDATION_FACTS_H
#define DT_VALIDATION_FACTS_H

#include "topo/topo.h"
#include "validation/validation.h"

typedef struct dt_fact {
    const char *name; /* "peak", "D" */
    double value;
} dt_fact;

typedef struct dt_facts {
    dt_arena *arena;
    dt_fact *at;
    int n, cap;
    const dt_chip *chip; /* the first one named; NULL: none */
} dt_facts;

void dt_facts_release(dt_facts *f);
/* The name is copied. */
void dt_facts_add(dt_facts *f, const char *name, double value);
/* The first that has the name, or one that begins with it and '_' (hbm: hbm_Bps), or another name of the same thing (C: peak). */
bool dt_facts_find(const dt_facts *f, const char *name, double *out);
/* Numbers of an object of inputs, a list's as NAME0, NAME1, ...; those of objects in it by their own names. */
void dt_facts_of_json(dt_facts *f, const json_t *object);
/* peak, hbm, ici (a link, one way), W (an axis, both ways), hop of a chip: nominal, of all its cores. */
void dt_facts_of_chip(dt_facts *f, const dt_chip *chip);

/* ---- facts_text.c ---- */

/* What words say: "6.3e24 FLOPs", "32 v4 chips", "D=4096", "mesh X2 Y8", "40% MFU", "bf16", a chip, an architecture. */
void dt_facts_of_text(dt_facts *f, const char *text);

/* ---- formula.c ---- */

/* Evaluates arithmetic over facts: + - * / ^ **, parentheses, ceil floor sqrt log2 min max, products without a sign (2D, 6NT). False: what it
 * is about is not known, and *unknown (of the caller, `size` bytes) is the name, or the text that is no arithmetic. */
bool dt_formula(const dt_facts *f, const char *text, double *out, char *unknown, size_t size);

#endif
