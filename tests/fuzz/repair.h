/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums made right again after a mutation, so that what stands behind them is met. What is no
 * such file is left as it is. */
#ifndef TESTS_FUZZ_REPAIR_H
#define TESTS_FUZZ_REPAIR_H

#include <stddef.h>
#include <stdint.h>

void repair_tfrecord(uint8_t *data, size_t size);
/* TFRecord behind a byte that is 0 or a multiple of 4. */
void repair_records(uint8_t *data, size_t size);
/* PNG behind a byte that says something else. */
void repair_picture(uint8_t *data, size_t size);
/* Of members that are stored, and of deflated ones that unpack to a little. */
void repair_zip(uint8_t *data, size_t size);
/* ZIP, or TFRecord. */
void repair_any(uint8_t *data, size_t size);
/* state.json, whose last key is the SHA-256 of all before it. */
void repair_state(uint8_t *data, size_t size);

#endif
