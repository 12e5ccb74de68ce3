/* Collectives of a program on the links of its slice: the devices of a mesh stand at places of the topology; what was asked once is kept. */
#include "coll/coll.h"
#include "cost/cost_impl.h"
#include "op/across.h"

struct dt_links {
    const dt_priced_program *r;
};

dt_links *dt_links_create(const dt_priced_program *r, dt_arena *arena)
{
    dt_links *l = dt_arena_new(arena, dt_links);
    l->r = r;
    return l;
}

double dt_links_seconds(dt_links *l, int i, double bytes)
{
    const dt_chip *chip = l->r->topology->slice->chip;
    const dt_across_attr *a = l->r->program->local->node[i].attr;
    dt_type in = dt_priced_type(l->r, l->r->program->local->node[i].in[0]);
    double one = l->r->program->local->node[i].op->across->bytes(a, &in), all = (double)dt_type_bytes(&in);
    return all > 0 ? bytes * one / all / (2 * chip->link_Bps) + chip->hop_s : 0;
}
