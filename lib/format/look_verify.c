/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `ckpt verify` and `ckpt convert`. The first checks a checkpoint without its job: the checksum of
 * state.json and those of the files (dt_saved_open), the headers of the files, the step in the
 * directory's name, and the SHA-256 of the weights in the state, which detects a file that was
 * replaced as a whole.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "file/zip.h"
#include "format/contents.h"
#include "format/hdf5.h"
#include "format/state.h"

static int count_tensors(const dt_contents *c) {
    int n = 0;
    for (int i = 0; i < c->n; i++) n += c->file[i].arrays.n;
    return n;
}

static void print_contents(const dt_contents *c, bool json, dt_str *out) {
    const dt_saved *k = &c->checkpoint;
    dt_json j = {.out = out};
    if (!json) {
        dt_str_printf(out, "ok       %s, %d tensors", k->path, count_tensors(c));
        if (!k->only_weights)
            dt_str_printf(out, ", step %" PRId64 ", weights sha %.12s", k->state.step,
                          k->state.weights_sha256 ? k->state.weights_sha256 : "?");
        dt_str_putc(out, '\n');
        return;
    }
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "path", k->path);
    dt_json_bool(&j, "ok", true);
    if (!k->only_weights) dt_json_int(&j, "step", k->state.step);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

/* Adds the location of the damage to an error. A checksum shows only that a file is damaged; its
 * header often shows where. */
static dt_status *name_place(const char *path, dt_status *bad) {
    for (int i = 0; i < DT_TENSOR_FILES; i++) {
        DT_LOCAL char *file = dt_path_join(path, dt_tensor_files[i].name);
        dt_stored_arrays s = {.fd = -1};
        dt_status *why = access(file, F_OK) == 0 ? dt_stored_open(&s, file) : NULL;
        if (!why) dt_stored_close(&s);
        if (why && strcmp(dt_status_text(why), dt_status_text(bad)) != 0)
            bad = dt_note(bad, "%s", dt_status_text(why));
        dt_status_free(why);
    }
    return bad;
}

/* Reads all arrays of a file of weights: the only checksums that it may have are those of an
 * archive, which are verified while its members are read. */
static dt_status *read_all(const dt_stored_arrays *s) {
    dt_status *bad = NULL;
    for (int i = 0; i < s->n && !bad; i++) {
        DT_LOCAL void *data = NULL;
        bad = dt_contents_read(s, &s->array[i], &data);
    }
    return bad;
}

static dt_status *verify_one(const char *path, bool json, dt_str *out) {
    dt_contents c = {0};
    dt_status *bad = dt_contents_open(&c, path, NULL);
    if (bad)
        return dt_status_number(bad) == DT_E_CHECKPOINT && !dt_zip_is(path) ? name_place(path, bad)
                                                                            : bad;
    bad = dt_weights_check(&c);
    if (!bad)
        bad = c.checkpoint.only_weights ? read_all(&c.file[0].arrays)
                                        : dt_step_match(path, c.checkpoint.state.step);
    if (!bad) print_contents(&c, json, out);
    dt_contents_close(&c);
    return bad;
}

static dt_status *verify_run(const char *run, bool json, dt_str *out) {
    dt_listing l = {0};
    dt_status *bad = NULL;
    DT_TRY(dt_listing_read(&l, run));
    if (l.n == 0) bad = dt_fail(DT_E_NO_INPUT, NULL, "%s: has no checkpoint", run);
    for (int i = 0; i < l.n; i++) dt_status_append(&bad, verify_one(l.item[i].path, json, out));
    dt_listing_release(&l);
    return bad;
}

dt_status *dt_checkpoint_verify(const char *path, bool json, char **text) {
    dt_str out = {0};
    DT_REQUIRE({path, "path"}, {text, "place for the text"});
    dt_status *bad = dt_is_run(path) ? verify_run(path, json, &out) : verify_one(path, json, &out);
    *text = dt_str_take(&out);
    return bad;
}

/* ---- ckpt convert ---- */

/* Writes arrays in the format that the path's suffix names: .npz, or .safetensors, which also gets
 * the weights_sha256 of the checkpoint if there is one. Error USAGE for other suffixes. */
static dt_status *write_as(const char *path, const dt_arrays *a, const dt_contents *c) {
    const char *suffix = strrchr(path, '.');
    const dt_pair facts[] = {{"weights_sha256", c->checkpoint.state.weights_sha256}};
    if (suffix && strcmp(suffix, ".npz") == 0) return dt_npz_write(path, a);
    if (suffix && strcmp(suffix, ".safetensors") == 0)
        return dt_safetensors_export(path, a, facts, facts[0].value ? 1 : 0);
    return dt_fail(DT_E_USAGE, NULL, "'%s' must end in .safetensors or .npz", path);
}

static dt_status *read_arrays(const dt_stored_arrays *s, dt_named_view *array) {
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
    dt_status *bad = read_arrays(s, array);
    if (!bad) bad = write_as(to, &(dt_arrays){s->n, array}, c);
    for (int i = 0; i < s->n; i++) free(array[i].data);
    return bad;
}

/* Opens the path. A file that dt_hdf5_is recognizes is first converted to a safetensors file in
 * memory. */
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
