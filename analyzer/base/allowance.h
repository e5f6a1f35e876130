/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory the analyzer may take.
 *
 * A small file can ask for any amount of it. Rather than have the kernel end some process of the
 * machine, or of the container, the analyzer gives up.
 */
#ifndef WCPROF_ALLOWANCE_H
#define WCPROF_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Three quarters of what is free now, in the machine and in each control group around us; 0: nobody
 * knows. */
uint64_t allowance_of_now(void);
/* From here on no more than so many bytes can be had; 0: as many as there are. False: more than
 * that is in use already, and there is no bound. */
bool allowance_set(uint64_t bytes);
/* Those in bytes; UINT64_MAX: more than can be counted. */
uint64_t allowance_of_megabytes(uint64_t megabytes);
/* The bound that was set, for a message that there is no more; 0: none. */
uint64_t allowance_bytes(void);

#endif
