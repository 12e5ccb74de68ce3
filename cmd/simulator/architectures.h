/* SPDX-License-Identifier: Apache-2.0 */
/* Published architectures: data with a source, for rows that give a model's name and not its
 * sizes. */
#ifndef CMD_SIMULATOR_ARCHITECTURES_H
#define CMD_SIMULATOR_ARCHITECTURES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct dt_architecture {
    const char *name; /* letters and digits only, small: "llama370b" */
    int64_t width, ff, heads, kv_heads, head_dim, layers, vocab;
    bool gated;
} dt_architecture;

/* The one whose name stands in a text, whatever its spelling ("LLaMA-3 70B"); NULL: none. */
const dt_architecture *dt_architecture_in(const char *text);

#endif
