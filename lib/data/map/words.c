/* SPDX-License-Identifier: Apache-2.0 */
/* Counts words, reads vocabularies, and finds words in them, by hash tables with open addressing.
 * When words are counted, one block of bytes holds all of them one after the other, each followed
 * by a NUL. */
#include "base/elementary.h"
#include "data/map/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/siphash.h"
#include "base/text.h"

#define LARGEST_FILE ((size_t)64 << 20)

enum { FIRST_SLOTS = 1024, MOST_WORDS = 1 << 26, SHOWN = 60 };

/* Words may come from an attacker. A secret key makes it impossible to choose words that all get
 * the same hash. Results do not depend on the key. */
static uint32_t hash_of(const dt_siphash_key *key, const char *word, size_t n) {
    return (uint32_t)dt_siphash(key, word, n);
}

/* ---- counting ---- */

typedef struct counted {
    size_t at, size;
    /* number of times that the word occurs; number of texts that contain it */
    int64_t times, texts;
    int64_t last; /* index of the last text that contains the word */
} counted;

struct dt_word_counts {
    dt_str bytes;
    counted *word; /* [n] the words, in the order of their first occurrence */
    int n, cap;
    int64_t texts;  /* number of texts that have ended */
    uint32_t *slot; /* [slots] index of a word + 1; 0 if the slot is free */
    uint32_t slots; /* size of the hash table: a power of two, more than 1.5 n */
    dt_siphash_key key;
};

dt_word_counts *dt_word_counts_create(void) {
    dt_word_counts *c = dt_alloc(sizeof *c);
    *c = (dt_word_counts){.slots = FIRST_SLOTS,
                          .slot = dt_alloc(FIRST_SLOTS * sizeof *c->slot),
                          .key = dt_siphash_process_key()};
    memset(c->slot, 0, FIRST_SLOTS * sizeof *c->slot);
    return c;
}

void dt_word_counts_destroy(dt_word_counts *c) {
    if (!c) return;
    dt_str_release(&c->bytes);
    free(c->word);
    free(c->slot);
    free(c);
}

static bool is_word(const dt_word_counts *c, uint32_t index, const char *word, size_t n) {
    const counted *w = &c->word[index];
    return w->size == n && memcmp(c->bytes.data + w->at, word, n) == 0;
}

static uint32_t *find_slot(const dt_word_counts *c, const char *word, size_t n) {
    uint32_t i = hash_of(&c->key, word, n) & (c->slots - 1);
    while (c->slot[i] && !is_word(c, c->slot[i] - 1, word, n)) i = (i + 1) & (c->slots - 1);
    return &c->slot[i];
}

static void grow(dt_word_counts *c) {
    free(c->slot);
    c->slots *= 2;
    c->slot = dt_alloc(c->slots * sizeof *c->slot);
    memset(c->slot, 0, c->slots * sizeof *c->slot);
    for (int i = 0; i < c->n; i++)
        *find_slot(c, c->bytes.data + c->word[i].at, c->word[i].size) = (uint32_t)i + 1;
}

static void count(const dt_word_counts *c, counted *w) {
    w->times++;
    w->texts += w->last != c->texts;
    w->last = c->texts;
}

void dt_word_counts_end_text(dt_word_counts *c) { c->texts++; }

/* Counts a word. Once there are MOST_WORDS different words, ignores words that are not among
 * them. */
void dt_word_counts_add(dt_word_counts *c, const char *word, size_t n) {
    uint32_t *slot = find_slot(c, word, n);
    if (*slot) {
        count(c, &c->word[*slot - 1]);
        return;
    }
    if (c->n == MOST_WORDS) return;
    DT_GROW(c->word, c->cap, c->n + 1);
    c->word[c->n] = (counted){c->bytes.size, n, 1, 1, c->texts};
    dt_str_add(&c->bytes, word, n);
    dt_str_putc(&c->bytes, '\0');
    *slot = (uint32_t)++c->n;
    if ((uint32_t)c->n > c->slots / 3 * 2) grow(c);
}

typedef struct ranked {
    const char *word;
    int64_t times, texts;
} ranked;

static int compare(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->times != y->times ? (x->times < y->times) - (x->times > y->times)
                                : strcmp(y->word, x->word);
}

dt_texts dt_word_counts_list(const dt_word_counts *c, int64_t most, dt_arena *arena,
                             dt_reals *idf) {
    dt_texts out = {0};
    ranked *rank = dt_alloc(((size_t)c->n + 1) * sizeof *rank);
    for (int i = 0; i < c->n; i++)
        rank[i] = (ranked){c->bytes.data + c->word[i].at, c->word[i].times, c->word[i].texts};
    qsort(rank, (size_t)c->n, sizeof *rank, compare);
    out.n = most >= 0 && most < c->n ? (int)most : c->n;
    out.v = dt_arena_array(arena, const char *, out.n);
    for (int i = 0; i < out.n; i++) out.v[i] = dt_arena_strdup(arena, rank[i].word);
    if (idf) *idf = (dt_reals){.n = out.n, .v = dt_arena_array(arena, double, out.n)};
    for (int i = 0; idf && i < out.n; i++)
        idf->v[i] = dt_portable_log(1 + (double)c->texts / (1 + (double)rank[i].texts));
    free(rank);
    return out;
}

const char *dt_word_counts_most(const dt_word_counts *c) {
    const counted *most = NULL;
    for (int i = 0; i < c->n; i++) {
        const counted *w = &c->word[i];
        const bool more = most && w->times == most->times
                              ? strcmp(c->bytes.data + w->at, c->bytes.data + most->at) < 0
                              : !most || w->times > most->times;
        if (more) most = w;
    }
    return most ? c->bytes.data + most->at : NULL;
}

/* ---- the words of a vocabulary ---- */

static dt_status *read_list(dt_arena *arena, const dt_tree *t, dt_texts *out) {
    out->v = dt_arena_array(arena, const char *, t->n);
    for (int i = 0; i < t->n; i++)
        DT_TRY(dt_tree_text(t->item[i], "a word of 'vocabulary'", &out->v[out->n++]));
    return NULL;
}

static const char unknown_word[] = DT_UNKNOWN_TEXT;

/* Splits the text of a vocabulary file into lines, in place: line ends become NULs. Skips "" and
 * "[UNK]" at the front, which Keras' get_vocabulary writes and which are not words. Any other empty
 * line is an error, because in Keras it would shift the indices of all words after it. */
static dt_status *cut_lines(dt_arena *arena, const char *path, char *text, dt_texts *out) {
    int lines = 1;
    for (const char *p = text; *p; p++) lines += *p == '\n';
    out->v = dt_arena_array(arena, const char *, lines);
    while (*text) {
        char *end = text + strcspn(text, "\n"), *next = *end ? end + 1 : end;
        if (end > text && end[-1] == '\r') end--;
        *end = '\0';
        if (!*text && out->n > 0)
            return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL,
                                      "%s:%d: empty line; a vocabulary has a word on each line",
                                      path, out->n + 1),
                              "remove the line");
        out->v[out->n++] = text;
        text = next;
    }
    if (out->n > 0 && !*out->v[0]) {
        if (out->n < 2 || strcmp(out->v[1], unknown_word) != 0)
            return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL,
                                      "%s:1: empty line; a vocabulary has a word on each line",
                                      path),
                              "remove the line");
        out->v += 2;
        out->n -= 2;
    }
    return out->n > 0 ? NULL : dt_fail(DT_E_DATA_FILE, NULL, "%s: the vocabulary is empty", path);
}

static dt_status *read_file(dt_arena *arena, const dt_tree *t, const char *directory,
                            dt_texts *out) {
    char *path = dt_path_join(directory, t->text);
    dt_str text = {0};
    dt_status *s = dt_text_read(
        &(dt_text_file){
            .path = path, .wanted = "a vocabulary", .fault = DT_E_DATA_FILE, .any_text = true},
        LARGEST_FILE, &text);
    if (!s)
        s = cut_lines(arena, path, dt_arena_copy(arena, dt_str_text(&text), text.size + 1), out);
    dt_str_release(&text);
    free(path);
    return dt_at(s, &t->at);
}

const char *dt_words_file(const dt_tree *vocabulary) {
    return vocabulary && vocabulary->kind == DT_TREE_SCALAR ? vocabulary->text : NULL;
}

/* Reads a vocabulary from a list or a file. Skips "" and "[UNK]", one or both, at the front of a
 * list, as Keras' get_vocabulary returns them. At the front of a file, "[UNK]" alone is a word, as
 * in Keras. */
static dt_status *read_words(dt_arena *arena, const dt_tree *t, const char *directory,
                             dt_texts *out) {
    const char *const special[] = {"", unknown_word};
    *out = (dt_texts){0};
    if (t->kind == DT_TREE_SCALAR) return read_file(arena, t, directory, out);
    DT_TRY(dt_tree_expect(t, DT_TREE_LIST, "vocabulary"));
    DT_TRY(read_list(arena, t, out));
    if (out->n == 0) return dt_fail(DT_E_DATASET_KEYS, &t->at, "the vocabulary is empty");
    for (int i = 0; i < 2 && out->n > 0; i++)
        if (strcmp(out->v[0], special[i]) == 0) {
            out->v++;
            out->n--;
        }
    return NULL;
}

dt_status *dt_words_for(const dt_map_stage *s, const dt_tree *vocabulary, int64_t most,
                        dt_arena *arena, dt_texts *out) {
    *out = vocabulary ? (dt_texts){0} : s->learned->words;
    if (vocabulary) DT_TRY(read_words(arena, vocabulary, s->directory, out));
    if (out->n > most)
        return dt_fail(DT_E_DATASET_KEYS, vocabulary ? &vocabulary->at : s->at,
                       "the vocabulary has %d words, but max_tokens allows only %lld", out->n,
                       (long long)most);
    return NULL;
}

/* ---- finding words, and their weights ---- */

struct dt_words {
    dt_texts list;
    uint32_t *slot, mask; /* slot: [mask + 1] index of a word + 1; 0 if the slot is free */
    dt_siphash_key key;
};

static uint32_t *look_up(const dt_words *w, const char *word, size_t n) {
    uint32_t i = hash_of(&w->key, word, n) & w->mask;
    while (w->slot[i] && (strncmp(w->list.v[w->slot[i] - 1], word, n) != 0 ||
                          w->list.v[w->slot[i] - 1][n] != '\0'))
        i = (i + 1) & w->mask;
    return &w->slot[i];
}

dt_status *dt_words_index(dt_arena *arena, const dt_texts *list, const dt_location *at,
                          const dt_words **out) {
    dt_words *w = dt_arena_new(arena, dt_words);
    uint32_t slots = 16;
    while (slots < 2 * (uint32_t)list->n) slots *= 2;
    *w = (dt_words){.list = *list,
                    .mask = slots - 1,
                    .slot = dt_arena_array(arena, uint32_t, slots),
                    .key = dt_siphash_process_key()};
    for (int i = 0; i < list->n; i++) {
        uint32_t *slot = look_up(w, list->v[i], strlen(list->v[i]));
        if (*slot)
            return dt_fail(DT_E_DATASET_KEYS, at, "'%.*s' appears twice in the vocabulary", SHOWN,
                           list->v[i]);
        *slot = (uint32_t)i + 1;
    }
    *out = w;
    return NULL;
}

int dt_words_find(const dt_words *w, const char *word, size_t n) {
    return (int)*look_up(w, word, n) - 1;
}

dt_status *dt_words_check_weights(const dt_reals *idf, bool needed, const dt_location *at) {
    if ((idf->n > 0) == needed) return NULL;
    return dt_fail(
        DT_E_DATASET_KEYS, at,
        needed ? "a vocabulary with output_mode tf_idf needs 'idf_weights', one number per word"
               : "idf_weights require a vocabulary and output_mode tf_idf");
}

dt_status *dt_words_weigh(const dt_map_stage *s, const dt_reals *idf, int words, dt_arena *arena,
                          const float **out) {
    float *weight = dt_arena_array(arena, float, words + 1);
    double sum = 0;
    if (idf->n != words)
        return dt_fail(DT_E_DATASET_KEYS, s->at, "idf_weights has %d numbers for %d words", idf->n,
                       words);
    for (int i = 0; i < words; i++) {
        weight[i + 1] = (float)idf->v[i];
        sum += idf->v[i];
    }
    weight[0] = (float)(words ? sum / words : 0);
    *out = weight;
    return NULL;
}
