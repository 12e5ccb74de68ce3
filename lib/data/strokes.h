/* SPDX-License-Identifier: Apache-2.0 */
/* Generates a picture of one handwritten-looking digit. */
#ifndef DT_DATA_STROKES_H
#define DT_DATA_STROKES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

enum { DT_DIGIT_SIDE = 28, DT_DIGIT_PIXELS = DT_DIGIT_SIDE * DT_DIGIT_SIDE };

/* Draws `digit` (0 to 9) with random numbers from r: white on black, (28, 28). Uses no function
 * whose bits differ between processors, so the same random numbers give the same picture
 * everywhere. */
void dt_draw_digit(int digit, dt_random *r, uint8_t out[DT_DIGIT_PIXELS]);

#endif
