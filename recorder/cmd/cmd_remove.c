/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof remove: deletes the arenas of dead processes. Those of living ones are not touched.
 */
#include "cmd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int remove_all(const struct target_list *found)
{
	int status = CMD_DONE;

	for (size_t i = 0; i < found->count; i++)
		if (unlink(found->targets[i].arena) != 0 && errno != ENOENT)
			status = cmd_fail("%s: %s", found->targets[i].arena, strerror(errno));
	return status;
}

int cmd_remove(struct cmd_options *options)
{
	int status = CMD_DONE;

	for (int i = 0; i < options->argument_count; i++) {
		struct target_list found;
		char error[512];

		if (target_find_dead(&found, options->arguments[i], error, sizeof(error)) != 0) {
			status = cmd_fail("%s", error);
			continue;
		}
		if (remove_all(&found) != CMD_DONE)
			status = CMD_FAILED;
		target_list_free(&found);
	}
	return status;
}
