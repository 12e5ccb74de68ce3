/* Checksums made right again after a mutation, so that what stands behind them is met. What is no such file is left as it is. */
#ifndef TESTS_FUZZ_REPAIR_H
#define TESTS_FUZZ_REPAIR_H

#include <stddef.h>
#include <stdint.h>

void repair_tfrecord(uint8_t *data, size_t size);
void repair_png(uint8_t *data, size_t size);
/* Of members that are stored, and of deflated ones that unpack to a little. */
void repair_zip(uint8_t *data, size_t size);

#endif
