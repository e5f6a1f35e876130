/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof attach: loads the library into a process that runs without it, as attach.h says, and has
 * its calls lead there. Or it says whether it could.
 */
#include "cmd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "advice.h"
#include "attach.h"
#include "client.h"
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

int cmd_attach(struct cmd_options *options)
{
	pid_t pid = advice_process(options->arguments[0]);
	struct procfs_status status;

	if (pid == 0 || !procfs_read(pid, &status))
		return cmd_fail("there is no process %s", options->arguments[0]);
	return options->check ? check(pid, status.name) : attach_to(options, pid, status.name);
}
