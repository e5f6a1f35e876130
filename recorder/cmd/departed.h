/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings left by processes that were recorded in a window, and ended in it.
 *
 * Of a tree, their children as well, which may have been born in the window: an arena says who its
 * process's parent was. Processes of another pid name space are known there by other numbers, and
 * are left to wcprof recover.
 */
#ifndef WCPROF_DEPARTED_H
#define WCPROF_DEPARTED_H

#include "cmd.h"
#include "output.h"
#include "target.h"

struct departed {
	pid_t *members;
	size_t count;
	size_t room;
	size_t written;              /* arenas, by departed_write() */
	bool has_children;           /* members' children are members */
	struct remains_name *before; /* arenas that others had left by then */
	size_t before_count;
};

/* Before recording is turned on in those that were found. */
void departed_begin(struct departed *departed, const struct target_list *found, bool has_children);
bool departed_has(const struct departed *departed, pid_t pid);
/* Writes what those left that are dead by now, and removes it. A status of cmd.h: one that cannot
 * be written is complained of, and stays where it is, as do those after it. */
int departed_write(struct departed *departed, const struct cmd_options *options,
		   struct output *output);
void departed_free(struct departed *departed);

/* As wcprof dump, of a window that has ended: none of its processes need be alive. */
int cmd_dump_window(struct cmd_options *options, struct departed *departed);

/* Writes what one dead process left, and removes it, but with options->keep. A status of cmd.h;
 * what fails is said. */
int departed_recover(const struct cmd_options *options, const char *path, struct output *output);

#endif
