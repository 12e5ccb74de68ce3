/* SPDX-License-Identifier: Apache-2.0 */
/* The table of containers, and what their sources share; see file.h. */
#include "file/file.h"

#include <math.h>
#include <string.h>

const dt_container *const dt_containers[] = {
#define DT_CONTAINER(name, examples) &dt_container_##name,
#include "file/containers.h"
#undef DT_CONTAINER
    NULL,
};

const dt_container *dt_container_for(const char *path, const char **suffix)
{
    const size_t n = strlen(path);
    for (const dt_container *const *c = dt_containers; *c; c++)
        for (const char *const *s = (*c)->put ? (*c)->suffix : &(const char *){NULL}; *s; s++)
            if (n > strlen(*s) && strcmp(path + n - strlen(*s), *s) == 0) {
                *suffix = *s;
                return *c;
            }
    return NULL;
}

const dt_container *dt_container_sniff(const unsigned char *first, int64_t n)
{
    const dt_container *const *c = dt_containers;
    while (*c && !(*c)->sniff(first, n))
        c++;
    return *c;
}

int64_t dt_row_source_values(const dt_row_source *s)
{
    int64_t n = 0;
    for (int e = 0; e < s->n; e++)
        n += s->element[e].text ? 1 : dt_type_elements(&s->element[e].type);
    return n;
}

#define PUT(type, least, most) \
    if (!(x >= (double)(least) && x <= (double)(most)) || x != floor(x)) \
        return false; \
    ((type *)out)[i] = (type)x; \
    return true

bool dt_row_source_put(dt_dtype dtype, double x, void *out, int64_t i)
{
    switch (dtype) {
    case DT_BOOL: PUT(bool, 0, 1);
    case DT_UINT8: PUT(uint8_t, 0, UINT8_MAX);
    case DT_INT8: PUT(int8_t, INT8_MIN, INT8_MAX);
    case DT_INT16: PUT(int16_t, INT16_MIN, INT16_MAX);
    case DT_INT32: PUT(int32_t, INT32_MIN, INT32_MAX);
    case DT_INT64: PUT(int64_t, -0x1p53, 0x1p53);
    case DT_FLOAT64: ((double *)out)[i] = x; return isfinite(x);
    default: ((float *)out)[i] = (float)x; return isfinite((float)x);
    }
}
