/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as NPY files, which numpy.load reads. */
#include <stdlib.h>

#include "base/file.h"
#include "strategy/values.h"

enum { MAGIC = 10, BLOCK = 64 }; /* the numbers begin at a multiple of 64 bytes */

static const char *const descr[] = {
    [DT_BOOL] = "|b1", [DT_UINT8] = "|u1", [DT_INT8] = "|i1", [DT_INT16] = "<i2", [DT_INT32] = "<i4", [DT_INT64] = "<i8",
    [DT_FLOAT32] = "<f4", [DT_FLOAT64] = "<f8", [DT_UINT16] = "<u2", [DT_UINT32] = "<u4", [DT_UINT64] = "<u8", [DT_FLOAT16] = "<f2",
    [DT_BFLOAT16] = "<V2", /* as ml_dtypes writes it: NumPy has no word for it */
};

void dt_npy_print_header(const dt_type *t, size_t bytes, dt_str *out)
{
    dt_str text = { 0 };

    dt_str_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr[t->dtype]);
    for (int d = 0; d < t->rank; d++)
        dt_str_printf(&text, "%lld%s", (long long)t->dim[d], d + 1 < t->rank ? ", " : t->rank == 1 ? "," : "");
    dt_str_puts(&text, "), }");
    size_t all = (MAGIC + text.size + BLOCK) / BLOCK * BLOCK;
    dt_str_pad(&text, 0, (int)((all < bytes ? bytes : all) - MAGIC - 1));
    dt_str_putc(&text, '\n');
    dt_str_add(out, "\x93NUMPY\x01\x00", 8);
    dt_str_add(out, (const unsigned char[]){ text.size & 255, text.size >> 8 }, 2);
    dt_str_add(out, text.data, text.size);
    dt_str_release(&text);
}

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
