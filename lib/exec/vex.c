/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes the instructions of vex.h. Each instruction is a row of a table: its opcode in the
 * processor's manual, its width, and how it differs from others. */
#include "exec/vex.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"

typedef struct insn {
    uint8_t prefix, map, op; /* prefix: 1 is 66, 2 is F3; map: 1 is 0F, 2 is 0F38, 3 is 0F3A */
    /* 1 + the number that is encoded in place of a register; `to` is then encoded in the field of
     * the first operand. 0: there is no such number */
    uint8_t digit;
    bool wide; /* the instruction works on 256 bits */
    bool has_imm;
} insn;

static const insn insns[DT_VEX_COUNT] = {
    [DT_VEX_LOAD] = {0, 1, 0x10, 0, true, false},
    [DT_VEX_STORE] = {0, 1, 0x11, 0, true, false},
    [DT_VEX_ADD] = {0, 1, 0x58, 0, true, false},
    [DT_VEX_SUB] = {0, 1, 0x5c, 0, true, false},
    [DT_VEX_MUL] = {0, 1, 0x59, 0, true, false},
    [DT_VEX_DIV] = {0, 1, 0x5e, 0, true, false},
    [DT_VEX_MAX] = {0, 1, 0x5f, 0, true, false},
    [DT_VEX_MIN] = {0, 1, 0x5d, 0, true, false},
    [DT_VEX_SQRT] = {0, 1, 0x51, 0, true, false},
    [DT_VEX_AND] = {0, 1, 0x54, 0, true, false},
    [DT_VEX_OR] = {0, 1, 0x56, 0, true, false},
    [DT_VEX_XOR] = {0, 1, 0x57, 0, true, false},
    [DT_VEX_COMPARE] = {0, 1, 0xc2, 0, true, true},
    [DT_VEX_CHOOSE] = {1, 3, 0x4a, 0, true, true},
    [DT_VEX_SHIFT_LEFT] = {1, 1, 0x72, 1 + 6, true, true},
    [DT_VEX_SHIFT_RIGHT] = {1, 1, 0x72, 1 + 2, true, true},
    [DT_VEX_ADD_INT] = {1, 1, 0xfe, 0, true, false},
    [DT_VEX_FROM_INT] = {0, 1, 0x5b, 0, true, false},
    [DT_VEX_WIDEN_8] = {1, 2, 0x31, 0, true, false},
    [DT_VEX_WIDEN_16] = {1, 2, 0x33, 0, true, false},
    [DT_VEX_FROM_HALF] = {1, 2, 0x13, 0, true, false},
    [DT_VEX_TO_HALF] = {1, 3, 0x1d, 0, true, true},
    [DT_VEX_UPPER_128] = {1, 3, 0x19, 0, true, true},
    [DT_VEX_PACK_32_128] = {1, 2, 0x2b, 0, false, false},
    [DT_VEX_PACK_16_128] = {1, 1, 0x67, 0, false, false},
    [DT_VEX_LOAD_8] = {1, 3, 0x20, 0, false, true},
    [DT_VEX_LOAD_16] = {1, 1, 0xc4, 0, false, true},
    [DT_VEX_LOAD_32] = {2, 1, 0x10, 0, false, false},
    [DT_VEX_STORE_8] = {1, 3, 0x14, 0, false, true},
    [DT_VEX_STORE_16] = {1, 3, 0x15, 0, false, true},
    [DT_VEX_STORE_32] = {2, 1, 0x11, 0, false, false},
    [DT_VEX_STORE_64] = {1, 1, 0xd6, 0, false, false},
    [DT_VEX_STORE_128] = {2, 1, 0x7f, 0, false, false},
};

void dt_code_bytes(dt_code *c, const char *bytes, int n) {
    DT_GROW(c->text, c->cap, c->n + n);
    memcpy(c->text + c->n, bytes, (size_t)n);
    c->n += n;
}

static void put(dt_code *c, int byte) { dt_code_bytes(c, &(char){(char)byte}, 1); }

static void put_distance(dt_code *c, int32_t x) { dt_code_bytes(c, (const char *)&x, sizeof x); }

/* Writes the bytes after an opcode, which name a register and the last operand. An operand in
 * memory always has a second byte and a distance of four bytes, which is the only form that every
 * register has. */
static void put_place(dt_code *c, int reg, const dt_vex_operand *p) {
    /* in the processor's encoding, index number 4 stands for no index */
    int index = p->scale < 0 ? 4 : DT_RAX;
    if (p->vector >= 0) {
        put(c, 0xc0 | (reg & 7) << 3 | (p->vector & 7));
        return;
    }
    put(c, 0x80 | (reg & 7) << 3 | 4);
    put(c, (p->scale < 0 ? 0 : p->scale) << 6 | index << 3 | (p->base & 7));
    put_distance(c, p->at);
}

/* The VEX prefix has the upper bits of register numbers, and the first operand, inverted. */
void dt_code_vex(dt_code *c, dt_vex what, int to, int a, const dt_vex_operand *b, uint8_t imm) {
    const insn *i = &insns[what];
    int reg = i->digit ? i->digit - 1 : to,
        first = i->digit ? to
                : a < 0  ? 0
                         : a,
        last = b->vector >= 0 ? b->vector : b->base;

    put(c, 0xc4);
    put(c, (reg < 8) << 7 | 1 << 6 | (last < 8) << 5 | i->map);
    put(c, (~first & 15) << 3 | i->wide << 2 | i->prefix);
    put(c, i->op);
    put_place(c, reg, b);
    if (i->has_imm) put(c, imm);
}

void dt_code_prefetch(dt_code *c, const dt_vex_operand *at) {
    put(c, 0x40 | at->base >> 3);
    dt_code_bytes(c, "\x0f\x18", 2);
    put_place(c, 2, at);
}

void dt_code_load_word(dt_code *c, int to, int index) {
    put(c, 0x48 | to >> 3 << 2);
    put(c, 0x8b);
    put_place(c, to, &(dt_vex_operand){.vector = -1, .base = DT_RDI, .scale = -1, .at = index * 8});
}

void dt_code_land(dt_code *c, int hole, int target) {
    int32_t distance = target - (hole + 4);
    memcpy(c->text + hole, &distance, sizeof distance);
}

void dt_code_seal(dt_code *c) {
    void *at = c->n > 0 ? mmap(NULL, (size_t)c->n, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                        : MAP_FAILED;

    if (at != MAP_FAILED) {
        memcpy(at, c->text, (size_t)c->n);
        c->mapped = (size_t)c->n;
        c->base = at;
        if (mprotect(at, c->mapped, PROT_READ | PROT_EXEC) != 0) dt_code_release(c);
    }
    free(c->text);
    c->text = NULL;
    c->n = c->cap = 0;
}

void dt_code_release(dt_code *c) {
    if (c->base) munmap(c->base, c->mapped);
    free(c->text);
    *c = (dt_code){0};
}
