/* SPDX-License-Identifier: Apache-2.0 */
/* See again.h. Values are taken from the parsed options, so a value that came from the environment
 * is written as an option, too. */
#include "again.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "print.h"

static void put_name(dt_str *to, const struct option *o) {
    if (o->letter) dt_str_printf(to, " -%c", o->letter);
    else dt_str_printf(to, " --%s", o->name);
}

static void put_text(dt_str *to, const struct option *o, const char *value) {
    put_name(to, o);
    dt_str_putc(to, ' ');
    put_word(to, value);
}

/* Writes an option that can be given without a value, such as "--tpu". */
static void put_maybe(dt_str *to, const struct option *o, const char *value) {
    if (*value) put_text(to, o, value);
    else put_name(to, o);
}

static void put_seconds(dt_str *to, const struct option *o, double seconds) {
    char digits[400];
    /* numbers are written without an exponent, since times do not allow one */
    for (int decimals = 0; decimals <= 17; decimals++) {
        snprintf(digits, sizeof digits, "%.*f", decimals, seconds);
        if (strtod(digits, NULL) == seconds) break;
    }
    put_name(to, o);
    dt_str_printf(to, " %ss", digits);
}

static void put_option(dt_str *to, const struct option *o, const void *value) {
    const struct words *list = value;
    switch (o->kind) {
    case OPTION_FLAG:
        if (*(const bool *)value) put_name(to, o);
        return;
    case OPTION_TEXT:
        if (*(const char *const *)value) put_text(to, o, *(const char *const *)value);
        return;
    case OPTION_MAYBE:
        if (*(const char *const *)value) put_maybe(to, o, *(const char *const *)value);
        return;
    case OPTION_LIST:
        for (int i = 0; i < list->n; i++) put_text(to, o, list->at[i]);
        return;
    case OPTION_INTEGER:
        if (*(const int64_t *)value != o->fallback)
            dt_str_printf(to, " --%s %" PRId64, o->name, *(const int64_t *)value);
        return;
    case OPTION_UNSIGNED:
        if (*(const uint64_t *)value != (uint64_t)o->fallback)
            dt_str_printf(to, " --%s %" PRIu64, o->name, *(const uint64_t *)value);
        return;
    case OPTION_SECONDS:
        if (*(const double *)value > 0) put_seconds(to, o, *(const double *)value);
        return;
    case OPTION_CHOICE:
        if (*(const int *)value) put_text(to, o, o->choices[*(const int *)value]);
        return;
    }
}

void put_again(dt_str *to, const struct call *call) {
    dt_str_printf(to, "dtrain %s", call->verb->name);
    for (int i = 0; i < call->operands.n; i++) {
        dt_str_putc(to, ' ');
        put_word(to, call->operands.at[i]);
    }
    for (const struct option *o = call->verb->options; o->name; o++)
        if (!o->once) put_option(to, o, (const char *)call->settings + o->at);
}
