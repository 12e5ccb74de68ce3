/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are threads of one process: each opens the same group and joins it as another rank. */
#ifndef TESTS_SUPPORT_LOCAL_FABRIC_H
#define TESTS_SUPPORT_LOCAL_FABRIC_H

#include "net/fabric.h"

extern const dt_fabric dt_fabric_local;

#endif
