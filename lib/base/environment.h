/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment. One that is set to an empty text counts as not set, as in shells'
 * ${NAME:-default}. */
#ifndef DT_BASE_ENVIRONMENT_H
#define DT_BASE_ENVIRONMENT_H

/* The value, lent until the variable changes; NULL: not set, or empty. */
const char *dt_environment(const char *name);

#endif
