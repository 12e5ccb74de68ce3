/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a whole tokenizer.json. */
#include "file/tokenizer/tokenizer.h"

#include <string.h>

#include "base/text.h"
#include "file/tokenizer/tokenizer_impl.h"

#define LARGEST_FILE ((size_t)64 << 20)

static dt_status *read_model(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    static const dt_token_model *const models[] = {&dt_token_bpe, &dt_token_word_piece,
                                                   &dt_token_unigram, &dt_token_word_level};
    const char *type;
    DT_TRY(dt_tokenizer_type(r, at, "model", &type));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(type, models[i]->type) == 0) {
            t->model = models[i];
            return models[i]->read(r, at, t);
        }
    return dt_tokenizer_fail(r, &at, "model '%.60s' is not supported", type);
}

/* Reads the settings for padding. The length to pad to is ignored, since the job sets it. */
static dt_status *read_padding(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor direction, id;
    int64_t pad = 0;
    const char *text;
    const dt_tokenizer_key keys[] = {{"strategy", NULL, NULL},
                                     {"direction", &direction, "\"Right\"|\"Left\""},
                                     {"pad_to_multiple_of", NULL, "null"},
                                     {"pad_id", &id, NULL},
                                     {"pad_type_id", NULL, NULL},
                                     {"pad_token", NULL, NULL},
                                     {0}};
    if (!at.at) return NULL;
    DT_TRY(dt_tokenizer_object(r, at, "padding", keys));
    DT_TRY(dt_tokenizer_int(r, id, "padding.pad_id", DT_MOST_TOKENS - 1, &pad));
    DT_TRY(dt_tokenizer_text(r, direction, "padding.direction", &text));
    t->pad_left = strcmp(text, "Left") == 0;
    t->pad = (int32_t)pad;
    return pad < t->vocabulary.size
               ? NULL
               : dt_tokenizer_fail(r, &id, "there is no token %lld", (long long)pad);
}

/* Checks the settings for truncation. "max_length" is ignored, since the job sets the length. */
static dt_status *read_truncation(dt_tokenizer_reader *r, dt_json_cursor at) {
    static const dt_tokenizer_key keys[] = {{"direction", NULL, "\"Right\""},
                                            {"max_length", NULL, NULL},
                                            {"strategy", NULL, NULL},
                                            {"stride", NULL, NULL},
                                            {0}};
    return at.at ? dt_tokenizer_object(r, at, "truncation", keys) : NULL;
}

/* A stage of the tokenizer, and the key of its components if it is a "Sequence" of several. */
typedef struct stage {
    const char *name, *components;
    dt_read_component *read;
} stage;

static dt_status *read_stage(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                             const stage *of) {
    dt_json_cursor list;
    const char *type;
    bool first = true;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL}, {of->components, &list, NULL}, {0}};
    if (!at.at) return NULL;
    DT_TRY(dt_tokenizer_type(r, at, of->name, &type));
    if (strcmp(type, "Sequence") != 0) return of->read(r, at, t);
    DT_TRY(dt_tokenizer_object(r, at, of->name, keys));
    DT_TRY(dt_tokenizer_enter(r, &list, of->components, '['));
    while (dt_json_more(&list, ']', &first)) {
        dt_json_peek(&list);
        DT_TRY(of->read(r, list, t));
        dt_json_skip(&list, 0);
    }
    return dt_tokenizer_fault(r, &list);
}

/* Reads the decoder. It replaces the settings for decoding that follow from the model and the
 * pre-tokenizer. */
static dt_status *read_decoder(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    static const stage decoder = {"decoder", "decoders", dt_tokenizer_read_decoder};
    if (!at.at) return NULL;
    t->continues = t->blank = NULL;
    t->first_blanks = 0;
    t->decodes_bytes = false;
    return read_stage(r, at, t, &decoder);
}

static dt_status *read_parts(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    static const stage normalizing = {"normalizer", "normalizers", dt_tokenizer_read_normalizer},
                       splitting = {"pre_tokenizer", "pretokenizers", dt_tokenizer_read_split},
                       ending = {"post_processor", "processors", dt_tokenizer_read_end};
    dt_json_cursor truncation, padding, added, normalizer, splits, ends, decoder, model;
    const dt_tokenizer_key keys[] = {
        {"version", NULL, "\"1.0\""},      {"truncation", &truncation, NULL},
        {"padding", &padding, NULL},       {"added_tokens", &added, NULL},
        {"normalizer", &normalizer, NULL}, {"pre_tokenizer", &splits, NULL},
        {"post_processor", &ends, NULL},   {"decoder", &decoder, NULL},
        {"model", &model, NULL},           {0}};
    dt_json_cursor whole = at;
    if (!dt_json_skip(&whole, 0)) return dt_tokenizer_fault(r, &whole);
    while (whole.at < whole.end && strchr(" \t\r\n", *whole.at)) whole.at++;
    if (whole.at < whole.end)
        return dt_tokenizer_fail(r, &whole, "text behind the end of the JSON");
    DT_TRY(dt_tokenizer_object(r, at, "the file", keys));
    DT_TRY(read_model(r, model, t));
    DT_TRY(read_stage(r, normalizer, t, &normalizing));
    DT_TRY(read_stage(r, splits, t, &splitting));
    DT_TRY(dt_tokenizer_read_added(r, added, t));
    DT_TRY(read_stage(r, ends, t, &ending));
    DT_TRY(read_padding(r, padding, t));
    DT_TRY(read_truncation(r, truncation));
    return read_decoder(r, decoder, t);
}

dt_status *dt_tokenizer_read(dt_arena *arena, const char *path, const dt_tokenizer **out) {
    dt_local_str text = {0};
    dt_tokenizer *t = dt_arena_new(arena, dt_tokenizer);
    *out = t;
    t->path = dt_arena_strdup(arena, path);
    t->cache = dt_arena_array(arena, dt_cached_word, DT_CACHED_WORDS);
    dt_status *s = dt_text_read(
        &(dt_text_file){.path = path, .wanted = "a tokenizer.json", .fault = DT_E_DATA_FILE},
        LARGEST_FILE, &text);
    dt_tokenizer_reader r = {.place = {path, dt_str_text(&text), 1, 1}, .arena = arena};
    if (!s)
        s = read_parts(&r, (dt_json_cursor){.at = r.place.text, .end = r.place.text + text.size},
                       t);
    dt_str_release(&r.text);
    return s;
}

int64_t dt_tokenizer_size(const dt_tokenizer *t) { return t->vocabulary.size; }
int64_t dt_tokenizer_ends(const dt_tokenizer *t) { return t->before.n + t->after.n; }
