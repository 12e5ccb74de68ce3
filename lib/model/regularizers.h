/* SPDX-License-Identifier: Apache-2.0 */
/* The table of regularizers: DT_REGULARIZER_ROW(name), in files of lib/model/regularizer. Included
 * several times, with DT_REGULARIZER_ROW defined by each user. */
DT_REGULARIZER_ROW(l1)
DT_REGULARIZER_ROW(l2)
DT_REGULARIZER_ROW(l1_l2)
DT_REGULARIZER_ROW(orthogonal_regularizer)
