/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer.json: a whole file, and what its tokens make of a text that has a bit of everything. */
#include "file/tokenizer/tokenizer.h"
#include "fuzz.h"

static const char text[] =
    "It's a caf\xc3\xa9, na\xc3\xafve; 12345\r\n\t <x> [CLS] \xe4\xbd\xa0\xe5\xa5\xbd "
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 e\xcc\x81 \xff\xed\x95\x9c aaaaaaaaaaaa";

FUZZ_TARGET(tokenizer) {
    enum { LENGTH = 40 };
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t = NULL;
    int32_t token[LENGTH];
    dt_str decoded = {0};
    dt_status *s = dt_tokenizer_read(arena, fuzz_file(data, size), &t);
    const bool fits = !s && dt_tokenizer_ends(t) <= LENGTH;
    if (fits) s = dt_tokenizer_fill(t, text, LENGTH, token);
    for (int i = 0; fits && !s && i < LENGTH; i++) {
        FUZZ_CHECK(token[i] >= 0 && token[i] < dt_tokenizer_size(t), "a token outside the range");
        dt_tokenizer_decode(t, token[i], i == 0, &decoded);
    }
    fuzz_done(s);
    dt_str_release(&decoded);
    dt_arena_destroy(arena);
    return 0;
}
