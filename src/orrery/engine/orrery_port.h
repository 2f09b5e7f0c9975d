/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_PORT_H
#define ORRERY_PORT_H
/* ExternalPort for C and for whatever loads C libraries. Times are picoseconds.
 *
 * Functions that return int give 0, or -1 with errno: ECANCELED when the simulation has ended and the program must
 * leave, EINVAL on misuse, or the reason of the system. One thread at a time per port. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct orrery_port orrery_port;

/* Maps the region behind `descriptor`, which the caller may close afterwards. NULL with errno on failure. */
orrery_port* orrery_port_open(int descriptor, uint32_t slot);
/* Unmaps it. Without orrery_port_finish() before, the host learns of the end only from whoever watches the process. */
void orrery_port_close(orrery_port* port);

/* Sleeps until the simulation begins this process. */
int orrery_port_start(orrery_port* port);
int64_t orrery_port_clock(const orrery_port* port);
/* The process worked for `picoseconds` >= 0. */
int orrery_port_advance(orrery_port* port, int64_t picoseconds);
/* Asks, with up to 6 arguments, and sleeps until answered. `answer` may be NULL. */
int orrery_port_call(orrery_port* port, uint32_t operation, const int64_t* arguments, size_t count,
                     int64_t* answer);
int orrery_port_finish(orrery_port* port);

#ifdef __cplusplus
}
#endif
#endif
