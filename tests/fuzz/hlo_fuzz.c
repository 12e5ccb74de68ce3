/* Optimized HLO modules, as compilers behind PJRT give them. */
#include "fuzz.h"
#include "pjrt/pjrt.h"

FUZZ_TARGET(hlo)
{
    dt_pjrt_report report;
    fuzz_done(dt_pjrt_read_hlo(data, size, &report));
    return 0;
}
