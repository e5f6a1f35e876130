/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The property that makes two ops one class: the calling function, its caller, the line, the lock
 * held meanwhile, or the thread.
 *
 *             a call (io, poll, sleep, dns)      a hold
 * function    "function/call"                    "lock"
 * caller      "caller>function/call"             "lock in caller>function"
 * line        "function file.c:12/call"          "lock in function file.c:12"
 * lock        "lock/call", or "no lock/call"     "lock"
 * thread      "thread/call"                      "lock in thread"
 *
 * All other ops stay as classify() calls them.
 */
#ifndef WCPROF_CLASSBY_H
#define WCPROF_CLASSBY_H

#include <stdbool.h>
#include <stdint.h>

#include "callers.h"
#include "recording/recording.h"

enum class_by { CLASS_BY_FUNCTION, CLASS_BY_CALLER, CLASS_BY_LINE, CLASS_BY_LOCK, CLASS_BY_THREAD };

/* The word for --class-by; false when it is none. */
bool class_by_parse(const char *word, enum class_by *by);

/*
 * Fills in a string id per op, from the names that classify() gave; adds strings to the recording.
 * One thread.
 */
void class_by_name(enum class_by by, struct recording *recording, struct callers *callers,
		   const uint32_t *op_name, uint32_t *class_name);

#endif
