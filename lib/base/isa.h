/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction sets that loops are compiled for. The files of simd/ folders are compiled once
 * for each set, and the set is chosen when the program runs. DTRAIN_INSTRUCTIONS=avx2 limits the
 * choice to that set.
 */
#ifndef DT_BASE_ISA_H
#define DT_BASE_ISA_H

#include <stdbool.h>

#define DT_INSTRUCTIONS_ENV "DTRAIN_INSTRUCTIONS"

/* the instruction sets, best first; every processor has DT_BASE_ISA; DT_ISAS is their number */
typedef enum dt_isa { DT_AVX512, DT_AVX2, DT_BASE_ISA, DT_ISAS } dt_isa;

const char *dt_isa_name(dt_isa isa);
bool dt_isa_is_here(dt_isa isa);
/* Returns the text of DTRAIN_INSTRUCTIONS, which may be no name of a set; NULL: the variable is
 * empty or not set. */
const char *dt_isa_wanted(void);
/* Returns the instruction set of that name if this machine has it, else DT_ISAS. name NULL: returns
 * the best set of this machine. */
dt_isa dt_isa_find(const char *name);

#endif
