/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the instruction sets of this machine and the libraries that it has, with what each says
 * about itself. */
#include <assert.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "exec/gemm.h"
#include "exec/instructions.h"

static_assert((int)DT_HOST_SETS >= (int)DT_MAX_SIMD, "all sets have room");

static dt_host_library find_library(const char *name, dt_status *(*open)(dt_gemm_library *)) {
    dt_gemm_library l = {0};
    dt_status *s = open(&l);
    dt_host_library found = {name, !s, dt_strdup(s ? dt_status_text(s) : l.about)};
    if (!s) l.close(&l);
    dt_status_free(s);
    return found;
}

static dt_host_library about_own(const dt_simd *simd) {
    return (dt_host_library){
        "own", true,
        dt_strdup(simd->fuses ? "dtrain's own loops, the default: the same bits on every processor"
                              : "dtrain's own loops, slow without FMA: libraries are the default, "
                                "and bits depend on them")};
}

dt_status *dt_host_facts_find(dt_host_facts *out) {
    const dt_simd *chosen = NULL, *set[DT_MAX_SIMD];
    *out = (dt_host_facts){0};
    DT_TRY(dt_instructions_choose(NULL, &chosen));
    *out = (dt_host_facts){.instructions = chosen->name,
                           .sets = dt_simd_list(set),
                           .limited = dt_instructions_limit()};
    for (int i = 0; i < out->sets; i++) out->set[i] = set[i]->name;
    out->library[0] = about_own(chosen);
    out->library[1] = find_library("openblas", dt_gemm_open_openblas);
    out->library[2] = find_library("onednn", dt_gemm_open_onednn);
    return NULL;
}

void dt_host_facts_release(dt_host_facts *f) {
    for (int i = 0; i < DT_HOST_LIBRARIES; i++) free(f->library[i].about);
    *f = (dt_host_facts){0};
}

const char *dt_host_instructions(void) {
    const dt_simd *chosen = NULL;
    dt_status *s = dt_instructions_choose(NULL, &chosen);
    dt_status_free(s);
    return s ? "" : chosen->name;
}
