/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of addresses in a living process, by its memory map and the symbols of its files.
 */
#ifndef WCPROF_FRAMES_H
#define WCPROF_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct frames;

/* NULL: its map cannot be read. */
struct frames *frames_open(pid_t pid);
void frames_close(struct frames *frames);
/* "function+0x12 (file.c:34)", or as much of it as is known of a return address. */
void frames_describe(struct frames *frames, uint64_t return_address, char *to, size_t size);
/* The variable that lies at an address; false: there is none, or nobody knows its name. */
bool frames_name_variable(struct frames *frames, uint64_t address, char *to, size_t size);

#endif
