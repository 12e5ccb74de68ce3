/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers by hand: the few fields of HloModuleProto that are read, and CompileOptionsProto as far as it is written. Numbers of fields are those
 * of xla/service/hlo.proto, xla/xla_data.proto and xla/pjrt/proto/compile_options.proto.
 *
 *     HloModuleProtoWithConfig 1 module -> 3 computations -> 2 instructions: 2 opcode, 3 shape, 35 id, 36 operands, 43 backend_config (JSON text)
 *
 * Bytes come from a plug-in: lengths are looked at before they are believed.
 */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

const char *const dt_pjrt_kinds[DT_PJRT_KINDS] = { "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute" };

/* ---- reading ---- */

typedef struct span {
    const unsigned char *at, *end;
} span;

typedef struct field {
    uint64_t number, value; /* value: of varints and fixed sizes */
    int wire;
    span bytes;             /* of wire type 2 */
} field;

enum { VARINT = 0, FIXED_64 = 1, BYTES = 2, FIXED_32 = 5 };

static bool read_varint(span *s, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
        unsigned char c = *s->at++;
        *out |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

static bool skip(span *s, uint64_t n)
{
    if (n > (uint64_t)(s->end - s->at))
        return false;
    s->at += n;
    return true;
}

static bool read_payload(span *s, field *f)
{
    switch (f->wire) {
    case VARINT:
        return read_varint(s, &f->value);
    case FIXED_64:
        return skip(s, 8);
    case FIXED_32:
        return skip(s, 4);
    case BYTES:
        if (!read_varint(s, &f->value) || f->value > (uint64_t)(s->end - s->at))
            return false;
        f->bytes = (span){ s->at, s->at + f->value };
        return skip(s, f->value);
    default:
        return false;
    }
}

/* The next field of s; false at its end, and where it is malformed: then *bad is set. */
static bool next(span *s, field *f, bool *bad)
{
    uint64_t key;
    if (*bad || s->at == s->end)
        return false;
    *bad = !read_varint(s, &key);
    f->number = key >> 3;
    f->wire = (int)(key & 7);
    *bad = *bad || !read_payload(s, f);
    return !*bad;
}

/* ---- shapes ---- */

enum { DEEPEST = 16 };

/* Bytes of an element by PrimitiveType; what is not listed (tokens, half bytes) counts 0. */
static double element_bytes(uint64_t type)
{
    static const unsigned char sizes[] = { [1] = 1, [2] = 1, [3] = 2, [4] = 4, [5] = 8, [6] = 1, [7] = 2, [8] = 4, [9] = 8, [10] = 2, [11] = 4, [12] = 8,
                                           [15] = 8, [16] = 2, [18] = 16, [19] = 1, [20] = 1 };
    return type < sizeof sizes ? sizes[type] : 0;
}

static double product_of(span packed, bool *bad)
{
    double product = 1;
    uint64_t n;
    while (packed.at < packed.end && !*bad) {
        *bad = !read_varint(&packed, &n);
        product *= (double)n;
    }
    return product;
}

/* Bytes of a value, a tuple's parts together. */
static double shape_bytes(span s, int depth, bool *bad)
{
    double size = 0, elements = 1, parts = 0;
    field f;
    *bad = *bad || depth > DEEPEST;
    while (next(&s, &f, bad))
        if (f.number == 2 && f.wire == VARINT)
            size = element_bytes(f.value);
        else if (f.number == 3 && f.wire == BYTES)
            elements *= product_of(f.bytes, bad);
        else if (f.number == 3 && f.wire == VARINT)
            elements *= (double)f.value;
        else if (f.number == 4 && f.wire == BYTES)
            parts += shape_bytes(f.bytes, depth + 1, bad);
    return size * elements + parts;
}

/* ---- instructions ---- */

typedef struct instruction {
    span opcode, shape, backend, operands;
    uint64_t id, operand;  /* operand: the only one, where it is not packed */
    bool has_operand;
} instruction;

static instruction read_instruction(span s, bool *bad)
{
    instruction i = { 0 };
    field f;
    while (next(&s, &f, bad)) {
        span *to = f.wire != BYTES ? NULL : f.number == 2 ? &i.opcode : f.number == 3 ? &i.shape : f.number == 43 ? &i.backend : f.number == 36 ? &i.operands : NULL;
        if (to)
            *to = f.bytes;
        else if (f.number == 35 && f.wire == VARINT)
            i.id = f.value;
        else if (f.number == 36 && f.wire == VARINT)
            i.operand = f.value, i.has_operand = true;
    }
    return i;
}

static bool is_text(span s, const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return (size_t)(s.end - s.at) == n + m && memcmp(s.at, text, n) == 0 && memcmp(s.at + n, suffix, m) == 0;
}

/* A number of the backend's JSON: {.., "estimated_cycles":"1234", ..}. */
static double cycles_of(span s)
{
    static const char key[] = "\"estimated_cycles\":\"";
    size_t n = sizeof key - 1;
    double cycles = 0;
    while ((size_t)(s.end - s.at) > n && memcmp(s.at, key, n) != 0)
        s.at++;
    if ((size_t)(s.end - s.at) <= n)
        return 0;
    for (s.at += n; s.at < s.end && *s.at >= '0' && *s.at <= '9'; s.at++)
        cycles = cycles * 10 + (*s.at - '0');
    return cycles;
}

/* The bytes of instruction `id` of a computation. */
static double bytes_of(span computation, uint64_t id, bool *bad)
{
    field f;
    while (next(&computation, &f, bad))
        if (f.number == 2 && f.wire == BYTES) {
            instruction i = read_instruction(f.bytes, bad);
            if (i.id == id)
                return shape_bytes(i.shape, 0, bad);
        }
    return 0;
}

static double operand_bytes(span computation, const instruction *i, bool *bad)
{
    double sum = i->has_operand ? bytes_of(computation, i->operand, bad) : 0;
    span ids = i->operands;
    uint64_t id;
    while (ids.at < ids.end && !*bad) {
        *bad = !read_varint(&ids, &id);
        sum += *bad ? 0 : bytes_of(computation, id, bad);
    }
    return sum;
}

static void add_instruction(span computation, const instruction *i, dt_pjrt_report *out, bool *bad)
{
    out->cycles += cycles_of(i->backend);
    out->loops += is_text(i->opcode, "while", "");
    for (int k = 0; k < DT_PJRT_KINDS; k++)
        if (is_text(i->opcode, dt_pjrt_kinds[k], "") || is_text(i->opcode, dt_pjrt_kinds[k], "-start")) {
            out->collective[k].n++;
            out->collective[k].bytes += operand_bytes(computation, i, bad);
        }
}

static void read_computation(span s, dt_pjrt_report *out, bool *bad)
{
    const span whole = s;
    field f;
    while (next(&s, &f, bad))
        if (f.number == 2 && f.wire == BYTES) {
            instruction i = read_instruction(f.bytes, bad);
            add_instruction(whole, &i, out, bad);
        }
}

static int read_module(span s, dt_pjrt_report *out, bool *bad)
{
    int computations = 0;
    field f;
    while (next(&s, &f, bad))
        if (f.number == 3 && f.wire == BYTES) {
            read_computation(f.bytes, out, bad);
            computations++;
        }
    return computations;
}

dt_status *dt_pjrt_read_hlo(const void *bytes, size_t n, dt_pjrt_report *out)
{
    span s = { bytes, (const unsigned char *)bytes + n };
    int computations = 0;
    bool bad = false;
    field f;
    while (next(&s, &f, &bad))
        if (f.number == 1 && f.wire == BYTES)
            computations += read_module(f.bytes, out, &bad);
    if (bad || computations == 0)
        return dt_fail(DT_E_COMPILER, NULL, "the optimized program cannot be read: %s", bad ? "malformed HLO" : "it contains no HLO module");
    return NULL;
}

/* ---- writing ---- */

static void put_varint(dt_str *s, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        dt_str_putc(s, (char)(n | 0x80));
    dt_str_putc(s, (char)n);
}

static void put_number(dt_str *s, int number, uint64_t value)
{
    put_varint(s, (uint64_t)number << 3 | VARINT);
    put_varint(s, value);
}

static void put_bytes(dt_str *s, int number, dt_str *inside)
{
    put_varint(s, (uint64_t)number << 3 | BYTES);
    put_varint(s, inside->size);
    if (inside->size)
        dt_str_add(s, inside->data, inside->size);
    dt_str_release(inside);
}

/* executable_build_options (3): num_replicas (4), num_partitions (5), device_assignment (9): replica_count (1), computation_count (2), computation_devices (3): ids (1). */
void dt_pjrt_write_options(const int64_t *device, int n, dt_str *out)
{
    dt_str ids = { 0 }, devices = { 0 }, assignment = { 0 }, build = { 0 };
    for (int i = 0; i < n; i++)
        put_varint(&ids, (uint64_t)device[i]);
    put_bytes(&devices, 1, &ids);
    put_number(&assignment, 1, (uint64_t)n);
    put_number(&assignment, 2, 1);
    put_bytes(&assignment, 3, &devices);
    put_number(&build, 4, (uint64_t)n);
    put_number(&build, 5, 1);
    put_bytes(&build, 9, &assignment);
    put_bytes(out, 3, &build);
}
