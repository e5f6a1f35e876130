/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns as a shell matches file names: * ? [set] [!set], \ before what is meant as it is.
 *
 * Any thread, also in a signal handler or a probe: no memory, no vector registers.
 */
#ifndef WCPROF_GLOB_H
#define WCPROF_GLOB_H

#include <stdbool.h>

#include "recorder.h"

bool glob_matches(const char *glob, const char *name) HIDDEN;

#endif
