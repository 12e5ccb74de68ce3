/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of published numbers (`bench --simulator`): the file, and what each kind makes of a row.
 * Jobs that rows name are not there. */
#include "fuzz.h"
#include "../../cmd/simulator/rows.h"

FUZZ_TARGET(rows) {
    dt_rows rows;
    dt_str out = {0};
    dt_status *s = dt_rows_read(&rows, fuzz_file(data, size));
    if (!s) {
        rows.configs = "/nowhere";
        dt_rows_predict(&rows);
        dt_rows_report(&rows, &out);
        dt_rows_json(&rows, &out);
    }
    fuzz_done(s);
    dt_rows_release(&rows);
    dt_str_release(&out);
    return 0;
}
