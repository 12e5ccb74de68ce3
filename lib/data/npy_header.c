/* The header of an NPY file: the magic, a version, the length of a dictionary in text, the dictionary. The numbers follow. */
#include "data/array.h"

enum { MAGIC = 10, BLOCK = 64 }; /* the numbers begin at a multiple of 64 bytes */

static const char *const descr[] = {
    [DT_BOOL] = "|b1", [DT_UINT8] = "|u1", [DT_INT8] = "|i1", [DT_INT16] = "<i2", [DT_INT32] = "<i4", [DT_INT64] = "<i8",
    [DT_FLOAT32] = "<f4", [DT_FLOAT64] = "<f8", [DT_UINT16] = "<u2", [DT_UINT32] = "<u4", [DT_UINT64] = "<u8", [DT_FLOAT16] = "<f2",
};

void dt_npy_print_header(const dt_type *t, dt_str *out)
{
    dt_str text = { 0 };

    dt_str_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr[t->dtype]);
    for (int d = 0; d < t->rank; d++)
        dt_str_printf(&text, "%lld%s", (long long)t->dim[d], d + 1 < t->rank ? ", " : t->rank == 1 ? "," : "");
    dt_str_puts(&text, "), }");
    dt_str_pad(&text, 0, (int)((MAGIC + text.size + BLOCK) / BLOCK * BLOCK - MAGIC - 1));
    dt_str_putc(&text, '\n');
    dt_str_add(out, "\x93NUMPY\x01\x00", 8);
    dt_str_add(out, (const unsigned char[]){ text.size & 255, text.size >> 8 }, 2);
    dt_str_add(out, text.data, text.size);
    dt_str_release(&text);
}
