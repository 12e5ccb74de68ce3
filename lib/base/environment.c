/* SPDX-License-Identifier: Apache-2.0 */
#include "base/environment.h"

#include <stdlib.h>

const char *dt_environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}
