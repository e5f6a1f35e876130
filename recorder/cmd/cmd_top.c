/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof top: what a running process waits for, second by second, and keys that change what is
 * recorded. Without a name it is the only process that has the library.
 */
#include <stdlib.h>

#include "top.h"

static bool find_only(struct target *target)
{
	struct target_list list;
	size_t found = 0;

	target_list_all(&list, TARGET_LIVING, 0);
	for (size_t i = 0; i < list.count; i++)
		if (!list.targets[i].is_dead && list.targets[i].socket[0] && !found++)
			*target = list.targets[i];
	if (found == 0)
		cmd_fail("no process has the library (wcprof list; wcprof check PROGRAM says how "
			 "one gets it)");
	else if (found > 1)
		cmd_fail("%zu processes have the library: name one (wcprof list)", found);
	target_list_free(&list);
	return found == 1;
}

/* Settings follow a process. */
static bool find_one(const struct cmd_options *options, struct target *target)
{
	struct target_list list;

	if (!options->argument_count)
		return find_only(target);
	if (cmd_find(options, &list) != CMD_DONE)
		return false;
	*target = list.targets[0];
	target_list_free(&list);
	return true;
}

/* Of a whole text; false: complained of. */
static bool read_number(const char *text, const char *what, double least, double most, double *to)
{
	char *end;

	*to = strtod(text, &end);
	if (end != text && !*end && *to >= least && *to <= most)
		return true;
	cmd_fail("%s is no number of %s from %g to %g", text, what, least, most);
	return false;
}

static bool read_rhythm(const struct cmd_options *options, struct top_rhythm *rhythm)
{
	double seconds = 1, looks = 0;

	if (options->every && !read_number(options->every, "seconds", 0.1, 3600, &seconds))
		return false;
	if (options->count && !read_number(options->count, "looks", 1, 1e9, &looks))
		return false;
	rhythm->interval_ns = (uint64_t)(seconds * 1e9);
	rhythm->looks = (unsigned long)looks;
	return true;
}

int cmd_top(struct cmd_options *options)
{
	struct top_rhythm rhythm;
	struct target target;

	if (!read_rhythm(options, &rhythm))
		return CMD_USAGE;
	if (!find_one(options, &target))
		return CMD_FAILED;
	return top_run(options, &target, options->arguments + (options->argument_count > 0),
		       rhythm);
}
