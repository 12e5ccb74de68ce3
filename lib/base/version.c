/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions that return the version, which the Makefile reads, too, and read sizes as
 * command lines accept them. */
#include "dtrain.h"

#include "base/size.h"

DT_API const char *dt_version(void) { return DTRAIN_VERSION_STRING; }

DT_API bool dt_bytes_of(const char *text, int64_t *bytes) {
    return text && bytes && dt_parse_bytes(text, bytes);
}
