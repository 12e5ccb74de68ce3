/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what date.h declares. Most readers move a cursor behind what they have read, or return
 * false. */
#include "base/date.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const months[] = {"january",   "february", "march",    "april",
                                     "may",       "june",     "july",     "august",
                                     "september", "october",  "november", "december"};
static const char *const weekdays[] = {"monday", "tuesday",  "wednesday", "thursday",
                                       "friday", "saturday", "sunday"};

/* ---- calendar ---- */

static bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

static int days_of(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

int dt_date_yearday(const dt_date *d) {
    int n = d->day;
    for (int m = 1; m < d->month; m++) n += days_of(d->year, m);
    return n;
}

/* Returns the number of days from 1 January of the year 1 to a date. */
static int64_t day_number(const dt_date *d) {
    const int64_t y = d->year - 1;
    return 365 * y + y / 4 - y / 100 + y / 400 + dt_date_yearday(d) - 1;
}

int dt_date_weekday(const dt_date *d) { return (int)(day_number(d) % 7); }

int64_t dt_date_seconds(const dt_date *d) {
    static const dt_date epoch = {.year = 1970, .month = 1, .day = 1};
    return (day_number(d) - day_number(&epoch)) * 86400 + d->hour * 3600 +
           ((int64_t)d->minute - d->offset) * 60 + d->second;
}

dt_date dt_date_utc(const dt_date *d) {
    dt_date out = *d;
    int64_t minutes = d->hour * 60 + d->minute - d->offset;
    for (; minutes < 0; minutes += 1440)
        if (--out.day == 0) {
            out.year -= --out.month == 0;
            out.month = out.month ? out.month : 12;
            out.day = days_of(out.year, out.month);
        }
    for (; minutes >= 1440; minutes -= 1440)
        if (++out.day > days_of(out.year, out.month)) {
            out.day = 1;
            out.year += ++out.month == 13;
            out.month = out.month == 13 ? 1 : out.month;
        }
    out.hour = (int)minutes / 60;
    out.minute = (int)minutes % 60;
    out.offset = 0;
    return out;
}

static bool is_valid(const dt_date *d) {
    return d->year >= 1 && d->year <= 9999 && d->month >= 1 && d->month <= 12 && d->day >= 1 &&
           d->day <= days_of(d->year, d->month) && d->hour <= 23 && d->minute <= 59 &&
           d->second <= 60;
}

/* ---- pieces of a text ---- */

static void skip_blanks(const char **p) {
    while (**p == ' ' || **p == '\t') ++*p;
}

static bool take_char(const char **p, const char *any) {
    if (!**p || !strchr(any, **p)) return false;
    ++*p;
    return true;
}

/* Reads all digits at *p as one number. Returns how many digits there are, or 0 if they are fewer
 * than `least` or more than `most`. */
static int take_number(const char **p, int least, int most, int *out) {
    int n = 0, x = 0;
    while (isdigit((unsigned char)(*p)[n]) && n <= most) n++;
    if (n < least || n > most) return 0;
    for (int i = 0; i < n; i++) x = 10 * x + ((*p)[i] - '0');
    *p += n;
    *out = x;
    return n;
}

/* Reads one of `n` names of months or days, written out or as its first three letters (September as
 * Sept, too), perhaps with a period. Sets *out to its index. */
static bool take_name(const char **p, const char *const *names, int n, int *out) {
    size_t size = 0;
    while (isalpha((unsigned char)(*p)[size])) size++;
    for (int i = 0; i < n; i++) {
        const bool whole = size == strlen(names[i]) || size == 3 || (size == 4 && i == 8);
        if (!whole || strncasecmp(*p, names[i], size) != 0) continue;
        *p += size;
        *p += **p == '.';
        *out = i;
        return true;
    }
    return false;
}

static bool take_year(const char **p, int *out) {
    const int digits = take_number(p, 2, 4, out);
    /* Two digits are read as POSIX says: 69 to 99 mean 1969 to 1999, 00 to 68 mean 2000 to 2068. */
    if (digits == 2) *out += *out < 69 ? 2000 : 1900;
    return digits == 2 || digits == 4;
}

static void take_fraction(const char **p, double *out) {
    double place = 0.1;
    for (*out = 0; isdigit((unsigned char)**p); ++*p, place /= 10) *out += place * (**p - '0');
}

static bool take_zone(const char **p, int *offset) {
    int hours = 0, minutes = 0;
    *offset = 0;
    if (strncasecmp(*p, "utc", 3) == 0 || strncasecmp(*p, "gmt", 3) == 0) {
        *p += 3;
        return true;
    }
    if (take_char(p, "Zz")) return true;
    const int sign = **p == '-' ? -1 : 1;
    if (!take_char(p, "+-")) return false;
    if (take_number(p, 4, 4, &hours)) {
        minutes = hours % 100;
        hours /= 100;
    } else if (!take_number(p, 2, 2, &hours) ||
               (take_char(p, ":") && !take_number(p, 2, 2, &minutes)))
        return false;
    *offset = sign * (hours * 60 + minutes);
    return hours <= 15 && minutes <= 59;
}

static bool to_24_hours(int *hour, bool afternoon) {
    if (*hour < 1 || *hour > 12) return false;
    *hour = *hour % 12 + (afternoon ? 12 : 0);
    return true;
}

static bool take_half(const char **p, int *hour) {
    const bool afternoon = **p == 'p' || **p == 'P';
    if (!take_char(p, "aApP")) return false;
    if (**p == '.') ++*p;
    if (!take_char(p, "mM") || !to_24_hours(hour, afternoon)) return false;
    if (**p == '.') ++*p;
    return true;
}

/* ---- any of the usual forms ---- */

static bool take_time(const char **p, dt_date *d) {
    if (!take_number(p, 1, 2, &d->hour) || !take_char(p, ":") || !take_number(p, 2, 2, &d->minute))
        return false;
    if (take_char(p, ":")) {
        if (!take_number(p, 2, 2, &d->second)) return false;
        if (take_char(p, ".,")) take_fraction(p, &d->fraction);
    }
    skip_blanks(p);
    if (**p && strchr("aApP", **p) && !take_half(p, &d->hour)) return false;
    skip_blanks(p);
    return !**p || take_zone(p, &d->offset);
}

/* Reads a date such as 2024-1-2, 2024/01/02 or 20240102. */
static bool take_year_first(const char **p, dt_date *d) {
    int all;
    if (take_number(p, 8, 8, &all)) {
        d->year = all / 10000;
        d->month = all / 100 % 100;
        d->day = all % 100;
        return true;
    }
    if (!take_number(p, 4, 4, &d->year)) return false;
    const char mark[] = {**p, '\0'};
    return take_char(p, "-/.") && take_number(p, 1, 2, &d->month) && take_char(p, mark) &&
           take_number(p, 1, 2, &d->day);
}

/* Sets day and month from the two numbers of 1/2/2024. If dots separate them, the day comes first,
 * whatever the caller's order. Otherwise: if one of them is above 12, the text proves an order, and
 * d->order is set; if both are at most 12, the caller's order applies, and d->unclear is set if
 * they differ. Without dots, returns false if both are above 12, or if the text proves another
 * order than the caller's. */
static bool settle_order(const int pair[2], bool dots, dt_date_order order, dt_date *d) {
    if (dots) order = DT_DATE_DAY_FIRST;
    else if (pair[0] > 12 && pair[1] > 12) return false;
    else if (pair[0] > 12) d->order = DT_DATE_DAY_FIRST;
    else if (pair[1] > 12) d->order = DT_DATE_MONTH_FIRST;
    else d->unclear = pair[0] != pair[1];
    if (d->order != DT_DATE_EITHER && order != DT_DATE_EITHER && order != d->order) return false;
    const bool day_first = (d->order != DT_DATE_EITHER ? d->order : order) == DT_DATE_DAY_FIRST;
    d->day = pair[!day_first];
    d->month = pair[day_first];
    return true;
}

static bool take_month_name(const char **p, dt_date *d) {
    int month;
    if (!take_name(p, months, 12, &month)) return false;
    d->month = month + 1;
    return true;
}

/* Reads a date such as 2 Jan 2024, 2-Jan-24, 2/1/2024 or 2.1.24. */
static bool take_day_or_month_first(const char **p, dt_date_order order, dt_date *d) {
    int pair[2];
    if (!take_number(p, 1, 2, &pair[0])) return false;
    const bool dots = **p == '.';
    const char mark[] = {**p, '\0'};
    if (!take_char(p, "-/. ")) return false;
    skip_blanks(p);
    if (take_month_name(p, d)) {
        d->day = pair[0];
        take_char(p, "-/,");
        skip_blanks(p);
        return take_year(p, &d->year);
    }
    return *mark != ' ' && take_number(p, 1, 2, &pair[1]) && take_char(p, mark) &&
           take_year(p, &d->year) && settle_order(pair, dots, order, d);
}

/* Reads a date such as Jan 2, 2024. */
static bool take_name_first(const char **p, dt_date *d) {
    if (!take_month_name(p, d)) return false;
    take_char(p, "-/");
    skip_blanks(p);
    if (!take_number(p, 1, 2, &d->day)) return false;
    take_char(p, ",-/");
    skip_blanks(p);
    return take_number(p, 4, 4, &d->year) > 0;
}

static bool take_date(const char **p, dt_date_order order, dt_date *d) {
    int weekday;
    if (take_name(p, weekdays, 7, &weekday)) take_char(p, ",");
    skip_blanks(p);
    const char *from = *p;
    if (take_year_first(p, d)) return true;
    *p = from;
    *d = (dt_date){0};
    if (take_day_or_month_first(p, order, d)) return true;
    *p = from;
    *d = (dt_date){0};
    return take_name_first(p, d);
}

bool dt_date_parse(const char *text, dt_date_order order, dt_date *out) {
    const char *p = text;
    *out = (dt_date){0};
    skip_blanks(&p);
    if (!take_date(&p, order, out)) return false;
    if (*p && !take_char(&p, "Tt,") && *p != ' ') return false;
    skip_blanks(&p);
    if (*p && !take_time(&p, out)) return false;
    skip_blanks(&p);
    return !*p && is_valid(out);
}

/* ---- reading by a format ---- */

typedef struct reader {
    const char *p;
    dt_date *d;
    /* half: -1 no half of the day was read, 0 AM, 1 PM; yearday: day of the year, 0: not read */
    int half, yearday;
} reader;

/* Reads up to `most` digits as the number *out, and returns how many there were. More digits may
 * follow. */
static int read_digits(reader *r, int most, int *out) {
    int n = 0;
    for (*out = 0; n < most && isdigit((unsigned char)*r->p); n++)
        *out = 10 * *out + (*r->p++ - '0');
    return n;
}

static bool read_half(reader *r) {
    if (strncasecmp(r->p, "am", 2) != 0 && strncasecmp(r->p, "pm", 2) != 0) return false;
    r->half = tolower((unsigned char)*r->p) == 'p';
    r->p += 2;
    return true;
}

static bool read_field(reader *r, char field) {
    dt_date *d = r->d;
    int weekday;
    switch (field) {
    case 'Y': return read_digits(r, 4, &d->year) == 4;
    case 'y': return read_digits(r, 2, &d->year) == 2 && (d->year += d->year < 69 ? 2000 : 1900);
    case 'm': return read_digits(r, 2, &d->month) > 0;
    case 'd': return read_digits(r, 2, &d->day) > 0;
    case 'j': return read_digits(r, 3, &r->yearday) > 0;
    case 'H':
    case 'I': return read_digits(r, 2, &d->hour) > 0;
    case 'M': return read_digits(r, 2, &d->minute) > 0;
    case 'S': return read_digits(r, 2, &d->second) > 0;
    case 'f':
        return isdigit((unsigned char)*r->p) ? (take_fraction(&r->p, &d->fraction), true) : false;
    case 'p': return read_half(r);
    case 'b':
    case 'B': return take_month_name(&r->p, d);
    case 'a':
    case 'A': return take_name(&r->p, weekdays, 7, &weekday);
    case 'z': return take_zone(&r->p, &d->offset);
    case '%': return take_char(&r->p, "%");
    default: return false;
    }
}

static bool read_all(reader *r, const char *format) {
    for (; *format; format++) {
        if (*format == ' ') skip_blanks(&r->p);
        else if (*format != '%') {
            if (*r->p++ != *format) return false;
        } else if (*++format == 'F' || *format == 'T') {
            if (!read_all(r, *format == 'F' ? "%Y-%m-%d" : "%H:%M:%S")) return false;
        } else if (!read_field(r, *format)) return false;
    }
    return true;
}

bool dt_date_read(const char *text, const char *format, dt_date *out) {
    *out = (dt_date){.month = 1, .day = 1};
    reader r = {.p = text, .d = out, .half = -1};
    skip_blanks(&r.p);
    if (!read_all(&r, format)) return false;
    skip_blanks(&r.p);
    if (*r.p || (r.half >= 0 && !to_24_hours(&out->hour, r.half))) return false;
    if (r.yearday > 0 && out->year > 0) {
        if (r.yearday > 365 + is_leap(out->year)) return false;
        for (out->day = r.yearday; out->day > days_of(out->year, out->month); out->month++)
            out->day -= days_of(out->year, out->month);
    }
    return is_valid(out);
}

bool dt_date_is_format(const char *format) {
    bool year = false;
    for (; *format; format++) {
        if (*format != '%') continue;
        if (!*++format || !strchr("YymdjHIMSfpbBaAzFT%", *format)) return false;
        year = year || strchr("YyF", *format);
    }
    return year;
}
