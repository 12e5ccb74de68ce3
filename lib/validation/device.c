/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and slices by name. */
#include "validation/device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool dt_device_read(const char *text, dt_core *out)
{
    dt_facts f = {.arena = dt_arena_create()};
    dt_facts_of_text(&f, text);
    if (f.chip)
        *out = (dt_core){.chip = f.chip, .cores = strstr(text, "one TensorCore") ? 1 : f.chip->cores / f.chip->devices};
    dt_arena_destroy(f.arena);
    dt_facts_release(&f);
    return out->chip;
}

static bool find_slice(const char *name, dt_slice *out)
{
    dt_status *s = dt_slice_find(name, DT_E_UNKNOWN_SLICE, NULL, out);
    dt_status_free(s);
    return !s;
}

/* The first word that is a slice's name. */
static bool find_named(const char *text, dt_slice *out)
{
    for (char word[40]; *text; text += *text != '\0') {
        size_t n = 0;
        while (isalnum((unsigned char)text[n]) || text[n] == '-' || text[n] == ':')
            n++;
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
        if (n && strchr(word, '-') && find_slice(word, out))
            return true;
        text += n;
    }
    return false;
}

/* A mesh's axes are the slice's, in one order or the other. */
static bool find_mesh(const dt_facts *f, dt_slice *out)
{
    double side[3] = {0, 0, 1};
    char name[80];
    if (!f->chip || !dt_facts_find(f, "X", &side[0]) || !dt_facts_find(f, "Y", &side[1]))
        return false;
    dt_facts_find(f, "Z", &side[2]);
    snprintf(name, sizeof name, f->chip->dims == 3 ? "%s:%.0fx%.0fx%.0f" : "%s:%.0fx%.0f", f->chip->generation, side[0], side[1], side[2]);
    if (find_slice(name, out))
        return true;
    snprintf(name, sizeof name, f->chip->dims == 3 ? "%s:%.0fx%.0fx%.0f" : "%s:%.0fx%.0f", f->chip->generation, f->chip->dims == 3 ? side[2] : side[1],
             f->chip->dims == 3 ? side[1] : side[0], side[0]);
    return find_slice(name, out);
}

bool dt_slice_read(const char *text, dt_slice *out)
{
    if (find_named(text, out))
        return true;
    dt_facts f = {.arena = dt_arena_create()};
    dt_facts_of_text(&f, text);
    bool found = find_mesh(&f, out);
    dt_arena_destroy(f.arena);
    dt_facts_release(&f);
    return found;
}

bool dt_dtype_read(const char *text, dt_dtype *out)
{
    static const struct {
        const char *name;
        dt_dtype dtype;
    } names[] = {
        {"bfloat16", DT_FLOAT16}, {"bf16", DT_FLOAT16}, {"float32", DT_FLOAT32}, {"f32", DT_FLOAT32}, {"fp32", DT_FLOAT32}, {"int8", DT_INT8},
        {"s8", DT_INT8},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, text) == 0) {
            *out = names[i].dtype;
            return true;
        }
    return false;
}

static bool is_size(double x)
{
    return x >= 1 && x <= 0x1p53;
}

/* int8 products give int32, so a result has four bytes; others are written as their operands are. */
bool dt_matmul_work(dt_dtype dtype, double m, double k, double n, dt_cost *out)
{
    double e = (double)dt_dtype_size(dtype), result = dtype == DT_INT8 ? 4 : e;
    if (!is_size(m) || !is_size(k) || !is_size(n))
        return false;
    *out = (dt_cost){.flops = 2 * m * k * n, .bytes = e * (m * k + k * n) + result * m * n,
                .product = {{.count = 1, .m = (int64_t)m, .k = (int64_t)k, .n = (int64_t)n, .dtype = dtype}}};
    return true;
}
