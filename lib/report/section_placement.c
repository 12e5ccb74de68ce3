/* SPDX-License-Identifier: Apache-2.0 */
/* Where it ran: strategy, replicas, devices, and a slice as `topology --svg` draws it. */
#include "report/report.h"
#include "topo/topo.h"

#define TEXT_FACT(name, key)                                        \
    static void put_##name(const dt_report_run *r, dt_str *out)     \
    {                                                               \
        dt_html_text(out, r->start ? dt_report_text(r->start, key) : NULL); \
    }
#define COUNT_FACT(name, key)                                       \
    static void put_##name(const dt_report_run *r, dt_str *out)     \
    {                                                               \
        if (r->start)                                               \
            dt_html_count(out, dt_report_int(r->start, key));       \
    }
TEXT_FACT(strategy, "strategy")
TEXT_FACT(device, "device")
COUNT_FACT(replicas, "replicas")
COUNT_FACT(logical, "logical_devices")
COUNT_FACT(hosts, "hosts")
COUNT_FACT(threads, "threads")
COUNT_FACT(batch, "global_batch")

/* "[1, 1, 1, 2]" */
static void put_shape(const dt_report_run *r, dt_str *out)
{
    const json_t *shape = r->start ? json_object_get(r->start, "computation_shape") : NULL;
    for (size_t i = 0; i < json_array_size(shape); i++)
        dt_str_printf(out, "%s%lld", i ? ", " : "[", (long long)json_integer_value(json_array_get(shape, i)));
    dt_str_puts(out, json_array_size(shape) ? "]" : "");
}

/* ---- the picture ---- */

static bool read_four(const json_t *start, const char *key, int64_t out[4])
{
    const json_t *list = json_object_get(start, key);
    for (size_t i = 0; i < 4; i++)
        out[i] = json_integer_value(json_array_get(list, i));
    return json_array_size(list) == 4;
}

static dt_status *place(const json_t *start, const dt_topology *t, dt_assignment **out)
{
    int64_t shape[4], stride[4], order = dt_report_int(start, "order");
    if (!read_four(start, "computation_shape", shape) || !read_four(start, "computation_stride", stride)) {
        *out = dt_assignment_each_core(t);
        return NULL;
    }
    for (int i = 0; i < 4; i++)
        stride[i] = stride[i] > 0 ? stride[i] : 1; /* none was said */
    return dt_device_assignment_build(out, t, &(dt_device_assignment_options){
        .computation_shape = shape, .shape_rank = 4, .computation_stride = stride, .stride_rank = 4,
        .num_replicas = (int)dt_report_int(start, "replicas"), .device_order_mode = order <= DT_ORDER_MESH ? (dt_device_order)order : DT_ORDER_AUTO});
}

static dt_status *draw(const json_t *start, dt_resolver **r, dt_assignment **a, dt_str *svg)
{
    DT_TRY(dt_resolver_open(r, dt_report_text(start, "slice"), DT_E_UNKNOWN_SLICE_OPTION, NULL));
    DT_TRY(dt_resolver_show_cores(*r, dt_report_int(start, "cores_per_chip"), NULL));
    DT_TRY(place(start, (*r)->topology, a));
    dt_topology_svg(&(dt_topology_picture){.topology = (*r)->topology, .assignment = *a, .simulated = json_is_true(json_object_get(start, "simulated"))}, svg);
    return NULL;
}

/* As an image, so that its style is its own. */
static void put_picture(const dt_report_pages *p, int i, dt_str *out)
{
    const json_t *start = p->run[i].start;
    dt_resolver *r = NULL;
    dt_assignment *a = NULL;
    dt_str svg = {0};
    if (!start || !dt_report_text(start, "slice"))
        return;
    dt_status *s = draw(start, &r, &a, &svg);
    if (!s) {
        dt_str_puts(out, "<figure class=\"slice\"><img alt=\"replicas on the slice ");
        dt_html_text(out, dt_report_text(start, "slice"));
        dt_str_puts(out, "\" src=\"data:image/svg+xml;base64,");
        dt_html_base64(out, svg.data, svg.size);
        dt_str_puts(out, "\">");
        if (p->n > 1) {
            dt_str_puts(out, "<figcaption>");
            dt_report_name(p, i, out);
            dt_str_puts(out, "</figcaption>");
        }
        dt_str_puts(out, "</figure>\n");
    }
    dt_status_free(s); /* a slice that this version does not know is not drawn; its name stands above */
    dt_device_assignment_unref(a);
    dt_resolver_unref(r);
    dt_str_release(&svg);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    static const dt_fact facts[] = {
        {"strategy", put_strategy}, {"devices", put_device}, {"replicas", put_replicas}, {"logical devices per replica", put_logical},
        {"computation shape", put_shape}, {"input hosts", put_hosts}, {"compute threads", put_threads}, {"global batch", put_batch},
    };
    dt_facts_put(p, facts, sizeof facts / sizeof *facts, out);
    for (int i = 0; i < p->n; i++)
        put_picture(p, i, out);
}

const dt_report_section dt_report_placement = {"placement", "Placement", put};
