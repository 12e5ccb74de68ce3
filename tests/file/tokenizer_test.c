/* SPDX-License-Identifier: Apache-2.0 */
/* A tokenizer.json that is damaged or uses an unsupported feature is refused with the place. Also:
 * texts that are not valid UTF-8, lengths, and patterns that need too many steps. The comparison
 * with the Python package is tests/cli/data_convert/tokenizer.sh. */
#define HERE "build/tmp/file-tokenizer"
#include "../data/files.h"

#include "file/tokenizer/tokenizer.h"

#define SPLIT "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define VOCAB "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\xc3\xaf\":3,\"\xc2\xbf\":4,\"\xc2\xbd\":5}"
#define BPE "\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[\"a b\"]}"
#define WORDS "\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"}"
#define WORD_PIECE                                                                                 \
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"continuing_subword_prefix\":\"#\","   \
    "\"max_input_chars_per_word\":4,\"vocab\":{\"?\":0,\"a\":1,\"#b\":2,\"ab\":3}}"

static dt_status *read_text(dt_arena *arena, const char *text, const dt_tokenizer **t) {
    write_file("t.json", text, strlen(text));
    return dt_tokenizer_read(arena, HERE "/t.json", t);
}

static bool is_installed(void) {
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    dt_status *s = read_text(arena, "{" SPLIT "," BPE "}", &t);
    const bool lacks = s && strstr(dt_status_text(s), "is not installed");
    dt_status_free(s);
    dt_arena_destroy(arena);
    return !lacks;
}

#define A10 "aaaaaaaaaa"
#define A100 A10 A10 A10 A10 A10 A10 A10 A10 A10 A10

static void test_refused(void **state) {
    static const struct {
        const char *file, *fault;
    } rows[] = {
        {"", "the value ends too early"},
        {"[]", "'the file' must be an object"},
        {"{}", "'model' is missing"},
        {"{" BPE ",\"model\":{}}", ":1:97: the file: 'model' is there twice"},
        {"{" BPE ",\"more\":1}", "the file: 'more' is not supported"},
        {"{\n " BPE ",\n \"version\": \"2.0\"}", ":3:13: the file: 'version' is \"2.0\""},
        {"{\"model\":{\"type\":\"Words\"}}", ":1:10: model 'Words' is not supported"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", "a text and its score"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",1e999]]}}", "a text and its score"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", "must have 1 to 2097152 tokens"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"a\",-2]]}}",
         "'a' is there twice"},
        {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",-1]]}}", "from 0 to 0"},
        {"{\"model\":{\"type\":\"Unigram\",\"byte_fallback\":true,\"vocab\":[[\"a\",-1]]}}",
         "needs a token for each byte"},
        {"{\"model\":{\"type\":7}}", "'model.type' must be a text"},
        {"{\"model\":{\"type\":\"BPE\",\"dropout\":0.5}}", "model: 'dropout' is 0.5"},
        {"{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true," VOCAB ",\"merges\":[]}}",
         "needs a token for each byte"},
        {"{\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</"
         "w>\",\"byte_fallback\":true," VOCAB ",\"merges\":[]}}",
         "'end_of_word_suffix' with byte_fallback is not supported"},
        {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":7," VOCAB "}}",
         "'unk_token' must be a text"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}",
         "'b' and 'a' have the same number"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]}}",
         "'a' is there twice"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}", "'model.vocab' is empty"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", "from 0 to 2097151"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1e9},\"merges\":[]}}", "from 0 to 2097151"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":2000000},\"merges\":[]}}",
         "1 tokens, and numbers up to 2000000"},
        {"{\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[\"ab\"]}}", "with a space between"},
        {"{\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[[\"a\"]]}}", "must have two texts"},
        {"{\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[\"b a\"]}}",
         "lacks the result of a merge to 'ba'"},
        {"{\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[\"x b\"]}}", "lacks a part"},
        {"{\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[\"a b\",\"a b\"]}}",
         "the merge to 'ab' is there twice"},
        {"{\"model\":{\"type\":\"BPE\",\"unk_token\":\"u\"," VOCAB ",\"merges\":[]}}",
         "lacks the unk_token 'u'"},
        {"{" BPE ",\"normalizer\":{\"type\":\"Nmt\"}}", "normalizer 'Nmt' is not supported"},
        {"{" BPE ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}}",
         "not a map in base64"},
        {"{" BPE
         ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"CAAAAAAA\"}}",
         "not a map in base64"},
        {"{" BPE ",\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"" A100 A100 A100 "\"}}",
         "has more than 255 bytes"},
        {"{" BPE
         ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAABh" A100
             A100 A100 A100 "\"}}",
         "a text of more than 255 bytes"},
        {"{" BPE ",\"normalizer\":{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"String\":"
         "\"\"}}}",
         "the pattern is empty"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"CharDelimiterSplit\"}}",
         "'CharDelimiterSplit' is not supported"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"last\"}}",
         "'prepend_scheme' is \"last\""},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
         "\"ByteLevel\"},{\"type\":\"Whitespace\"}]}}",
         "ByteLevel must be the last"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Contiguous\"}}",
         "'behavior' is \"Contiguous\""},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"(a\"}}}",
         "the pattern '(a': missing closing parenthesis"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"(?<=a)b\"}}}",
         "a group other than"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"\\\\w+\"}}}",
         "a letter behind a backslash other than"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"(*COMMIT)a\"}}}",
         "a group other than"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"a*\"}}}",
         "matches an empty text"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"(?=a)\"}}}",
         "matches an empty text"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"a{2}?\"}}}",
         "a count without a comma"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"[\\\\s-z]\"}}}",
         "invalid range"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"(?i:aSs)\"}}}",
         "in (?i: are not supported"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"(?i:\xc3\x9f)\"}}}",
         "other than ASCII"},
        {"{" BPE "}{}", ":1:89: text behind the end of the JSON"},
        {"{" WORD_PIECE ",\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}", "with BPE only"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":2},\"merges\":[]},"
         "\"added_tokens\":[{\"id\":3,\"content\":\"x\"}]}",
         "'model.vocab', which leaves numbers out"},
        {"{" BPE ",\"added_tokens\":[{\"id\":9,\"content\":\"<x>\"}]}", "has number 9"},
        {"{" BPE ",\"added_tokens\":[{\"id\":1,\"content\":\"a\"}]}", "'a' has number 1, but 0"},
        {"{" BPE ",\"added_tokens\":[{\"id\":6,\"content\":\"\"}]}", "must have 1 to 255 bytes"},
        {"{" BPE ",\"added_tokens\":[{\"id\":6,\"content\":\"x\",\"single_word\":1}]}",
         "'added_tokens.single_word' must be"},
        {"{" BPE ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[]}}",
         "lacks the text"},
        {"{" BPE
         ",\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"x\",99],\"cls\":[\"a\","
         "0]}}",
         "there is no token 99"},
        {"{" BPE ",\"padding\":{\"direction\":\"Right\",\"pad_id\":99}}", "there is no token 99"},
        {"{" BPE ",\"truncation\":{\"direction\":\"Left\"}}", "'direction' is \"Left\""},
        {"{" BPE ",\"decoder\":{\"type\":\"CTC\"}}", "decoder 'CTC' is not supported"},
        {"{" BPE ",\"decoder\":{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}}",
         "decoder 'Strip' is supported behind 'Fuse' only"},
        {"{" BPE ",\"decoder\":{\"type\":\"Strip\",\"content\":\" \",\"start\":2,\"stop\":0}}",
         "'start' is 2"},
    };
    (void)state;
    if (!is_installed()) skip();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        const dt_tokenizer *t;
        dt_status *s = read_text(arena, rows[i].file, &t);
        expect_fault(rows[i].file, s, DT_E_DATA_FILE, 65, rows[i].fault);
        dt_arena_destroy(arena);
    }
}

/* What would take hours is refused: the same list for each of many items, or long tokens. */
static void test_amplified(void **state) {
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    dt_str file = {0};
    (void)state;
    if (!is_installed()) skip();
    dt_str_puts(&file,
                "{" BPE ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"special_tokens\":"
                "{\"x\":{\"ids\":[]}},\"single\":[{\"Sequence\":{\"id\":\"A\"}}");
    for (int i = 0; i < 200; i++) dt_str_puts(&file, ",{\"SpecialToken\":{\"id\":\"x\"}}");
    dt_str_puts(&file, "]}}");
    expect_fault("items", read_text(arena, dt_str_text(&file), &t), DT_E_DATA_FILE, 65,
                 "more than 128 items in 'single'");
    dt_str_clear(&file);
    dt_str_puts(&file, "{\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"\","
                       "\"unk_token\":\"a\",\"vocab\":{\"a\":0,\"");
    for (int i = 0; i < 513; i++) dt_str_putc(&file, 'a');
    dt_str_puts(&file, "\":1}}}");
    expect_fault("long", read_text(arena, dt_str_text(&file), &t), DT_E_DATA_FILE, 65,
                 "a token of more than 512 bytes");
    dt_str_release(&file);
    dt_arena_destroy(arena);
}

static void expect_tokens(const dt_tokenizer *t, const char *text, int n, const int32_t *want) {
    int32_t got[16];
    OK(dt_tokenizer_fill(t, text, n, got));
    for (int i = 0; i < n; i++)
        if (got[i] != want[i]) fail_msg("'%s': token %d is %d, not %d", text, i, got[i], want[i]);
}

/* Each invalid byte is read as U+FFFD, whose three bytes are in the vocabulary. */
static void test_bytes(void **state) {
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    (void)state;
    if (!is_installed()) skip();
    OK(read_text(arena,
                 "{" SPLIT "," BPE
                 ",\"padding\":{\"direction\":\"Right\",\"pad_id\":1},\"post_processor\":"
                 "{\"type\":\"BertProcessing\",\"sep\":[\"b\",1],\"cls\":[\"a\",0]}}",
                 &t));
    expect_tokens(t,
                  "a\xff"
                  "ab",
                  9, (int32_t[]){0, 0, 3, 4, 5, 2, 1, 1, 1});
    expect_tokens(t, "a\xe2\x82", 9, (int32_t[]){0, 0, 3, 4, 5, 3, 4, 5, 1});
    expect_tokens(t, "abab", 3, (int32_t[]){0, 2, 1});
    expect_tokens(t, "ab", 2, (int32_t[]){0, 1});
    expect_tokens(t, "", 4, (int32_t[]){0, 1, 1, 1});
    dt_arena_destroy(arena);
}

static void test_word_piece(void **state) {
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    dt_str text = {0};
    (void)state;
    if (!is_installed()) skip();
    OK(read_text(arena, "{" WORDS "," WORD_PIECE "}", &t));
    /* five characters are too many; nothing continues with a */
    expect_tokens(t, "ab abb  abba abbbb abbb", 12,
                  (int32_t[]){3, 3, 2, 0, 0, 3, 2, 2, 0, 0, 0, 0});
    dt_tokenizer_decode(t, 3, true, &text);
    dt_tokenizer_decode(t, 4, false, &text);
    assert_string_equal(dt_str_text(&text), "ab\xef\xbf\xbd");
    dt_str_release(&text);
    dt_arena_destroy(arena);
}

/* Texts of decoders, as decode() of the Python package tokenizers 0.23.3 writes them; a file without
 * a decoder gets that of its model or pre-tokenizer. */
static void test_decoders(void **state) {
#define PIECES                                                                                     \
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##" \
    "\","                                                                                          \
    "\"max_input_chars_per_word\":99,\"vocab\":{\"[UNK]\":0,\"play\":1,\"##ing\":2,\"chess\":3,"   \
    "\".\":4,"                                                                                     \
    "\"don\":5,\"n't\":6,\"'s\":7,\"##\":8,\"!\":9,\",\":10,\"'\":11,\"we\":12,\"'ve\":13}}"
#define SPACES                                                                                     \
    "\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"\xe2\x96\x81\":0,\"\xe2\x96\x81to\":"  \
    "1,"                                                                                           \
    "\"be\":2,\"\xe2\x96\x81\xe2\x96\x81\":3,\"or\xe2\x96\x81\":4}}"
#define BYTES                                                                                      \
    "\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"\xc4\xa0hi\":0,\"\xc3\xa9\":1,"        \
    "\"\xc4\xa0 "                                                                                  \
    "\xc3\xa9\":2}}"
#define LLAMA                                                                                      \
    "\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"\xe2\x96\x81\":0,\"\xe2\x96\x81to\":"  \
    "1,\"be\":2,\"\xe2\x96\x81\xe2\x96\x81\":3,\"be\xe2\x96\x81\":4,\"<0xC3>\":5,\"<0xA9>\":6}},"  \
    "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{"         \
    "\"String\":"                                                                                  \
    "\"\xe2\x96\x81\"},\"content\":\" "                                                            \
    "\"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":"                               \
    "\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]}"
#define METASPACE "\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\",\"split\":true"
    static const struct {
        const char *file, *text;
        int n, token[15];
    } rows[] = {
        {"{" PIECES ",\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}}",
         "playing chess. donn't's! we've,ing ' chess",
         15,
         {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 10, 2, 8, 11, 3}},
        {"{" PIECES ",\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":false}}",
         "playing chess . don n't 's ! we 've ,ing ' chess",
         15,
         {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 10, 2, 8, 11, 3}},
        {"{" PIECES "}", "##ing play.", 3, {2, 1, 4}},
        {"{" SPACES ",\"decoder\":{" METASPACE ",\"prepend_scheme\":\"always\"}}",
         "tobe  or  to",
         5,
         {1, 2, 3, 4, 1}},
        {"{" SPACES ",\"decoder\":{" METASPACE ",\"prepend_scheme\":\"first\"}}",
         " be",
         3,
         {3, 0, 2}},
        {"{" SPACES ",\"decoder\":{" METASPACE ",\"prepend_scheme\":\"never\"}}",
         " tobe  or  to",
         5,
         {1, 2, 3, 4, 1}},
        {"{" SPACES ",\"pre_tokenizer\":{" METASPACE ",\"prepend_scheme\":\"always\"}}",
         "to to",
         2,
         {1, 1}},
        {"{" SPACES "}", "\xe2\x96\x81tobe", 2, {1, 2}},
        {"{" BYTES ",\"decoder\":{\"type\":\"ByteLevel\"}}",
         " hi\xe9\xc4\xa0 \xc3\xa9",
         3,
         {0, 1, 2}},
        {"{" PIECES ",\"decoder\":{" METASPACE ",\"prepend_scheme\":\"always\"}}",
         "play##ing",
         2,
         {1, 2}},
        {"{" LLAMA "}", "tobe  \xc3\xa9 to", 6, {1, 2, 3, 5, 6, 1}},
        {"{" LLAMA "}", " be", 2, {3, 2}},
        {"{" LLAMA "}", "be  to", 2, {4, 1}}};
    (void)state;
    if (!is_installed()) skip();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        const dt_tokenizer *t;
        dt_str text = {0};
        OK(read_text(arena, rows[i].file, &t));
        for (int k = 0; k < rows[i].n; k++) dt_tokenizer_decode(t, rows[i].token[k], k == 0, &text);
        assert_string_equal(dt_str_text(&text), rows[i].text);
        dt_str_release(&text);
        dt_arena_destroy(arena);
    }
}

/* A pattern that takes many steps for each character is refused for the text as a whole; one that
 * takes them for a long match is not. */
static void test_dear_pattern(void **state) {
    static const char file[] =
        "{\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\","
        "\"pattern\":{\"Regex\":\"(?:a|a)(?:a|a)*b|a|c(?:a|b)*c\"}}," BPE "}";
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    dt_tokens tokens = {0};
    dt_str text = {0};
    (void)state;
    if (!is_installed()) skip();
    OK(read_text(arena, file, &t));
    for (int i = 0; i < 100; i++) dt_str_puts(&text, "aaaaaaaaaaaaaaaaaab");
    OK(dt_tokenizer_encode(t, dt_str_text(&text), text.size, &tokens));
    for (int i = 0; i < 2000; i++) dt_str_puts(&text, "aaaaaaaaaaaac");
    expect_fault("dear", dt_tokenizer_encode(t, dt_str_text(&text), text.size, &tokens), DT_E_RANGE,
                 78, "in too many places");
    dt_str_clear(&text);
    for (int i = 0; i < 2000; i++) dt_str_puts(&text, i % 20 ? "abaabbabaab" : "c");
    OK(dt_tokenizer_encode(t, dt_str_text(&text), text.size, &tokens));
    free(tokens.v);
    dt_str_release(&text);
    dt_arena_destroy(arena);
}

#define LONGER                                                                                     \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"" A10 A10 A10 "\"}"
/* A text that a normalizer makes too long is an error. */
static void test_longer(void **state) {
    static const char file[] = "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" LONGER
                               "," LONGER "," LONGER "," LONGER "]}," BPE "}";
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    dt_tokens tokens = {0};
    (void)state;
    if (!is_installed()) skip();
    OK(read_text(arena, file, &t));
    OK(dt_tokenizer_encode(t, "b", 1, &tokens));
    expect_fault("longer", dt_tokenizer_encode(t, A100, 100, &tokens), DT_E_RANGE, 78,
                 "32 times as long");
    free(tokens.v);
    dt_arena_destroy(arena);
}

/* A model does not know added tokens: they are found in the text as it stands only. */
static void test_added(void **state) {
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    (void)state;
    if (!is_installed()) skip();
    OK(read_text(arena,
                 "{" WORDS "," WORD_PIECE
                 ",\"normalizer\":{\"type\":\"Lowercase\"},\"added_tokens\":"
                 "[{\"id\":4,\"content\":\"abb\"},{\"id\":5,\"content\":\"#bb\"}]}",
                 &t));
    expect_tokens(t, "ABB abb aBB", 6, (int32_t[]){3, 2, 4, 3, 2, 0});
    dt_arena_destroy(arena);
}

/* The longest one counts, among many that begin alike. */
static void test_longest_added(void **state) {
    enum { MANY = 16000 };
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    dt_str file = {0}, text = {0};
    dt_tokens tokens = {0};
    (void)state;
    dt_str_puts(&file, "{" BPE ",\"added_tokens\":[{\"id\":6,\"content\":\"<\"}");
    for (int i = 0; i < MANY; i++)
        dt_str_printf(&file, ",{\"id\":%d,\"content\":\"<%d>\"}", i + 7, i);
    dt_str_puts(&file, "]}");
    OK(read_text(arena, dt_str_text(&file), &t));
    expect_tokens(t, "<12><123><12<<15999>>a", 8, (int32_t[]){19, 130, 6, 6, 16006, 0, 0, 0});
    for (int i = 0; i < 1 << 16; i++) dt_str_putc(&text, '<'); /* at once, not in 14 s */
    OK(dt_tokenizer_encode(t, dt_str_text(&text), text.size, &tokens));
    assert_int_equal(tokens.n, 1 << 16);
    free(tokens.v);
    dt_str_release(&text);
    dt_str_release(&file);
    dt_arena_destroy(arena);
}

/* An ideographic comma belongs to no script; PCRE2 counts it to those that use it. */
static void test_script(void **state) {
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    (void)state;
    if (!is_installed()) skip();
    OK(read_text(
        arena,
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\xe3\x80\x81\":1},\"merges\":[]},"
        "\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Removed\",\"pattern\":"
        "{\"Regex\":\"\\\\p{Han}\"}}}",
        &t));
    expect_tokens(t, "\xe6\xbc\xa2\xe3\x80\x81\xe3\x80\x81", 3, (int32_t[]){1, 1, 0});
    dt_arena_destroy(arena);
}

/* A pattern that takes exponential time is an error and not a wait. */
static void test_steps(void **state) {
    dt_arena *arena = dt_arena_create();
    const dt_tokenizer *t;
    int32_t token[4];
    (void)state;
    if (!is_installed()) skip();
    OK(read_text(arena,
                 "{" BPE
                 ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
                 "\"Regex\":\"(a|a)+(a|a)+(a|a)+b\"}}}",
                 &t));
    expect_fault("steps", dt_tokenizer_fill(t, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb", 4, token),
                 DT_E_RANGE, 78, "needs more than 1048576 steps");
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_word_piece),    cmocka_unit_test(test_steps),
        cmocka_unit_test(test_longest_added), cmocka_unit_test(test_added),
        cmocka_unit_test(test_script),        cmocka_unit_test(test_amplified),
        cmocka_unit_test(test_decoders),      cmocka_unit_test(test_dear_pattern),
        cmocka_unit_test(test_longer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
