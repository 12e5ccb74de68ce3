/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `dtrain data synth`: generates sample data, so that nothing has to be downloaded. digits: four
 * files like MNIST's, and the training examples once more as two NumPy arrays (pixels in [0, 1],
 * one-hot labels). text: a play.
 */
#include <stdbool.h>
#include <string.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/file.h"
#include "data/strokes.h"

/* PLAY is the length of Tiny Shakespeare in characters, so that an epoch of either text has as many
 * steps. */
enum { TRAIN = 10000, TEST = 2000, CLASSES = 10, NPY_HEADER = 128, PLAY = 1115394 };

/* Generates pictures [first, first + n) for a seed. Each picture depends only on the seed and its
 * index. */
static void draw(uint64_t seed, int first, int n, uint8_t *images, uint8_t *labels) {
    for (int i = 0; i < n; i++) {
        dt_random r = dt_random_stream(seed, "synth digits", (uint64_t)(first + i));
        labels[i] = (uint8_t)dt_random_below(&r, CLASSES);
        dt_draw_digit(labels[i], &r, images + (size_t)i * DT_DIGIT_PIXELS);
    }
}

/*
 * ---- the play ----
 *
 * Speakers and verses from a small grammar, with the 65 characters of Tiny Shakespeare. A language
 * model trained on it learns what it would learn first from a real play: names before speeches,
 * lines of verse, words, word order.
 */

/* In a form, <name> stands for one of the forms of the rule `name`; forms are separated by |. No
 * rule leads back to itself, so every text ends. */
static const struct rule {
    const char *name, *forms;
} grammar[] = {
    {"speaker", "ROMEO|JULIET|KING HENRY|QUEEN MARGARET|DUKE VINCENTIO|FRIAR PETER|First "
                "Citizen|Second Citizen|Third Servant|LUCENTIO|"
                "GREMIO|BAPTISTA|XANTHIPPE|OSWALD|YORK|WARWICK|EDWARD|Nurse|Messenger|ZENO|"
                "ISABELLA|ANGELO|HORTENSIO|JOAN|KATHARINA"},
    {"speech", "<sentence>|<sentence> <sentence>|<sentence> <sentence> <sentence>|<sentence> "
               "<sentence> <sentence> <sentence>"},
    {"sentence", "<statement>.|<statement>.|<statement>;|<statement>: <statement>.|<statement>, "
                 "<and> <statement>.|<question>?|<question>?|"
                 "<order>!|<order>, <address>.|<cry>, <address>! <statement>.|<cry>! "
                 "<statement>.|If <statement>, then <statement>.|"
                 "When <subject> <verb>, <statement>.|<address>, <question>?|<rare>."},
    {"statement", "<subject> <verb> <object>|<subject> <verb> <object>|<subject> <will> <act> "
                  "<object>|<subject> <will> not <act> <object>|"
                  "the <noun> of <name> is <adjective>|my <noun> is <adjective> as the "
                  "<noun>|there's no <noun> so <adjective>|"
                  "'tis but a <adjective> <noun>|<subject> <verb> <object> <where>"},
    {"question", "what <noun> is this|why <does> <subject> <act> <object>|<does> <subject> <act> "
                 "<object> <where>|"
                 "is not the <noun> <adjective>|who shall <act> the <adjective> <noun>|how came "
                 "<name> <where>"},
    {"order", "go, <act> the <noun>|speak not of <name>|come, let us <act> <object>|bring me the "
              "<adjective> <noun>|look <where>|hold thy tongue"},
    {"cry", "O|Alas|Ay|Nay|Hark|Peace|Well-a-day|What, ho|Fie|Amen"},
    {"address", "my lord|good sir|sweet <name>|gentle cousin|my liege|thou <adjective> "
                "villain|fair queen|you Volsces|Kate|Jove|Zounds"},
    {"subject", "I|thou|we|they|<name>|the <noun>|my <noun>|this <adjective> <noun>|his <noun>|her "
                "<noun>|Queen <name>|Quintus"},
    {"object", "the <noun>|my <adjective> <noun>|thy <noun>|<name>|a thousand <noun>s|his <noun> "
               "and his <noun>|our <noun>|me|thee|it"},
    {"name", "Romeo|Juliet|Henry|Margaret|Verona|France|Tybalt|Paris|Warwick|York|Lucentio|Bianca|"
             "Padua|Rome|Angelo|England|Xerxes|Zara"},
    {"noun", "king|crown|sword|love|heart|night|day|grave|tongue|friend|enemy|father|brother|"
             "daughter|eye|hand|blood|honour|jewel|prince|"
             "soldier|word|world|sun|moon|sea|flower|traitor|name|soul|queen|exile|prize"},
    {"adjective", "noble|sweet|bloody|gentle|false|true|fair|foul|proud|poor|royal|cruel|heavy|"
                  "quiet|valiant|unjust|vexed|dizzy|old|young|"
                  "bitter|golden|cold|good"},
    {"verb", "loved|slew|knew well|did banish|commanded|forgot|once obeyed|forswore|betrayed|shall "
             "avenge|beheld|sought|feared|mocked"},
    {"act", "love|slay|know|banish|crown|forget|obey|forswear|betray|avenge|behold|seek|fear|mock|"
            "buy|judge|vex|quit"},
    {"will", "will|shall|must|may|would|can|dare"},
    {"does", "doth|did|should|will|must"},
    {"and", "and|but|for|yet|so|nor"},
    {"where", "in the field|upon the wall|at the gate|to-night|by my troth|before the king|in "
              "Padua|beneath the moon|to-morrow"},
    {"rare", "the jailer asks but $3 for it|he bought it of Frith & Blaize for 3 crowns|read it in "
             "act 3|the price is $3"},
};

static const char *forms_of(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++)
        if (strlen(grammar[i].name) == size && memcmp(grammar[i].name, name, size) == 0)
            return grammar[i].forms;
    abort();
}

/* Appends one form of a rule, chosen at random, with all its rules expanded. */
static void expand(const char *forms, dt_random *r, dt_str *out) {
    uint64_t n = 1;
    for (const char *p = forms; *p; p++) n += *p == '|';
    for (uint64_t skip = dt_random_below(r, n); skip > 0; skip--) forms = strchr(forms, '|') + 1;
    while (*forms && *forms != '|') {
        if (*forms != '<') {
            dt_str_putc(out, *forms++);
            continue;
        }
        const size_t size = strcspn(forms + 1, ">");
        expand(forms_of(forms + 1, size), r, out);
        forms += size + 2;
    }
}

/* Appends a speech as verse: lines of about forty characters; lines and sentences begin with a
 * capital. */
static void set_verse(char *words, dt_random *r, dt_str *out) {
    size_t column = 0, width = 0;
    bool begin = true;
    char *next = NULL;
    for (char *word = strtok_r(words, " ", &next); word; word = strtok_r(NULL, " ", &next)) {
        const size_t size = strlen(word);
        if (column > 0 && column + 1 + size > width) {
            dt_str_putc(out, '\n');
            column = 0;
        } else if (column > 0) {
            dt_str_putc(out, ' ');
            column++;
        }
        if (column == 0) width = 34 + dt_random_below(r, 16);
        char *first = word + (*word == '\'');
        if ((begin || column == 0) && *first >= 'a' && *first <= 'z')
            /* The letter is converted without toupper, which depends on the locale. */
            *first = (char)(*first - 'a' + 'A');
        begin = strchr(".!?", word[size - 1]) != NULL;
        dt_str_add(out, word, size);
        column += size;
    }
}

/* Appends the first `size` characters of the play for a seed to *out, which must be empty. The last
 * one is replaced by a line end. */
static void generate_play(uint64_t seed, size_t size, dt_str *out) {
    dt_random r = dt_random_stream(seed, "synth text", 0);
    dt_str speech = {0};
    while (out->size < size) {
        expand(forms_of("speaker", 7), &r, out);
        dt_str_add(out, ":\n", 2);
        dt_str_clear(&speech);
        expand(forms_of("speech", 6), &r, &speech);
        set_verse(speech.data, &r, out);
        dt_str_add(out, "\n\n", 2);
    }
    dt_str_release(&speech);
    out->size = size;
    out->data[size - 1] = '\n';
}

/* ---- files ---- */

static dt_status *commit(const char *directory, const char *name, const dt_str *bytes) {
    char *path = dt_path_join(directory, name);
    dt_status *s = dt_file_commit(path, bytes->data, bytes->size);
    free(path);
    return s;
}

/* ---- IDX ---- */

static void put_big_endian(dt_str *out, uint32_t v) {
    const unsigned char b[4] = {v >> 24 & 255, v >> 16 & 255, v >> 8 & 255, v & 255};
    dt_str_add(out, b, sizeof b);
}

/* Writes an IDX file of unsigned bytes (type 0x08): n rows of `side` times `side` values; if side
 * is 0, of one value each. */
static dt_status *write_idx(const char *directory, const char *name, const uint8_t *values, int n,
                            int side) {
    dt_str out = {0};
    put_big_endian(&out, 0x0800U + (side > 0 ? 3 : 1));
    put_big_endian(&out, (uint32_t)n);
    for (int i = 0; i < 2 && side > 0; i++) put_big_endian(&out, (uint32_t)side);
    dt_str_add(&out, values, (size_t)n * (size_t)(side > 0 ? side * side : 1));
    dt_status *s = commit(directory, name, &out);
    dt_str_release(&out);
    return s;
}

/* ---- NPY ---- */

static void put_float(dt_str *out, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    const unsigned char b[4] = {bits & 255, bits >> 8 & 255, bits >> 16 & 255, bits >> 24 & 255};
    dt_str_add(out, b, sizeof b);
}

/* Appends the header of an NPY file of version 1: the magic, the length of what follows in 16 bits,
 * the dictionary, and blanks and a newline up to 128 bytes. */
static void put_npy_header(dt_str *out, int rows, int columns) {
    const int length = NPY_HEADER - 10;
    const unsigned char length_bytes[2] = {length & 255, length >> 8};
    dt_str_add(out, "\x93NUMPY\x01\x00", 8);
    dt_str_add(out, length_bytes, 2);
    dt_str_printf(out, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows,
                  columns);
    dt_str_pad(out, 10, length - 1);
    dt_str_putc(out, '\n');
}

static dt_status *write_pixels(const char *directory, const uint8_t *images, int n) {
    dt_str out = {0};
    put_npy_header(&out, n, DT_DIGIT_PIXELS);
    for (size_t i = 0; i < (size_t)n * DT_DIGIT_PIXELS; i++)
        put_float(&out, (float)images[i] / 255);
    dt_status *s = commit(directory, "x.npy", &out);
    dt_str_release(&out);
    return s;
}

static dt_status *write_one_hot(const char *directory, const uint8_t *labels, int n) {
    dt_str out = {0};
    put_npy_header(&out, n, CLASSES);
    for (int i = 0; i < n * CLASSES; i++) put_float(&out, labels[i / CLASSES] == i % CLASSES);
    dt_status *s = commit(directory, "y.npy", &out);
    dt_str_release(&out);
    return s;
}

/* ---- the sample data sets ---- */

static dt_status *write_train(const char *directory, uint64_t seed, uint8_t *images,
                              uint8_t *labels) {
    draw(seed, 0, TRAIN, images, labels);
    DT_TRY(write_idx(directory, "train-images-idx3-ubyte", images, TRAIN, DT_DIGIT_SIDE));
    DT_TRY(write_idx(directory, "train-labels-idx1-ubyte", labels, TRAIN, 0));
    DT_TRY(write_pixels(directory, images, TRAIN));
    return write_one_hot(directory, labels, TRAIN);
}

static dt_status *write_test(const char *directory, uint64_t seed, uint8_t *images,
                             uint8_t *labels) {
    draw(seed, TRAIN, TEST, images, labels);
    DT_TRY(write_idx(directory, "t10k-images-idx3-ubyte", images, TEST, DT_DIGIT_SIDE));
    return write_idx(directory, "t10k-labels-idx1-ubyte", labels, TEST, 0);
}

static dt_status *write_digits(const char *directory, uint64_t seed) {
    uint8_t *images = dt_alloc((size_t)TRAIN * DT_DIGIT_PIXELS), *labels = dt_alloc(TRAIN);
    dt_status *s = write_train(directory, seed, images, labels);
    if (!s) s = write_test(directory, seed, images, labels);
    free(images);
    free(labels);
    return s;
}

static dt_status *write_play(const char *directory, uint64_t seed) {
    dt_str play = {0};
    generate_play(seed, PLAY, &play);
    dt_status *s = commit(directory, "play.txt", &play);
    dt_str_release(&play);
    return s;
}

static const struct {
    const char *name;
    dt_status *(*write)(const char *directory, uint64_t seed);
} kinds[] = {{"digits", write_digits}, {"text", write_play}};

dt_status *dt_data_synth(const char *kind, const char *directory, uint64_t seed) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(kind, "dt_data_synth", "kind"));
    DT_TRY(dt_want(directory, "dt_data_synth", "directory"));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i].name) == 0) {
            DT_TRY(dt_dir_make(directory));
            return kinds[i].write(directory, seed);
        }
    return dt_fail(DT_E_SYNTH_KIND, NULL, "unknown sample data '%s'; known: digits, text", kind);
}
