/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the environment and the terminal; terminal.h has the contract.
 */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_COLUMNS = 100 };

static bool environment_has(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

bool terminal_wants_color(const char *when)
{
	if (strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	const char *terminal = getenv("TERM");
	if (environment_has("NO_COLOR"))
		return false;
	if (environment_has("CLICOLOR_FORCE") && strcmp(getenv("CLICOLOR_FORCE"), "0") != 0)
		return true;
	return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

size_t terminal_columns(bool is_wide)
{
	const char *columns = getenv("COLUMNS");
	size_t wanted = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize size;
	if (is_wide)
		return 0;
	if (wanted > 0)
		return wanted;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return LINE_COLUMNS;
}
