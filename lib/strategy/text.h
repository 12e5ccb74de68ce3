/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in NumPy's and TensorFlow's notation, as in TensorFlow's documentation. */
#ifndef DT_STRATEGY_TEXT_H
#define DT_STRATEGY_TEXT_H

#include "graph/graph.h"

/* "shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)": `comma` stands behind the
 * shape, "" or ",". */
void dt_text_array(const dt_view *v, const char *comma, dt_str *out);

#endif
