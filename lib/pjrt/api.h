/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the PJRT C API that is used here: the layouts of a plug-in's table and of its
 * functions' arguments. They follow the published interface (OpenXLA's pjrt_c_api.h, versions 0.81
 * to 0.116), but were written independently; nothing was copied from that header.
 *
 * GetPjrtApi returns a table: its size, a list of extensions, a version, then pointers to functions
 * in a fixed order. A function takes one struct and returns an error or NULL. Every struct begins
 * with its size, as the caller's version defines it, and a list of extensions. Later versions only
 * add members. A function exists only if the table is long enough and its pointer is set.
 */
#ifndef DT_PJRT_API_H
#define DT_PJRT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pjrt/settings.h"

typedef struct dt_pjrt_head {
    size_t size;
    void *extensions;
} dt_pjrt_head;

/* A function of the plug-in: takes a struct of arguments, returns an error or NULL. */
typedef void *(*dt_pjrt_function)(void *arguments);

typedef struct dt_pjrt_api {
    dt_pjrt_head head;
    struct {
        dt_pjrt_head head;
        int major, minor;
    } version;
    dt_pjrt_function function[]; /* the functions of the plug-in, in the order of dt_pjrt_slot */
} dt_pjrt_api;

/* An element of the linked list of extensions. `type` is its published number. */
typedef struct dt_pjrt_extension {
    size_t size;
    int type; /* a dt_pjrt_extension_type */
    const struct dt_pjrt_extension *next;
} dt_pjrt_extension;
typedef enum dt_pjrt_extension_type { DT_PJRT_GPU_CUSTOM_CALL = 0 } dt_pjrt_extension_type;

/* The functions of the plug-in, by their index in the table. */
typedef enum dt_pjrt_slot {
    DT_PJRT_ERROR_DESTROY = 0,
    DT_PJRT_ERROR_MESSAGE = 1,
    DT_PJRT_ERROR_GET_CODE = 2,
    DT_PJRT_PLUGIN_INITIALIZE = 3,
    DT_PJRT_PLUGIN_ATTRIBUTES = 4,
    DT_PJRT_EVENT_DESTROY = 5,
    DT_PJRT_EVENT_AWAIT = 8,
    DT_PJRT_CLIENT_CREATE = 10,
    DT_PJRT_CLIENT_DESTROY = 11,
    DT_PJRT_CLIENT_PLATFORM_NAME = 12,
    DT_PJRT_CLIENT_PLATFORM_VERSION = 14,
    DT_PJRT_CLIENT_ADDRESSABLE_DEVICES = 16,
    DT_PJRT_CLIENT_COMPILE = 20,
    DT_PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER = 22,
    DT_PJRT_DEVICE_DESCRIPTION_ID = 23,
    DT_PJRT_DEVICE_DESCRIPTION_ATTRIBUTES = 25,
    DT_PJRT_DEVICE_DESCRIPTION_KIND = 26,
    DT_PJRT_DEVICE_GET_DESCRIPTION = 29,
    DT_PJRT_DEVICE_MEMORY_STATS = 34,
    DT_PJRT_EXECUTABLE_DESTROY = 40,
    DT_PJRT_EXECUTABLE_NUM_OUTPUTS = 44,
    DT_PJRT_EXECUTABLE_OPTIMIZED_PROGRAM = 48,
    DT_PJRT_EXECUTABLE_SERIALIZE = 49,
    DT_PJRT_LOADED_EXECUTABLE_DESTROY = 50,
    DT_PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE = 51,
    DT_PJRT_LOADED_EXECUTABLE_EXECUTE = 55,
    DT_PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD = 56,
    DT_PJRT_BUFFER_DESTROY = 58,
    DT_PJRT_BUFFER_TO_HOST_BUFFER = 70,
    DT_PJRT_TOPOLOGY_CREATE = 82,
    DT_PJRT_TOPOLOGY_DESTROY = 83,
    DT_PJRT_TOPOLOGY_GET_DEVICE_DESCRIPTIONS = 86,
    DT_PJRT_COMPILE = 89,
    DT_PJRT_EXECUTABLE_GET_COMPILED_MEMORY_STATS = 96,
    DT_PJRT_SLOTS
} dt_pjrt_slot;

/* The plug-in's error codes that dtrain distinguishes. */
enum { DT_PJRT_NOT_FOUND = 5, DT_PJRT_RESOURCE_EXHAUSTED = 8, DT_PJRT_INTERNAL = 13 };

typedef struct dt_pjrt_named_value {
    dt_pjrt_head head;
    const char *name;
    size_t name_size;
    dt_pjrt_kind kind;
    union {
        const char *string;
        int64_t int64;
        const int64_t *list;
        float number;
        bool boolean;
    } value;
    /* number of characters if the value is a string, of elements if it is a list; otherwise 1 */
    size_t value_size;
} dt_pjrt_named_value;

/* ---- arguments of functions ---- */

/*
 * The caller sets the members of these structs before a call. The plug-in sets those that are
 * marked "output": all from the mark on, up to a mark "input" or the end of the struct.
 */

/* Arguments of functions that take an object and nothing else. */
typedef struct dt_pjrt_of {
    dt_pjrt_head head;
    void *object;
} dt_pjrt_of;
/* Arguments of functions that return a text: an error's message, a platform's name. */
typedef struct dt_pjrt_text_of {
    dt_pjrt_head head;
    void *object;
    /* output */ const char *text;
    size_t size;
} dt_pjrt_text_of;
/* Arguments of functions that return a part of an object, or that fill a struct about it. */
typedef struct dt_pjrt_object_of {
    dt_pjrt_head head;
    void *object;
    /* output: the part; or input: a struct that the function fills, such as a
     * dt_pjrt_program_source */
    void *part;
} dt_pjrt_object_of;
/* Arguments of functions that return a list: a client's devices, a topology's descriptions. */
typedef struct dt_pjrt_objects_of {
    dt_pjrt_head head;
    void *object;
    /* output */ void *const *part;
    size_t n;
} dt_pjrt_objects_of;
typedef struct dt_pjrt_attributes {
    dt_pjrt_head head;
    /* output */ const dt_pjrt_named_value *value;
    size_t n;
} dt_pjrt_attributes;
typedef struct dt_pjrt_topology_create {
    dt_pjrt_head head;
    const char *name;
    size_t name_size;
    const dt_pjrt_named_value *option;
    size_t n_options;
    /* output */ void *topology;
} dt_pjrt_topology_create;
typedef struct dt_pjrt_description_attributes {
    dt_pjrt_head head;
    void *description;
    /* output */ size_t n;
    const dt_pjrt_named_value *value;
} dt_pjrt_description_attributes;
typedef struct dt_pjrt_program_source {
    dt_pjrt_head head;
    char *code;
    size_t code_size;
    const char *format;
    size_t format_size;
} dt_pjrt_program_source;
typedef struct dt_pjrt_compile_arguments {
    dt_pjrt_head head;
    const void *topology;
    const dt_pjrt_program_source *program;
    const char *options;
    size_t options_size;
    void *client;
    /* output */ void *executable;
} dt_pjrt_compile_arguments;
typedef struct dt_pjrt_memory_stats {
    dt_pjrt_head head;
    void *executable;
    /* output: bytes on a device, then the same on the host */
    int64_t code, argument, output, alias, temp, host[5];
    int64_t peak;
} dt_pjrt_memory_stats;

typedef struct dt_pjrt_client_create {
    dt_pjrt_head head;
    const dt_pjrt_named_value *option;
    size_t n_options;
    /* callbacks by which clients in several processes exchange data; NULL: not used */
    void *get, *get_user, *put, *put_user;
    /* output */ void *client;
    /* input: a callback like `get`, which does not wait for the data; NULL: not used */
    void *(*try_get)(void *);
    void *try_get_user;
} dt_pjrt_client_create;
/* Arguments of functions that return a number: a device's id, an error's code. */
typedef struct dt_pjrt_number_of {
    dt_pjrt_head head;
    void *object;
    /* output */ int number;
} dt_pjrt_number_of;
typedef struct dt_pjrt_count_of {
    dt_pjrt_head head;
    void *object;
    /* output */ size_t n;
} dt_pjrt_count_of;
typedef struct dt_pjrt_device_memory {
    dt_pjrt_head head;
    void *device;
    /* output */ int64_t in_use;
    struct {
        int64_t value;
        bool is_set;
    } peak, allocations, largest, limit, reserved, peak_reserved, reservable, largest_free, pool,
        peak_pool;
} dt_pjrt_device_memory;
typedef struct dt_pjrt_client_compile {
    dt_pjrt_head head;
    void *client;
    const dt_pjrt_program_source *program;
    const char *options;
    size_t options_size;
    /* output */ void *executable;
} dt_pjrt_client_compile;

/* The layout of an array in memory: its dimensions from the fastest one on, without tiles. */
typedef struct dt_pjrt_layout {
    dt_pjrt_head head;
    dt_pjrt_head tiled;
    const int64_t *minor_to_major;
    size_t rank;
    const int64_t *tile;
    const size_t *tile_size;
    size_t n_tiles;
    int type; /* the kind of layout; 0 means tiled */
} dt_pjrt_layout;
/* How long the plug-in may read the memory of an array that it is given. */
typedef enum dt_pjrt_semantics {
    DT_PJRT_DURING_CALL,
    DT_PJRT_UNTIL_DONE,
    DT_PJRT_LENT
} dt_pjrt_semantics;
typedef struct dt_pjrt_from_host {
    dt_pjrt_head head;
    void *client;
    const void *data;
    int type;
    const int64_t *dim;
    size_t rank;
    const int64_t *stride;
    size_t n_strides;
    int semantics; /* a dt_pjrt_semantics */
    void *device, *memory, *layout;
    /* output */ void *done, *buffer;
} dt_pjrt_from_host;
typedef struct dt_pjrt_to_host {
    dt_pjrt_head head;
    void *buffer;
    dt_pjrt_layout *layout;
    void *data; /* memory to copy to; NULL: nothing is copied, and the function sets `size` */
    size_t size;
    /* output */ void *event;
} dt_pjrt_to_host;
typedef struct dt_pjrt_execute_options {
    dt_pjrt_head head;
    void *send, *receive;
    size_t sends, receives;
    int launch;
    /* indices of arguments that keep their memory, even if the program would reuse it for a
     * result */
    const int64_t *kept;
    size_t n_kept;
    void *context;
    const char *location;
    size_t n_tasks;
    int *task;
    int64_t *incarnation;
    void *later[8]; /* members that newer versions have added; zeros have no effect */
} dt_pjrt_execute_options;
typedef struct dt_pjrt_execute_arguments {
    dt_pjrt_head head;
    void *executable;
    dt_pjrt_execute_options *options;
    void *const *const *argument; /* [device][argument] buffers */
    size_t n_devices, n_arguments;
    void **const *result; /* [device][result] buffers */
    /* [device] events that occur when the program has finished; NULL: not needed */
    void **complete;
    void *device;
} dt_pjrt_execute_arguments;
typedef struct dt_pjrt_serialize {
    dt_pjrt_head head;
    void *executable; /* an executable that is not loaded */
    /* output */ const char *bytes;
    size_t size;
    void *serialized; /* the object that owns the bytes, to be destroyed by the caller */
    void (*free_serialized)(void *serialized);
} dt_pjrt_serialize;
typedef struct dt_pjrt_deserialize {
    dt_pjrt_head head;
    void *client;
    const char *bytes;
    size_t size;
    /* output */ void *executable;
    /* input: options in place of those that the program was compiled with; NULL: none */
    const char *options;
    size_t options_size;
} dt_pjrt_deserialize;

#endif
