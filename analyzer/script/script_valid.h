/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a script keeps what steps.def and script.h promise: for assertions, tests and the fuzzer.
 *
 * Reads only; takes as long as reading the script a few times. Any thread.
 */
#ifndef WCPROF_SCRIPT_VALID_H
#define WCPROF_SCRIPT_VALID_H

#include "script.h"

/* Of a script that was built, and of one that was made from it. */
bool script_is_valid(const struct script *);

#endif
