/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of compiled programs. A file has a line with the checksum of the bytes after it, then
 * the program in the plug-in's own format:
 *
 *     dtrain-pjrt-1 SHA256\n BYTES
 *
 * Several processes may write the same program at the same time: each writes a temporary file and
 * renames it.
 */
#include "pjrt/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"

#define MAGIC "dtrain-pjrt-1 "
enum { HEAD_SIZE = sizeof MAGIC - 1 + 64 + 1 };
static const size_t longest = (size_t)4 << 30;

dt_status *dt_pjrt_cache_open(const char *folder) {
    struct stat st;
    DT_TRY(dt_path_check(folder));
    DT_TRY(dt_dir_make(folder));
    if (stat(folder, &st) != 0) return dt_fail_errno(DT_E_CANT_CREATE, folder);
    if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return dt_suggest(
            dt_fail(DT_E_BACKEND, NULL,
                    "compilation cache %s: others can write to it, and it holds code that "
                    "runs as you",
                    folder),
            "name a folder of your own, with mode 0755 or less");
    return NULL;
}

/* ---- names ---- */

static void add_text(dt_sha256 *h, const char *text) {
    dt_sha256_add(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Adds size and time of the plug-in's file to the key, because another file may have the same
 * version. */
static void add_file(dt_sha256 *h, const char *path) {
    struct stat st;
    int64_t facts[3] = {0};
    if (stat(path, &st) == 0) {
        facts[0] = st.st_size;
        facts[1] = st.st_mtim.tv_sec;
        facts[2] = st.st_mtim.tv_nsec;
    }
    dt_sha256_add(h, facts, sizeof facts);
}

/* Adds the processor to the key. Programs use the processor's features, and machines may share a
 * home folder. */
static void add_processor(dt_sha256 *h) {
    char line[8192];
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "model name", 10) == 0) add_text(h, line);
        if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
            add_text(h, line);
            break;
        }
    }
    if (f) fclose(f);
}

dt_digest dt_pjrt_cache_name(const dt_pjrt *p, const char *about, const char *kind,
                             const dt_pjrt_text *t, const dt_str *options) {
    dt_sha256 *h = dt_sha256_create();
    add_text(h, about);
    add_text(h, kind);
    add_text(h, dt_environment("XLA_FLAGS"));
    add_file(h, p->path);
    add_processor(h);
    dt_sha256_add(h, &options->size, sizeof options->size);
    dt_sha256_add(h, options->data, options->size);
    dt_sha256_add(h, t->text, t->size);
    return dt_sha256_end(h);
}

static char *path_of(const dt_pjrt_cached *c) {
    dt_str path = {0};
    dt_str_printf(&path, "%s/%s.xla", c->folder, c->name.hex);
    return dt_str_take(&path);
}

/* ---- reading ---- */

static bool is_whole(const dt_str *file) {
    if (file->size <= HEAD_SIZE || memcmp(file->data, MAGIC, sizeof MAGIC - 1) != 0) return false;
    const dt_digest sum = dt_sha256_of(file->data + HEAD_SIZE, file->size - HEAD_SIZE);
    return memcmp(file->data + sizeof MAGIC - 1, sum.hex, 64) == 0;
}

static void *load_bytes(const dt_pjrt_cached *c, const char *bytes, size_t n) {
    static const dt_pjrt_step load = {DT_PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD,
                                      "PJRT_Executable_DeserializeAndLoad", "cache", DT_E_PLUGIN};
    dt_pjrt_deserialize a = {DT_PJRT_HEAD(dt_pjrt_deserialize), .client = c->client, .bytes = bytes,
                             .size = n};
    dt_status *bad = dt_pjrt_call(c->plugin, &load, &a);
    if (!bad) return a.executable;
    /* The plug-in rejects the program, for example because a device is missing here; it is
     * compiled again. */
    dt_status_free(bad);
    return NULL;
}

void *dt_pjrt_cache_load(const dt_pjrt_cached *c) {
    DT_LOCAL char *path = path_of(c);
    dt_local_str file = {0};
    /* Nearly always an error means that the program is not in the folder. */
    dt_status *bad = dt_file_read(path, longest, &file);
    void *loaded = !bad && is_whole(&file)
                       ? load_bytes(c, file.data + HEAD_SIZE, file.size - HEAD_SIZE)
                       : NULL;
    dt_status_free(bad);
    return loaded;
}

/* ---- writing ---- */

static dt_status *write_file(const char *temporary, const char *bytes, size_t n) {
    const dt_digest sum = dt_sha256_of(bytes, n);
    dt_writer w;
    dt_status *s = dt_writer_open(&w, temporary);
    if (!s) s = dt_writer_put(&w, MAGIC, sizeof MAGIC - 1);
    if (!s) s = dt_writer_put(&w, sum.hex, 64);
    if (!s) s = dt_writer_put(&w, "\n", 1);
    if (!s) s = dt_writer_put(&w, bytes, n);
    if (!s) s = dt_writer_sync(&w);
    if (!s) s = dt_writer_close(&w);
    if (s) dt_writer_abandon(&w);
    return s;
}

static dt_status *store_bytes(const dt_pjrt_cached *c, const char *bytes, size_t n) {
    DT_LOCAL char *path = path_of(c);
    dt_local_str temporary = {0};
    dt_str_printf(&temporary, "%s.%ld.tmp", path, (long)getpid());
    dt_status *s = write_file(dt_str_text(&temporary), bytes, n);
    if (!s) s = dt_file_adopt(dt_str_text(&temporary), path);
    return s;
}

void dt_pjrt_cache_store(const dt_pjrt_cached *c, void *executable) {
    static const dt_pjrt_step serialize = {DT_PJRT_EXECUTABLE_SERIALIZE,
                                           "PJRT_Executable_Serialize", "cache", DT_E_PLUGIN};
    dt_pjrt_serialize a = {DT_PJRT_HEAD(dt_pjrt_serialize), .executable = executable};
    dt_status *s = dt_pjrt_call(c->plugin, &serialize, &a);
    if (!s && a.bytes && a.size) s = store_bytes(c, a.bytes, a.size);
    if (a.serialized && a.free_serialized) a.free_serialized(a.serialized);
    /* An error, such as a full disk, is dropped: the next start compiles again. */
    dt_status_free(s);
}
