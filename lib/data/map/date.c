/* SPDX-License-Identifier: Apache-2.0 */
/*
 * date: converts a text to numbers that describe a date (base/date.h), in UTC; by default the
 * seconds since 1970. The training data shows whether the day or the month comes first in dates
 * such as 01/02/2024: one text that allows only one order is enough. If there are such dates but no
 * text shows the order, or if two texts contradict each other, the job has to give a format. A
 * missing date becomes NaN. So does a text that is not a date, except in the training data, where
 * it is an error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "data/map/step.h"

struct date {
    const char *format;
    dt_texts parts;
};

static const dt_field fields[] = {
    DT_TEXT(struct date, format, .preset = "auto", .max = 100,
            .help = "auto: ISO 8601 and the usual forms, with names of months in English; or as in "
                    "strptime: \"%d/%m/%Y %H:%M\""),
    DT_TEXTS(struct date, parts,
             .help = "numbers, in this order: seconds (since 1970), year, quarter, month, day, "
                     "weekday (0: Monday), day_of_year, hour, minute, second; default: seconds, as "
                     "a single number"),
    DT_NOT_YET("tz"), DT_END};

/* ---- parts and formats ---- */

typedef enum part {
    SECONDS,
    YEAR,
    QUARTER,
    MONTH,
    DAY,
    WEEKDAY,
    YEARDAY,
    HOUR,
    MINUTE,
    SECOND
} part;
static const char *const names[] = {"seconds", "year",        "quarter", "month",  "day",
                                    "weekday", "day_of_year", "hour",    "minute", "second"};
enum { PARTS = sizeof names / sizeof *names };

static double value_of(part p, const dt_date *d) {
    switch (p) {
    case SECONDS: return (double)dt_date_seconds(d) + d->fraction;
    case YEAR: return d->year;
    case QUARTER: return (d->month + 2) / 3;
    case MONTH: return d->month;
    case DAY: return d->day;
    case WEEKDAY: return dt_date_weekday(d);
    case YEARDAY: return dt_date_yearday(d);
    case HOUR: return d->hour;
    case MINUTE: return d->minute;
    default: return d->second + d->fraction;
    }
}

static int find_part(const char *name) {
    int i = 0;
    while (i < PARTS && strcmp(names[i], name) != 0) i++;
    return i;
}

static bool is_auto(const struct date *a) { return strcmp(a->format, "auto") == 0; }

static dt_status *check(const void *args, const dt_location *at) {
    const struct date *a = args;
    for (int i = 0; i < a->parts.n; i++)
        if (find_part(a->parts.v[i]) == PARTS)
            return dt_suggest(
                dt_fail(DT_E_DATASET_KEYS, at, "no part '%.80s' of a date", a->parts.v[i]),
                "parts are seconds, year, quarter, month, day, weekday, day_of_year, hour, minute, "
                "second");
    if (is_auto(a) || dt_date_is_format(a->format)) return NULL;
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, at, "no format of dates: '%.80s'", a->format),
                      "write auto, or fields of strptime with a year: \"%%d/%%m/%%Y %%H:%%M\"");
}

/* ---- learning: the order of day and month ---- */

/* What a text of the training data shows. A lesson keeps the first text that shows each of
 * these. */
enum { BAD, UNCLEAR, DAY_FIRST, MONTH_FIRST, SHOWN };
static const char *const orders[] = {"no date", "unclear", "day first", "month first"};

typedef struct lesson {
    char *text[SHOWN];
} lesson;

static bool learns(const void *args) {
    (void)args;
    return true;
}

static void *begin(const dt_map_stage *s) {
    (void)s;
    lesson *l = dt_alloc(sizeof *l);
    *l = (lesson){0};
    return l;
}

static void note(lesson *l, int kind, const char *text) {
    if (!l->text[kind]) l->text[kind] = dt_strdup(text);
}

static void learn_value(void *to, const dt_map_stage *s, const dt_map_at *at, const void *in) {
    (void)at;
    const struct date *a = s->args;
    dt_date d;
    if (!*(const char *)in) return;
    if (!is_auto(a)) {
        if (!dt_date_read(in, a->format, &d)) note(to, BAD, in);
    } else if (!dt_date_parse(in, DT_DATE_EITHER, &d)) note(to, BAD, in);
    else if (d.unclear) note(to, UNCLEAR, in);
    else if (d.order != DT_DATE_EITHER)
        note(to, d.order == DT_DATE_DAY_FIRST ? DAY_FIRST : MONTH_FIRST, in);
}

/* Stores pairs of words in the lesson: one of `orders`, and the text that shows it. */
static void end(void *from, const dt_map_stage *s, dt_arena *arena, dt_lesson *out) {
    lesson *l = from;
    (void)s;
    if (arena) out->words = (dt_texts){.v = dt_arena_array(arena, const char *, 2 * SHOWN)};
    for (int i = 0; i < SHOWN; i++) {
        if (arena && l->text[i]) {
            out->words.v[out->words.n++] = orders[i];
            out->words.v[out->words.n++] = dt_arena_strdup(arena, l->text[i]);
        }
        free(l->text[i]);
    }
    free(l);
}

static const dt_map_learning learning = {
    .wants = learns, .begin = begin, .take = learn_value, .end = end};

static const char *shown(const dt_map_stage *s, int kind) {
    const dt_texts *words = &s->learned->words;
    for (int i = 0; i + 1 < words->n; i += 2)
        if (strcmp(words->v[i], orders[kind]) == 0) return words->v[i + 1];
    return NULL;
}

static dt_status *check_learned(const dt_map_stage *s) {
    const struct date *a = s->args;
    const char *bad = shown(s, BAD), *unclear = shown(s, UNCLEAR), *day = shown(s, DAY_FIRST),
               *month = shown(s, MONTH_FIRST);
    static const char formats[] = "write format: \"%d/%m/%Y\" or \"%m/%d/%Y\"";
    if (bad && is_auto(a))
        return dt_suggest(
            dt_fail(DT_E_DATA_FILE, s->at, "%s: '%.80s' is not a date", s->file, bad),
            "if it stands for a missing value, put 'impute: most_frequent' in front of "
            "date; other forms need a format: \"%%d %%b %%Y\"");
    if (bad)
        return dt_fail(DT_E_DATA_FILE, s->at, "%s: '%.80s' is not a date of the format '%.80s'",
                       s->file, bad, a->format);
    if (day && month)
        return dt_suggest(dt_fail(DT_E_DATA_FILE, s->at,
                                  "%s: '%.40s' has its day first, '%.40s' its month", s->file, day,
                                  month),
                          "%s, and mend the others", formats);
    if (!unclear || day || month) return NULL;
    return dt_suggest(dt_fail(DT_E_DATA_FILE, s->at,
                              "%s: the day or the month may come first in dates such as '%.40s'",
                              s->file, unclear),
                      "%s", formats);
}

/* ---- application ---- */

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct date *a = s->args;
    const int64_t n = a->parts.n;
    dt_date_order *order = dt_arena_new(arena, dt_date_order);
    if (s->learned) {
        DT_TRY(check_learned(s));
        *order = shown(s, DAY_FIRST) ? DT_DATE_DAY_FIRST : DT_DATE_MONTH_FIRST;
    }
    s->made = order;
    s->out = n > 0 ? dt_type_of(DT_FLOAT64, 1, &n) : dt_scalar_type(DT_FLOAT64);
    s->names = (dt_texts){0};
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct date *a = s->args;
    const dt_date_order *order = s->made;
    double *value = out;
    dt_date d;
    (void)at;
    const bool ok = is_auto(a) ? dt_date_parse(in, *order, &d) : dt_date_read(in, a->format, &d);
    if (ok) d = dt_date_utc(&d);
    if (a->parts.n == 0) *value = ok ? value_of(SECONDS, &d) : NAN;
    for (int i = 0; i < a->parts.n; i++)
        value[i] = ok ? value_of((part)find_part(a->parts.v[i]), &d) : NAN;
}

const dt_map_step dt_map_date = {
    .kind = {"date", "numbers of a text that is a date, in UTC", fields, sizeof(struct date), NULL},
    .brief = {"format"},
    .takes = DT_TAKES_TEXT,
    .check = check,
    .learning = &learning,
    .infer = infer,
    .run = run,
};
