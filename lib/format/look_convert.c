/* SPDX-License-Identifier: Apache-2.0 */
/* `ckpt convert`: converts weights from one file format to another. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/contents.h"
#include "format/hdf5.h"

static dt_status *write_as(const char *path, const dt_arrays *a, const dt_contents *c) {
    const char *suffix = strrchr(path, '.');
    const dt_pair facts[] = {{"weights_sha256", c->checkpoint.state.weights_sha256}};
    if (suffix && strcmp(suffix, ".npz") == 0) return dt_npz_write(path, a);
    if (suffix && strcmp(suffix, ".safetensors") == 0)
        return dt_safetensors_export(path, a, facts, facts[0].value ? 1 : 0);
    return dt_fail(DT_E_USAGE, NULL, "'%s' must end in .safetensors or .npz", path);
}

static dt_status *read_all(const dt_stored_arrays *s, dt_named_view *array) {
    for (int i = 0; i < s->n; i++) {
        const dt_stored_array *a = &s->array[i];
        array[i] = (dt_named_view){.name = a->name, .type = a->type};
        if (!a->known)
            return dt_fail(DT_E_CHECKPOINT_MODEL, NULL,
                           "%s: '%.200s' is %s, which cannot be converted", s->path, a->name,
                           a->dtype);
        DT_TRY(dt_contents_read(s, a, &array[i].data));
    }
    return NULL;
}

static dt_status *convert(const dt_contents *c, const char *to) {
    const dt_stored_arrays *s = &c->file[0].arrays;
    DT_LOCAL dt_named_view *array = dt_alloc(dt_size_mul((size_t)s->n + 1, sizeof *array));
    dt_status *bad = read_all(s, array);
    if (!bad) bad = write_as(to, &(dt_arrays){s->n, array}, c);
    for (int i = 0; i < s->n; i++) free(array[i].data);
    return bad;
}

/* A Keras file is first converted to a safetensors file in memory. */
static dt_status *open_any(dt_contents *c, const char *from) {
    dt_held_file f;
    if (!dt_hdf5_is(from)) return dt_contents_open(c, from, NULL);
    DT_TRY(dt_hdf5_read(from, &f));
    c->checkpoint.only_weights = true;
    dt_status *bad = dt_stored_open_held(&c->file[0].arrays, &f);
    if (!bad) c->n = 1;
    close(f.fd);
    return bad;
}

dt_status *dt_checkpoint_convert(const char *from, const char *to) {
    dt_contents c = {0};
    DT_REQUIRE({from, "path"}, {to, "path to write"});
    DT_TRY(open_any(&c, from));
    dt_status *bad = dt_weights_check(&c);
    if (!bad) bad = convert(&c, to);
    dt_contents_close(&c);
    return bad;
}
