/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the PJRT C API that is used here: the layouts of a plug-in's table and of its functions' arguments. They are facts of the
 * published interface (OpenXLA's pjrt_c_api.h, versions 0.81 to 0.112), written independently; nothing of that header is copied.
 *
 * GetPjrtApi returns a table: its size, a list of extensions, a version, then pointers to functions in a fixed order. A function takes one struct and
 * returns an error or NULL. Every struct begins with its size, as its user knows it, and a list of extensions; later versions only add members. A
 * function is there only if the table is long enough and its pointer is set.
 */
#ifndef DT_PJRT_API_H
#define DT_PJRT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dt_pjrt_head {
    size_t size;
    void *extensions;
} dt_pjrt_head;

typedef void *(*dt_pjrt_function)(void *arguments); /* an error, or NULL */

typedef struct dt_pjrt_api {
    dt_pjrt_head head;
    struct { dt_pjrt_head head; int major, minor; } version;
    dt_pjrt_function function[]; /* by dt_pjrt_slot */
} dt_pjrt_api;

/* Places in the table. */
typedef enum dt_pjrt_slot {
    DT_PJRT_ERROR_DESTROY = 0, DT_PJRT_ERROR_MESSAGE = 1, DT_PJRT_PLUGIN_INITIALIZE = 3, DT_PJRT_PLUGIN_ATTRIBUTES = 4, DT_PJRT_EVENT_DESTROY = 5,
    DT_PJRT_EVENT_AWAIT = 8, DT_PJRT_CLIENT_CREATE = 10, DT_PJRT_CLIENT_DESTROY = 11, DT_PJRT_CLIENT_ADDRESSABLE_DEVICES = 16, DT_PJRT_CLIENT_COMPILE = 20,
    DT_PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER = 22, DT_PJRT_DEVICE_DESCRIPTION_ATTRIBUTES = 25, DT_PJRT_EXECUTABLE_DESTROY = 40,
    DT_PJRT_EXECUTABLE_OPTIMIZED_PROGRAM = 48, DT_PJRT_LOADED_EXECUTABLE_DESTROY = 50, DT_PJRT_LOADED_EXECUTABLE_EXECUTE = 55, DT_PJRT_BUFFER_DESTROY = 58,
    DT_PJRT_BUFFER_TO_HOST_BUFFER = 70, DT_PJRT_TOPOLOGY_CREATE = 82, DT_PJRT_TOPOLOGY_DESTROY = 83, DT_PJRT_TOPOLOGY_GET_DEVICE_DESCRIPTIONS = 86,
    DT_PJRT_COMPILE = 89, DT_PJRT_EXECUTABLE_GET_COMPILED_MEMORY_STATS = 96, DT_PJRT_SLOTS
} dt_pjrt_slot;

typedef enum dt_pjrt_kind { DT_PJRT_STRING, DT_PJRT_INT64, DT_PJRT_INT64_LIST, DT_PJRT_FLOAT, DT_PJRT_BOOL } dt_pjrt_kind;

typedef struct dt_pjrt_named_value {
    dt_pjrt_head head;
    const char *name;
    size_t name_size;
    dt_pjrt_kind kind;
    union { const char *string; int64_t int64; const int64_t *list; float number; bool boolean; } value;
    size_t value_size; /* characters or numbers; 1 */
} dt_pjrt_named_value;

/* ---- what functions take; members behind "gives" are filled by the plug-in ---- */

typedef struct dt_pjrt_of { dt_pjrt_head head; void *object; } dt_pjrt_of; /* of those that take an object alone */
typedef struct dt_pjrt_error_message { dt_pjrt_head head; void *error; /* gives */ const char *message; size_t size; } dt_pjrt_error_message;
typedef struct dt_pjrt_attributes { dt_pjrt_head head; /* gives */ const dt_pjrt_named_value *value; size_t n; } dt_pjrt_attributes;
typedef struct dt_pjrt_topology_create {
    dt_pjrt_head head;
    const char *name;
    size_t name_size;
    const dt_pjrt_named_value *option;
    size_t n_options;
    /* gives */ void *topology;
} dt_pjrt_topology_create;
typedef struct dt_pjrt_descriptions { dt_pjrt_head head; void *topology; /* gives */ void *const *description; size_t n; } dt_pjrt_descriptions;
typedef struct dt_pjrt_description_attributes {
    dt_pjrt_head head;
    void *description;
    /* gives */ size_t n;
    const dt_pjrt_named_value *value;
} dt_pjrt_description_attributes;
typedef struct dt_pjrt_program { dt_pjrt_head head; char *code; size_t code_size; const char *format; size_t format_size; } dt_pjrt_program;
typedef struct dt_pjrt_compile_arguments {
    dt_pjrt_head head;
    const void *topology;
    const dt_pjrt_program *program;
    const char *options;
    size_t options_size;
    void *client;
    /* gives */ void *executable;
} dt_pjrt_compile_arguments;
typedef struct dt_pjrt_memory_stats {
    dt_pjrt_head head;
    void *executable;
    /* gives: of a device, then the same of the host */
    int64_t code, argument, output, alias, temp, host[5];
    int64_t peak;
} dt_pjrt_memory_stats;
typedef struct dt_pjrt_optimized { dt_pjrt_head head; void *executable; dt_pjrt_program *program; } dt_pjrt_optimized;

#endif
