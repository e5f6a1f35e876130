/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof attach: loads the library into a process that runs without it, as attach.h says, and has
 * its calls lead there. Or it says whether it could. The same of all that descend from the process.
 */
#include "cmd.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "attach.h"
#include "client.h"
#include "grow.h"
#include "procfs.h"
#include "reach.h"
#include "visible.h"

enum { LISTEN_TRIES = 300, LISTEN_PAUSE_MS = 10 };

static bool listens_now(pid_t pid, char path[REACH_PATH_BYTES])
{
	struct reach_table table = { 0 };
	pid_t there;
	bool listens = reach_find(&table, pid, path) && client_probe(path, &there) == 0;

	reach_table_free(&table);
	return listens;
}

/* Of the control thread, which has just begun. */
static bool await_socket(pid_t pid, char path[REACH_PATH_BYTES])
{
	for (int i = 0; i < LISTEN_TRIES; i++) {
		if (listens_now(pid, path))
			return true;
		(void)poll(NULL, 0, LISTEN_PAUSE_MS);
	}
	return false;
}

static int point_calls(pid_t pid, const char *name, const char *path)
{
	struct client_answer answer;
	uint64_t slots = 0, copies = 0;

	if (!client_ask(path, "ATTACH", &answer))
		return cmd_fail("%d %s: %s", (int)pid, name, answer.text);
	(void)client_number(answer.text, "slots", &slots);
	(void)client_number(answer.text, "unredirected_pointers", &copies);
	printf("%d %s: attached, %d calls lead to wcprof", (int)pid, visible(name), (int)slots);
	if (copies > 0)
		printf(", %d copied function pointers do not", (int)copies);
	printf("; wcprof enable %d begins to record\n", (int)pid);
	return CMD_DONE;
}

static int attach_to(const struct cmd_options *options, pid_t pid, const char *name)
{
	char path[REACH_PATH_BYTES], error[ATTACH_ERROR_BYTES];

	if (!listens_now(pid, path)) {
		if (!attach_is_possible(pid, error) || !attach_load(pid, options->interrupt, error))
			return cmd_fail("%d %s: not attached: %s", (int)pid, name, error);
		if (!await_socket(pid, path))
			return cmd_fail("%d %s: the library is loaded, and does not listen (wcprof "
					"status %d)",
					(int)pid, name, (int)pid);
	}
	return point_calls(pid, name, path);
}

static int check(pid_t pid, const char *name)
{
	char path[REACH_PATH_BYTES], error[ATTACH_ERROR_BYTES];

	if (listens_now(pid, path))
		printf("%d %s: has the library already\n", (int)pid, visible(name));
	else if (!attach_is_possible(pid, error))
		return cmd_fail("%d %s: cannot be attached to: %s", (int)pid, name, error);
	else
		printf("%d %s: can be attached to%s\n", (int)pid, visible(name),
		       attach_sees_library(pid) ? ""
						: "; the library is copied into its memory, as its "
						  "file is not in the process's mounts");
	return CMD_DONE;
}

/* --- The process, and those that descend from it ---------------------------------------------- */

struct found {
	pid_t pid;
	uint64_t start_ticks;
	char name[32];
};

static int compare_found(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	return (a->start_ticks > b->start_ticks) - (a->start_ticks < b->start_ticks);
}

struct tree {
	struct found *found;
	size_t count, room;
};

static bool tree_add(struct tree *tree, pid_t pid, const struct procfs_status *status)
{
	struct found *found =
		grow_for_one(tree->found, &tree->room, tree->count, sizeof(*tree->found));

	if (!found)
		return false;
	tree->found = found;
	found += tree->count++;
	found->pid = pid;
	found->start_ticks = status->start_ticks;
	snprintf(found->name, sizeof(found->name), "%s", status->name);
	return true;
}

/* The oldest first: what it forks from then on has the library. False: there is no memory. */
static bool find_tree(struct tree *tree, pid_t root)
{
	DIR *stream = opendir("/proc");
	const struct dirent *entry;
	bool has_room = true;

	while (stream && has_room && (entry = readdir(stream))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		struct procfs_status status;

		if (pid > 0 && procfs_is_below(pid, root) && procfs_read(pid, &status) &&
		    !status.is_zombie)
			has_room = tree_add(tree, pid, &status);
	}
	if (stream)
		closedir(stream);
	if (tree->count > 0)
		qsort(tree->found, tree->count, sizeof(*tree->found), compare_found);
	return has_room;
}

static int one(const struct cmd_options *options, pid_t pid, const char *name)
{
	return options->check ? check(pid, name) : attach_to(options, pid, name);
}

/* One that fails keeps nobody else from it. */
static int all(const struct cmd_options *options, pid_t root)
{
	struct tree tree = { 0 };
	int status = CMD_DONE;

	if (!find_tree(&tree, root)) {
		free(tree.found);
		return cmd_fail("there is no memory for a list of processes");
	}
	for (size_t i = 0; i < tree.count; i++)
		if (procfs_lives(tree.found[i].pid, tree.found[i].start_ticks) &&
		    one(options, tree.found[i].pid, tree.found[i].name) != CMD_DONE)
			status = CMD_FAILED;
	free(tree.found);
	return status;
}

int cmd_attach(struct cmd_options *options)
{
	pid_t pid = advice_process(options->arguments[0]);
	struct procfs_status status;

	if (pid == 0 || !procfs_read(pid, &status))
		return cmd_fail("there is no process %s", options->arguments[0]);
	return options->how & TARGET_TREE ? all(options, pid) : one(options, pid, status.name);
}
