/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense decoders whose sizes their authors have published. A name is compared by its letters and
 * digits, so that "LLaMA-3 70B", "llama3-70b" and "Llama 3 70B" are one.
 */
#include "architectures.h"

#include <ctype.h>
#include <string.h>

static const dt_architecture architectures[] = {
    /* "Llama 2: Open Foundation and Fine-Tuned Chat Models", 2023, and params.json of the
     * release */
    {"llama27b", 4096, 11008, 32, 32, 128, 32, 32000, true},
    {"llama213b", 5120, 13824, 40, 40, 128, 40, 32000, true},
    {"llama270b", 8192, 28672, 64, 8, 128, 80, 32000, true},
    /* "The Llama 3 Herd of Models", 2024, table 3; the same sizes in 3.1 */
    {"llama38b", 4096, 14336, 32, 8, 128, 32, 128256, true},
    {"llama370b", 8192, 28672, 64, 8, 128, 80, 128256, true},
    {"llama318b", 4096, 14336, 32, 8, 128, 32, 128256, true},
    {"llama3170b", 8192, 28672, 64, 8, 128, 80, 128256, true},
    {"llama3370b", 8192, 28672, 64, 8, 128, 80, 128256, true}, /* 3.3 */
    {"llama3405b", 16384, 53248, 128, 8, 128, 126, 128256, true},
    {"llama31405b", 16384, 53248, 128, 8, 128, 126, 128256, true},
    /* "Language Models are Few-Shot Learners", 2020, table 2.1; its vocabulary of 50,257 */
    {"gpt3175b", 12288, 49152, 96, 96, 128, 96, 50257, false},
    /* "Gemma 2: Improving Open Language Models at a Practical Size", 2024, table 1 */
    {"gemma29b", 3584, 14336, 16, 8, 256, 42, 256128, true},
    {"gemma227b", 4608, 36864, 32, 16, 128, 46, 256128, true},
};

/* Letters and digits of a text, small. */
static void squeeze(const char *text, char *out, size_t size) {
    size_t n = 0;
    for (; *text && n + 1 < size; text++)
        if (isalnum((unsigned char)*text)) out[n++] = (char)tolower((unsigned char)*text);
    out[n] = '\0';
}

/* The longest name that the text has, so that 3.1 405B is not taken for 3. */
const dt_architecture *dt_architecture_in(const char *text) {
    const dt_architecture *best = NULL;
    char squeezed[512];
    squeeze(text, squeezed, sizeof squeezed);
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (strstr(squeezed, architectures[i].name) &&
            (!best || strlen(architectures[i].name) > strlen(best->name)))
            best = &architectures[i];
    return best;
}
