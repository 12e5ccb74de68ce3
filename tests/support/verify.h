/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_VERIFY_H
#define TESTS_SUPPORT_VERIFY_H

#include "graph/graph.h"

/* dt_graph_verify, and each node's type against the one that its inputs imply. */
dt_status *verify_types(const dt_graph *g) DT_MUST_USE;

#endif
