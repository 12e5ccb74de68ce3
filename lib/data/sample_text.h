/* SPDX-License-Identifier: Apache-2.0 */
/* Generates a play: text for character-level models, with the same 65 characters as Tiny
 * Shakespeare. */
#ifndef DT_DATA_SAMPLE_TEXT_H
#define DT_DATA_SAMPLE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "base/str.h"

/* Appends the first `size` characters of the play for a seed to *out, which must be empty. */
void dt_sample_text_generate(uint64_t seed, size_t size, dt_str *out);

#endif
