/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster: hosts on a network, each with devices that are linked inside, as a job describes them.
 * It is a topology like that of a slice, with hosts as chips and their devices as cores; of the
 * "chip" only the numbers of dt_cluster_facts are known:
 *
 *     4 hosts x 2 devices      mesh [x 1, y 4, z 1, core 2]
 *
 * Hosts are joined by a switch, and so are the devices of a host: each sends and receives at its
 * full rate, whichever others it exchanges data with (coll/exchange.c).
 */
#include <stdio.h>
#include <string.h>

#include "topo/draw.h"

/* LANES: vector operations per clock cycle in dt_core_roofline. The clock is set so that they run
 * at half the FLOP/s of products, which do a multiplication and an addition at the same time.
 * SHOWN: the most hosts, and devices of a host, of which a picture shows all; of more it shows the
 * first two and the last. */
enum { LANES = 1024, SHOWN = 16 };

dt_topology *dt_topology_of_cluster(const dt_cluster_facts *f) {
    const dt_chip chip = {
        .generation = "cluster",
        .kind = "device",
        .is_host = true,
        .cores = f->devices,
        .devices = f->devices,
        .counts_cores = true,
        .core_flops = f->flops,
        .clock_hz = f->flops / 2 / LANES,
        .core_hbm = f->memory,
        .core_hbm_usable = f->memory,
        .core_hbm_Bps = f->memory_Bps,
        .kernel = {.alus = 1},
        .link_Bps = f->between_Bps,
        .core_link_Bps = f->inside_Bps,
        .hop_s = f->latency_s,
        .usd_hour = f->usd_hour,
        .price_source = "the job's price_per_hour",
        .dims = 2,
        .host = {1, 1, 1},
        .lone_host = {1, 1, 1},
    };
    dt_slice s = {.chip = &chip, .chips = {1, f->hosts, 1}};
    snprintf(s.name, sizeof s.name, "%d host%s x %d device%s", f->hosts, f->hosts == 1 ? "" : "s",
             f->devices, f->devices == 1 ? "" : "s");
    dt_topology *t = dt_topology_of_slice(&s);
    t->described = chip;
    t->own.chip = &t->described;
    return t;
}

/* ---- text ---- */

void dt_cluster_header(const dt_topology *t, dt_str *out) {
    const dt_chip *c = t->slice->chip;
    dt_str_printf(out, "%s   ", t->slice->name);
    dt_str_bytes(out, (double)c->core_hbm);
    dt_str_printf(out, " memory, %g TFLOP/s per device\n", c->core_flops / 1e12);
}

void dt_cluster_traffic(const dt_topology *t, dt_str *out) {
    const dt_chip *c = t->slice->chip;
    if (t->devices > 1)
        dt_str_printf(out, "Devices of a host exchange %g GB/s each way. ", c->core_link_Bps / 1e9);
    if (t->tasks > 1)
        dt_str_printf(out, "Hosts exchange %g GB/s each way, %g us after a message begins.",
                      c->link_Bps / 1e9, c->hop_s * 1e6);
}

/* Prints a line for a host with the ids of its devices, as replicas ("r3") if `replicas`. If it has
 * more than SHOWN devices, prints only the first two and the last one. */
static void put_host(const dt_topology *t, bool replicas, int host, dt_str *out) {
    dt_str_printf(out, "host %-4d [", host);
    for (int d = 0; d < t->devices; d++) {
        dt_str_printf(out, replicas ? "%s r%d" : "%s %d", d ? " |" : "", host * t->devices + d);
        if (t->devices > SHOWN && d == 1) {
            dt_str_puts(out, " | ...");
            d = t->devices - 2;
        }
    }
    dt_str_puts(out, " ]\n");
}

void dt_cluster_draw(const dt_topology_picture *p, int columns, dt_str *out) {
    const dt_topology *t = p->topology;
    dt_local_str words = {0};
    dt_cluster_header(t, out);
    dt_str_putc(out, '\n');
    for (int h = 0; h < t->tasks; h++) {
        put_host(t, p->assignment != NULL, h, out);
        if (t->tasks > SHOWN && h == 1) {
            dt_str_puts(out, "...\n");
            h = t->tasks - 2;
        }
    }
    dt_str_puts(&words, p->assignment ? "\nrN = replica N. " : "\nN = id of a device. ");
    dt_cluster_traffic(t, &words);
    dt_draw_prose(out, dt_str_text(&words), columns, 0);
}
