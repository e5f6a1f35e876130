/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that ended in a window; departed.h has the contract.
 */
#include "departed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "grow.h"
#include "procfs.h"

/* --- One of them ------------------------------------------------------------------------------ */

static const char *explain(int result)
{
	switch (result) {
	case -EBUSY:
		return "another process is recovering it";
	case -EAGAIN:
		return "its process died before it recorded anything (wcprof remove deletes it)";
	case -EINVAL:
		return "it is damaged, or not an arena (wcprof remove deletes it)";
	case -ESTALE:
		return "its file became shorter, or shared memory ran out, while it was read";
	case -EPROTO:
		return "it was made by another version of wcprof";
	default:
		return strerror(-result);
	}
}

/* A client_sink: the dump has ended when it has arrived. Else its events stay where they are. */
static int write_surely(void *output, const char *bytes, size_t count)
{
	int result = output_write(output, bytes, count);

	return result == 0 && count == 0 ? output_sync(output) : result;
}

int departed_recover(const struct cmd_options *options, const char *path, struct output *output)
{
	struct remains remains;
	int result = remains_open(&remains, path);

	if (result != 0)
		return cmd_fail("%s: %s", path, explain(result));
	output_begin(output);
	result = remains_recover(&remains, write_surely, output, options->keep);
	(void)output_settle(output, result);
	if (result == 0 && !options->keep)
		result = remains_remove(&remains);
	/* Another process had little room, and has removed it. */
	if (result == -ENOENT)
		result = 0;
	remains_close(&remains);
	if (result != 0 && remains.fault)
		return cmd_fail("%s: its %s are damaged (wcprof remove)", path, remains.fault);
	return result == 0 ? CMD_DONE : cmd_fail("%s: %s", path, explain(result));
}

/* --- All of them ------------------------------------------------------------------------------ */

static void add_member(struct departed *departed, pid_t pid)
{
	pid_t *members =
		grow_for_one(departed->members, &departed->room, departed->count, sizeof(pid));

	if (!members)
		return;
	departed->members = members;
	members[departed->count++] = pid;
}

void departed_begin(struct departed *departed, const struct target_list *found, bool has_children)
{
	size_t kept = 0;

	*departed = (struct departed){ .has_children = has_children };
	for (size_t i = 0; i < found->count; i++)
		add_member(departed, found->targets[i].pid);
	departed->before = remains_list(&departed->before_count, true);
	for (size_t i = 0; i < departed->before_count; i++)
		if (!procfs_lives(departed->before[i].pid, departed->before[i].start_ticks))
			departed->before[kept++] = departed->before[i];
	departed->before_count = kept;
}

bool departed_has(const struct departed *departed, pid_t pid)
{
	for (size_t i = 0; i < departed->count; i++)
		if (departed->members[i] == pid)
			return true;
	return false;
}

/* Numbers are used again: a member's may have been another process's. */
static bool was_left_before(const struct departed *departed, const struct remains_name *name)
{
	for (size_t i = 0; i < departed->before_count; i++)
		if (strcmp(departed->before[i].path, name->path) == 0)
			return true;
	return false;
}

/* Whether it is of a dead image of a member, or of a member's child, with something in it. */
static bool is_departed(const struct departed *departed, const struct remains_name *name)
{
	struct remains remains;
	bool is_member = departed_has(departed, name->pid);

	if (was_left_before(departed, name) || remains_open(&remains, name->path) != 0)
		return false;
	is_member = is_member ||
		    (departed->has_children && departed_has(departed, (pid_t)remains.arena->ppid));
	is_member = is_member && remains_state(&remains) == REMAINS_DEAD &&
		    remains_pending(&remains) > 0;
	remains_close(&remains);
	return is_member;
}

/* One look at all arenas. */
static int write_those_seen(struct departed *departed, const struct cmd_options *options,
			    struct output *output)
{
	size_t count;
	struct remains_name *names = remains_list(&count, true);
	int status = CMD_DONE;

	for (size_t i = 0; i < count && status == CMD_DONE; i++) {
		if (!is_departed(departed, &names[i]))
			continue;
		status = departed_recover(options, names[i].path, output);
		departed->written += status == CMD_DONE;
		if (!departed_has(departed, names[i].pid))
			add_member(departed, names[i].pid);
	}
	free(names);
	return status;
}

int departed_write(struct departed *departed, const struct cmd_options *options,
		   struct output *output)
{
	size_t members;
	int status;

	/* Once more for the children of those that were not known before. */
	do {
		members = departed->count;
		status = write_those_seen(departed, options, output);
	} while (departed->count > members && status == CMD_DONE);
	return status;
}

void departed_free(struct departed *departed)
{
	free(departed->members);
	free(departed->before);
	*departed = (struct departed){ 0 };
}
