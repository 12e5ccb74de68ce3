/* The rows of topo/chips.h as objects: dt_chip_v2, dt_chip_v3, ... */
#ifndef DT_TOPO_CHIP_ROWS_H
#define DT_TOPO_CHIP_ROWS_H

#include "topo/topo.h"

#define DT_CHIP(name, ...) extern const dt_chip dt_chip_##name;
#include "topo/chips.h"

#endif
