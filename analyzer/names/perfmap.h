/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that a run-time compiler gave to its code: perf-PID.map files, as node, Java and Python
 * write them.
 *
 * One line is "START SIZE NAME", both numbers hexadecimal; where two lines overlap the later one
 * counts, as code is moved and memory used again. One thread.
 */
#ifndef WCPROF_PERFMAP_H
#define WCPROF_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/blocks.h"
#include "intervals.h"

struct perfmap {
	struct intervals ranges; /* value = index into names */
	const char **names;
	size_t count;
	size_t name_room;
	struct blocks blocks;
};

/* The parts of a name: "LazyCompile:*serve /srv/app.js:12:3" is serve in /srv/app.js, line 12. */
struct perfmap_name {
	char function[512];
	char file[512]; /* "" = not said */
	uint32_t line;
};

/* Adds a file's lines; those that are none are passed over. */
void perfmap_read(struct perfmap *map, FILE *file);

/* The name at an address and how far it is from its start; NULL = none. */
const char *perfmap_find(const struct perfmap *map, uint64_t address, uint64_t *offset);

void perfmap_parse(const char *text, struct perfmap_name *name);

/* The same of "function file:line", the text of an interpreted program's frame. */
void perfmap_parse_placed(const char *text, struct perfmap_name *name);

void perfmap_free(struct perfmap *map);

/*
 * Opens the map of process `pid` that began at `start_unix_ns`. The map lies beside one of the
 * dumps (paths), or in /tmp if the process ran on this machine (`is_here`). The map must be no
 * older than the process, as other processes had its number before. It must belong to the caller or
 * to root, as anyone may write to /tmp. NULL = none.
 */
FILE *perfmap_open(uint32_t pid, uint64_t start_unix_ns, bool is_here, char *const *dumps,
		   size_t dump_count);

#endif
