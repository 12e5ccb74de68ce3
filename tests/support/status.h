/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses in tests: one that must be NULL, and one that must be a certain error. All are freed.
 * Include it behind cmocka. */
#ifndef TESTS_SUPPORT_STATUS_H
#define TESTS_SUPPORT_STATUS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

#define STATUS_KIT static inline __attribute__((unused))

/* Fails the test at this line with the status's text. */
#define OK(call) ok_at((call), __FILE__, __LINE__)
STATUS_KIT void ok_at(dt_status *s, const char *file, int line) {
    if (!s) return;
    char *text = dt_status_format(s);
    print_error("%s", text);
    free(text);
    dt_status_free(s);
    _fail(file, line);
}
#define ok(call) OK(call)

/* The same for a case that was drawn from a seed. */
STATUS_KIT void ok_for(dt_status *s, uint64_t seed) {
    if (s) fail_msg("seed %llu: %s", (unsigned long long)seed, dt_status_text(s));
}

/* An error of this row, with this in its text or notes. */
STATUS_KIT void fails(dt_status *s, dt_error id, const char *part) {
    if (!s) fail_msg("no error; expected DT%d '%s'", (int)id, part);
    char *text = dt_status_format(s);
    if (dt_status_number(s) != (int)id || !strstr(text, part))
        fail_msg("expected DT%d '%s', got DT%d %s", (int)id, part, dt_status_number(s), text);
    free(text);
    dt_status_free(s);
}

/* MISUSE whose text names the function of the call. */
#define REFUSED(call) refused((call), #call)
STATUS_KIT void refused(dt_status *s, const char *call) {
    char name[64] = "";
    snprintf(name, sizeof name, "%.*s", (int)strcspn(call, "("), call);
    if (dt_status_number(s) != DT_E_MISUSE || !strstr(dt_status_text(s), name))
        fail_msg("%s: %s", call, s ? dt_status_text(s) : "no error");
    dt_status_free(s);
}

#endif
