/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hashing: converts a text or a number to one of num_bins numbers, as Keras' Hashing. Different
 * values may get the same number, and nothing is learned. Numbers are hashed as their decimal
 * digits; floats are truncated to integers first. NaN and floats that no int64 can hold count as
 * INT64_MIN. With a mask_value and more than one bin, 0 is the number of the mask_value alone.
 *
 * The hash is SipHash-2-4 with `salt` as its key, or without salt FarmHash's Fingerprint64
 * (G. Pike, 2014), whose values never change. Neither resists an attacker who knows the
 * salt.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/siphash.h"
#include "data/map/step.h"
#include "file/cast.h"
#include "op/cells.h"

enum { INT, ONE_HOT, MULTI_HOT, COUNT };
static const char *const modes[] = {"int", "one_hot", "multi_hot", "count", NULL};

struct hashing {
    int64_t num_bins;
    dt_ints salt;
    const char *mask_value;
    int output_mode;
};

static const dt_field fields[] = {
    DT_INT(struct hashing, num_bins, .min = 1, .max = 1 << 24, .required = true,
           .help = "number of bins, including the one of mask_value"),
    DT_INTS(struct hashing, salt, .lone = true, .min = 0, .max = INFINITY,
            .help = "key of the hash: one integer, or two; default: a hash without a key"),
    DT_ONE_OF(mask_value,
              DT_FORMS(DT_PLAIN(TEXT, struct hashing, mask_value),
                       DT_INT(struct hashing, mask_value, .lone = true)),
              .as = DT_TREE_SCALAR,
              .help =
                  "value that marks a missing value: it gets number 0, and other values do not"),
    DT_ENUM(struct hashing, output_mode, modes,
            .help = "int: the number; one_hot, multi_hot, count: for a single value, a row with 1 "
                    "at the number"),
    DT_END};

/* ---- Fingerprint64 ---- */

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

/* Returns n bytes from p as a little-endian number. */
static uint64_t word(const char *p, int n) {
    uint64_t v = 0;
    for (int i = n - 1; i >= 0; i--) v = v << 8 | (unsigned char)p[i];
    return v;
}

static uint64_t right(uint64_t v, int by) { return v >> by | v << (64 - by); }
static uint64_t fold(uint64_t v) { return v ^ v >> 47; }

static uint64_t mix(uint64_t a, uint64_t b, uint64_t by) {
    return fold((b ^ fold((a ^ b) * by)) * by) * by;
}

static uint64_t hash_16(const char *p, size_t n) {
    const uint64_t by = K2 + n * 2;
    if (n >= 8) {
        const uint64_t a = word(p, 8) + K2, b = word(p + n - 8, 8);
        return mix(right(b, 37) * by + a, (right(a, 25) + b) * by, by);
    }
    if (n >= 4) return mix(n + (word(p, 4) << 3), word(p + n - 4, 4), by);
    if (n == 0) return K2;
    const uint64_t y = word(p, 1) + (word(p + n / 2, 1) << 8), z = n + (word(p + n - 1, 1) << 2);
    return fold(y * K2 ^ z * K0) * K2;
}

static uint64_t hash_32(const char *p, size_t n) {
    const uint64_t by = K2 + n * 2, a = word(p, 8) * K1, b = word(p + 8, 8),
                   c = word(p + n - 8, 8) * by, d = word(p + n - 16, 8) * K2;
    return mix(right(a + b, 43) + right(c, 30) + d, a + right(b + K2, 18) + c, by);
}

static uint64_t hash_64(const char *p, size_t n) {
    const uint64_t by = K2 + n * 2, a = word(p, 8) * K2, b = word(p + 8, 8),
                   c = word(p + n - 8, 8) * by, d = word(p + n - 16, 8) * K2,
                   y = right(a + b, 43) + right(c, 30) + d,
                   z = mix(y, a + right(b + K2, 18) + c, by), e = word(p + 16, 8) * by,
                   f = word(p + 24, 8), g = (y + word(p + n - 32, 8)) * by,
                   h = (z + word(p + n - 24, 8)) * by;
    return mix(right(e + f, 43) + right(g, 30) + h, e + right(f + a, 18) + g, by);
}

/* The state of the hash of a text of more than 64 bytes. */
typedef struct state {
    uint64_t x, y, z, v[2], w[2];
} state;

static void absorb(const char *p, uint64_t a, uint64_t b, uint64_t out[2]) {
    const uint64_t sum = a + word(p, 8) + word(p + 8, 8) + word(p + 16, 8);
    b = right(b + a + word(p, 8) + word(p + 24, 8), 21) + right(sum, 44) + a + word(p, 8);
    out[0] = sum + word(p + 24, 8);
    out[1] = b;
}

/* Adds 64 bytes to the state. `by` is the factor of its multiplications. weight is 9 for the last
 * 64 bytes, otherwise 1. */
static void step(state *s, const char *p, uint64_t by, uint64_t weight) {
    s->x = right(s->x + s->y + s->v[0] + word(p + 8, 8), 37) * by;
    s->y = right(s->y + s->v[1] + word(p + 48, 8), 42) * by;
    s->x ^= s->w[1] * weight;
    s->y += s->v[0] * weight + word(p + 40, 8);
    s->z = right(s->z + s->w[0], 33) * by;
    absorb(p, s->v[1] * by, s->x + s->w[0], s->v);
    absorb(p + 32, s->z + s->w[1], s->y + word(p + 16, 8), s->w);
    const uint64_t z = s->z;
    s->z = s->x;
    s->x = z;
}

static uint64_t hash_long(const char *p, size_t n) {
    const uint64_t seed = 81;
    state s = {.x = seed * K2 + word(p, 8), .y = seed * K1 + 113};
    s.z = fold(s.y * K2 + 113) * K2;
    const char *last = p + n - 64;
    for (size_t left = (n - 1) / 64; left > 0; left--, p += 64) step(&s, p, K1, 1);
    const uint64_t by = K1 + ((s.z & 0xff) << 1);
    s.w[0] += (n - 1) & 63;
    s.v[0] += s.w[0];
    s.w[0] += s.v[0];
    step(&s, last, by, 9);
    return mix(mix(s.v[0], s.w[0], by) + fold(s.y) * K0 + s.z, mix(s.v[1], s.w[1], by) + s.x, by);
}

static uint64_t fingerprint(const char *p, size_t n) {
    return n <= 16   ? hash_16(p, n)
           : n <= 32 ? hash_32(p, n)
           : n <= 64 ? hash_64(p, n)
                     : hash_long(p, n);
}

/* ---- the step ---- */

static dt_status *check(const void *args, const dt_location *at) {
    const struct hashing *a = args;
    if (a->salt.n <= 2) return NULL;
    return dt_fail(DT_E_DATASET_KEYS, at, "salt: expected one integer or two, got %lld",
                   (long long)a->salt.n);
}

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct hashing *a = s->args;
    (void)arena;
    if (a->output_mode != INT && !s->is_text && s->values != 1)
        return dt_fail(DT_E_DATASET_KEYS, s->at,
                       "output_mode %s needs a single value, and an example has %lld",
                       modes[a->output_mode], (long long)s->values);
    s->names = (dt_texts){0};
    s->numbers = a->output_mode == INT ? a->num_bins : 0;
    if (a->output_mode != INT) s->out = dt_type_of(DT_FLOAT32, 1, &a->num_bins);
    else if (s->is_text) s->out = dt_scalar_type(DT_INT32);
    else s->out.dtype = DT_INT32;
    return NULL;
}

/* Returns the number of a text, in [0, num_bins). A salt of one integer is both halves of the
 * key. */
static int32_t bin_of(const struct hashing *a, const char *text) {
    const bool masks = a->mask_value && a->num_bins > 1;
    const uint64_t bins = (uint64_t)(a->num_bins - masks);
    const dt_siphash_key key = {{a->salt.n ? (uint64_t)a->salt.v[0] : 0,
                                 a->salt.n ? (uint64_t)a->salt.v[a->salt.n - 1] : 0}};
    if (masks && strcmp(text, a->mask_value) == 0) return 0;
    const uint64_t hash =
        a->salt.n ? dt_siphash(&key, text, strlen(text)) : fingerprint(text, strlen(text));
    return (int32_t)(hash % bins) + masks;
}

/* Prints the decimal digits of element i of the input. */
static void print_number(const dt_map_stage *s, const void *in, int64_t i, char digits[32]) {
    const dt_view view = {.type = s->in, .data = (void *)in};
    const bool is_float = dt_dtype_is_float(s->in.dtype);
    const double x = is_float ? dt_cell_double(&view, i) : 0;
    const bool fits = x >= -0x1p63 && x < 0x1p63;
    snprintf(digits, 32, "%lld",
             is_float ? fits ? (long long)x : INT64_MIN : (long long)dt_cell_int(&view, i));
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct hashing *a = s->args;
    char digits[32];
    int32_t bin = 0;
    (void)at;
    for (int64_t i = 0; i < (s->is_text ? 1 : s->values); i++) {
        if (!s->is_text) print_number(s, in, i, digits);
        bin = bin_of(a, s->is_text ? in : digits);
        if (a->output_mode == INT) ((int32_t *)out)[i] = bin;
    }
    if (a->output_mode != INT) dt_cast_one_hot(DT_INT32, a->num_bins, &bin, out, 1);
}

const dt_map_step dt_map_hashing = {
    .kind = {"hashing", "number of the bin of a text or a number, by its hash, as Keras' Hashing",
             fields, sizeof(struct hashing), NULL},
    .brief = {"num_bins"},
    .takes = DT_TAKES_EITHER,
    .check = check,
    .infer = infer,
    .run = run,
};
