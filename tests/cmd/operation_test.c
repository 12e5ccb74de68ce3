/* SPDX-License-Identifier: Apache-2.0 */
/* Chips, meshes and operations as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "../../cmd/simulator/device.h"
#include "../../cmd/simulator/operation.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

static void test_chips_and_meshes(void **state) {
    (void)state;
    static const struct {
        const char *text, *chip;
        double side[3];
    } rows[] = {
        {"v6e-256 (16x16)", "v6e", {16, 16, 0}},
        {"v5e mesh X8 Y4", "v5e", {8, 4, 0}},
        {"V4 4x4x8", "v4", {4, 4, 8}},
        {"mesh Z3", NULL, {0, 0, 3}},
        {"tpu7x, one device = one TensorCore of two", "tpu7x", {0}},
        {"", NULL, {0}},
        {"8x", NULL, {0}},
        {"0x4", NULL, {0}},
        {"4x4x4x4", NULL, {4, 4, 4}},
        {"x", NULL, {0}},
        {"999x2", NULL, {0}},
        {"X8q", NULL, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const dt_placement w = dt_placement_read(rows[i].text);
        if (w.chip != (rows[i].chip ? dt_chip_find(rows[i].chip) : NULL) ||
            memcmp(w.side, rows[i].side, sizeof w.side) != 0)
            fail_msg("'%s': %s %gx%gx%g", rows[i].text, w.chip ? w.chip->generation : "no chip",
                     w.side[0], w.side[1], w.side[2]);
    }
}

static void test_operations(void **state) {
    (void)state;
    static const struct {
        const char *text;
        dt_operation_kind kind;
        double bytes; /* of the first array */
        const char *axes;
        double n; /* last size of the second array; 0: there is none */
    } cases[] = {
        {"matmul bf16 4096^3, default flags", DT_OPERATION_MATMUL, 2.0 * 4096 * 4096, "", 4096},
        {"gemm f32 m=n=k=512", DT_OPERATION_MATMUL, 4.0 * 512 * 512, "", 512},
        {"gemm bf16 m=8 k=4096 n=128", DT_OPERATION_MATMUL, 2.0 * 8 * 4096, "", 128},
        {"matmul int8 8x256x1024", DT_OPERATION_MATMUL, 8.0 * 256, "", 1024},
        {"bf16[4,128,512] x bf16[512,2048], 2-way data x 4-way model", DT_OPERATION_MATMUL,
         2.0 * 4 * 128 * 512, "", 2048},
        {"AllGather_X bf16[1024,8192]", DT_OPERATION_ALL_GATHER, 2.0 * 1024 * 8192, "X", 0},
        {"all-gather over ICI, bf16 1024x1024", DT_OPERATION_ALL_GATHER, 2.0 * 1024 * 1024, "", 0},
        {"reduce_scatter_XY f32[512]", DT_OPERATION_REDUCE_SCATTER, 4 * 512, "XY", 0},
        {"psum over ICI, bf16 256x256 (131,072 B)", DT_OPERATION_ALL_REDUCE, 2.0 * 256 * 256, "",
         0},
        {"HBM copy f32 4096x8192", DT_OPERATION_COPY, 4.0 * 4096 * 8192, "", 0},
        {"AllToAll_Y bf16[B_Y=64,D=32]", DT_OPERATION_ALL_TO_ALL, 2.0 * 64 * 32, "Y", 0},
        {"nothing of the kind", DT_OPERATION_NONE, 0, "", 0},
        {"gemm f32 m=n=k=", DT_OPERATION_MATMUL, 0, "", 0}, /* equations that nothing solves */
        {"gemm f32 m=n=k=many", DT_OPERATION_MATMUL, 0, "", 0},
        {"gemm f32 m=8 k=4 n=", DT_OPERATION_MATMUL, 0, "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_operation op = dt_operation_read(cases[i].text);
        double n = op.arrays == 2 ? op.array[1].size[op.array[1].rank - 1] : 0;
        if (op.kind != cases[i].kind || !near(dt_written_bytes(&op.array[0]), cases[i].bytes) ||
            strcmp(op.axes, cases[i].axes) != 0 || !near(n, cases[i].n))
            fail_msg("'%s': kind %d, %g bytes, axes '%s', n %g", cases[i].text, op.kind,
                     dt_written_bytes(&op.array[0]), op.axes, n);
    }
    dt_operation op = dt_operation_read(cases[4].text);
    assert_true(near(op.data, 2) && near(op.model, 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chips_and_meshes),
                                       cmocka_unit_test(test_operations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
