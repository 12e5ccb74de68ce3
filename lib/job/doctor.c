/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain doctor: facts about the machine for a bug report, and problems that dtrain will have on
 * it. A fact is a text with a label, so that text and JSON output agree. Each problem has a check
 * of its own.
 */
#define _GNU_SOURCE /* for environ */
#include <dlfcn.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <jpeglib.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <yaml.h>
#include <zlib.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/size.h"
#include "dtrain.h"
#include "train/record.h"

enum { MOST_FACTS = 16, MOST_PROBLEMS = 8, FEW_FILES = 64 };
#define LITTLE_SPACE (INT64_C(64) << 20)

typedef struct fact {
    const char *label;
    dt_str words;
} fact;

typedef struct patient {
    fact fact[MOST_FACTS];
    int facts;
    dt_str problem[MOST_PROBLEMS];
    int problems;
    char *devices, *devices_json;
} patient;

static dt_str *add(patient *p, const char *label) {
    fact *f = &p->fact[p->facts++];
    f->label = label;
    return &f->words;
}

static dt_str *problem(patient *p) { return &p->problem[p->problems++]; }

/* ---- examining ---- */

static void look_at_program(patient *p) {
    dt_str_printf(add(p, "version"), "%s, compiled by %s %s", dt_version(),
#ifdef __clang__
                  "clang",
#else
                  "gcc",
#endif
                  __VERSION__);
    dt_str_printf(add(p, "libraries"),
                  "glibc %s, libyaml %s, jansson %s, %s, zlib %s, libpng %s, libjpeg %d",
                  gnu_get_libc_version(), yaml_get_version_string(), JANSSON_VERSION,
                  OpenSSL_version(OPENSSL_VERSION), zlibVersion(), png_get_libpng_ver(NULL),
                  JPEG_LIB_VERSION);
}

static void print_gibibytes(int64_t bytes, dt_str *out) {
    dt_str_printf(out, "%.1f GiB", (double)bytes / (double)(INT64_C(1) << 30));
}

static void print_limit(dt_str *out, const char *what, int resource) {
    struct rlimit l;
    if (getrlimit(resource, &l) != 0 || l.rlim_cur == RLIM_INFINITY)
        dt_str_printf(out, "%s unlimited", what);
    else dt_str_printf(out, "%s %llu", what, (unsigned long long)l.rlim_cur);
}

/* Reports the memory limit of a control group, such as a container's, and as a problem if it is
 * less than 256 MiB. */
static void look_at_group(patient *p, dt_str *out) {
    enum { LITTLE = 256 << 20 };
    dt_memory_limit l;
    if (!dt_memory_limit_of_group("", &l)) return;
    dt_str_puts(out, ", of the control group ");
    dt_memory_limit_print(&l, out);
    if (l.bytes < LITTLE) {
        dt_str *words = problem(p);
        dt_str_puts(words, "the control group has only ");
        dt_memory_limit_print(&l, words);
    }
}

static void look_at_folder(patient *p, const char *label, const char *path) {
    struct statvfs v;
    dt_str *out = add(p, label);
    const bool known = statvfs(path, &v) == 0, writable = access(path, W_OK) == 0;
    const int64_t room = known ? (int64_t)v.f_bavail * (int64_t)v.f_frsize : 0;
    dt_str_escaped(out, path, strlen(path), 4096);
    if (known) {
        dt_str_puts(out, ", ");
        print_gibibytes(room, out);
        dt_str_puts(out, " free");
    }
    if (!writable) dt_str_printf(problem(p), "%s cannot be written to", dt_str_text(out));
    else if (known && room < LITTLE_SPACE)
        dt_str_printf(problem(p), "%s: that is little", dt_str_text(out));
}

/* Whether to print an entry of the environment: its name is, or begins with, one that dtrain or a
 * library that it uses reads. Others are left out, since they may hold secrets. */
static bool is_obeyed(const char *entry) {
    static const char *const names[] = {"DTRAIN_",      "TPU_",
                                        "OMP_",         "OPENBLAS_",
                                        "DNNL_",        "ONEDNN_",
                                        "TF_CONFIG=",   "CUDA_VISIBLE_DEVICES=",
                                        "TMPDIR=",      "NO_COLOR=",
                                        "FORCE_COLOR=", "TERM=",
                                        "CI=",          "LANG=",
                                        "LC_ALL=",      "LC_CTYPE=",
                                        "COLUMNS=",     "SOURCE_DATE_EPOCH="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0) return true;
    return false;
}

static void look_at_environment(patient *p) {
    enum { LONGEST = 200 };
    dt_str *out = add(p, "variables");
    for (char **e = environ; *e; e++)
        if (is_obeyed(*e)) {
            dt_str_puts(out, out->size ? ", " : "");
            dt_str_escaped(out, *e, strlen(*e), LONGEST);
        }
    if (out->size == 0) dt_str_puts(out, "none that count");
}

/*
 * A CUDA plug-in compiles with files of the CUDA toolkit and computes with its libraries. It
 * searches packages beside its own (site-packages/nvidia/..., where pip puts them), then the folder
 * of the installed toolkit. Libraries are also searched in the loader's folders. If one of them is
 * missing, the plug-in fails minutes later, with a message that does not name the package.
 */

#define LIBDEVICE "nvvm/libdevice/libdevice.10.bc"

/* Folders in which NVIDIA's toolkit may be. Names that do not begin with '/' are relative to the
 * plug-in's folder. */
static const char *const folders[] = {"../../nvidia/cu13",      "../nvidia/cu13",
                                      "../../nvidia/cuda_nvcc", "../nvidia/cuda_nvcc",
                                      "/usr/local/cuda",        "/opt/cuda"};

static const char *const packages[] = {"../../nvidia", "../nvidia"};

static const struct {
    /* what the row looks for: its name, and a file in the toolkit's folder, or NULL */
    const char *name, *file;
    const char *soname[2]; /* the library's file name in two versions, or NULL */
} parts[] = {
    {"libdevice", LIBDEVICE, {NULL}},
    {"ptxas", "bin/ptxas", {NULL}},
    {"libcudart", NULL, {"libcudart.so.13", "libcudart.so.12"}},
    {"libcublas", NULL, {"libcublas.so.13", "libcublas.so.12"}},
    {"libcudnn", NULL, {"libcudnn.so.9", NULL}},
    {"the driver's libcuda", NULL, {"libcuda.so.1", NULL}},
};

static void join(char path[PATH_MAX], const char *in, const char *name) {
    const bool fits = snprintf(path, PATH_MAX, "%s/%s", in, name) < PATH_MAX;
    if (!fits) path[0] = '\0';
}

static bool has_file(const char *folder, const char *name) {
    char path[PATH_MAX];
    join(path, folder, name);
    return access(path, R_OK) == 0;
}

/* Finds the first folder with libdevice, in the same order as the compiler does. Returns false if
 * no folder has it. */
static bool find_folder(const char *beside, char folder[PATH_MAX]) {
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[PATH_MAX];
        if (folders[i][0] == '/') snprintf(path, sizeof path, "%s", folders[i]);
        else join(path, beside, folders[i]);
        if (has_file(path, LIBDEVICE) && realpath(path, folder)) return true;
    }
    return false;
}

static bool is_in_packages(const char *beside, const char *soname) {
    bool found = false;
    for (size_t i = 0; i < sizeof packages / sizeof *packages && !found; i++) {
        char folder[PATH_MAX], pattern[PATH_MAX + 64];
        glob_t list = {0};
        join(folder, beside, packages[i]);
        snprintf(pattern, sizeof pattern, "%s/*/lib/%s", folder, soname);
        found = glob(pattern, GLOB_NOSORT, NULL, &list) == 0;
        globfree(&list);
    }
    return found;
}

static bool is_library_here(const char *beside, const char *const soname[2]) {
    for (int i = 0; i < 2 && soname[i]; i++) {
        if (is_in_packages(beside, soname[i])) return true;
        void *library = dlopen(soname[i], RTLD_LAZY | RTLD_LOCAL);
        if (library) dlclose(library);
        if (library) return true;
    }
    return false;
}

/* Searches the folders that the plug-in at this path will search. `found` gets "FOLDER: libdevice,
 * ptxas, libcudnn", or that there is no folder; `missing` gets the names of missing parts,
 * separated by commas. Returns false, and writes nothing, if there is no such file, or "cuda" is
 * not in its name. */
static bool find_cuda(const char *plugin, dt_str *found, dt_str *missing) {
    char beside[PATH_MAX], folder[PATH_MAX] = "";
    if (!realpath(plugin, beside)) return false;
    char *name = strrchr(beside, '/');
    if (!name || !strstr(name, "cuda")) return false;
    *name = '\0';
    const bool has_folder = find_folder(beside, folder);
    int n = 0;
    if (has_folder) dt_str_escaped(found, folder, strlen(folder), PATH_MAX);
    else dt_str_puts(found, "no folder with libdevice");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const bool here = parts[i].file ? has_folder && has_file(folder, parts[i].file)
                                        : is_library_here(beside, parts[i].soname);
        if (here) dt_str_printf(found, "%s%s", n++ ? ", " : ": ", parts[i].name);
        else dt_str_printf(missing, "%s%s", missing->size ? ", " : "", parts[i].name);
    }
    return true;
}

/* Reports the parts of CUDA that the plug-in needs which an environment variable names, if it is
 * one for NVIDIA's GPUs. */
static void look_at_cuda(patient *p) {
    const char *plugin = dt_environment(DT_PJRT_PLUGIN_ENV);
    dt_local_str found = {0}, missing = {0};
    if (!plugin || !find_cuda(plugin, &found, &missing)) return;
    dt_str_puts(add(p, "cuda"), dt_str_text(&found));
    if (missing.size)
        dt_str_printf(problem(p),
                      "the CUDA plug-in will not find %s: see the installation in "
                      "docs/accelerators.md",
                      dt_str_text(&missing));
}

/* Lists all devices. The error of a plug-in that does not start is dropped, since the text has it
 * beside the other devices; other errors are returned. */
static dt_status *list_devices(bool json, char **text) {
    dt_status *s = dt_devices_text(json, text);
    if (!*text) return s;
    dt_status_free(s);
    return NULL;
}

static dt_status *inspect_all(patient *p) {
    const char *temporary = dt_environment("TMPDIR");
    look_at_program(p);
    struct utsname u;
    const long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES),
               free_pages = sysconf(_SC_AVPHYS_PAGES);
    if (uname(&u) == 0)
        dt_str_printf(add(p, "system"), "%s %s %s", u.sysname, u.release, u.machine);
    if (!dt_host_processor(add(p, "processor")))
        dt_str_puts(&p->fact[p->facts - 1].words, "unknown");
    dt_str *memory = add(p, "memory");
    print_gibibytes((int64_t)pages * page, memory);
    dt_str_puts(memory, ", ");
    print_gibibytes((int64_t)free_pages * page, memory);
    dt_str_puts(memory, " of it unused");
    struct rlimit l;
    dt_str *out = add(p, "limits");
    print_limit(out, "files", RLIMIT_NOFILE);
    print_limit(out, ", processes", RLIMIT_NPROC);
    print_limit(out, ", memory", RLIMIT_AS);
    look_at_group(p, out);
    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < FEW_FILES)
        dt_str_printf(problem(p), "only %llu files may be open at a time (ulimit -n)",
                      (unsigned long long)l.rlim_cur);
    look_at_folder(p, "folder", ".");
    look_at_folder(p, "temporary", temporary ? temporary : "/tmp");
    look_at_environment(p);
    look_at_cuda(p);
    DT_TRY(list_devices(false, &p->devices));
    DT_TRY(list_devices(true, &p->devices_json));
    p->devices_json[strcspn(p->devices_json, "\n")] = '\0';
    return NULL;
}

/* ---- printing ---- */

static void print_text(const patient *p, dt_str *out) {
    for (int i = 0; i < p->facts; i++)
        dt_str_printf(out, "%-12s%s\n", p->fact[i].label, dt_str_text(&p->fact[i].words));
    dt_str_puts(out, p->devices);
    for (int i = 0; i < p->problems; i++)
        dt_str_printf(out, "%-12s%s\n", i ? "" : "problems", dt_str_text(&p->problem[i]));
    if (p->problems == 0) dt_str_printf(out, "%-12snone found\n", "problems");
}

static void print_json(const patient *p, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    for (int i = 0; i < p->facts; i++)
        dt_json_string(&j, p->fact[i].label, dt_str_text(&p->fact[i].words));
    dt_json_raw(&j, "devices", p->devices_json);
    dt_json_open(&j, "problems", '[');
    for (int i = 0; i < p->problems; i++) dt_json_string(&j, NULL, dt_str_text(&p->problem[i]));
    dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

static void forget(patient *p) {
    for (int i = 0; i < p->facts; i++) dt_str_release(&p->fact[i].words);
    for (int i = 0; i < p->problems; i++) dt_str_release(&p->problem[i]);
    free(p->devices);
    free(p->devices_json);
}

DT_API dt_status *dt_doctor_text(bool json, char **text) {
    patient p = {0};
    dt_str out = {0};
    DT_REQUIRE({text, "place for the text"});
    dt_status *s = inspect_all(&p);
    if (!s) {
        (json ? print_json : print_text)(&p, &out);
        *text = dt_str_take(&out);
    }
    forget(&p);
    return s;
}
