/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment. A variable that is set to an empty text counts as not set, as in
 * shells' ${NAME:-default}. */
#ifndef DT_BASE_ENVIRONMENT_H
#define DT_BASE_ENVIRONMENT_H

#include "base/str.h"

/* Returns the value of a variable, lent until the variable changes. Returns NULL if the variable is
 * not set, or set to an empty text. */
const char *dt_environment(const char *name);
/* Returns a copy of `text` in which values of environment variables that must not be recorded are
 * replaced by the way the user wrote them: with {"${HOME}", "/home/me"}, "/home/me/run" becomes
 * "${HOME}/run". A value of up to three characters is replaced only where it is a whole word, an
 * empty one nowhere. The caller frees the copy. Returns NULL if text is NULL. */
char *dt_hidden_back(const dt_pair *hidden, int n, const char *text);

#endif
