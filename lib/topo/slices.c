/*
 * Slices that can be had, and how they are spelled: "v3-8" counts cores, "v3:2x2" gives the grid of chips, "sim:" before
 * either says that it is simulated. Which axes wrap around is a fact of the machine: on v2 and v3 only those of a whole pod.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "topo/chip_rows.h"

static const dt_slice slices[] = { /* by size, then by generation */
    {"v2-8", &dt_chip_v2, {2, 2, 1}, {false, false, false}, false},
    {"v3-8", &dt_chip_v3, {2, 2, 1}, {false, false, false}, false},
    {"v4-8", &dt_chip_v4, {2, 2, 1}, {false, false, false}, false},
    {"v4-16", &dt_chip_v4, {2, 2, 2}, {false, false, false}, false},
    {"v2-32", &dt_chip_v2, {4, 4, 1}, {false, false, false}, false},
    {"v3-32", &dt_chip_v3, {4, 4, 1}, {false, false, false}, false},
    {"v4-32", &dt_chip_v4, {2, 2, 4}, {false, false, false}, false},
};
enum { SLICES = sizeof slices / sizeof *slices };

const dt_slice *dt_slices(int *n)
{
    *n = SLICES;
    return slices;
}

int dt_slice_chips(const dt_slice *s)
{
    return s->chips[0] * s->chips[1] * s->chips[2];
}

int dt_slice_hosts(const dt_slice *s)
{
    int n = 1;
    for (int axis = 0; axis < 3; axis++)
        n *= (s->chips[axis] + s->chip->host[axis] - 1) / s->chip->host[axis];
    return n;
}

/* ---- what is wrong with a name ---- */

typedef struct wanted {
    const char *name; /* as it was written */
    dt_error row;
    const dt_place *at;
} wanted;

static void list(dt_str *text, const dt_slice *const *found, int n)
{
    for (int i = 0; i < n; i++)
        dt_str_printf(text, "%s%s", i == 0 ? "" : i == n - 1 ? " and " : ", ", found[i]->name);
}

/* The slices of a generation next below and next above a number of chips; all slices when the generation is unknown (NULL). */
static int nearest(const dt_chip *chip, int64_t chips, const dt_slice *found[SLICES])
{
    const dt_slice *below = NULL, *above = NULL;
    int n = 0;
    for (int i = 0; i < SLICES; i++) {
        const dt_slice *s = &slices[i];
        if (!chip)
            found[n++] = s;
        else if (s->chip == chip && dt_slice_chips(s) <= chips)
            below = s;
        else if (s->chip == chip && !above)
            above = s;
    }
    if (below)
        found[n++] = below;
    if (above)
        found[n++] = above;
    return n;
}

static dt_status *unknown(const wanted *w, const dt_chip *chip, int64_t chips)
{
    const dt_slice *found[SLICES];
    int n = nearest(chip, chips, found);
    dt_str text = {0};
    list(&text, found, n);
    dt_status *s = dt_fail(w->row, w->at, "unknown slice '%.80s'; %s %s", w->name,
                           !chip ? "there are" : n == 1 ? "the nearest is" : "the nearest are", dt_str_text(&text));
    dt_str_release(&text);
    return s;
}

/* ---- grids ---- */

static dt_status *not_a_grid(const wanted *w)
{
    return dt_fail(w->row, w->at, "'%.80s' is not of the form AxB or AxBxC", w->name);
}

/* One side: digits, at least 1. */
static dt_status *read_side(const wanted *w, const char *digits, int64_t *out)
{
    if (!dt_parse_int64(digits, out)) {
        if (errno == ERANGE)
            return dt_fail(w->row, w->at, "'%.80s': size %.40s is out of range", w->name, digits);
        return not_a_grid(w);
    }
    if (*out < 1)
        return dt_fail(w->row, w->at, "'%.80s': every size must be at least 1, got %lld", w->name, (long long)*out);
    return NULL;
}

/* "2x2", "4x4x8" into chips[3]; the third is 1 unless given. */
static dt_status *read_grid(const wanted *w, const char *text, int64_t chips[3])
{
    char side[64];
    chips[2] = 1;
    int n = 0;
    for (const char *end; text; text = *end ? end + 1 : NULL, n++) {
        end = text + strcspn(text, "xX");
        if (n == 3 || (size_t)(end - text) >= sizeof side)
            return not_a_grid(w);
        memcpy(side, text, (size_t)(end - text));
        side[end - text] = '\0';
        DT_TRY(read_side(w, side, &chips[n]));
    }
    return n < 2 ? not_a_grid(w) : NULL;
}

static dt_status *find_grid(const wanted *w, const dt_chip *chip, const char *grid, const dt_slice **out)
{
    int64_t chips[3], all = 0;
    DT_TRY(read_grid(w, grid, chips));
    for (int i = 0; i < SLICES; i++)
        if (slices[i].chip == chip && slices[i].chips[0] == chips[0] && slices[i].chips[1] == chips[1] && slices[i].chips[2] == chips[2]) {
            *out = &slices[i];
            return NULL;
        }
    if (!dt_mul_fits(chips[0], chips[1], &all) || !dt_mul_fits(all, chips[2], &all))
        return dt_fail(w->row, w->at, "'%.80s': the number of chips is out of range", w->name);
    return unknown(w, chip, all);
}

/* ---- names ---- */

static const dt_chip *chip_of(const char *name, size_t length)
{
    char generation[16];
    if (length >= sizeof generation)
        return NULL;
    memcpy(generation, name, length);
    generation[length] = '\0';
    return dt_chip_find(generation);
}

/* Not in the table: "v3:4x4", "v3-9", "4x4x", "pony". */
static dt_status *find_other(const wanted *w, const char *name, const dt_slice **out)
{
    size_t length = strcspn(name, "-:");
    const dt_chip *chip = chip_of(name, length);
    if (chip && name[length] == ':')
        return find_grid(w, chip, name + length + 1, out);
    if (*name && strspn(name, "+-0123456789xX") == strlen(name)) {
        int64_t chips[3];
        DT_TRY(read_grid(w, name, chips));
        return dt_fail(w->row, w->at, "'%.80s' does not say which chips; write v3:2x2 or v3-8", w->name);
    }
    int64_t cores = 0;
    if (chip && name[length] == '-' && !dt_parse_int64(name + length + 1, &cores) && errno == ERANGE)
        cores = INT64_MAX;
    return unknown(w, chip, chip ? cores / chip->cores : 0);
}

dt_status *dt_slice_find(const char *name, dt_error unknown_row, const dt_place *at, const dt_slice **out)
{
    const wanted w = {name, unknown_row, at};
    if (strncasecmp(name, "sim:", 4) == 0)
        name += 4;
    for (int i = 0; i < SLICES; i++)
        if (strcasecmp(slices[i].name, name) == 0) {
            *out = &slices[i];
            return NULL;
        }
    return find_other(&w, name, out);
}
