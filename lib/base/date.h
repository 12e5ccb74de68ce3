/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates and times as tables have them, in UTC: ISO 8601 (2024-01-02, 2024-01-02T03:04:05.6+01:00,
 * 20240102), day and month by numbers (2.1.2024, 02/01/2024, 1/2/24) and by name (2 Jan 2024,
 * January 2, 2024, Tue, 02 Jan 2024 03:04:05 GMT), with a time of day or without one. A date with
 * dots has its day first, unless it begins with a year of four digits. With / and -, the day or the
 * month may come first, or a year of four digits; if neither day nor month is above 12, the text
 * alone does not show their order.
 */
#ifndef DT_BASE_DATE_H
#define DT_BASE_DATE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum dt_date_order { DT_DATE_EITHER, DT_DATE_DAY_FIRST, DT_DATE_MONTH_FIRST } dt_date_order;

typedef struct dt_date {
    int year, month, day;     /* month 1 to 12, day from 1; a date that was read has year 1 to
                               * 9999 */
    int hour, minute, second; /* second is 60 in a leap second */
    double fraction;          /* the fraction of the second */
    int offset;               /* the number of minutes by which the written time is ahead of UTC */
    /* The order that a number above 12 proves, as in 13/2/2024; EITHER: none is proved. `unclear`
     * is true if the text does not show which of two different numbers is the day, as in 1/2/2024;
     * not in 1.2.2024, where the day comes first, nor in 2024-01-02. */
    dt_date_order order;
    bool unclear;
} dt_date;

/* Reads a date. `order` applies to texts such as 1/2/2024, which prove no order; EITHER then means
 * month first. Returns false if the text is not a date, or proves another order than `order`
 * (unless that is EITHER). */
bool dt_date_parse(const char *text, dt_date_order order, dt_date *out);
/* Reads a date in a format of strptime, with the conversions %Y %y %m %d %j %H %I %M %S %f %p %b %B
 * %a %A %z %F %T %%. Returns false if the text does not have that format, or the date does not
 * exist. */
bool dt_date_read(const char *text, const char *format, dt_date *out);
/* Whether dt_date_read knows all conversions of the format and one of them is %Y, %y or %F. */
bool dt_date_is_format(const char *format);

/* Returns the seconds from 1970-01-01 00:00 UTC to a date, without the fraction; negative for
 * earlier dates. */
int64_t dt_date_seconds(const dt_date *d);
/* Converts a date to UTC, so that its offset is 0. */
dt_date dt_date_utc(const dt_date *d);
int dt_date_weekday(const dt_date *d); /* returns the day of the week, from 0 for Monday to 6 */
int dt_date_yearday(const dt_date *d); /* returns the day of the year, from 1 */

#endif
