/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment. One that is set to an empty text counts as not set, as in shells'
 * ${NAME:-default}. */
#ifndef DT_BASE_ENVIRONMENT_H
#define DT_BASE_ENVIRONMENT_H

#include "base/str.h"

/* The value, lent until the variable changes; NULL: not set, or empty. */
const char *dt_environment(const char *name);
/* A text that may name files, in which values that must not be recorded are put back as they were
 * written: {"${HOME}", "/home/me"}. A value of up to three characters counts only as a whole word.
 * The caller frees it. NULL: text is NULL. */
char *dt_hidden_back(const dt_pair *hidden, int n, const char *text);

#endif
