/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof agent: runs wcprof-agent, which is a program of its own. It alone needs libcurl.
 */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

int cmd_agent(struct cmd_options *options)
{
	/* The word before the arguments is "agent". */
	char **words = options->arguments - 1;
	char path[PATH_BYTES];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof("-agent"));

	if (length < 0)
		return cmd_fail("/proc/self/exe: %s", strerror(errno));
	/* Beside this one. */
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, "wcprof-agent");
	words[0] = path;
	execv(path, words);
	if (errno == ENOENT)
		return cmd_fail("%s is not there: wcprof was built without libcurl's headers",
				path);
	return cmd_fail("%s: %s", path, strerror(errno));
}
