/* SPDX-License-Identifier: Apache-2.0 */
/* DT_EXPECTED_ERROR(kind, generation, rows, median, worst), shares. Written by scripts/published
 * --table; tests/cost/core_test.c compares the kind compiler-estimate. No include guard. */
DT_EXPECTED_ERROR("compiler-estimate", "tpu7x", 7, 0.0256, 0.1244)
DT_EXPECTED_ERROR("compiler-estimate", "v2", 7, 0.0056, 0.1917)
DT_EXPECTED_ERROR("compiler-estimate", "v3", 7, 0.0198, 0.2013)
DT_EXPECTED_ERROR("compiler-estimate", "v4", 7, 0.0205, 0.1421)
DT_EXPECTED_ERROR("compiler-estimate", "v5e", 7, 0.0361, 0.0876)
DT_EXPECTED_ERROR("compiler-estimate", "v5p", 7, 0.0147, 0.0209)
DT_EXPECTED_ERROR("compiler-estimate", "v6e", 7, 0.0466, 0.1097)
DT_EXPECTED_ERROR("convnets", "v3", 3, 0.0142, 0.1489)
DT_EXPECTED_ERROR("convnets", "v4", 3, 0.1203, 0.1394)
DT_EXPECTED_ERROR("decoders", "tpu7x", 3, 0.0743, 0.0890)
DT_EXPECTED_ERROR("decoders", "v3", 3, 0.4084, 0.5408)
DT_EXPECTED_ERROR("decoders", "v4", 2, 0.0289, 0.0374)
DT_EXPECTED_ERROR("decoders", "v5e", 8, 0.0586, 0.1985)
DT_EXPECTED_ERROR("decoders", "v5p", 9, 0.0601, 0.1320)
DT_EXPECTED_ERROR("decoders", "v6e", 9, 0.0879, 0.4289)
DT_EXPECTED_ERROR("encoders", "v4", 2, 2.4033, 2.9857)
