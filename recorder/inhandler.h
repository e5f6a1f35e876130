/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this thread runs a signal handler.
 */
#ifndef WCPROF_INHANDLER_H
#define WCPROF_INHANDLER_H

#include "recorder.h"

/*
 * A thread that runs a handler may have been interrupted inside libc's allocator: then no thread
 * can be made. True also where it ran one before, and its stack still says so. One caller at a
 * time.
 */
bool inhandler_is_likely(void) HIDDEN;

/* The address to which libc's handlers return, all in the same place; 0: not known. */
uintptr_t inhandler_return(void) HIDDEN;

#endif
