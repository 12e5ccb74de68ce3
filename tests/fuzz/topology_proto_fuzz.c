/* TopologyProto, in which hosts report a slice. */
#include "dtrain.h"
#include "fuzz.h"

FUZZ_TARGET(topology_proto)
{
    dt_topology *t = NULL;
    int coordinates[4];
    dt_status *s = dt_topology_parse(&t, data, size);
    for (int i = 0; !s && i < 8 && dt_topology_missing_device(t, i, coordinates);)
        i++;
    fuzz_done(s);
    dt_topology_unref(t);
    return 0;
}
