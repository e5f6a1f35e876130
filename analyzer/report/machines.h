/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a report on several machines: how far their clocks were apart, and how exactly that
 * is known. Any thread.
 */
#ifndef WCPROF_MACHINES_H
#define WCPROF_MACHINES_H

#include "base/emit.h"
#include "recording/recording.h"

/* Nothing of one machine, but for tables of JSON that are empty. */
void machines_emit(const struct recording *recording, struct emit *emit);

#endif
