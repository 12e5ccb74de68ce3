/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain explain: prints the long text of an error number, or the errors whose texts contain given
 * words. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "print.h"
#include "verb.h"

struct explain {
    struct common common;
};

/* Returns the number in "DT042", "dt42" or "42"; -1 for any other text. */
static int number_of(const char *code) {
    const char *digits = strncasecmp(code, "DT", 2) == 0 ? code + 2 : code;
    size_t n = strlen(digits);
    return n > 0 && n <= 4 && strspn(digits, "0123456789") == n ? atoi(digits) : -1;
}

static dt_status *not_explained(const struct call *call, const char *code) {
    if (number_of(code) >= 0)
        return usage_error(call, "no error has the number '%s'", cut_word(code).text);
    return usage_error(call,
                       "'%s' is neither the number of an error, such as DT017, nor in the text "
                       "about one; 'dtrain help' explains verbs, layers, losses and keys",
                       cut_word(code).text);
}

/* The text of an error begins with its number, such as DT017, and two spaces; the title follows at
 * byte TITLE_AT. A word shorter than SHORTEST counts as occurring nowhere, because it would occur
 * in nearly every text. */
enum { NUMBERS = 1000, TITLE_AT = 7, SHORTEST = 3 };

/* Whether a word occurs in the first n bytes of a text, in any letter case. */
static bool has_word(const char *text, size_t n, const char *word) {
    const size_t length = strlen(word);
    for (size_t i = 0; length >= SHORTEST && i + length <= n; i++)
        if (strncasecmp(text + i, word, length) == 0) return true;
    return false;
}

static bool has_words(const char *text, size_t n, const struct words *words) {
    for (int i = 0; i < words->n; i++)
        if (!has_word(text, n, words->at[i])) return false;
    return true;
}

/* Lists, one per line, the errors whose titles contain all words. With `titles` false, searches
 * their whole texts instead. Returns whether there is any. */
static bool put_found(dt_str *to, const struct words *words, bool titles) {
    bool any = false;
    for (int i = 0; i < NUMBERS; i++) {
        const char *text = dt_explain(i);
        if (!text) continue;
        const size_t title = strcspn(text, "\n");
        const size_t end = titles ? title : strlen(text);
        if (end < TITLE_AT || !has_words(text + TITLE_AT, end - TITLE_AT, words)) continue;
        dt_str_printf(to, "%.*s\n", (int)title, text);
        any = true;
    }
    return any;
}

static bool show_found(const struct call *call) {
    dt_local_str page = {0};
    const bool any =
        put_found(&page, &call->operands, true) || put_found(&page, &call->operands, false);
    if (any) dt_str_puts(&page, "\nFor the whole text, run 'dtrain explain DTnnn'.\n");
    if (any) out_page(call->out, dt_str_text(&page));
    return any;
}

static int run(const struct call *call) {
    if (call->operands.n == 0)
        return out_error(call->out, usage_error(call, "error number missing, such as DT017"));
    if (number_of(call->operands.at[0]) < 0 && show_found(call)) return 0;
    for (int i = 0; i < call->operands.n; i++) {
        const char *code = call->operands.at[i], *text = dt_explain(number_of(code));
        if (!text) return out_error(call->out, not_explained(call, code));
        if (i) out_text(call->out, "\n");
        out_page(call->out, text);
    }
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_explain = {
    .name = "explain",
    .group = "Check",
    .line = "explain an error and what to do about it",
    .operands = "DTnnn...|WORD...",
    .examples = "  dtrain explain DT017\n"
                "  dtrain explain 17\n"
                "  dtrain explain unknown key    errors whose titles, or else texts, have these "
                "words\n",
    .options = options,
    .size = sizeof(struct explain),
    .run = run,
};
