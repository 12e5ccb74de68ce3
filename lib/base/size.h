/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes with their units, as people write them. */
#ifndef DT_BASE_SIZE_H
#define DT_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* "16GiB", "1.5 MiB", "17179869184" as bytes, from 1 to 2^62; units are B, KiB, MiB, GiB and TiB.
 * False: it is none. */
bool dt_parse_bytes(const char *text, int64_t *bytes);

#endif
