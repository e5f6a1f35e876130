/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-overs through conditions as tokens: who puts, who takes, how many there were at the start.
 *
 * Works on the sections and signals of monitors.c and fills in the rest of its structs.
 */
#ifndef WCPROF_TOKENS_H
#define WCPROF_TOKENS_H

#include "monitors.h"

void tokens_find(struct monitors *, const struct recording *, const struct releases *);

#endif
