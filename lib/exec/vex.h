/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for x86-64 with AVX2: VEX instructions over 8 floats, and the memory that they run
 * from. Code is collected in ordinary memory and then sealed: copied to separate pages that are
 * executable and no longer writable.
 */
#ifndef DT_EXEC_VEX_H
#define DT_EXEC_VEX_H

#include <stddef.h>
#include <stdint.h>

typedef struct dt_code {
    uint8_t *text; /* the machine code while it is being written; NULL after dt_code_seal */
    int n, cap;
    /* address of the executable copy of the code, of `mapped` bytes; NULL: the code is not sealed
     * yet, there is none, or the system allows no executable memory */
    uint8_t *base;
    size_t mapped;
} dt_code;

/* Instructions on vectors of 256 bits, or of the size in bits with which the name ends.
 * DT_VEX_WIDEN_8 and _16 widen elements of 8 and 16 bits to 32 bits. A store has the register that
 * it writes to memory in `to`. */
typedef enum dt_vex {
    DT_VEX_NONE,
    DT_VEX_LOAD,
    DT_VEX_STORE,
    DT_VEX_ADD,
    DT_VEX_SUB,
    DT_VEX_MUL,
    DT_VEX_DIV,
    DT_VEX_MAX,
    DT_VEX_MIN,
    DT_VEX_SQRT,
    DT_VEX_AND,
    DT_VEX_OR,
    DT_VEX_XOR,
    DT_VEX_COMPARE,
    DT_VEX_CHOOSE /* imm is the register of the mask << 4; the result is b where the mask is set */,
    DT_VEX_SHIFT_LEFT,
    DT_VEX_SHIFT_RIGHT,
    DT_VEX_ADD_INT,
    DT_VEX_FROM_INT,
    DT_VEX_WIDEN_8,
    DT_VEX_WIDEN_16,
    DT_VEX_FROM_HALF,
    DT_VEX_TO_HALF,
    DT_VEX_UPPER_128,
    DT_VEX_PACK_32_128,
    DT_VEX_PACK_16_128,
    DT_VEX_LOAD_8,
    DT_VEX_LOAD_16,
    DT_VEX_LOAD_32,
    DT_VEX_STORE_8,
    DT_VEX_STORE_16,
    DT_VEX_STORE_32,
    DT_VEX_STORE_64,
    DT_VEX_STORE_128,
    DT_VEX_COUNT
} dt_vex;

/* The last operand of an instruction: a vector register, or memory at base + (index << scale) +
 * at. */
typedef struct dt_vex_operand {
    int vector; /* number of the vector register; -1: the operand is in memory */
    /* base: number of the general register with the base address; scale: the index is multiplied by
     * 1 << scale, -1: the address has no index */
    int base, scale;
    int32_t at;
} dt_vex_operand;

/* Numbers of general registers. The index of an address is always RAX. */
enum { DT_RAX, DT_RCX, DT_RDX, DT_RBX, DT_RBP = 5, DT_RDI = 7 };

void dt_code_bytes(dt_code *c, const char *bytes, int n);
/* Writes an instruction: to = a op b. a is -1 if the instruction has no such operand. */
void dt_code_vex(dt_code *c, dt_vex what, int to, int a, const dt_vex_operand *b, uint8_t imm);
void dt_code_prefetch(dt_code *c, const dt_vex_operand *at);
/* Loads word `index` of the array at RDI into a register. */
void dt_code_load_word(dt_code *c, int to, int index);
/* Sets the distance of a jump, 4 bytes at offset `hole`, so that it leads to offset `target` of the
 * code; c->n is the current end. */
void dt_code_land(dt_code *c, int hole, int target);

/* Makes the code executable and frees c->text. Code at offset `at` is then at the address base +
 * at. If there is no code, or the system allows no executable memory, base is NULL. */
void dt_code_seal(dt_code *c);
void dt_code_release(dt_code *c);

#endif
