/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof recover: a dump of what dead processes left. The arena is removed when all of it is in
 * the file.
 */
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "departed.h"

/* Pids are used again: what another build left of a process of this pid is said, and left. */
static bool is_passed_over(const struct target_list *found, size_t i)
{
	bool passed = found->count > 1 && found->targets[i].is_other_version;

	if (passed)
		cmd_fail("%s: made by another version of wcprof; left where it is",
			 found->targets[i].arena);
	return passed;
}

static int recover_all(const struct cmd_options *options, const struct target_list *found,
		       struct output *output)
{
	int status = CMD_DONE;

	for (size_t i = 0; i < found->count && status == CMD_DONE; i++)
		if (!is_passed_over(found, i))
			status = departed_recover(options, found->targets[i].arena, output);
	if (status == CMD_DONE && strcmp(options->output, "-") != 0)
		cmd_say(options, "%" PRIu64 " events in %s", output_events(output),
			options->output);
	return status;
}

int cmd_recover(struct cmd_options *options)
{
	struct target_list found;
	struct output *output;
	char error_text[512], path[128];
	int error, status = CMD_FAILED;

	if (target_find_dead(&found, options->arguments[0], error_text, sizeof(error_text)) != 0)
		return cmd_fail("%s", error_text);
	cmd_name_file(&found.targets[0], path, sizeof(path));
	if (!options->output)
		options->output = path;
	output = output_open(options->output, &error);
	if (output) {
		status = recover_all(options, &found, output);
		error = output_close(output);
	}
	if (error != 0)
		status = cmd_fail("%s: %s", options->output, output_why(error));
	target_list_free(&found);
	return status;
}
