/* SPDX-License-Identifier: Apache-2.0 */
/* See column_survey.h. */
#include "file/column_survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { MOST_WORDS = 250, TOLD = 8 };

void dt_column_init(dt_column *c, const char *name) {
    *c = (dt_column){.name = dt_strdup(name), .integers = true, .numbers = true};
}

static void add_word(dt_column *c, const char *word) {
    int low = 0, high = c->words;
    while (low < high) {
        const int mid = (low + high) / 2, order = strcmp(c->word[mid], word);
        if (order == 0) return;
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    c->overflow = c->words == MOST_WORDS;
    if (c->overflow) return;
    DT_GROW(c->word, c->cap, c->words + 1);
    memmove(c->word + low + 1, c->word + low, (size_t)(c->words++ - low) * sizeof *c->word);
    c->word[low] = dt_strdup(word);
}

/* Words are gathered of all columns: that a column is of texts may show at the last record. */
void dt_column_note(dt_column *c, const char *text, bool number, bool integer) {
    c->fields++;
    if (!number && c->texts++ == 0) c->text = dt_strdup(text);
    c->integers &= integer;
    c->numbers &= number;
    if (!c->overflow) add_word(c, text);
}

/* ---- what it comes to ---- */

static void put_words(const dt_column *c, const dt_survey_request *g) {
    dt_json_open(g->j, "vocabulary", '[');
    for (int i = 0; i < c->words; i++) dt_json_string(g->j, NULL, c->word[i]);
    dt_json_close(g->j, ']');
    dt_str_printf(g->notes, "'%s': mapped to class indices:", c->name);
    for (int i = 0; i < c->words && i < TOLD; i++) {
        dt_str_puts(g->notes, i ? ", " : " ");
        dt_str_escaped(g->notes, c->word[i], strlen(c->word[i]), 40);
        dt_str_printf(g->notes, "=%d", i);
    }
    dt_str_puts(g->notes, c->words > TOLD ? ", ...\n" : "\n");
    if (c->texts == c->fields) return;
    dt_str_printf(g->notes, "'%s': %lld of %lld fields are not numbers (such as '", c->name,
                  (long long)c->texts, (long long)c->fields);
    dt_str_escaped(g->notes, c->text, strlen(c->text), 40);
    dt_str_puts(g->notes, "'), so all of them are read as text\n");
}

/* pandas writes its index without a name. */
static void put_element(const dt_column *c, int number, const dt_survey_request *g) {
    char unnamed[32];
    snprintf(unnamed, sizeof unnamed, "column_%d", number);
    dt_json_open(g->j, *c->name ? c->name : unnamed, '{');
    dt_json_string(g->j, "column", c->name);
    if (c->shape.rank > 0) {
        dt_json_open(g->j, "shape", '[');
        for (int i = 0; i < c->shape.rank; i++) dt_json_int(g->j, NULL, c->shape.dim[i]);
        dt_json_close(g->j, ']');
    }
    dt_json_string(g->j, "dtype", c->integers ? "int64" : c->numbers ? "float64" : "int32");
    if (!c->numbers) put_words(c, g);
    if (c->empty > 0) {
        dt_json_int(g->j, "default_value", 0);
        dt_str_printf(g->notes, "'%s': empty fields, %lld, are read as 0\n", c->name,
                      (long long)c->empty);
    }
    dt_json_close(g->j, '}');
}

/* Says why of the first. */
static dt_status *no_element(const dt_survey_request *g) {
    const char *why = dt_str_text(g->notes);
    return dt_fail(DT_E_DATA_FILE, NULL, "%s: nothing in it can be an element: %.*s", g->path[0],
                   (int)strcspn(why, "\n"), why);
}

dt_status *dt_columns_put(const dt_column *columns, int n, const dt_survey_request *g) {
    bool any = false;
    dt_json_open(g->j, "element", '{');
    for (int i = 0; i < n; i++) {
        const dt_column *c = &columns[i];
        const bool words = !c->numbers && c->overflow;
        any = any || (!c->unfit && c->words > 0 && !words);
        if (c->unfit) dt_str_printf(g->notes, "'%s' %s: left out\n", c->name, c->unfit);
        else if (c->words == 0) dt_str_printf(g->notes, "'%s' has no values: left out\n", c->name);
        else if (words)
            dt_str_printf(g->notes,
                          "'%s' has more than %d different texts: left out; a job reads it with "
                          "dtype: string\n",
                          c->name, MOST_WORDS);
        else put_element(c, i, g);
    }
    dt_json_close(g->j, '}');
    return any ? NULL : no_element(g);
}

void dt_columns_release(dt_column *c, int n) {
    for (int i = 0; c && i < n; i++) {
        while (c[i].words > 0) free(c[i].word[--c[i].words]);
        free(c[i].word);
        free(c[i].text);
        free(c[i].name);
    }
    free(c);
}
