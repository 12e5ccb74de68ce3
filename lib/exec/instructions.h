/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction sets that our own loops are compiled for, and their names in the libraries. The
 * best one that the processor supports is chosen at start-up; DTRAIN_INSTRUCTIONS (base/isa.h)
 * overrides it for loops and libraries alike.
 */
#ifndef DT_EXEC_INSTRUCTIONS_H
#define DT_EXEC_INSTRUCTIONS_H

#include "base/isa.h"
#include "base/status.h"
#include "exec/strip.h"

typedef struct dt_instructions {
    const dt_simd *loops; /* its name is the set's: "avx2" */
    /* value of OPENBLAS_CORETYPE that limits OpenBLAS to kernels of this set */
    const char *openblas;
    int onednn; /* its dnnl_cpu_isa_t; oneDNN has code for SSE 4.1 and later sets */
} dt_instructions;

/* The loops of that name; NULL: those that the environment variable names, or else the best.
 * KERNELS: the processor does not support the set. */
dt_status *dt_instructions_choose(const char *wanted, const dt_simd **out) DT_MUST_USE;
/* The set that libraries must be limited to; NULL: no limit, or an unknown name, which
 * dt_instructions_choose refuses. */
const dt_instructions *dt_instructions_limit(void);

/* Whether libraries may use a matrix unit for bfloat16 (AMX): the processor has one, and the
 * environment does not limit the instruction set. Without it oneDNN 2.6 makes products of bfloat16
 * more slowly than those of float32, with AVX512_BF16 too, for which dot_bf16.c has our own. */
bool dt_instructions_have_amx(void);

/*
 * From here on, results of this thread that are too small for a normal number (below 2^-126 in
 * float32) become 0 of the same sign; what is read keeps its value. Processors take a hundred times
 * as long for such numbers, and averages of gradients that have become 0 decay to them: TensorFlow
 * and XLA on CPUs do the same. Returns the state before, which dt_instructions_restore puts back.
 */
unsigned dt_instructions_flush(void);
void dt_instructions_restore(unsigned state);

#endif
