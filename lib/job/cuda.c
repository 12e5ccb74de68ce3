/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA plug-in compiles with files of the CUDA toolkit and computes with its libraries. It looks
 * for both in packages beside its own (site-packages/nvidia/..., where pip puts them), then where
 * the toolkit is installed; libraries also where the loader looks. Without one of them it fails
 * minutes later, with a message that does not name the package.
 */
#include "job/cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBDEVICE "nvvm/libdevice/libdevice.10.bc"

/* Folders where the toolkit may be, relative to the plug-in's unless they begin with '/'. */
static const char *const folders[] = {"../../nvidia/cu13",      "../nvidia/cu13",
                                      "../../nvidia/cuda_nvcc", "../nvidia/cuda_nvcc",
                                      "/usr/local/cuda",        "/opt/cuda"};

static const char *const packages[] = {"../../nvidia", "../nvidia"};

static const struct {
    const char *name, *file; /* a file in the toolkit's folder, or */
    const char *soname[2];   /* a library, in one of these versions */
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

/* Finds the first folder with libdevice, as the compiler does; false: there is none. */
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

bool dt_cuda_look(const char *plugin, dt_str *found, dt_str *missing) {
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
