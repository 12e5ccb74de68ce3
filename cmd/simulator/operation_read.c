/* SPDX-License-Identifier: Apache-2.0 */
/* Reading operations: words name what is done, brackets and crosses the sizes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operation.h"

static const struct {
    const char *word;
    double bytes;
} dtypes[] = {
    {"bf16", 2},    {"bfloat16", 2}, {"f16", 2}, {"fp16", 2}, {"f32", 4},      {"fp32", 4},
    {"float32", 4}, {"int8", 1},     {"s8", 1},  {"fp8", 1},  {"f8e4m3fn", 1}, {"int4", 0.5},
};

/* ---- arrays ---- */

/* The bytes of a dtype at the beginning of a text, and its length; 0: none. */
static double dtype_at(const char *text, size_t *length) {
    size_t n = 0;
    while (isalnum((unsigned char)text[n])) n++;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strlen(dtypes[i].word) == n && strncmp(dtypes[i].word, text, n) == 0) {
            *length = n;
            return dtypes[i].bytes;
        }
    return 0;
}

/* "8192", "D", "I_XY", "B_X=128": up to a comma or the bracket. */
static const char *read_size(const char *text, dt_written *a) {
    const char *end = text + strcspn(text, ",]"), *mark = memchr(text, '_', (size_t)(end - text)),
               *equals = memchr(text, '=', (size_t)(end - text));
    if (a->rank == DT_WRITTEN_RANK) return end;
    int d = a->rank++;
    const char *number = equals ? equals + 1 : text;
    a->size[d] = isdigit((unsigned char)number[strspn(number, " ")]) ? strtod(number, NULL) : 0;
    for (int n = 0; mark && isupper((unsigned char)mark[1 + n]) && n < DT_WRITTEN_AXES - 1; n++)
        a->axes[d][n] = mark[1 + n];
    return end;
}

static const char *read_brackets(const char *text, dt_written *a) {
    do text = read_size(text + 1, a);
    while (*text == ',');
    return *text == ']' ? text + 1 : text;
}

/* "17408x17408" and "8192^3" behind a dtype. */
static const char *read_crosses(const char *text, dt_written *a) {
    char *end = (char *)(uintptr_t)text;
    for (const char *p = text; isdigit((unsigned char)*p) && a->rank < DT_WRITTEN_RANK;
         p = *end == 'x' ? end + 1 : "")
        a->size[a->rank++] = strtod(p, &end);
    if (a->rank == 1 && *end == '^')
        for (int k = (int)strtol(end + 1, &end, 10); k > 1 && a->rank < DT_WRITTEN_RANK;
             k--, a->rank++)
            a->size[a->rank] = a->size[0];
    return end;
}

/* At a word's beginning: an array, and what follows it; NULL: none. */
static const char *array_at(const char *text, dt_written *a) {
    size_t n = 0;
    *a = (dt_written){.element = dtype_at(text, &n)};
    text += n;
    if (*text == '[') return read_brackets(text, a);
    if (a->element <= 0 || *text != ' ') return NULL;
    text = read_crosses(text + 1, a);
    return a->rank > 0 ? text : NULL;
}

const char *dt_written_read(const char *text, dt_written *out) {
    for (bool inside = false; *text; text++) {
        const char *end = inside ? NULL : array_at(text, out);
        if (end) return end;
        inside = isalnum((unsigned char)*text);
    }
    return NULL;
}

double dt_written_elements(const dt_written *a) {
    double n = a->rank > 0;
    for (int d = 0; d < a->rank; d++) n *= a->size[d];
    return n;
}

double dt_written_bytes(const dt_written *a) { return a->element * dt_written_elements(a); }

/* ---- operations ---- */

static const struct {
    const char *word; /* letters only, small */
    dt_operation_kind kind;
} kinds[] = {
    {"allgather", DT_OPERATION_ALL_GATHER},
    {"reducescatter", DT_OPERATION_REDUCE_SCATTER},
    {"psumscatter", DT_OPERATION_REDUCE_SCATTER},
    {"allreduce", DT_OPERATION_ALL_REDUCE},
    {"psum", DT_OPERATION_ALL_REDUCE},
    {"alltoall", DT_OPERATION_ALL_TO_ALL},
    {"copy", DT_OPERATION_COPY},
    {"matmul", DT_OPERATION_MATMUL},
    {"gemm", DT_OPERATION_MATMUL},
};

/* The end of a word written in any of "AllGather", "all-gather", "all_gather"; NULL: it does not
 * stand here. */
static const char *word_end(const char *text, const char *word) {
    for (; *word; text++) {
        if (tolower((unsigned char)*text) == *word) word++;
        else if (!*text || !strchr("-_ ", *text)) return NULL;
    }
    return text;
}

static void find_kind(const char *text, dt_operation *out) {
    for (const char *p = text; *p; p++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            const char *end =
                tolower((unsigned char)*p) == kinds[i].word[0] ? word_end(p, kinds[i].word) : NULL;
            if (!end || (p > text && isalnum((unsigned char)p[-1]))) continue;
            out->kind = kinds[i].kind;
            for (int n = 0;
                 *end == '_' && isupper((unsigned char)end[1 + n]) && n < DT_WRITTEN_AXES - 1; n++)
                out->axes[n] = end[1 + n];
            return;
        }
}

/* "4-way data". */
static double ways(const char *text, const char *what) {
    char pattern[24];
    snprintf(pattern, sizeof pattern, "-way %s", what);
    const char *p = strstr(text, pattern);
    if (!p) return 1;
    while (p > text && isdigit((unsigned char)p[-1])) p--;
    return strtod(p, NULL);
}

/* Behind "m=": the number, or the one that all letters in "m=n=k=128" share; 0: there is none. */
static double value_at(const char *text) {
    while (*text && strchr("mkn", *text) && text[1] == '=') text += 2;
    return isdigit((unsigned char)text[strspn(text, " ")]) ? strtod(text, NULL) : 0;
}

/* "m=n=k=128" or "m=8 k=4096 n=128", with a dtype before. */
static void find_equations(const char *text, dt_operation *out) {
    static const char letters[] = "mkn";
    double size[3] = {0}, element = 0;
    size_t n;
    for (const char *p = text; *p; p++) {
        const char *letter = strchr(letters, *p);
        if (letter && p[1] == '=') size[letter - letters] = value_at(p + 2);
        if ((p == text || !isalnum((unsigned char)p[-1])) && element <= 0)
            element = dtype_at(p, &n);
    }
    if (size[0] <= 0 || size[1] <= 0 || size[2] <= 0) return;
    out->array[0] = (dt_written){.element = element, .rank = 2, .size = {size[0], size[1]}};
    out->array[1] = (dt_written){.element = element, .rank = 2, .size = {size[1], size[2]}};
    out->arrays = 2;
}

/* "8192^3" and "8x4096x4096" of a matmul are m, k, n. */
static void split_matmul(dt_operation *out) {
    const dt_written all = out->array[0];
    if (out->kind != DT_OPERATION_MATMUL || out->arrays != 1 || all.rank != 3) return;
    out->array[0] =
        (dt_written){.element = all.element, .rank = 2, .size = {all.size[0], all.size[1]}};
    out->array[1] =
        (dt_written){.element = all.element, .rank = 2, .size = {all.size[1], all.size[2]}};
    out->arrays = 2;
}

dt_operation dt_operation_read(const char *text) {
    dt_operation out = {.data = ways(text, "data"), .model = ways(text, "model")};
    find_kind(text, &out);
    for (const char *p = text; p && out.arrays < 2; out.arrays += p != NULL)
        p = dt_written_read(p, &out.array[out.arrays]);
    if (out.arrays == 2 && out.kind == DT_OPERATION_NONE) out.kind = DT_OPERATION_MATMUL;
    if (out.arrays == 0 && out.kind == DT_OPERATION_MATMUL) find_equations(text, &out);
    split_matmul(&out);
    return out;
}
