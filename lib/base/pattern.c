/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pattern.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"

enum { LONGEST = 256, LONGEST_TEXT = 1024, GROUPS = 10 };

struct dt_pattern {
    regex_t regex;
};

static bool has_reference(const char *e) {
    for (; *e; e++)
        if (*e == '\\' && *++e >= '1' && *e <= '9') return true;
        else if (!*e) return false;
    return false;
}

static dt_status *check(const char *e) {
    const char *why = strlen(e) > LONGEST ? "it has over 256 characters"
                      : strchr(e, '{')    ? "repetitions in braces are not supported"
                      : has_reference(e)  ? "references to groups are not supported"
                                          : NULL;
    return why ? dt_fail(DT_E_RANGE, NULL, "regular expression '%.80s': %s", e, why) : NULL;
}

dt_status *dt_pattern_create(dt_pattern **out, const char *expression) {
    char why[200];
    *out = NULL;
    DT_TRY(check(expression));
    dt_pattern *p = dt_alloc(sizeof *p);
    const int bad = regcomp(&p->regex, expression, REG_EXTENDED);
    if (!bad) {
        *out = p;
        return NULL;
    }
    regerror(bad, &p->regex, why, sizeof why);
    free(p);
    return dt_fail(DT_E_RANGE, NULL, "regular expression '%.80s': %s", expression, why);
}

void dt_pattern_destroy(dt_pattern *p) {
    if (p) regfree(&p->regex);
    free(p);
}

static bool search(const dt_pattern *p, const char *text, regmatch_t *groups) {
    return strlen(text) <= LONGEST_TEXT &&
           regexec(&p->regex, text, groups ? GROUPS : 0, groups, 0) == 0;
}

bool dt_pattern_finds(const dt_pattern *p, const char *text) { return search(p, text, NULL); }

const char *dt_pattern_replace(const dt_pattern *p, dt_arena *arena, const char *text,
                               const char *by) {
    regmatch_t group[GROUPS];
    dt_str s = {0};
    if (!search(p, text, group)) return text;
    dt_str_add(&s, text, (size_t)group[0].rm_so);
    for (; *by; by++) {
        const bool named = by[0] == '\\' && by[1] >= '0' && by[1] <= '9';
        if (named && group[*++by - '0'].rm_so >= 0)
            dt_str_add(&s, text + group[*by - '0'].rm_so,
                       (size_t)(group[*by - '0'].rm_eo - group[*by - '0'].rm_so));
        else if (!named) dt_str_putc(&s, *by);
    }
    dt_str_puts(&s, text + group[0].rm_eo);
    return dt_arena_take(arena, &s);
}
