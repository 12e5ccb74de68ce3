/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas are lists of zeroed blocks; an allocation advances a pointer in the newest block, or has a
 * block of its own if it is large. Sizes of shared blocks double from 4 KiB to 4 MiB, so that a
 * tiny job uses little memory and a large graph needs few calls of the system. Under
 * AddressSanitizer, memory that has not been allocated is poisoned, with a gap behind each
 * allocation, so that an overrun inside a block is found as well. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/reserve.h"
#include "base/sanitizer.h"
#include "base/str.h"

#if DT_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
enum { GAP = 16 };

/* The sanitizer reads this when a program starts. Its leak check guesses where the thread-local
 * memory of a library opened by dlopen (oneDNN) begins, and crashes if the heap there is not
 * readable: intercept_tls_get_addr=0 turns that off. An allocation of an impossible size returns
 * NULL, as without the sanitizer. The function is weak, so that a program can define its own. */
__attribute__((weak)) DT_API const char *__asan_default_options(void) {
    return "intercept_tls_get_addr=0:allocator_may_return_null=1";
}
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
enum { GAP = 0 };
#endif

enum { ALIGN = alignof(max_align_t), FIRST_BLOCK = 4096, LAST_BLOCK = 4 << 20 };

typedef struct block {
    struct block *next;
    /* used: number of bytes allocated from the block; size: number of bytes that it has */
    size_t used, size;
    alignas(max_align_t) char bytes[];
} block;

struct dt_arena {
    /* The list of all blocks. Allocations share the first one until it is full; a large allocation
     * may get a block of its own, which is inserted behind the first. */
    block *blocks;
    size_t next_size;
};

_Noreturn void dt_out_of_memory(void) {
    static const char text[] = "dtrain: error: out of memory [DT115]\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored; /* A failed write cannot be reported, because the program ends here. */
    _exit(71);
}

static size_t size_add(size_t a, size_t b) {
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) dt_out_of_memory();
    return sum;
}

size_t dt_size_mul(size_t a, size_t b) {
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) dt_out_of_memory();
    return product;
}

_Bool dt_mul_fits(int64_t a, int64_t b, int64_t *out) {
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

_Bool dt_add_fits(int64_t a, int64_t b, int64_t *out) {
    return a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, out);
}

enum { LARGE_PAGE = 2 << 20 };

/* Asks the kernel for large pages in the part of a block of n bytes that covers whole ones, if the
 * block is at least as large as two of them; this makes page faults about 500 times rarer. Faults
 * took a seventh of the time to plan a graph of 50,000 nodes. If the kernel refuses, the program is
 * only slower. */
static void want_large_pages(void *p, size_t n) {
#ifdef MADV_HUGEPAGE
    if (n < 2 * (size_t)LARGE_PAGE) return;
    const uintptr_t from = ((uintptr_t)p + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE,
                    to = ((uintptr_t)p + n) / LARGE_PAGE * LARGE_PAGE;
    madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)p, (void)n;
#endif
}

void *dt_alloc(size_t n) {
    void *p;
    while (!(p = calloc(1, n ? n : 1)))
        if (!dt_reserve_spend()) dt_out_of_memory();
    want_large_pages(p, n);
    return p;
}

void *dt_realloc(void *p, size_t n) {
    void *q;
    while (!(q = realloc(p, n ? n : 1)))
        if (!dt_reserve_spend()) dt_out_of_memory();
    return q;
}

void dt_free_local(void *pointer) { free(*(void **)pointer); }

char *dt_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(dt_alloc(n), s, n);
}

/* Whether n is at least 16 MiB, and so many more bytes would exceed the memory limit of the
 * container or machine. The system would grant it and kill the process when the memory is used, so
 * it is refused here, where an error can be reported. */
static bool is_too_much(size_t n) {
    enum { LARGE = 16 << 20 };
    dt_memory_limit l;
    return n >= LARGE && !dt_memory_has_room((int64_t)n, &l);
}

void *dt_try_alloc(size_t n) {
    if (n > PTRDIFF_MAX - 64 || is_too_much(n)) return NULL;
    return aligned_alloc(64, n ? (n + 63) / 64 * 64 : 64);
}

/* The result of madvise is ignored: without large pages, the memory is only slower. */
void *dt_try_alloc_dense(size_t n) {
#ifdef MADV_HUGEPAGE
    void *p = NULL;

    if (n < LARGE_PAGE || n > PTRDIFF_MAX - LARGE_PAGE) return dt_try_alloc(n);
    if (is_too_much(n) || posix_memalign(&p, LARGE_PAGE, n)) return NULL;
    madvise(p, n, MADV_HUGEPAGE);
    return p;
#else
    return dt_try_alloc(n);
#endif
}

void dt_grow(void **items, int *cap, int n, size_t size) {
    if (n <= *cap) return;
    int wanted;
    if (__builtin_mul_overflow(*cap, 2, &wanted) || wanted < n) wanted = n;
    if (wanted < 8) wanted = 8;
    *items = dt_realloc(*items, dt_size_mul((size_t)wanted, size));
    *cap = wanted;
}

dt_arena *dt_arena_create(void) {
    dt_arena *a = dt_alloc(sizeof *a);
    a->next_size = FIRST_BLOCK;
    return a;
}

void dt_arena_destroy(dt_arena *a) {
    if (!a) return;
    for (block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        UNPOISON(b->bytes, b->size);
        free(b);
    }
    free(a);
}

void dt_arena_destroy_local(dt_arena **a) { dt_arena_destroy(*a); }

static block *block_create(size_t size) {
    block *b = dt_alloc(size_add(sizeof *b, size));
    b->size = size;
    POISON(b->bytes, size);
    return b;
}

/* Returns a block with n unused bytes: the newest one if it has them, else a new one. A new block
 * becomes the newest. Exception: if there are blocks already and n is more than a quarter of the
 * next block's size, the new block goes behind the newest, which stays in use. */
static block *block_with_room(dt_arena *a, size_t n) {
    block *newest = a->blocks;
    if (newest && newest->size - newest->used >= n) return newest;
    if (newest && n > a->next_size / 4) {
        block *own = block_create(n);
        own->next = newest->next;
        newest->next = own;
        return own;
    }
    block *b = block_create(n > a->next_size ? n : a->next_size);
    b->next = newest;
    a->blocks = b;
    if (a->next_size < LAST_BLOCK) a->next_size *= 2;
    return b;
}

void *dt_arena_alloc(dt_arena *a, size_t n) {
    size_t taken = size_add(n ? n : 1, ALIGN - 1 + GAP) / ALIGN * ALIGN;
    block *b = block_with_room(a, taken);
    char *p = b->bytes + b->used;
    b->used += taken;
    UNPOISON(p, n);
    return p;
}

void *dt_arena_copy(dt_arena *a, const void *p, size_t n) {
    void *copy = dt_arena_alloc(a, n);
    if (n) memcpy(copy, p, n);
    return copy;
}

char *dt_arena_strdup(dt_arena *a, const char *s) { return dt_arena_copy(a, s, strlen(s) + 1); }

char *dt_arena_printf(dt_arena *a, const char *format, ...) {
    dt_str s = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&s, format, args);
    va_end(args);
    return dt_arena_take(a, &s);
}

char *dt_arena_take(dt_arena *a, dt_str *s) {
    char *text = dt_arena_copy(a, dt_str_text(s), s->size + 1);
    dt_str_release(s);
    return text;
}
