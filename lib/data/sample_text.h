/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing a play: text for character-level models, of the 65 characters that Tiny Shakespeare
 * has. */
#ifndef DT_DATA_SAMPLE_TEXT_H
#define DT_DATA_SAMPLE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "base/str.h"

/* Appends to an empty *out `size` characters of the play of that seed; a shorter one begins a
 * longer one. */
void dt_sample_text_generate(uint64_t seed, size_t size, dt_str *out);

#endif
