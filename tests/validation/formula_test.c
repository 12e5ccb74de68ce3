/* SPDX-License-Identifier: Apache-2.0 */
/* Facts from inputs and from words, arithmetic over them, and operations as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "validation/operation.h"

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static void test_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value; /* NAN: no formula */
    } cases[] = {
        {"1+2*3", 7}, {"(1+2)*3", 9}, {"2^3^2", 512}, {"2**10", 1024}, {"-3+5", 2}, {"8/4/2", 1}, {".4*10", 4}, {"31.536e6", 31.536e6},
        {"1e-3", 1e-3}, {"ceil(5/2)", 3}, {"min(3, 2, 4)", 2}, {"max(1,sqrt(16))", 4}, {"2D", 8192}, {"6NT", 6 * 7.0 * 9}, {"2*K*H*L", 2 * 8 * 128 * 80},
        {"bw*2", 20}, {"C/W", 2}, {"peak/W", 2}, {"4 of them", 4}, {"", NAN}, {"2*", NAN}, {"(1", NAN}, {"1)2", NAN}, {"nobody*2", NAN},
        {"2 bw", NAN}, {"1 = 1", NAN}, {"ceil(1", NAN}, {"D D", NAN},
    };
    dt_facts f = {.arena = dt_arena_create()};
    static const dt_fact given[] = {{"D", 4096}, {"bw_Bps", 10}, {"C", 6}, {"W", 3}, {"K", 8}, {"H", 128}, {"L", 80}, {"params", 7}, {"tokens", 9}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        dt_facts_add(&f, given[i].name, given[i].value);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char unknown[64];
        double value;
        bool known = dt_formula(&f, cases[i].text, &value, unknown, sizeof unknown);
        if (known == isnan(cases[i].value) || (known && !near(value, cases[i].value)))
            fail_msg("'%s' is %g", cases[i].text, known ? value : NAN);
    }
    dt_arena_destroy(f.arena);
    dt_facts_release(&f);
}

/* Deep nesting must end. */
static void test_deep_formula(void **state)
{
    (void)state;
    char text[4096], unknown[64];
    double value;
    memset(text, '(', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    dt_facts f = {.arena = dt_arena_create()};
    assert_false(dt_formula(&f, text, &value, unknown, sizeof unknown));
    memset(text, '-', sizeof text - 1);
    assert_false(dt_formula(&f, text, &value, unknown, sizeof unknown));
    dt_arena_destroy(f.arena);
}

static void test_facts_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        double value; /* NAN: nothing is said */
    } cases[] = {
        {"2e24 FLOPs on one v4", "flops", 2e24}, {"on 512 v4 at 55% MFU", "chips", 512}, {"on 512 v4 at 55% MFU", "mfu", 0.55},
        {"over 64 v5p chips", "chips", 64}, {"7e9 bf16 parameters", "params", 7e9}, {"7e9 bf16 parameters", "bytes_per", 2},
        {"8Mi tokens, 1024-way FSDP", "tokens", 8388608}, {"8Mi tokens, 1024-way FSDP", "ways", 1024}, {"with D=512 and F=2048", "F", 2048},
        {"mesh X4 Y2", "Y", 2}, {"a slice of 4x8 chips", "X", 4}, {"a slice of 4x8 chips", "chips", 32}, {"LLaMA-2 13B, int8", "K", 40},
        {"llama3.1-405b", "L", 126}, {"batch size 32", "B", 32}, {"bs 16", "B", 16}, {"over 2 axes", "axes", 2}, {"a slice", "chips", NAN},
        {"1e6 GPU hours at 1e15 fp8", "hours", 1e6}, {"1e6 GPU hours at 1e15 fp8", "peak", 1e15}, {"at 3 o'clock", "peak", NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_facts f = {.arena = dt_arena_create()};
        double value = NAN;
        dt_facts_of_text(&f, cases[i].text);
        bool known = dt_facts_find(&f, cases[i].name, &value);
        if (known == isnan(cases[i].value) || (known && !near(value, cases[i].value)))
            fail_msg("'%s': %s is %g", cases[i].text, cases[i].name, value);
        dt_arena_destroy(f.arena);
        dt_facts_release(&f);
    }
}

static void test_operations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        dt_operation_kind kind;
        double bytes; /* of the first array */
        const char *axes;
        double n;     /* last size of the second array; 0: there is none */
    } cases[] = {
        {"matmul bf16 4096^3, default flags", DT_OPERATION_MATMUL, 2.0 * 4096 * 4096, "", 4096},
        {"gemm f32 m=n=k=512", DT_OPERATION_MATMUL, 4.0 * 512 * 512, "", 512},
        {"gemm bf16 m=8 k=4096 n=128", DT_OPERATION_MATMUL, 2.0 * 8 * 4096, "", 128},
        {"matmul int8 8x256x1024", DT_OPERATION_MATMUL, 8.0 * 256, "", 1024},
        {"bf16[4,128,512] x bf16[512,2048], 2-way data x 4-way model", DT_OPERATION_MATMUL, 2.0 * 4 * 128 * 512, "", 2048},
        {"AllGather_X bf16[1024,8192]", DT_OPERATION_ALL_GATHER, 2.0 * 1024 * 8192, "X", 0},
        {"all-gather over ICI, bf16 1024x1024", DT_OPERATION_ALL_GATHER, 2.0 * 1024 * 1024, "", 0},
        {"reduce_scatter_XY f32[512]", DT_OPERATION_REDUCE_SCATTER, 4 * 512, "XY", 0},
        {"psum over ICI, bf16 256x256 (131,072 B)", DT_OPERATION_ALL_REDUCE, 2.0 * 256 * 256, "", 0},
        {"HBM copy f32 4096x8192", DT_OPERATION_COPY, 4.0 * 4096 * 8192, "", 0},
        {"AllToAll_Y bf16[B_Y=64,D=32]", DT_OPERATION_ALL_TO_ALL, 2.0 * 64 * 32, "Y", 0},
        {"nothing of the kind", DT_OPERATION_NONE, 0, "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_operation op = dt_operation_read(cases[i].text);
        double n = op.arrays == 2 ? op.array[1].size[op.array[1].rank - 1] : 0;
        if (op.kind != cases[i].kind || !near(dt_written_bytes(&op.array[0]), cases[i].bytes) || strcmp(op.axes, cases[i].axes) != 0 ||
            !near(n, cases[i].n))
            fail_msg("'%s': kind %d, %g bytes, axes '%s', n %g", cases[i].text, op.kind, dt_written_bytes(&op.array[0]), op.axes, n);
    }
    dt_operation op = dt_operation_read(cases[4].text);
    assert_true(near(op.data, 2) && near(op.model, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formulas), cmocka_unit_test(test_deep_formula), cmocka_unit_test(test_facts_in_words),
                                       cmocka_unit_test(test_operations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
