/* SPDX-License-Identifier: Apache-2.0 */
/* The program as it lies in memory. */
#ifndef WCPROF_PROGRAM_H
#define WCPROF_PROGRAM_H

#include "recorder.h"

/* Written in Go: its runtime installs handlers for all signals, without libc. */
bool program_is_go(void) HIDDEN;

#endif
