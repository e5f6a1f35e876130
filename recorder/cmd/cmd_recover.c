/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof recover: a dump of what dead processes left. The arena is removed when all of it is in
 * the file.
 */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

static const char *explain(int result)
{
	switch (result) {
	case -EBUSY:
		return "another process is recovering it";
	case -EAGAIN:
		return "its process died before it recorded anything (wcprof remove deletes it)";
	case -EINVAL:
		return "it is damaged, or not an arena (wcprof remove deletes it)";
	case -EPROTO:
		return "it was made by another version of wcprof";
	default:
		return strerror(-result);
	}
}

static int recover_one(const struct cmd_options *options, const char *path, struct output *output)
{
	struct remains remains;
	int result = remains_open(&remains, path);

	if (result != 0)
		return cmd_fail("%s: %s", path, explain(result));
	output_begin(output);
	result = remains_recover(&remains, output_write, output);
	if (result == 0)
		output_keep(output);
	else
		output_abandon(output);
	if (result == 0 && !options->keep)
		result = remains_remove(&remains);
	remains_close(&remains);
	if (result != 0 && remains.fault)
		return cmd_fail("%s: its %s are damaged (wcprof remove)", path, remains.fault);
	return result == 0 ? CMD_DONE : cmd_fail("%s: %s", path, explain(result));
}

static void name_file(const struct target *target, char *path, size_t size)
{
	if (!isatty(STDOUT_FILENO))
		snprintf(path, size, "-");
	else
		snprintf(path, size, "wcprof.%s.%d.jsonl", target->name, (int)target->pid);
}

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
			status = recover_one(options, found->targets[i].arena, output);
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
	name_file(&found.targets[0], path, sizeof(path));
	if (!options->output)
		options->output = path;
	output = output_open(options->output, &error);
	if (output) {
		status = recover_all(options, &found, output);
		error = output_close(output);
	}
	if (error != 0)
		status = cmd_fail("%s: %s", options->output, strerror(-error));
	target_list_free(&found);
	return status;
}
