/* SPDX-License-Identifier: Apache-2.0 */
/* Generates a picture that looks like a handwritten digit. */
#ifndef DT_DATA_STROKES_H
#define DT_DATA_STROKES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

enum { DT_DIGIT_SIDE = 28, DT_DIGIT_PIXELS = DT_DIGIT_SIDE * DT_DIGIT_SIDE };

/* Draws `digit` (0 to 9) in white on black, (28, 28), with random numbers from r. Uses no function
 * whose results differ between processors, so the same random numbers give the same picture
 * everywhere. */
void dt_draw_digit(int digit, dt_random *r, uint8_t out[DT_DIGIT_PIXELS]);

#endif
