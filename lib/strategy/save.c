/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as NPY files, which numpy.load reads. */
#include <stdlib.h>

#include "base/file.h"
#include "file/array.h"
#include "strategy/values.h"

static dt_status *write_parts(dt_writer *w, const dt_tensor *t)
{
    dt_str header = { 0 };

    dt_npy_print_header(&t->type, 0, &header);
    dt_status *s = dt_writer_put(w, header.data, header.size);
    dt_str_release(&header);
    if (!s)
        s = dt_writer_put(w, t->data, (size_t)dt_type_bytes(&t->type));
    if (!s)
        s = dt_writer_sync(w);
    return s ? s : dt_writer_close(w);
}

static dt_status *write_beside(const dt_tensor *t, const char *temporary, const char *path)
{
    dt_writer w;
    dt_status *s = dt_writer_open(&w, temporary);

    if (!s)
        s = write_parts(&w, t);
    if (!s)
        return dt_file_adopt(temporary, path);
    dt_writer_abandon(&w);
    return s;
}

dt_status *dt_tensor_save(const dt_tensor *t, const char *path)
{
    DT_LIVE(t);
    dt_str temporary = { 0 };

    DT_TRY(dt_status_kept());
    if (!t || !path || !*path)
        return dt_fail(DT_E_ARGUMENT, NULL, "dt_tensor_save needs a tensor and a path: %s is missing", t ? "the path" : "the tensor");
    dt_str_printf(&temporary, "%s.tmp", path);
    dt_status *s = write_beside(t, temporary.data, path);
    dt_str_release(&temporary);
    return s;
}
