/* SPDX-License-Identifier: Apache-2.0 */
/* The table of initializers: DT_INITIALIZER_ROW(name), in lib/model/initializer/. Included several
 * times, with DT_INITIALIZER_ROW defined by each user. */
DT_INITIALIZER_ROW(zeros)
DT_INITIALIZER_ROW(ones)
DT_INITIALIZER_ROW(constant)
DT_INITIALIZER_ROW(random_uniform)
DT_INITIALIZER_ROW(random_normal)
DT_INITIALIZER_ROW(truncated_normal)
DT_INITIALIZER_ROW(variance_scaling)
DT_INITIALIZER_ROW(glorot_uniform)
DT_INITIALIZER_ROW(glorot_normal)
DT_INITIALIZER_ROW(he_uniform)
DT_INITIALIZER_ROW(he_normal)
DT_INITIALIZER_ROW(lecun_uniform)
DT_INITIALIZER_ROW(lecun_normal)
DT_INITIALIZER_ROW(orthogonal)
DT_INITIALIZER_ROW(identity)
