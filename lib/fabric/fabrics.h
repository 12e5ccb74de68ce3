/* SPDX-License-Identifier: Apache-2.0 */
/* Fabrics: one file fabric/NAME.c each. No include guard: expanded wherever a form of the table is
 * wanted. */
DT_FABRIC(local)
DT_FABRIC(mpi)
DT_FABRIC(sockets)
DT_FABRIC(zmq)
#undef DT_FABRIC
