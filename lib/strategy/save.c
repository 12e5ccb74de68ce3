/* SPDX-License-Identifier: Apache-2.0 */
/* Saves tensors as NPY files, which numpy.load reads. */
#include "file/array.h"
#include "file/file.h"
#include "strategy/values.h"

dt_status *dt_tensor_save(const dt_tensor *t, const char *path) {
    DT_LIVE(t);
    dt_output o = {0};
    DT_TRY(dt_status_kept());
    if (!t || !path || !*path)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "dt_tensor_save needs a tensor and a path: %s is missing",
                       t ? "the path" : "the tensor");
    dt_npy_print_header(&t->type, 0, &o.text);
    dt_status *s = dt_output_open(&o, path);
    if (!s) s = dt_output_flush(&o);
    if (!s) s = dt_writer_put(&o.file, t->data, (size_t)dt_type_bytes(&t->type));
    if (!s) s = dt_output_finish(&o);
    dt_output_close(&o);
    return s;
}
