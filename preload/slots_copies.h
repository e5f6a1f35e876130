/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of function pointers in the data of loaded objects: calls through them are not seen.
 */
#ifndef WCPROF_SLOTS_COPIES_H
#define WCPROF_SLOTS_COPIES_H

#include <link.h>

#include "recorder.h"

/* How many words of the object's data hold the address of a function, as that one says. None of
 * libc's and the loader's. With the loader's lock. */
uint32_t copies_count(const struct dl_phdr_info *,
		      bool (*is_function)(const void *held, const void *context),
		      const void *context) HIDDEN;

#endif
