/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wcprof command: one program, a sub-command for each thing that can be done. commands.def
 * lists them.
 */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "cmd.h"

static int help(int argc, char **argv)
{
	if (argc < 2) {
		cmd_print_help();
		return CMD_DONE;
	}
	if (cmd_usage(argv[1]))
		return CMD_DONE;
	cmd_fail("there is no command %.40s (wcprof help lists them)", argv[1]);
	return CMD_USAGE;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	/* Recovery reads the same clock as whoever recorded. */
	clock_start();
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		puts("wcprof " WCPROF_VERSION);
		return CMD_DONE;
	}
	if (argc > 1)
		return cmd_run(argc - 1, argv + 1);
	cmd_print_help();
	return CMD_USAGE;
}
