/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction sets that our own loops are compiled for, and their names in the libraries. When
 * an engine is opened without naming a set, the best one that the processor supports is chosen.
 * DTRAIN_INSTRUCTIONS (base/isa.h) overrides that choice, and also limits the libraries.
 */
#ifndef DT_EXEC_INSTRUCTIONS_H
#define DT_EXEC_INSTRUCTIONS_H

#include "base/isa.h"
#include "base/status.h"
#include "exec/strip.h"

typedef struct dt_instructions {
    /* our loops for this set; their name is that of the set, such as "avx2" */
    const dt_simd *loops;
    /* value of OPENBLAS_CORETYPE that limits OpenBLAS to this set; for the base set to SSE3 */
    const char *openblas;
    /* value of dnnl_cpu_isa_t for this set; oneDNN has code for SSE 4.1 and later sets */
    int onednn;
} dt_instructions;

/* Finds the loops of that name. With NULL, finds those that DTRAIN_INSTRUCTIONS names, or else the
 * best. Fails with KERNELS if the name is unknown, or the processor does not support the set. */
dt_status *dt_instructions_choose(const char *wanted, const dt_simd **out) DT_MUST_USE;
/* Returns the set that libraries must be limited to; NULL: there is no limit, or the name is
 * unknown, which dt_instructions_choose reports. */
const dt_instructions *dt_instructions_limit(void);

/* Whether libraries may use a matrix unit for bfloat16 (AMX): the processor and the system support
 * one, and the environment does not limit the instruction set. Without AMX, oneDNN 2.6 computes
 * products of bfloat16 more slowly than those of float32, even with AVX512_BF16. So dot_bf16.c has
 * our own products for processors with AVX512_BF16. */
bool dt_instructions_have_amx(void);

/*
 * From now on, results of this thread that are too small for a normal number (below 2^-126 in
 * float32) become 0 with the same sign. Operands are not changed. Processors take a hundred times
 * as long for such numbers, which occur when averages of gradients decay after the gradients have
 * become 0. TensorFlow and XLA do the same on CPUs. Returns the previous state, for
 * dt_instructions_restore. On processors other than x86-64 both functions do nothing.
 */
unsigned dt_instructions_flush(void);
void dt_instructions_restore(unsigned state);

#endif
