/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that nobody vouches for: jansson behind limits. */
#include "file/json_read.h"
#include "fuzz.h"

FUZZ_TARGET(json) {
    json_t *root;
    int64_t n;
    dt_json_text text = {"file.json", "the file", "key", (const char *)data, size, DT_E_CHECKPOINT};
    dt_status *s = dt_json_parse(&text, &root);
    if (!s && dt_json_get_int(root, "a", &n))
        FUZZ_CHECK(json_integer_value(json_object_get(root, "a")) == n, "another number");
    json_decref(root);
    fuzz_done(s);
    return 0;
}
