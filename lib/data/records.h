/* SPDX-License-Identifier: Apache-2.0 */
/* What all formats of records and all formats of arrays share: the functions of their rows in formats.c. */
#ifndef DT_DATA_RECORDS_H
#define DT_DATA_RECORDS_H

#include "data/data.h"

dt_status *dt_records_check(const dt_format_request *r, dt_texts *names) DT_MUST_USE;
dt_status *dt_records_open_part(const dt_format_request *r, dt_examples **out) DT_MUST_USE;
dt_status *dt_records_whole(dt_examples *x, int e, const void **rows) DT_MUST_USE;
dt_status *dt_records_read(dt_examples *x, int e, int64_t row, void *out) DT_MUST_USE;
dt_status *dt_records_fetch(dt_examples *x, int64_t row, dt_str *buffer, dt_bytes *out) DT_MUST_USE;
dt_status *dt_records_unpack(dt_examples *x, int64_t row, const dt_bytes *bytes, void *const *out) DT_MUST_USE;
void dt_records_close_part(dt_examples *x);

dt_status *dt_arrays_check(const dt_format_request *r, dt_texts *names) DT_MUST_USE;
dt_status *dt_arrays_open_part(const dt_format_request *r, dt_examples **out) DT_MUST_USE;
const char *dt_arrays_source(const dt_examples *x, int64_t i, const char **what);
dt_status *dt_arrays_whole(dt_examples *x, int e, const void **rows) DT_MUST_USE;
int64_t dt_arrays_unread(dt_examples *x, int e);
dt_status *dt_arrays_read(dt_examples *x, int e, int64_t row, void *out) DT_MUST_USE;
void dt_arrays_close_part(dt_examples *x);

#endif
