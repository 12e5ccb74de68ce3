/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory with one lifetime: destroying an arena frees everything that was allocated from it. Graphs
 * and job trees, for example, live in arenas. Small host allocations do not fail: when the system
 * has no memory left, they use a reserve (base/reserve.h), and only when the reserve is used up,
 * too, the program ends with exit code 71 and a message. dt_try_alloc, which can fail, is for
 * buffers whose size comes from input.
 */
#ifndef DT_BASE_ARENA_H
#define DT_BASE_ARENA_H

#include <stdint.h>
#include <stddef.h>
#include <stdarg.h>

#include "base/str.h"

typedef struct dt_arena dt_arena;

dt_arena *dt_arena_create(void);
/* Destroys an arena and all that was allocated from it; a may be NULL. */
void dt_arena_destroy(dt_arena *a);
/* An arena that is destroyed at the end of its block: `dt_local_arena arena =
 * dt_arena_create();`. */
#define dt_local_arena __attribute__((cleanup(dt_arena_destroy_local))) dt_arena *
void dt_arena_destroy_local(dt_arena **a);

/* Allocates n zeroed bytes, aligned for any type. They belong to the arena. */
void *dt_arena_alloc(dt_arena *a, size_t n);
/* Copies n bytes into the arena. */
void *dt_arena_copy(dt_arena *a, const void *p, size_t n);
char *dt_arena_strdup(dt_arena *a, const char *s);
char *dt_arena_printf(dt_arena *a, const char *format, ...) DT_PRINTF(2, 3);
/* Copies the text of s into the arena, and releases s. */
char *dt_arena_take(dt_arena *a, dt_str *s);

#define dt_arena_new(arena, type) ((type *)dt_arena_alloc((arena), sizeof(type)))
#define dt_arena_array(arena, type, n)                                                             \
    ((type *)dt_arena_alloc((arena), dt_size_mul((size_t)(n), sizeof(type))))

/* Like malloc, realloc and strdup, but they end the program with exit code 71 when the system's
 * memory and the reserve are used up. dt_alloc zeroes the memory. */
void *dt_alloc(size_t n);
void *dt_realloc(void *p, size_t n);
char *dt_strdup(const char *s);
/* Memory that is freed at the end of its block: `DT_LOCAL char *path = dt_path_join(a, b);`. */
#define DT_LOCAL __attribute__((cleanup(dt_free_local)))
void dt_free_local(void *pointer);
/* Writes one line about missing memory and ends the program with exit code 71. */
_Noreturn void dt_out_of_memory(void);
/* Returns the product of two sizes. The program ends with exit code 71 if the product overflows, so
 * use the checked functions below for sizes that come from input. */
size_t dt_size_mul(size_t a, size_t b);

/* Allocates n bytes, aligned to 64 and not zeroed, for memory whose size depends on input; the
 * caller frees it. Returns NULL if the system refuses, or if n is at least 16 MiB and more than the
 * memory limit of the machine or the container leaves (base/memory.h). */
void *dt_try_alloc(size_t n);
/* Like dt_try_alloc, for arrays that a step reads and writes in long strides: from 2 MiB on, they
 * use large pages if the system has them. */
void *dt_try_alloc_dense(size_t n);
/* dt_mul_fits sets *out to a * b, dt_add_fits to a + b. Return false if the result overflows, or if
 * a or b is negative. */
_Bool dt_mul_fits(int64_t a, int64_t b, int64_t *out);
_Bool dt_add_fits(int64_t a, int64_t b, int64_t *out);

/* Grows the array *items, which has room for *cap elements of `size` bytes, so that it has room for
 * at least n. */
void dt_grow(void **items, int *cap, int n, size_t size);
#define DT_GROW(items, cap, n) dt_grow((void **)&(items), &(cap), (n), sizeof *(items))

#endif
