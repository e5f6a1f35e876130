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

static bool find(const struct window *window, struct target_list *found)
{
	char error[512];

	return target_find(found, window->process, window->how, error, sizeof(error)) == 0;
}

/* How many took the line. */
static size_t tell(const struct target_list *found, const char *line)
{
	size_t count = 0;

	for (size_t i = 0; i < found->count; i++) {
		struct client_answer answer;

		count += found->targets[i].socket[0] &&
			 client_ask(found->targets[i].socket, line, &answer);
	}
	return count;
}

size_t window_enable(struct window *window)
{
	struct target_list found;
	size_t count;

	if (!find(window, &found))
		return 0;
	departed_free(&window->departed);
	departed_begin(&window->departed, &found, window->how & TARGET_TREE);
	count = tell(&found, "ENABLE");
	if (count == 0)
		departed_free(&window->departed);
	target_list_free(&found);
	return count;
}

static void disable(const struct window *window)
{
	struct target_list found;

	if (!find(window, &found))
		return;
	(void)tell(&found, "DISABLE");
	target_list_free(&found);
}

int window_record(struct window *window, time_t seconds, const char *path)
{
	struct cmd_options dump = *window->options;
	char *arguments[] = { (char *)window->process, NULL };
	int status;

	window_wait(window, seconds, 0);
	disable(window);
	if (!dump.output)
		dump.output = path;
	dump.how = window->how;
	dump.arguments = arguments;
	dump.argument_count = 1;
	status = cmd_dump_window(&dump, &window->departed);
	departed_free(&window->departed);
	return status;
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
