/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a report, in the order of the page: SECTION(name) is the row dt_report_name. No include guard. */
SECTION(summary) SECTION(curves) SECTION(differences) SECTION(speed) SECTION(memory) SECTION(placement)
SECTION(job) SECTION(data) SECTION(environment) SECTION(checkpoints) SECTION(events)
