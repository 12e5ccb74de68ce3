/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job from a table, CSV or JSON lines; see draft.h. All columns of numbers form one element. A
 * category becomes an index into a vocabulary, and then a one-hot vector, or an embedding if there
 * are many categories. A column that is useless for other records (an id, a name, a single value)
 * is left out, with the reason in a comment.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "job/draft.h"

enum {
    MOST_ONE_HOT = 30, /* a column with more categories gets an embedding */
    /* a target of integers with more different values is a number, not a class */
    FEW_CLASSES = 20,
    /* three or more different integers of a target are classes only if each occurs in this many
     * records, on average */
    LEAST_OF_CLASS = 10,
    /* texts of a column are categories only if each occurs in this many records, on average */
    LEAST_OF_WORD = 5,
    /* a column of texts is read word by word only if its texts have this many words, on average, or
     * 1.5 if no other column besides the target is of use */
    LEAST_TOKENS = 5,
    /* a column with values in at least ten times as many records is left out if fewer records than
     * this differ from its most frequent value */
    LEAST_OTHERS = 10,
    /* so many columns of one scale, or more, are taken for the pixels of a picture */
    LEAST_PIXELS = 16,
    /* the most columns of numbers that the job of a CSV file lists; if there are more, it names the
     * other columns (all_but) if these are fewer */
    LISTED_COLUMNS = 24
};

typedef enum use { OUT, TARGET, NUMBER, ONE_HOT, EMBEDDING, TEXT, LIST, DATE } use;

typedef struct column {
    const dt_column_facts *c;
    use use;
    /* why: reason why the column is left out; element: name of the element that it alone becomes,
     * if any */
    const char *why, *element;
} column;

typedef struct table {
    dt_draft *d;
    dt_table_facts facts;
    column *column; /* [facts.n] what the draft does with each column */
    int target;
    /* the largest value of the columns of numbers, by which all of them are divided, since they
     * seem to be pixels; 0: numbers are normalized instead */
    double scale;
} table;

/* ---- the target ---- */

static dt_status *no_column(const table *t) {
    dt_local_str names = {0};
    const char *path = t->d->guess->files[0];
    const char **name = dt_arena_array(t->d->arena, const char *, t->facts.n);
    for (int i = 0; i < t->facts.n; i++) {
        name[i] = t->facts.column[i].element;
        if (i < 20) dt_str_printf(&names, "%s%.60s", i ? ", " : "", name[i]);
    }
    if (t->facts.n > 20) dt_str_puts(&names, ", ...");
    return dt_suggest(t->d->target
                          ? dt_fail(DT_E_USAGE, NULL, "%s: no column '%.80s'", path, t->d->target)
                          : dt_fail(DT_E_USAGE, NULL, "%s: which column is to be predicted?", path),
                      "write --target COLUMN with one of: %s", dt_str_text(&names));
}

/* Whether a column has the name. Blanks around it are ignored, as after the comma in the header "a,
 * b". */
static bool is_named(const char *padded, const char *name) {
    const size_t n = strlen(name);
    padded += strspn(padded, " \t");
    return strncmp(padded, name, n) == 0 && strspn(padded + n, " \t") == strlen(padded + n);
}

static dt_status *find_target(table *t) {
    int64_t number;
    t->target = -1;
    for (int i = 0; t->d->target && i < t->facts.n; i++)
        if (strcmp(t->facts.column[i].element, t->d->target) == 0) t->target = i;
    if (t->target < 0 && t->d->target && dt_parse_int64(t->d->target, &number) && number >= 0 &&
        number < t->facts.n)
        t->target = (int)number;
    for (int i = 0; t->target < 0 && t->d->target && i < t->facts.n; i++)
        if (is_named(t->facts.column[i].element, t->d->target)) t->target = i;
    return t->target < 0 ? no_column(t) : NULL;
}

static dt_status *check_target(const table *t) {
    const dt_column_facts *c = &t->facts.column[t->target];
    const char *path = t->d->guess->files[0];
    if (c->kind == DT_COLUMN_UNFIT || c->kind == DT_COLUMN_EMPTY || c->kind == DT_COLUMN_CONSTANT)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: column '%.80s' cannot be predicted: it %s", path,
                       c->element, c->why);
    if (c->distinct == 1)
        return dt_fail(DT_E_DATA_FILE, NULL,
                       "%s: column '%.80s' cannot be predicted: it has one value only", path,
                       c->element);
    if (c->kind == DT_COLUMN_TEXT)
        return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL,
                                  "%s: column '%.80s' cannot be predicted: its texts mostly differ",
                                  path, c->element),
                          "choose a column of classes or of numbers as --target");
    return NULL;
}

/* Whether the target's values are classes: categories, two different values, or at most FEW_CLASSES
 * different integers, each of which occurs in LEAST_OF_CLASS records on average. */
static bool are_classes(const dt_column_facts *c) {
    if (c->kind == DT_COLUMN_CATEGORY) return true;
    if (c->shape.rank > 0 || c->many) return false;
    return c->distinct == 2 ||
           (c->integers && c->distinct <= FEW_CLASSES && c->count >= LEAST_OF_CLASS * c->distinct);
}

static int by_number(const void *a, const void *b) {
    const dt_column_word *x = a, *y = b;
    double p = 0, q = 0;
    const bool numbers = dt_parse_double(x->text, &p) && dt_parse_double(y->text, &q);
    return numbers && p != q ? (p > q) - (p < q) : strcmp(x->text, y->text);
}

/* ---- the use of a column ---- */

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcasecmp(text + n - m, end) == 0;
}

static bool is_named_id(const char *name) {
    static const char *const names[] = {"id", "index", "rownames", "row",
                                        "no", "nr",    "uuid",     "key"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0) return true;
    const size_t n = strlen(name);
    return ends_with(name, "_id") || ends_with(name, " id") || strncmp(name, "Unnamed: ", 9) == 0 ||
           (n > 2 && strcmp(name + n - 2, "Id") == 0) || (n > 2 && strcmp(name + n - 2, "ID") == 0);
}

/* Whether a column of integers, in which no value is missing, is an id. At least 20 values must all
 * differ, and the column must be named like an id or rise from record to record by less than 4 on
 * average. If there are too many different values to count, only the name matters. */
static bool is_id(const dt_column_facts *c) {
    if (!c->integers || c->many || c->distinct < c->count || c->count < 20 || c->missing > 0)
        return c->many && c->integers && c->missing == 0 && is_named_id(c->name);
    return is_named_id(c->name) ||
           (c->rises && (double)c->max_int - (double)c->min_int < 4.0 * (double)c->count);
}

static const char *why_not(const table *t, const dt_column_facts *c) {
    const int64_t others = c->count - c->usual;
    if (c->kind == DT_COLUMN_CONSTANT || c->kind == DT_COLUMN_EMPTY || c->kind == DT_COLUMN_UNFIT ||
        c->kind == DT_COLUMN_COUNTER)
        return c->why;
    if (c->dates && c->unclear)
        return "has dates whose day or month may come first: give the step date a format";
    if (c->shape.rank == 0 && is_id(c)) return "identifies records: a number that no two share";
    if (c->usual > 0 && others < LEAST_OTHERS && c->count >= 10 * LEAST_OTHERS)
        return others == 0 ? "has one value only"
                           : dt_arena_printf(t->d->arena, "has one value, but for %lld records",
                                             (long long)others);
    return NULL;
}

/* Decides how a column of texts is used. Texts are categories if all different ones were counted,
 * and each occurs in LEAST_OF_WORD records on average. Otherwise their words are read if a text has
 * LEAST_TOKENS words on average, or 1.5 if the column is `alone`: the only useful one besides the
 * target. Else the column is left out. */
static void choose_text(column *x, bool alone) {
    const dt_column_facts *c = x->c;
    const bool categories = !c->many && c->distinct * LEAST_OF_WORD <= c->count;
    if (categories) x->use = c->distinct <= MOST_ONE_HOT ? ONE_HOT : EMBEDDING;
    else if (c->tokens >= LEAST_TOKENS || (alone && c->tokens >= 1.5)) x->use = TEXT;
    else x->why = "has names or codes: few records share one";
}

static void choose(const table *t, column *x, bool alone) {
    const dt_column_facts *c = x->c;
    x->why = why_not(t, c);
    if (x->why) return;
    if (c->dates) x->use = DATE;
    else if (c->shape.rank > 0) x->use = c->missing == 0 ? LIST : OUT;
    if (x->use == DATE) return;
    if (x->use == OUT && c->shape.rank > 0) x->why = "has no list in some records";
    else if (c->shape.rank == 0 && c->kind == DT_COLUMN_NUMBER) x->use = NUMBER;
    else if (c->shape.rank == 0) choose_text(x, alone);
}

static void choose_all(table *t) {
    int others = 0;
    for (int i = 0; i < t->facts.n; i++)
        others += i != t->target && !why_not(t, &t->facts.column[i]);
    for (int i = 0; i < t->facts.n; i++) {
        column *x = &t->column[i];
        x->c = &t->facts.column[i];
        if (i == t->target) x->use = TARGET;
        else choose(t, x, others == 1);
    }
}

static int count(const table *t, use wanted) {
    int n = 0;
    for (int i = 0; i < t->facts.n; i++) n += t->column[i].use == wanted;
    return n;
}

/* Chooses the scale of numbers. If there are at least LEAST_PIXELS columns of numbers, none of them
 * has negative or missing values, and more than half of them have a value above half of the largest
 * one, they are pixels or counts: all are divided by the largest value. Otherwise t->scale stays
 * 0. */
static void choose_scale(table *t) {
    double most = 0;
    int reach = 0;
    for (int i = 0; i < t->facts.n; i++) {
        if (t->column[i].use != NUMBER) continue;
        if (t->column[i].c->min < 0 || t->column[i].c->missing > 0) return;
        most = fmax(most, t->column[i].c->max);
    }
    for (int i = 0; i < t->facts.n; i++)
        reach += t->column[i].use == NUMBER && t->column[i].c->max > most / 2;
    if (count(t, NUMBER) >= LEAST_PIXELS && 2 * reach > count(t, NUMBER) && most > 0)
        t->scale = most;
}

/* ---- lines of dataset ---- */

static dt_draft_input *add_input(table *t, const char *name) {
    dt_draft_input *in = &t->d->input[t->d->n_inputs++];
    *in = (dt_draft_input){.name = name};
    in->type.dtype = DT_FLOAT32;
    return in;
}

/* Writes a column's name, or its number if the header has no name for it. */
static void put_column(dt_str *out, const dt_column_facts *c) {
    if (*c->name) dt_put_word(out, c->name);
    else dt_str_printf(out, "%d", c->number);
}

static void put_list(const table *t, bool numbers) {
    dt_str *out = &t->d->dataset;
    bool first = true;
    dt_str_putc(out, '[');
    for (int i = 0; i < t->facts.n; i++) {
        if ((t->column[i].use == NUMBER) != numbers) continue;
        dt_str_puts(out, first ? "" : ", ");
        put_column(out, t->column[i].c);
        first = false;
    }
    dt_str_putc(out, ']');
}

static void put_numbers(table *t) {
    const int n = count(t, NUMBER);
    const bool shorter =
        n > LISTED_COLUMNS && t->facts.n - n < n && t->d->guess->table.delimiter != '\0';
    dt_str *out = &t->d->dataset;
    if (n == 0) return;
    const char *name = dt_draft_name(t->d, "numbers");
    dt_str_printf(out, "    %s: {columns: %s", name, shorter ? "{all_but: " : "");
    put_list(t, !shorter);
    dt_str_printf(out, "%s}   # %d column%s of numbers\n", shorter ? "}" : "", n,
                  n == 1 ? "" : "s");
    dt_draft_input *in = add_input(t, name);
    in->type = dt_type_of(DT_FLOAT32, 1, &(int64_t){n});
}

/* Returns the word that stands for a missing value: "missing" or, if the column has that word,
 * "missing_value". */
static const char *gap_word(const dt_column_facts *c) {
    for (int i = 0; i < c->words.n; i++)
        if (strcmp(c->words.v[i], "missing") == 0) return "missing_value";
    return "missing";
}

static void put_words(dt_str *out, const dt_column_facts *c) {
    dt_str_puts(out, ", vocabulary: [");
    for (int i = 0; i < c->words.n; i++) {
        dt_str_puts(out, i ? ", " : "");
        dt_put_word(out, c->words.v[i]);
    }
    if (c->missing > 0) dt_str_printf(out, ", %s", gap_word(c));
    dt_str_putc(out, ']');
}

static void put_entry(table *t, column *x) {
    dt_str *out = &t->d->dataset;
    const dt_column_facts *c = x->c;
    const int64_t kinds = c->distinct + (c->missing > 0);
    dt_str_printf(out, "    %s: {column: ", x->element);
    put_column(out, c);
    if (x->use == ONE_HOT) put_words(out, c);
    else if (x->use == LIST) {
        dt_str_puts(out, ", shape: [");
        for (int d = 0; d < c->shape.rank; d++)
            dt_str_printf(out, "%s%lld", d ? ", " : "", (long long)c->shape.dim[d]);
        dt_str_putc(out, ']');
    } else dt_str_puts(out, ", dtype: string");
    if (x->use == TEXT && c->longest > 65535)
        dt_str_printf(out, ", max_bytes: %lld", (long long)c->longest + 1);
    dt_str_puts(out, "}");
    dt_draft_input *in = add_input(t, x->element);
    if (x->use == LIST) in->type = dt_type_of(DT_FLOAT32, c->shape.rank, c->shape.dim);
    if (x->use == ONE_HOT) in->type = dt_type_of(DT_FLOAT32, 1, &kinds);
    if (x->use == DATE) in->type = dt_type_of(DT_FLOAT32, 1, &(int64_t){3});
    in->words = x->use == TEXT;
    if (x->use == TEXT) in->type = dt_type_of(DT_FLOAT32, 1, &(int64_t){DT_DRAFT_TOKENS});
    if (x->use == EMBEDDING) {
        in->type = dt_scalar_type(DT_INT32);
        in->rows = kinds + 1;
        in->width = (int64_t)fmin(32, ceil(sqrt((double)kinds)));
        dt_str_printf(out, "   # %lld categories", (long long)c->distinct);
    }
    dt_str_puts(out, "\n");
}

static void put_target(table *t) {
    const dt_table *raw = &t->d->guess->table;
    const dt_column_facts *c = &t->facts.column[t->target];
    dt_column *words = &raw->v[t->target];
    dt_str *out = &t->d->dataset;
    dt_str_printf(out, "    %s: {column: ", t->d->element);
    put_column(out, c);
    if (t->d->classes > 0) {
        qsort(words->word, (size_t)words->words, sizeof *words->word, by_number);
        dt_str_puts(out, ", vocabulary: [");
        for (int i = 0; i < words->words; i++) {
            dt_str_puts(out, i ? ", " : "");
            dt_put_word(out, words->word[i].text);
        }
        dt_str_putc(out, ']');
    }
    dt_str_puts(out, "}   # the target\n");
    if (c->kind == DT_COLUMN_CATEGORY || t->d->classes == 0) return;
    dt_str_printf(out,
                  "    # Its %d values are taken as classes. To name them, write\n"
                  "    # vocabulary: {",
                  words->words);
    for (int i = 0; i < words->words && i < 3; i++)
        dt_str_printf(out, "%s\"%.20s\": NAME", i ? ", " : "", words->word[i].text);
    dt_str_puts(out, words->words > 3 ? ", ...}\n" : "}\n");
}

static void put_omitted(const table *t) {
    dt_str *out = &t->d->dataset;
    for (int i = 0; i < t->facts.n; i++) {
        if (!t->column[i].why) continue;
        dt_str_puts(out, "    # left out: ");
        dt_put_word(out, t->column[i].c->element);
        dt_str_printf(out, " %s\n", t->column[i].why);
    }
}

static void put_number_steps(const table *t) {
    int64_t missing = 0;
    dt_str *out = &t->d->dataset;
    if (count(t, NUMBER) == 0) return;
    for (int i = 0; i < t->facts.n; i++)
        missing += t->column[i].use == NUMBER ? t->column[i].c->missing : 0;
    const char *name = t->d->input[0].name;
    if (t->scale > 0) {
        dt_str_printf(out, "    %s: [rescale: {scale: ", name);
        dt_str_double(out, 1 / t->scale);
        dt_str_printf(out, "}]   # one scale, 0 to %g: all are divided by it\n", t->scale);
    } else if (missing > 0) {
        dt_str_printf(out, "    # %lld missing values become the median of their column.\n",
                      (long long)missing);
        dt_str_printf(out, "    %s: [impute: median, normalize]   # mean 0, variance 1\n", name);
    } else {
        dt_str_printf(out, "    %s: [normalize]   # mean 0, variance 1; training needs that\n",
                      name);
    }
}

static void put_steps(const table *t, const column *x) {
    const dt_column_facts *c = x->c;
    dt_str *out = &t->d->dataset;
    dt_str_printf(out, "    %s: [", x->element);
    if (c->missing > 0 && x->use == DATE) dt_str_puts(out, "impute: most_frequent, ");
    else if (c->missing > 0)
        dt_str_printf(out, "impute: {strategy: constant, fill_value: %s}, ", gap_word(c));
    switch (x->use) {
    case DATE:
        dt_str_puts(out, "date: {parts: [seconds, month, weekday]}, normalize]   # in UTC\n");
        return;
    case LIST: dt_str_puts(out, "normalize]   # mean 0, variance 1\n"); return;
    case ONE_HOT:
        dt_str_printf(out, "one_hot: %lld, cast: float32]   # a number for each category%s\n",
                      (long long)(c->distinct + (c->missing > 0)),
                      c->missing > 0 ? "; missing is one" : "");
        return;
    case EMBEDDING:
        dt_str_printf(out, "string_lookup: {max_tokens: %lld}]   # 0: not in the training part\n",
                      (long long)c->distinct + (c->missing > 0) + 1);
        return;
    default:
        dt_str_printf(out,
                      "text_vectorization: {max_tokens: %d, output_mode: tf_idf, "
                      "pad_to_max_tokens: true}]\n"
                      "    # the %d most frequent words, weighted by how rare they are\n",
                      DT_DRAFT_TOKENS, DT_DRAFT_TOKENS);
    }
}

static void put_unlabeled(table *t) {
    const int64_t missing = t->facts.column[t->target].missing;
    if (missing == 0) return;
    dt_str_printf(&t->d->dataset, "  drop_missing: [%s]   # %lld of %lld records have no target\n",
                  t->d->element, (long long)missing, (long long)t->facts.records);
}

static void put_dataset(table *t) {
    dt_str *out = &t->d->dataset;
    dt_guess_put_head(t->d->guess, out);
    t->d->element = dt_draft_name(t->d, t->facts.column[t->target].element);
    put_unlabeled(t);
    dt_str_puts(out, "  element:\n");
    put_numbers(t);
    for (int i = 0; i < t->facts.n; i++) {
        column *x = &t->column[i];
        if (x->use <= NUMBER) continue;
        x->element = dt_draft_name(t->d, x->c->element);
        put_entry(t, x);
    }
    put_target(t);
    put_omitted(t);
    dt_str_puts(out, "  map:   # learned from the training part, kept in checkpoints\n");
    put_number_steps(t);
    for (int i = 0; i < t->facts.n; i++)
        if (t->column[i].use > NUMBER) put_steps(t, &t->column[i]);
}

/* ---- the job ---- */

static void take_target(table *t) {
    const dt_column_facts *c = &t->facts.column[t->target];
    const dt_column *words = &t->d->guess->table.v[t->target];
    dt_draft *d = t->d;
    d->examples = t->facts.records - c->missing;
    d->mean = c->mean;
    d->deviation = c->deviation;
    if (!are_classes(c)) return;
    d->classes = words->words;
    d->rarest = d->examples;
    for (int i = 0; i < words->words; i++)
        if (words->word[i].times < d->rarest) d->rarest = words->word[i].times;
}

static dt_status *check_inputs(const table *t) {
    for (int i = 0; i < t->facts.n; i++)
        if (t->column[i].use > TARGET) return NULL;
    return dt_fail(DT_E_DATA_FILE, NULL,
                   "%s: no column besides '%.80s' says anything about other records; see dtrain "
                   "data inspect",
                   t->d->guess->files[0], t->facts.column[t->target].element);
}

dt_status *dt_draft_table(dt_draft *d) {
    table t = {.d = d};
    dt_table_describe(d->arena, d->guess, &t.facts);
    t.column = dt_arena_array(d->arena, column, t.facts.n);
    d->input = dt_arena_array(d->arena, dt_draft_input, t.facts.n + 1);
    DT_TRY(find_target(&t));
    DT_TRY(check_target(&t));
    choose_all(&t);
    DT_TRY(check_inputs(&t));
    choose_scale(&t);
    take_target(&t);
    put_dataset(&t);
    d->about = d->classes > 0
                   ? dt_arena_printf(d->arena, "'%.60s' (%lld classes) from %lld records",
                                     t.facts.column[t.target].element, (long long)d->classes,
                                     (long long)d->examples)
                   : dt_arena_printf(d->arena, "'%.60s' (a number) from %lld records",
                                     t.facts.column[t.target].element, (long long)d->examples);
    d->mixed = t.scale == 0 && count(&t, TEXT) == 0 && count(&t, LIST) == 0;
    return NULL;
}
