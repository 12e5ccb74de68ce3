/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and slices by name. */
#include "device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 48, LARGEST_SIDE = 256 };

static void set_side(dt_placement *w, int axis, double side) {
    if (w->side[axis] <= 0) w->side[axis] = side;
}

/* "4x4x8": two or three sides. */
static void read_grid(dt_placement *w, const char *word) {
    double side[3];
    int n = 0;
    for (char *end = NULL; n < 3 && (!end || *end); word = end + 1) {
        side[n] = (double)strtol(word, &end, 10);
        if (end == word || side[n] < 1 || side[n++] > LARGEST_SIDE || (*end && *end != 'x')) return;
    }
    for (int i = 0; n > 1 && i < n; i++) set_side(w, i, side[i]);
}

static void read_word(dt_placement *w, const char *word) {
    char *end;
    if (!w->chip) w->chip = dt_chip_find(word);
    if (word[0] >= 'x' && word[0] <= 'z' && isdigit((unsigned char)word[1])) {
        const double side = strtod(word + 1, &end);
        if (!*end) set_side(w, word[0] - 'x', side);
    }
    if (isdigit((unsigned char)word[0])) read_grid(w, word);
}

dt_placement dt_placement_read(const char *text) {
    dt_placement w = {0};
    for (char word[LONGEST]; *text; text += *text != '\0') {
        size_t n = 0;
        for (; isalnum((unsigned char)text[n]); n++)
            if (n < sizeof word) word[n] = (char)tolower((unsigned char)text[n]);
        if (n > 0 && n < sizeof word) {
            word[n] = '\0';
            read_word(&w, word);
        }
        text += n;
    }
    return w;
}

bool dt_device_read(const char *text, dt_core *out) {
    const dt_chip *chip = dt_placement_read(text).chip;
    if (chip)
        *out = (dt_core){.chip = chip,
                         .cores = strstr(text, "one TensorCore") ? 1 : chip->cores / chip->devices};
    return chip;
}

static bool find_slice(const char *name, dt_slice *out) {
    dt_status *s = dt_slice_find(name, DT_E_UNKNOWN_SLICE, NULL, out);
    dt_status_free(s);
    return !s;
}

/* The first word that is a slice's name. */
static bool find_named(const char *text, dt_slice *out) {
    for (char word[40]; *text; text += *text != '\0') {
        size_t n = 0;
        while (isalnum((unsigned char)text[n]) || text[n] == '-' || text[n] == ':') n++;
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
        if (n && strchr(word, '-') && find_slice(word, out)) return true;
        text += n;
    }
    return false;
}

/* A mesh's axes are the slice's, in one order or the other. */
static bool find_mesh(const dt_placement *w, dt_slice *out) {
    const double x = w->side[0], y = w->side[1], z = w->side[2] > 0 ? w->side[2] : 1;
    char name[80];
    if (!w->chip || x <= 0 || y <= 0) return false;
    const bool solid = w->chip->dims == 3;
    snprintf(name, sizeof name, solid ? "%s:%.0fx%.0fx%.0f" : "%s:%.0fx%.0f", w->chip->generation,
             x, y, z);
    if (find_slice(name, out)) return true;
    snprintf(name, sizeof name, solid ? "%s:%.0fx%.0fx%.0f" : "%s:%.0fx%.0f", w->chip->generation,
             solid ? z : y, solid ? y : x, x);
    return find_slice(name, out);
}

bool dt_slice_read(const char *text, dt_slice *out) {
    const dt_placement w = dt_placement_read(text);
    return find_named(text, out) || find_mesh(&w, out);
}

bool dt_dtype_read(const char *text, dt_dtype *out) {
    static const struct {
        const char *name;
        dt_dtype dtype;
    } names[] = {
        {"bfloat16", DT_FLOAT16}, {"bf16", DT_FLOAT16}, {"float32", DT_FLOAT32},
        {"f32", DT_FLOAT32},      {"fp32", DT_FLOAT32}, {"int8", DT_INT8},
        {"s8", DT_INT8},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, text) == 0) {
            *out = names[i].dtype;
            return true;
        }
    return false;
}

static bool is_size(double x) { return x >= 1 && x <= 0x1p53; }

/* int8 products give int32, so a result has four bytes; others are written as their operands
 * are. */
bool dt_matmul_work(dt_dtype dtype, double m, double k, double n, dt_cost *out) {
    double e = (double)dt_dtype_size(dtype), result = dtype == DT_INT8 ? 4 : e;
    if (!is_size(m) || !is_size(k) || !is_size(n)) return false;
    *out = (dt_cost){
        .flops = 2 * m * k * n,
        .bytes = e * (m * k + k * n) + result * m * n,
        .product = {
            {.count = 1, .m = (int64_t)m, .k = (int64_t)k, .n = (int64_t)n, .dtype = dtype}}};
    return true;
}
