/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of ours that are mapped when recording begins, not with the library: a process that is not
 * recorded pays for none.
 */
#ifndef WCPROF_MAPPING_H
#define WCPROF_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder.h"

/* Maps memory that is zero, once and for ever, and has `*at` point to it. False: there is none.
 * Any thread, several at once. */
bool mapping_ensure(void **at, size_t bytes) HIDDEN;
/* Those made so far, by number; NULL: none has it. */
enum { MAPPINGS_MAX = 16 };
const void *mapping_made(uint32_t number, size_t *bytes) HIDDEN;

/* Maps so many bytes: of a file and shared, or private if `fd` is -1. They are not locked, even if
 * all later mappings of the program are. NULL: they cannot be had. */
void *mapping_make(size_t bytes, int fd) HIDDEN;

#endif
