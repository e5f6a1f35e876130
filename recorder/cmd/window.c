/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of processes that run already; window.h has the contract.
 */
#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"

enum { SECONDS_MOST = 86400 };

void window_prepare(struct window *window)
{
	sigemptyset(&window->signals);
	sigaddset(&window->signals, SIGINT);
	sigaddset(&window->signals, SIGTERM);
	sigaddset(&window->signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &window->signals, NULL);
}

void window_wait(struct window *window, time_t seconds, long ns)
{
	const struct timespec time = { seconds, ns };

	if (window->is_interrupted)
		return;
	if (seconds == WINDOW_FOR_EVER && ns == 0)
		window->is_interrupted = sigwaitinfo(&window->signals, NULL) > 0;
	else
		window->is_interrupted = sigtimedwait(&window->signals, NULL, &time) > 0;
}

/* Sends a line to all its processes; how many took it. */
static size_t tell(const struct window *window, const char *line)
{
	struct target_list found;
	char error[512];
	size_t count = 0;

	if (target_find(&found, window->process, window->how, error, sizeof(error)) != 0)
		return 0;
	for (size_t i = 0; i < found.count; i++) {
		struct client_answer answer;

		count += found.targets[i].socket[0] &&
			 client_ask(found.targets[i].socket, line, &answer);
	}
	target_list_free(&found);
	return count;
}

size_t window_enable(const struct window *window)
{
	return tell(window, "ENABLE");
}

int window_record(struct window *window, time_t seconds, const char *path)
{
	struct cmd_options dump = *window->options;
	char *arguments[] = { (char *)window->process, NULL };

	window_wait(window, seconds, 0);
	(void)tell(window, "DISABLE");
	if (!dump.output)
		dump.output = path;
	dump.how = window->how;
	dump.arguments = arguments;
	dump.argument_count = 1;
	return cmd_dump(&dump);
}

time_t window_seconds(const char *seconds, time_t usual)
{
	time_t wanted = seconds ? strtol(seconds, NULL, 10) : usual;
	const char *unit = seconds ? seconds + strspn(seconds, "0123456789") : "";

	if (seconds && (wanted < 1 || wanted > SECONDS_MOST || (*unit && strcmp(unit, "s") != 0))) {
		cmd_fail("%s is no number of seconds from 1 to %d", seconds, SECONDS_MOST);
		return -1;
	}
	return wanted;
}
