/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a few fields of HloModuleProto, and writes a part of CompileOptionsProto. Numbers of fields
 * are those of xla/service/hlo.proto, xla/xla_data.proto and xla/pjrt/proto/compile_options.proto.
 *
 *     HloModuleProtoWithConfig 1 module -> 3 computations -> 5 id, 2 instructions: 2 opcode,
 *         3 shape, 8 literal -> 4 s32s, 35 id, 36 operands,
 *         38 called computations (of a loop: body, condition), 43 backend_config (JSON text),
 *         63 comparison direction
 *
 * What a computation contains is counted as often as the computation runs. For the body of a loop,
 * that number follows from the compiler's own figure or from the loop's condition.
 *
 * The bytes come from a plug-in, so lengths in them are checked before they are used.
 */
#include "file/protobuf.h"
#include "pjrt/options.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash_index.h"

const char *const dt_pjrt_kinds[DT_PJRT_KINDS] = {"all-reduce", "all-gather", "reduce-scatter",
                                                  "all-to-all", "collective-permute"};

/* ---- reading ---- */

/* Reads the next field of s. Returns false at its end. Also returns false, and sets *bad, if the
 * bytes are malformed. */
static bool next(dt_pb_span *s, dt_pb_field *f, bool *bad) {
    const char *why;
    if (*bad || s->at == s->end) return false;
    *bad = !dt_pb_next(s, f, &why);
    return !*bad;
}

/* Reads the next number of a packed list into *x. Returns false at its end. Also returns false, and
 * sets *bad, if the bytes are malformed. */
static bool next_number(dt_pb_span *s, uint64_t *x, bool *bad) {
    const char *why;
    if (*bad || s->at == s->end) return false;
    *bad = !dt_pb_varint(s, x, &why);
    return !*bad;
}

/* ---- shapes ---- */

enum { DEEPEST = 16 };

/* Returns the bytes of an element by its PrimitiveType. Types that are not listed (tokens, half
 * bytes) count as 0. */
static double element_bytes(uint64_t type) {
    static const unsigned char sizes[] = {
        [1] = 1,  [2] = 1,  [3] = 2,  [4] = 4,  [5] = 8,  [6] = 1,   [7] = 2,  [8] = 4, [9] = 8,
        [10] = 2, [11] = 4, [12] = 8, [15] = 8, [16] = 2, [18] = 16, [19] = 1, [20] = 1};
    return type < sizeof sizes ? sizes[type] : 0;
}

static double product_of(dt_pb_span packed, bool *bad) {
    double product = 1;
    uint64_t n;
    while (next_number(&packed, &n, bad)) product *= (double)n;
    return product;
}

/* Returns the bytes of a value with the shape s. Those of a tuple are the sum of its parts. Sets
 * *bad if s is malformed, or has more than DEEPEST levels of tuples; callers pass 0 as `depth`. */
static double shape_bytes(dt_pb_span s, int depth, bool *bad) {
    double size = 0, elements = 1, parts = 0;
    dt_pb_field f;
    *bad = *bad || depth > DEEPEST;
    while (next(&s, &f, bad))
        if (f.number == 2 && f.type == DT_PB_VARINT) size = element_bytes(f.value);
        else if (f.number == 3 && f.type == DT_PB_BYTES) elements *= product_of(f.bytes, bad);
        else if (f.number == 3 && f.type == DT_PB_VARINT) elements *= (double)f.value;
        else if (f.number == 4 && f.type == DT_PB_BYTES)
            parts += shape_bytes(f.bytes, depth + 1, bad);
    return size * elements + parts;
}

/* ---- instructions ---- */

typedef struct instruction {
    dt_pb_span opcode, shape, literal, backend, operands, called, direction;
    /* operand: id of the only operand, if has_operand is set, since a single id may be stored
     * outside of a packed list */
    uint64_t id, operand;
    bool has_operand;
} instruction;

static dt_pb_span *field_of(instruction *i, uint64_t number) {
    switch (number) {
    case 2: return &i->opcode;
    case 3: return &i->shape;
    case 8: return &i->literal;
    case 36: return &i->operands;
    case 38: return &i->called;
    case 43: return &i->backend;
    case 63: return &i->direction;
    default: return NULL;
    }
}

static instruction read_instruction(dt_pb_span s, bool *bad) {
    instruction i = {0};
    dt_pb_field f;
    while (next(&s, &f, bad)) {
        dt_pb_span *to = f.type == DT_PB_BYTES ? field_of(&i, f.number) : NULL;
        if (to) *to = f.bytes;
        else if (f.number == 35 && f.type == DT_PB_VARINT) i.id = f.value;
        else if (f.number == 36 && f.type == DT_PB_VARINT)
            i.operand = f.value, i.has_operand = true;
    }
    return i;
}

static bool is_text(dt_pb_span s, const char *text, const char *suffix) {
    size_t n = strlen(text), m = strlen(suffix);
    return (size_t)(s.end - s.at) == n + m && memcmp(s.at, text, n) == 0 &&
           memcmp(s.at + n, suffix, m) == 0;
}

/* Numbers above this one are not estimates: compilers write INT64_MAX for unknown numbers. */
static const double no_estimate = 4e18;

/* Returns the number whose digits follow the text `key` in the back end's JSON: 1234 for
 * `"estimated_cycles":"` in {.., "estimated_cycles":"1234", ..}. Returns 0 if it is missing. */
static double number_of(dt_pb_span s, const char *key) {
    size_t n = strlen(key);
    double number = 0;
    while ((size_t)(s.end - s.at) > n && memcmp(s.at, key, n) != 0) s.at++;
    if ((size_t)(s.end - s.at) <= n) return 0;
    for (s.at += n; s.at < s.end && *s.at >= '0' && *s.at <= '9'; s.at++)
        number = number * 10 + (*s.at - '0');
    return number;
}

/* Returns a hash that is different for different ids. It is also well distributed if ids are
 * multiples of a large number. */
static uint64_t hash_of(uint64_t id) { return id * 0x9e3779b97f4a7c15u; }

/* The bytes of each instruction's result, by the instruction's id. Filled only when a collective
 * needs them. */
typedef struct sizes {
    dt_hash_index ids;
    double *bytes; /* [ids.n] the size of each value, in bytes */
    int cap;
} sizes;

static void measure(dt_pb_span computation, sizes *all, bool *bad) {
    dt_pb_field f;
    while (next(&computation, &f, bad))
        if (f.number == 2 && f.type == DT_PB_BYTES) {
            const instruction i = read_instruction(f.bytes, bad);
            DT_GROW(all->bytes, all->cap, all->ids.n + 1);
            all->bytes[all->ids.n] = shape_bytes(i.shape, 0, bad);
            dt_hash_index_add(&all->ids, hash_of(i.id));
        }
}

static double bytes_of(const sizes *all, uint64_t id) {
    const int i = dt_hash_index_first(&all->ids, hash_of(id));
    return i < 0 ? 0 : all->bytes[i];
}

static double operand_bytes(dt_pb_span computation, const instruction *i, sizes *all, bool *bad) {
    if (all->ids.n == 0) measure(computation, all, bad);
    double sum = i->has_operand ? bytes_of(all, i->operand) : 0;
    dt_pb_span ids = i->operands;
    uint64_t id;
    while (next_number(&ids, &id, bad)) sum += bytes_of(all, id);
    return sum;
}

/* ---- how often computations run ---- */

typedef struct computation {
    dt_pb_span at;
    double times; /* number of times that the computation runs in a step */
    /* if the computation is the condition of a loop: the loop's number of iterations (trips_of); 0:
     * unknown; below 0: not computed yet */
    double trips;
    /* whether its instructions are launched one by one as kernels (see is_launched); false:
     * together they are part of one kernel, or they are a loop's condition */
    bool launches;
} computation;

typedef struct module {
    computation *c;
    int n, cap;
    dt_hash_index places; /* finds a computation by its id */
} module;

/* the most times that a computation counts, so that products of such counts stay finite */
static const double most_times = 1e12;

static void add_computation(module *m, dt_pb_span s, bool *bad) {
    computation c = {.at = s, .trips = -1};
    uint64_t id = 0;
    dt_pb_field f;
    while (next(&s, &f, bad))
        if (f.number == 5 && f.type == DT_PB_VARINT) id = f.value;
    /* The file is malformed if two computations have the same id. */
    *bad = *bad || dt_hash_index_first(&m->places, hash_of(id)) >= 0;
    DT_GROW(m->c, m->cap, m->n + 1);
    m->c[m->n++] = c;
    dt_hash_index_add(&m->places, hash_of(id));
}

/* Finds a computation by its id; NULL: none comes before index `before`. A computation comes after
 * those that it calls. */
static computation *find_computation(const module *m, uint64_t id, int before) {
    const int i = dt_hash_index_first(&m->places, hash_of(id));
    return i >= 0 && i < before ? &m->c[i] : NULL;
}

static double integer_of(dt_pb_span literal, bool *bad) {
    uint64_t x = 0;
    dt_pb_field f;
    while (next(&literal, &f, bad))
        if (f.number == 4 && f.type == DT_PB_BYTES) next_number(&f.bytes, &x, bad);
    return x <= INT32_MAX ? (double)x : 0;
}

/* Reads n from a loop's condition `counter < n`. This is the form that the room export/stablehlo
 * writes, with a counter from 0. Returns 0 for other forms. */
static double trips_of(dt_pb_span condition, bool *bad) {
    double n = 0;
    int compared = 0, constants = 0;
    dt_pb_field f;
    while (next(&condition, &f, bad)) {
        if (f.number != 2 || f.type != DT_PB_BYTES) continue;
        instruction i = read_instruction(f.bytes, bad);
        if (is_text(i.opcode, "constant", "")) {
            n = integer_of(i.literal, bad);
            constants++;
        } else if (is_text(i.opcode, "compare", "") && is_text(i.direction, "LT", "")) compared++;
        else if (!is_text(i.opcode, "parameter", "") && !is_text(i.opcode, "get-tuple-element", ""))
            return 0;
    }
    return constants == 1 && compared == 1 ? n : 0;
}

static bool is_one_of(dt_pb_span opcode, const char *const *list) {
    while (*list && !is_text(opcode, *list, "")) list++;
    return *list != NULL;
}

/* Returns the iterations of a loop, from the compiler's own figure or from the condition; 0:
 * unknown. */
static double turns_of(const instruction *i, computation *condition, bool *bad) {
    const double stated = number_of(i->backend, "\"known_trip_count\":{\"n\":\"");
    if (stated > 0) return fmin(stated, most_times);
    if (condition && condition->trips < 0) condition->trips = trips_of(condition->at, bad);
    return condition ? condition->trips : 0;
}

/* Adds the runs of computations that instruction i of computation `at` calls: one for each run of
 * the instruction or, for a loop, for each of its iterations. If i is a loop, adds its iterations
 * to out->turns or, if they are unknown, 1 to out->loops and one turn for each run of i. */
static void count_calls(module *m, int at, const instruction *i, dt_pjrt_report *out, bool *bad) {
    static const char *const flow[] = {"call", "conditional", "async-start", NULL};
    const bool loop = is_text(i->opcode, "while", "");
    const bool flows = m->c[at].launches && is_one_of(i->opcode, flow);
    dt_pb_span ids = i->called;
    computation *called[2] = {NULL, NULL}, *c;
    uint64_t id;
    for (int k = 0; next_number(&ids, &id, bad); k++) {
        c = find_computation(m, id, at);
        if (c && loop && k < 2) called[k] = c;
        else if (c) {
            c->times = fmin(c->times + m->c[at].times, most_times);
            c->launches |= flows;
        }
    }
    if (!loop) return;
    const double trips = turns_of(i, called[1], bad);
    out->loops += trips == 0;
    out->turns = fmin(out->turns + m->c[at].times * fmax(trips, 1), most_times);
    if (called[0]) called[0]->launches |= m->c[at].launches;
    for (int k = 0; k < 2 && called[k]; k++)
        called[k]->times = fmin(called[k]->times + m->c[at].times * fmax(trips, 1), most_times);
}

/* ---- adding up instructions, and reading modules ---- */

/* Whether the instruction is launched as a kernel. It is not if it only names memory or orders
 * others, is control flow (also async-start, which calls a computation), or continues or ends an
 * asynchronous instruction. */
static bool is_launched(const instruction *i) {
    static const char *const names[] = {"parameter",
                                        "constant",
                                        "tuple",
                                        "get-tuple-element",
                                        "bitcast",
                                        "while",
                                        "call",
                                        "conditional",
                                        "after-all",
                                        "add-dependency",
                                        "opt-barrier",
                                        "async-start",
                                        "async-update",
                                        "async-done",
                                        "copy-done",
                                        "send-done",
                                        "recv-done",
                                        "all-reduce-done",
                                        "all-gather-done",
                                        "collective-permute-done",
                                        NULL};
    return !is_one_of(i->opcode, names);
}

static void add_instruction(const computation *c, const instruction *i, sizes *all,
                            dt_pjrt_report *out, bool *bad) {
    if (c->launches && is_launched(i)) out->kernels = fmin(out->kernels + c->times, most_times);
    const double cycles = number_of(i->backend, "\"estimated_cycles\":\"");
    if (cycles < no_estimate) out->cycles += c->times * cycles;
    else out->unknown = fmin(out->unknown + c->times, most_times);
    for (int k = 0; k < DT_PJRT_KINDS; k++)
        if (is_text(i->opcode, dt_pjrt_kinds[k], "") ||
            is_text(i->opcode, dt_pjrt_kinds[k], "-start")) {
            out->collective[k].n = (int)fmin(out->collective[k].n + c->times, INT_MAX);
            out->collective[k].bytes += c->times * operand_bytes(c->at, i, all, bad);
        }
}

static void read_computation(module *m, int at, dt_pjrt_report *out, bool *bad) {
    computation *c = &m->c[at];
    dt_pb_span s = c->at;
    sizes all = {0};
    dt_pb_field f;
    if (c->times == 0) { /* the entry computation, which no other computation calls */
        c->times = 1;
        c->launches = true;
    }
    while (next(&s, &f, bad))
        if (f.number == 2 && f.type == DT_PB_BYTES) {
            instruction i = read_instruction(f.bytes, bad);
            count_calls(m, at, &i, out, bad);
            add_instruction(c, &i, &all, out, bad);
        }
    free(all.bytes);
    dt_hash_index_release(&all.ids);
}

static int read_module(dt_pb_span s, dt_pjrt_report *out, bool *bad) {
    module m = {0};
    dt_pb_field f;
    while (next(&s, &f, bad))
        if (f.number == 3 && f.type == DT_PB_BYTES) add_computation(&m, f.bytes, bad);
    for (int at = m.n - 1; at >= 0; at--) read_computation(&m, at, out, bad);
    free(m.c);
    dt_hash_index_release(&m.places);
    return m.n;
}

dt_status *dt_pjrt_read_hlo(const void *bytes, size_t n, dt_pjrt_report *out) {
    dt_pb_span s = {bytes, (const unsigned char *)bytes + n};
    int computations = 0;
    bool bad = false;
    dt_pb_field f;
    while (next(&s, &f, &bad))
        if (f.number == 1 && f.type == DT_PB_BYTES) computations += read_module(f.bytes, out, &bad);
    if (bad || computations == 0)
        return dt_fail(DT_E_COMPILER, NULL, "the optimized program cannot be read: %s",
                       bad ? "malformed HLO" : "it contains no HLO module");
    return NULL;
}

/* ---- writing ---- */

/* Writes executable_build_options (3): num_replicas (4), num_partitions (5), device_assignment (9):
 * replica_count (1), computation_count (2), computation_devices (3): ids (1). */
void dt_pjrt_write_options(const int64_t *device, int n, dt_str *out) {
    dt_str ids = {0}, devices = {0}, assignment = {0}, build = {0};
    for (int i = 0; i < n; i++) dt_pb_put_varint(&ids, (uint64_t)device[i]);
    dt_pb_move_message(&devices, DT_PB_TAG(1, DT_PB_BYTES), &ids);
    dt_pb_put_int(&assignment, DT_PB_TAG(1, DT_PB_VARINT), n);
    dt_pb_put_int(&assignment, DT_PB_TAG(2, DT_PB_VARINT), 1);
    dt_pb_move_message(&assignment, DT_PB_TAG(3, DT_PB_BYTES), &devices);
    dt_pb_put_int(&build, DT_PB_TAG(4, DT_PB_VARINT), n);
    dt_pb_put_int(&build, DT_PB_TAG(5, DT_PB_VARINT), 1);
    dt_pb_move_message(&build, DT_PB_TAG(9, DT_PB_BYTES), &assignment);
    dt_pb_move_message(out, DT_PB_TAG(3, DT_PB_BYTES), &build);
}

/* Writes an entry of env_option_overrides (7), a map from names (1) to values (2). In a value, a
 * text is field 1 and a bool is field 2. */
static void put_override(const char *name, dt_str *value, dt_str *out) {
    dt_str entry = {0};
    dt_pb_put_text(&entry, DT_PB_TAG(1, DT_PB_BYTES), name);
    dt_pb_move_message(&entry, DT_PB_TAG(2, DT_PB_BYTES), value);
    dt_pb_move_message(out, DT_PB_TAG(7, DT_PB_BYTES), &entry);
}

void dt_pjrt_write_override(const char *name, bool value, dt_str *out) {
    dt_str text = {0};
    dt_pb_put_int(&text, DT_PB_TAG(2, DT_PB_VARINT), value);
    put_override(name, &text, out);
}

void dt_pjrt_write_override_text(const char *name, const char *value, dt_str *out) {
    dt_str text = {0};
    dt_pb_put_text(&text, DT_PB_TAG(1, DT_PB_BYTES), value);
    put_override(name, &text, out);
}
