/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: the version of dtrain, and reading a size such as "1.5 GiB" as bytes. */
#include "dtrain.h"

#include "base/size.h"

DT_API const char *dt_version(void) { return DTRAIN_VERSION_STRING; }

DT_API bool dt_bytes_of(const char *text, int64_t *bytes) {
    return text && bytes && dt_parse_bytes(text, bytes);
}
