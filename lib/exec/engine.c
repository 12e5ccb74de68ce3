/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: its lanes, the instruction set of our own loops, and the library that multiplies
 * matrices. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/arena.h"
#include "base/isa.h"
#include "base/size.h"
#include "exec/conv.h"
#include "exec/dot_bf16.h"
#include "exec/exchange.h"
#include "exec/exec_impl.h"
#include "exec/gemm.h"
#include "exec/instructions.h"

/* ---- instructions ---- */

static const dt_instructions sets[DT_ISAS] = {
#if defined(__x86_64__)
    [DT_AVX512] = {&dt_simd_avx512, "SkylakeX", 0x27},
    [DT_AVX2] = {&dt_simd_avx2, "Haswell", 0x7},
#endif
    [DT_BASE_ISA] = {&dt_simd_base, "Prescott", 0x1},
};

int dt_simd_list(const dt_simd *list[DT_MAX_SIMD]) {
    int n = 0;
    for (dt_isa isa = 0; isa < DT_ISAS; isa++)
        if (dt_isa_is_here(isa)) list[n++] = sets[isa].loops;
    return n;
}

const dt_instructions *dt_instructions_limit(void) {
    const char *name = dt_isa_wanted();
    for (dt_isa isa = 0; name && isa < DT_ISAS; isa++)
        if (sets[isa].loops && strcmp(dt_isa_name(isa), name) == 0) return &sets[isa];
    return NULL;
}

dt_status *dt_instructions_choose(const char *wanted, const dt_simd **out) {
    const char *name = wanted ? wanted : dt_isa_wanted();
    dt_isa isa = dt_isa_find(name);
    if (isa == DT_ISAS)
        return dt_fail(DT_E_KERNELS, NULL,
                       "%sinstruction set '%.40s' is unknown or not supported on this processor; "
                       "the best is %s",
                       wanted ? "" : DT_INSTRUCTIONS_ENV ": ", name,
                       dt_isa_name(dt_isa_find(NULL)));
    *out = sets[isa].loops;
    return NULL;
}

/* Checks CPUID leaf 7 for AMX-BF16 and AMX-TILE, and XGETBV, which shows whether the system saves
 * tile registers. CPUID leaf 1 shows whether XGETBV exists. */
bool dt_instructions_have_amx(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d, tiles = 1u << 22 | 1u << 24, saved = 3u << 17, low, high;
    if (dt_instructions_limit() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & tiles) != tiles)
        return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return (low & saved) == saved;
#else
    return false;
#endif
}

unsigned dt_instructions_flush(void) {
    enum { FLUSH_TO_ZERO = 1 << 15 };
    unsigned before = 0;
#if defined(__x86_64__)
    before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | FLUSH_TO_ZERO);
#endif
    return before;
}

void dt_instructions_restore(unsigned state) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(state);
#else
    (void)state;
#endif
}

/* ---- own products ---- */

/*
 * Products by our own loops (simd/product.c). They use no library and have one order of sums, so
 * that they give the same bits on every processor. Convolutions are in conv_own.c.
 */

typedef struct product {
    dt_gemm g;
    const dt_product_functions *own;
} product;

static dt_status *plan(const dt_gemm_library *l, const dt_gemm *g, void **out) {
    const dt_simd *simd = l->state;
    if (g->in[0] != DT_GEMM_F32 || g->in[1] != DT_GEMM_F32 || g->out != DT_GEMM_F32)
        return dt_fail(DT_E_KERNELS, NULL, "dtrain's own products are of float32 only");
    product *p = dt_alloc(sizeof *p);
    *p = (product){.g = *g, .own = simd->product};
    *out = p;
    return NULL;
}

static size_t scratch(const void *planned) {
    const product *p = planned;
    return (size_t)p->own->room(&p->g) * sizeof(float);
}

static void run(const void *planned, const void *a, const void *b, void *c, void *room) {
    const product *p = planned;
    const dt_gemm *g = &p->g;
    /* without terms (k = 0) the product is 0, so C is filled with 0 unless the product is added to
     * it */
    for (int64_t i = 0; g->k == 0 && !g->adds && i < g->m; i++)
        memset((float *)c + i * g->ldc, 0, (size_t)g->n * sizeof(float));
    p->own->run(g, a, b, c, room);
}

static void enter_thread(const dt_gemm_library *l) { (void)l; }

void dt_gemm_open_own(dt_gemm_library *l, const struct dt_simd *simd) {
    *l = (dt_gemm_library){.name = "own",
                           .about = "",
                           .state = (void *)simd,
                           .plan = plan,
                           .run = run,
                           .release = free,
                           .scratch = scratch,
                           .enter_thread = enter_thread,
                           .conv = &dt_conv_own};
}

/* ---- the library and the engine ---- */

/* Resolves DT_KERNELS_AUTO: our own loops if the chosen instruction set can multiply and add in one
 * instruction (FMA), else libraries, since the loops are many times slower without it.
 * DT_KERNELS_BFLOAT16 becomes libraries, too, if there is no FMA, or if AMX may be used, which only
 * libraries do. */
static dt_kernels choose_kernels(dt_kernels wanted, const dt_simd *simd) {
    if (wanted == DT_KERNELS_BFLOAT16 && simd->fuses && !dt_instructions_have_amx()) return wanted;
    if (wanted == DT_KERNELS_BFLOAT16) return DT_KERNELS_LIBRARIES;
    if (wanted != DT_KERNELS_AUTO) return wanted;
    return simd->fuses ? DT_KERNELS_OWN : DT_KERNELS_LIBRARIES;
}

static dt_status *open_library(dt_engine *e) {
    dt_gemm_open_own(&e->own, e->simd);
    e->gemm = e->own;
    if (e->kernels == DT_KERNELS_OWN || e->kernels == DT_KERNELS_BFLOAT16) return NULL;
    if (e->kernels == DT_KERNELS_OPENBLAS) return dt_gemm_open_openblas(&e->gemm);
    dt_status *s = dt_gemm_open_onednn(&e->gemm);
    if (!s || e->kernels == DT_KERNELS_ONEDNN || dt_status_number(s) != DT_E_KERNELS) return s;
    dt_status_free(s);
    if (e->simd->fuses) return NULL;
    return dt_suggest(
        dt_gemm_open_openblas(&e->gemm),
        "install oneDNN or OpenBLAS: without FMA '--kernels own' is many times slower");
}

/*
 * Checks that there is address space for a library's buffers. If `ulimit -v` leaves too little,
 * OpenBLAS hangs and oneDNN crashes. Pages that are not touched cost nothing.
 */
static dt_status *find_room(const dt_gemm_library *l, int threads) {
    void **at = dt_alloc((size_t)threads * sizeof *at);
    int n = 0;

    while (l->room > 0 && n < threads &&
           (at[n] = mmap(NULL, l->room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0)) != MAP_FAILED)
        n++;
    for (int i = 0; i < n; i++) munmap(at[i], l->room);
    free(at);
    if (n == threads || l->room == 0) return NULL;
    return dt_suggest(dt_fail(DT_E_NO_MEMORY, NULL,
                              "%s needs %zu MiB of address space for each of %d threads, but there "
                              "is room for only %d",
                              l->name, l->room >> 20, threads, n),
                      "raise 'ulimit -v', or use fewer threads: --threads 1");
}

static void enter_lane(int lane, void *user) {
    const dt_engine *e = user;
    (void)lane;
    e->gemm.enter_thread(&e->gemm);
}

dt_status *dt_engine_open(dt_engine **out, const dt_engine_options *o) {
    dt_engine *e = dt_alloc(sizeof *e);
    dt_str text = {0};
    dt_status *s = dt_instructions_choose(o->isa, &e->simd);

    e->bucket_bytes = o->bucket_bytes ? o->bucket_bytes : DT_BUCKET_BYTES;
    if (!s) e->kernels = choose_kernels(o->kernels, e->simd);
    if (!s) s = open_library(e);
    if (!s) s = dt_pool_create(&e->pool, o->threads > 0 ? o->threads : dt_cores());
    if (!s) s = find_room(&e->gemm, dt_pool_lanes(e->pool));
    if (s) {
        dt_engine_close(e);
        return s;
    }
    dt_pool_run(e->pool, enter_lane, e);
    e->packs_bf16 =
        e->kernels != DT_KERNELS_OWN && !o->isa && !e->gemm.bf16 && dt_dot_bf16_is_here();
    dt_str_puts(&text, e->gemm.name);
    if (*e->gemm.about) dt_str_printf(&text, " %s", e->gemm.about);
    if (*e->gemm.about || e->packs_bf16)
        dt_str_printf(&text, ", %s%s", e->simd->name, e->packs_bf16 ? " with bf16" : "");
    e->description = dt_str_take(&text);
    *out = e;
    return NULL;
}

void dt_engine_close(dt_engine *e) {
    if (!e) return;
    if (e->pool) dt_pool_destroy(e->pool);
    if (e->gemm.close) e->gemm.close(&e->gemm);
    free(e->track);
    free(e->description);
    free(e);
}

int dt_engine_threads(const dt_engine *e) { return dt_pool_lanes(e->pool); }

int64_t dt_engine_held(const dt_engine *e) { return e->held; }

const char *dt_engine_describe(const dt_engine *e) { return e->description; }
