/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction sets that loops are compiled for: a room's simd/ folder is built once for each,
 * from one text, and what runs is chosen when it runs. DTRAIN_INSTRUCTIONS=avx2 takes the processor
 * for one that has no more.
 */
#ifndef DT_BASE_ISA_H
#define DT_BASE_ISA_H

#include <stdbool.h>

#define DT_INSTRUCTIONS_ENV "DTRAIN_INSTRUCTIONS"

/* the best first; the last is there on every processor */
typedef enum dt_isa { DT_AVX512, DT_AVX2, DT_BASE_ISA, DT_ISAS } dt_isa;

const char *dt_isa_name(dt_isa isa);
bool dt_isa_is_here(dt_isa isa);
/* The instruction set that the environment variable names; NULL: unset. */
const char *dt_isa_wanted(void);
/* The set of that name if this machine has it, else DT_ISAS. NULL: the best set of this machine. */
dt_isa dt_isa_find(const char *name);

#endif
