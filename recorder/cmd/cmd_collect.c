/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof collect: one window of processes on several hosts, into a file for each host.
 */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "remote.h"
#include "window.h"

enum { USUAL_SECONDS = 10 };

static const char usual_directory[] = "wcprof.collect";

static bool are_hosts(char *const *hosts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!remote_is_host(hosts[i])) {
			cmd_fail("\"%s\" is no name of a host: letters, digits, and . _ - @ %%, "
				 "not - or . first",
				 hosts[i]);
			return false;
		}
		for (size_t k = 0; k < i; k++)
			if (strcmp(hosts[i], hosts[k]) == 0) {
				cmd_fail("%s is there twice", hosts[i]);
				return false;
			}
	}
	return true;
}

/* The command for a host. False: complained of. */
static bool prepare(struct remote *remote, const char *host, const struct cmd_options *options,
		    const char *directory, long seconds)
{
	char number[24];
	const char *words[] = { "record", "-q", "-o",
				"-",      "-d", number,
				"--all",  "-p", options->process ? options->process : ".",
				NULL };
	int length = snprintf(remote->file, sizeof(remote->file), "%s/%s.jsonl", directory, host);

	snprintf(number, sizeof(number), "%ld", seconds);
	snprintf(remote->host, sizeof(remote->host), "%s", host);
	if (length > 0 && length < (int)sizeof(remote->file) &&
	    remote_script(remote, options, words))
		return true;
	cmd_fail("%s: the names are too long", host);
	return false;
}

static void say_results(const struct remote *remotes, size_t count, const char *directory,
			const struct cmd_options *options)
{
	size_t good = 0;

	for (size_t i = 0; i < count; i++) {
		char size[32];

		if (remotes[i].status != 0)
			continue;
		good++;
		cmd_format_bytes((double)remotes[i].bytes, size, sizeof(size));
		cmd_say(options, "%s: %s in %s", remotes[i].host, size, remotes[i].file);
	}
	if (good > 0)
		cmd_say(options, "next: wcprof-analyze %s/*.jsonl", directory);
}

int cmd_collect(struct cmd_options *options)
{
	const char *directory = options->output ? options->output : usual_directory;
	size_t count = (size_t)options->argument_count;
	time_t seconds = window_seconds(options->seconds, USUAL_SECONDS);
	struct remote *remotes = NULL;
	int status = CMD_USAGE;

	if (seconds < 0 || !are_hosts(options->arguments, count))
		return CMD_USAGE;
	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return cmd_fail("%s: %s", directory, strerror(errno));
	remotes = calloc(count, sizeof(*remotes));
	for (size_t i = 0; i < count; i++)
		if (!remotes ||
		    !prepare(&remotes[i], options->arguments[i], options, directory, (long)seconds))
			goto end;
	status = remote_run(remotes, count, options);
	say_results(remotes, count, directory, options);
end:
	free(remotes);
	return status;
}
