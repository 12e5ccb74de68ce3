/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows to files or standard output: rows are collected in memory and written in large
 * pieces. A file gets its name when it is complete. See file.h. */
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "file/file.h"

enum { GATHERED = 1 << 20 };

void dt_output_stdout(dt_output *o) {
    o->file = (dt_writer){.fd = STDOUT_FILENO, .path = dt_strdup("standard output"), .keep = true};
}

dt_status *dt_output_open(dt_output *o, const char *named) {
    dt_str temporary = {0};
    o->named = named;
    DT_TRY(dt_file_target(named, &o->path));
    dt_str_printf(&temporary, "%s.tmp", o->path);
    dt_status *s = dt_writer_open(&o->file, dt_str_text(&temporary));
    if (s) dt_str_release(&temporary);
    else o->temporary = dt_str_take(&temporary);
    return s;
}

dt_status *dt_output_begin(dt_output *o) {
    o->begun = true;
    return o->kind->writer->begin ? o->kind->writer->begin(o) : NULL;
}

dt_status *dt_output_flush(dt_output *o) {
    if (o->begun && o->kind->writer->flush) return o->kind->writer->flush(o);
    dt_status *s = dt_writer_put(&o->file, dt_str_text(&o->text), o->text.size);
    dt_str_clear(&o->text);
    return s;
}

dt_status *dt_output_put(dt_output *o, const void *const *row) {
    DT_TRY(o->kind->writer->put(o, row));
    o->rows++;
    return o->text.size < GATHERED ? NULL : dt_output_flush(o);
}

dt_status *dt_output_finish(dt_output *o) {
    DT_TRY(dt_output_flush(o));
    if (o->begun && o->kind->writer->finish) DT_TRY(o->kind->writer->finish(o));
    if (!o->path) return NULL;
    DT_TRY(dt_writer_sync(&o->file));
    DT_TRY(dt_writer_close(&o->file));
    dt_status *s = dt_file_adopt(o->temporary, o->path);
    free(o->temporary);
    o->temporary = NULL;
    return s;
}

void dt_output_close(dt_output *o) {
    if (!o->path) free(o->file.path); /* standard output is not closed */
    else if (o->temporary) dt_writer_abandon(&o->file);
    if (o->state) o->kind->writer->release(o);
    dt_str_release(&o->text);
    free(o->temporary);
    free(o->path);
    *o = (dt_output){0};
}
