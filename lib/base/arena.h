/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory with one lifetime: everything taken from an arena is given back at once with it. Graphs,
 * job trees and compiled programs live in one arena each. Small host allocations do not fail: when
 * the system has no memory left they live on a reserve (base/reserve.h), and only when that is used
 * up one hook ends the program with exit code 71 and a message. Buffers whose size comes from input
 * are taken with dt_try_alloc.
 */
#ifndef DT_BASE_ARENA_H
#define DT_BASE_ARENA_H

#include <stdint.h>
#include <stddef.h>
#include <stdarg.h>

#include "base/str.h"

typedef struct dt_arena dt_arena;

dt_arena *dt_arena_create(void);
void dt_arena_destroy(dt_arena *a); /* takes NULL */
/* One that is destroyed at the end of its block: `dt_local_arena arena = dt_arena_create();`. */
#define dt_local_arena __attribute__((cleanup(dt_arena_destroy_local))) dt_arena *
void dt_arena_destroy_local(dt_arena **a);

/* n zeroed bytes, aligned for any type. */
void *dt_arena_alloc(dt_arena *a, size_t n);
/* A copy of n bytes. */
void *dt_arena_copy(dt_arena *a, const void *p, size_t n);
char *dt_arena_strdup(dt_arena *a, const char *s);
char *dt_arena_printf(dt_arena *a, const char *format, ...) DT_PRINTF(2, 3);
char *dt_arena_take(dt_arena *a, dt_str *s); /* a copy of the text of s, which is empty after */

#define dt_arena_new(arena, type) ((type *)dt_arena_alloc((arena), sizeof(type)))
#define dt_arena_array(arena, type, n)                                                             \
    ((type *)dt_arena_alloc((arena), dt_size_mul((size_t)(n), sizeof(type))))

/* malloc family that ends the program with exit code 71 when there is no memory, and no reserve.
 * dt_alloc zeroes. */
void *dt_alloc(size_t n);
void *dt_realloc(void *p, size_t n);
char *dt_strdup(const char *s);
/* Memory that is freed at the end of its block: `DT_LOCAL char *path = dt_path_join(a, b);`. */
#define DT_LOCAL __attribute__((cleanup(dt_free_local)))
void dt_free_local(void *pointer);
/* Writes one line about missing memory and ends the program with exit code 71. */
_Noreturn void dt_out_of_memory(void);
/* Products of sizes; ends the program on overflow. For sizes that come from input use the checked
 * forms below. */
size_t dt_size_mul(size_t a, size_t b);

/* n bytes aligned to 64, not zeroed, NULL when the system refuses: for buffers whose size the user
 * decides. */
void *dt_try_alloc(size_t n);
/* Like dt_try_alloc, for arrays that a step reads and writes all over, in long strides: uses large
 * pages if the system has them. */
void *dt_try_alloc_dense(size_t n);
/* *out = a * b, or false on overflow or a negative factor. */
_Bool dt_mul_fits(int64_t a, int64_t b, int64_t *out);
_Bool dt_add_fits(int64_t a, int64_t b, int64_t *out);

/* Grows the array *items (capacity *cap, elements of `size` bytes) so that it holds at least n. */
void dt_grow(void **items, int *cap, int n, size_t size);
#define DT_GROW(items, cap, n) dt_grow((void **)&(items), &(cap), (n), sizeof *(items))

#endif
