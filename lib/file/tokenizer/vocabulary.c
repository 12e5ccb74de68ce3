/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies: the texts of tokens by number, and a hash table with open addressing that finds a
 * token by its text. */
#include <stdio.h>
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

/* Texts may be chosen by an attacker, so the hash has a secret key. Results do not depend on the
 * key. */
uint32_t *dt_vocabulary_slot(const dt_vocabulary *v, const char *text, size_t n) {
    uint32_t i = (uint32_t)dt_siphash(&v->key, text, n) & v->mask;
    while (v->slot[i] &&
           (v->length[v->slot[i] - 1] != n || memcmp(v->text[v->slot[i] - 1], text, n) != 0))
        i = (i + 1) & v->mask;
    return &v->slot[i];
}

int32_t dt_vocabulary_find(const dt_vocabulary *v, const char *text, size_t n) {
    const int32_t token = (int32_t)*dt_vocabulary_slot(v, text, n) - 1;
    return token < v->own ? token : -1;
}

/* Counts the entries of the object and finds the largest number. */
static dt_status *measure(dt_tokenizer_reader *r, dt_json_cursor at, int64_t *n, int64_t *most) {
    bool first = true;
    DT_TRY(dt_tokenizer_enter(r, &at, "model.vocab", '{'));
    for (*n = 0, *most = -1; dt_json_more(&at, '}', &first); ++*n) {
        int64_t number = 0;
        if (!dt_json_read_key(&at, &r->text)) break;
        DT_TRY(dt_tokenizer_int(r, at, "a number of model.vocab", DT_MOST_TOKENS - 1, &number));
        if (!dt_json_skip(&at, 0)) break;
        if (number > *most) *most = number;
    }
    DT_TRY(dt_tokenizer_fault(r, &at));
    return *n > 0 ? NULL : dt_tokenizer_fail(r, &at, "'model.vocab' is empty");
}

dt_status *dt_vocabulary_add(dt_tokenizer_reader *r, const dt_json_cursor *at, dt_vocabulary *v,
                             int64_t number) {
    const char *text = dt_str_text(&r->text);
    if (r->text.size > DT_LONGEST_TOKEN)
        return dt_tokenizer_fail(r, at, "a token of more than %d bytes", DT_LONGEST_TOKEN);
    if (v->text[number])
        return dt_tokenizer_fail(r, at, "'%.60s' and '%.60s' have the same number", text,
                                 v->text[number]);
    uint32_t *slot = dt_vocabulary_slot(v, text, r->text.size);
    if (*slot) return dt_tokenizer_fail(r, at, "'%.60s' is there twice", text);
    v->text[number] = dt_arena_copy(r->arena, text, r->text.size + 1);
    v->length[number] = r->text.size;
    *slot = (uint32_t)number + 1;
    return NULL;
}

void dt_vocabulary_create(dt_arena *arena, int64_t size, int64_t n, dt_vocabulary *out) {
    const int64_t room = size + DT_MOST_ADDED;
    uint32_t slots = 1024;
    while (slots < 2 * (n + DT_MOST_ADDED)) slots *= 2;
    *out = (dt_vocabulary){.size = (int32_t)size,
                           .own = (int32_t)size,
                           .has_gaps = n < size,
                           .text = dt_arena_array(arena, const char *, room),
                           .length = dt_arena_array(arena, size_t, room),
                           .slot = dt_arena_array(arena, uint32_t, slots),
                           .mask = slots - 1,
                           .key = dt_siphash_process_key()};
}

dt_status *dt_vocabulary_read(dt_tokenizer_reader *r, dt_json_cursor at, dt_vocabulary *out) {
    int64_t n, most;
    bool first = true;
    DT_TRY(measure(r, at, &n, &most));
    /* Some numbers may be unused, but a short file must not need a large table. */
    if (most >= 2 * n + 1024)
        return dt_tokenizer_fail(r, &at, "'model.vocab' has %lld tokens, and numbers up to %lld",
                                 (long long)n, (long long)most);
    dt_vocabulary_create(r->arena, most + 1, n, out);
    DT_TRY(dt_tokenizer_enter(r, &at, "model.vocab", '{'));
    while (dt_json_more(&at, '}', &first)) {
        const dt_json_cursor begin = at;
        int64_t number = 0;
        dt_json_read_key(&at, &r->text);
        DT_TRY(dt_tokenizer_int(r, at, "a number of model.vocab", DT_MOST_TOKENS - 1, &number));
        dt_json_skip(&at, 0);
        DT_TRY(dt_vocabulary_add(r, &begin, out, number));
    }
    return NULL;
}

dt_status *dt_vocabulary_bytes(dt_tokenizer_reader *r, dt_json_cursor at, const dt_vocabulary *v,
                               bool falls_back, int32_t byte[256]) {
    byte[0] = -1;
    for (int i = 255; falls_back && i >= 0; i--) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
        byte[i] = dt_vocabulary_find(v, name, strlen(name));
        if (byte[i] < 0)
            return dt_tokenizer_fail(r, &at,
                                     "'byte_fallback' needs a token for each byte, "
                                     "\"<0x00>\" to \"<0xFF>\"");
    }
    return NULL;
}
