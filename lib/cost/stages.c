/*
 * Programs whose ops have places: each device does something else, so that they form a pipeline (pass/spmd/stages.c), whose timeline is the time of
 * the step. Waiting counts as bubble.
 */
#include "cost/cost_impl.h"

typedef struct prices {
    const dt_priced_program *r;
    const dt_launches *k;
    dt_links *links;
} prices;

bool dt_plan_has_places(const dt_spmd *s)
{
    for (int i = 0; i < s->local->n_nodes; i++)
        if (s->layout[i].on)
            return true;
    return false;
}

/* A kernel's time counts at the node that it is called by. */
static double price_node(const void *user, const dt_spmd *s, int i)
{
    const prices *x = user;
    (void)s;
    const dt_launch *k = x->k->of[i] >= 0 ? &x->k->kernel[x->k->of[i]] : NULL;
    return k && k->head == i ? k->price.seconds * k->times : 0;
}

static double price_link(const void *user, const dt_spmd *s, int i)
{
    const prices *x = user;
    dt_type in = dt_priced_type(x->r, s->local->node[i].in[0]);
    return dt_spmd_received(s, i) > 0 ? dt_links_price(x->links, i, (double)dt_type_bytes(&in)).seconds : 0;
}

static dt_pipeline pipeline_of(const prices *x, dt_arena *arena)
{
    return dt_spmd_stages(x->r->program, &(dt_stage_prices){ .node = price_node, .link = price_link, .user = x }, arena);
}

void dt_plan_run_stages(const dt_priced_program *r, const dt_launches *k, dt_plan *p)
{
    dt_arena *arena = dt_arena_create();
    const prices x = { .r = r, .k = k, .links = dt_links_create(r, arena) };
    dt_pipeline line = pipeline_of(&x, arena);
    dt_timeline t = dt_timeline_create(&line, arena);
    p->seconds = t.seconds;
    p->parts = (dt_plan_parts){ .bubble = t.seconds * t.bubble, .matrix = t.seconds - t.seconds * t.bubble };
    dt_links_destroy(x.links);
    dt_arena_destroy(arena);
}

void dt_plan_print_stages(const dt_priced_program *told, dt_str *out)
{
    dt_priced_program own = *told, *r = &own;
    static const char *const names[] = { [DT_1F1B] = "1F1B", [DT_GPIPE] = "GPipe" };
    dt_arena *arena = dt_arena_create();
    own.made_of = dt_cheap_values(&own, arena);
    dt_launches k = dt_launches_create(r, arena);
    const prices x = { .r = r, .k = &k, .links = dt_links_create(r, arena) };
    dt_pipeline p = pipeline_of(&x, arena);
    for (p.order = DT_1F1B; dt_plan_has_places(r->program) && p.order <= DT_GPIPE; p.order++) {
        dt_timeline line = dt_timeline_create(&p, arena);
        dt_str_printf(out, "pipeline by %s, %d micro-batch%s: %.3g us a step, %.1f %% of it bubble\n", names[p.order], p.micro, p.micro == 1 ? "" : "es",
                      line.seconds * 1e6, line.bubble * 100);
        dt_timeline_print(&p, &line, out);
    }
    dt_links_destroy(x.links);
    dt_arena_destroy(arena);
}
