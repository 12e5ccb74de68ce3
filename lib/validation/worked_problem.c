/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worked problems of books: a question with inputs, and a formula. A rule for questions answers where there is one, and that is a prediction;
 * else the formula is evaluated, which is arithmetic and says so. "same: ..." goes on from the row before in the same chapter.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "validation/question.h"

static const char *text_of(const dt_row *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row->json, key));
    return text ? text : "";
}

/* "tpus.md Q4" of "How to Scale Your Model (...), tpus.md Q4.2", and its length; `whole`: "tpus.md", the chapter. */
static const char *section(const dt_row *row, bool whole, size_t *length)
{
    const char *source = text_of(row, "source"), *comma = strrchr(source, ','), *name = comma ? comma + 1 : source;
    name += strspn(name, " ");
    size_t chapter = strcspn(name, " "), rest = strlen(name + chapter);
    const char *part = memchr(name + chapter, '.', rest);
    *length = whole ? chapter : part ? (size_t)(part - name) : chapter + rest;
    return name;
}

static bool same_section(const dt_row *a, const dt_row *b, bool whole)
{
    size_t n, m;
    const char *x = section(a, whole, &n), *y = section(b, whole, &m);
    return n == m && strncmp(x, y, n) == 0;
}

/* The row before in the same section, or chapter; NULL: none. */
static const dt_row *before(const dt_rows *rows, const dt_row *row, bool whole)
{
    for (const dt_row *r = row; r-- > rows->row;)
        if (strcmp(r->kind, row->kind) == 0 && same_section(r, row, whole))
            return r;
    return NULL;
}

static bool goes_on(const dt_row *row)
{
    return strncmp(text_of(row, "question"), "same", 4) == 0;
}

static void add_row(dt_facts *f, const dt_row *row)
{
    dt_facts_of_json(f, json_object_get(row->json, "inputs"));
    dt_facts_of_text(f, text_of(row, "question"));
}

/* ---- by rule ---- */

static char *small(dt_arena *a, const char *text)
{
    char *copy = dt_arena_strdup(a, text);
    for (char *p = copy; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return copy;
}

/* Asks with the facts of the row and of those before it, down to `last`; in words of the row alone, or of all these. */
static bool ask_with(const dt_rows *rows, const dt_row *row, const dt_row *last, bool all_words, double *out)
{
    dt_facts own = {.arena = rows->arena}, all = {.arena = rows->arena};
    dt_str text = {0};
    for (const dt_row *r = row; r; r = r == last ? NULL : before(rows, r, false)) {
        add_row(&own, r);
        dt_str_printf(&text, "%s ", text_of(r, "question"));
    }
    for (int i = 0; i < own.n; i++)
        dt_facts_add(&all, own.at[i].name, own.at[i].value);
    if ((all.chip = own.chip))
        dt_facts_of_chip(&all, own.chip);
    dt_ask ask = {.question = small(rows->arena, text_of(row, "question")), .unit = row->unit, .own = &own, .all = &all,
                  .operation = dt_operation_read(dt_str_text(&text))};
    ask.text = all_words ? small(rows->arena, dt_str_text(&text)) : ask.question;
    bool known = dt_question_answer(&ask, out);
    dt_str_release(&text);
    dt_facts_release(&own);
    dt_facts_release(&all);
    return known;
}

/* What a row says by itself comes first: "same" may change more than it keeps. */
static bool by_rule(const dt_rows *rows, const dt_row *row, double *out)
{
    bool known = ask_with(rows, row, row, false, out);
    for (const dt_row *last = row; !known && goes_on(last) && (last = before(rows, last, false));)
        known = ask_with(rows, row, last, false, out) || ask_with(rows, row, last, true, out);
    return known;
}

/* ---- by formula ---- */

/* "same with vmem": the formula of the row before, with its memory's name replaced. */
static const char *formula_of(const dt_rows *rows, const dt_row *row)
{
    static const char marks[] = "same with ";
    const char *formula = text_of(row, "formula");
    if (strncmp(formula, marks, strlen(marks)) != 0)
        return formula;
    const dt_row *last = before(rows, row, false);
    const char *old = last ? strstr(formula_of(rows, last), "hbm") : NULL;
    if (!old)
        return formula;
    const char *whole = formula_of(rows, last);
    return dt_arena_printf(rows->arena, "%.*s%s%s", (int)(old - whole), whole, formula + strlen(marks), old + strspn(old, "hbm_Ps"));
}

static dt_prediction by_formula(const dt_rows *rows, const dt_row *row)
{
    dt_facts f = {.arena = rows->arena};
    char unknown[64];
    double value;
    for (const dt_row *r = row; r; r = before(rows, r, true))
        add_row(&f, r);
    if (f.chip)
        dt_facts_of_chip(&f, f.chip);
    bool known = dt_formula(&f, formula_of(rows, row), &value, unknown, sizeof unknown);
    dt_facts_release(&f);
    if (!known && goes_on(row) && !before(rows, row, false))
        return dt_not_sufficient(rows, "it goes on from a row that is not in the file");
    if (!known)
        return dt_not_sufficient(rows, "no rule answers the question, and neither row nor chip says what '%s' of its formula is", unknown);
    return (dt_prediction){.by = DT_BY_FORMULA, .value = value};
}

static dt_prediction predict(const dt_rows *rows, const dt_row *row)
{
    double value;
    return by_rule(rows, row, &value) ? dt_predicted(value) : by_formula(rows, row);
}

const dt_row_kind dt_row_kind_worked_problem = {"worked-problem", "questions about rooflines, meshes and models", predict};
