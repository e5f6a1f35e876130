/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof service: restarts a service of systemd with the library, and records it for a while.
 *
 * The service goes on with the library in its processes, off, until it is restarted.
 *
 * Signals are blocked, and end the recording: whatever happens, the drop-in goes.
 */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advice.h"
#include "executable.h"
#include "systemctl.h"
#include "window.h"

enum { SECONDS = 10, START_SECONDS = 10, START_PAUSE_NS = 50000000 };

struct service {
	struct cmd_options *options;
	struct systemctl_unit unit;
	struct window window;
	bool has_not_started; /* with the library */
	bool is_filtered;     /* so that the library does nothing */
	char pid[16];         /* of its main process */
};

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Its processes may take a while until they listen. */
static size_t enable(struct service *service)
{
	time_t end = now_seconds() + START_SECONDS;
	size_t count = 0;

	while (count == 0 && now_seconds() < end && !service->window.is_interrupted &&
	       !service->is_filtered) {
		pid_t pid;

		window_wait(&service->window, 0, START_PAUSE_NS);
		if (!systemctl_get(&service->unit, "MainPID", service->pid, sizeof(service->pid)))
			continue;
		pid = (pid_t)atoi(service->pid);
		if (pid > 0)
			count = window_enable(&service->window);
		service->is_filtered = pid > 0 && count == 0 && !service->options->filtered &&
				       advice_has_library(pid) && advice_is_filtered(pid);
	}
	return count;
}

static int record(struct service *service, time_t seconds)
{
	char path[300];

	cmd_say(service->options, "%s is recorded for %ld second%s, or until Ctrl-C",
		service->unit.name, (long)seconds, seconds == 1 ? "" : "s");
	snprintf(path, sizeof(path), "wcprof.%s.jsonl", service->unit.name);
	return window_record(&service->window, seconds, path);
}

static int restart_and_record(struct service *service, const char *library, time_t seconds)
{
	const char *name = service->unit.name;

	(void)systemctl_run(&service->unit, "daemon-reload", false);
	if (systemctl_run(&service->unit, "restart", true) != 0) {
		service->has_not_started = true;
		return cmd_fail("%s did not start with the library, and is started again without",
				name);
	}
	if (enable(service) > 0)
		return record(service, seconds);
	if (service->is_filtered)
		return cmd_fail(
			"%s has a filter of system calls (SystemCallFilter=, PrivateDevices= "
			"and others), and is not recorded: with --filtered it is, and what "
			"the filter forbids fails meanwhile instead of ending it",
			name);
	if (service->window.is_interrupted)
		return cmd_fail("%s: interrupted before it listened", name);
	if (atoi(service->pid) <= 0)
		return cmd_fail("%s has no main process any more (systemctl status %s)", name,
				name);
	return cmd_fail("no process of %s has loaded %s: may its user read it (ProtectHome=), and "
			"is it dynamically linked (wcprof check)?",
			name, library);
}

/* Nothing of the kind runs here, or not such a service. */
static int refuse(const struct service *service, const char *library, bool is_systemd)
{
	const char *name = service->options->arguments[0];
	pid_t pid = advice_process(name);

	if (is_systemd)
		return cmd_fail("there is no service %s", service->unit.name);
	cmd_fail("systemd does not answer here; a program is started with the library by "
		 "wcprof record -- PROGRAM, or LD_PRELOAD=%s PROGRAM, and wcprof enable",
		 library);
	if (pid > 0)
		advice_put(stderr, pid);
	return CMD_FAILED;
}

int cmd_service(struct cmd_options *options)
{
	struct service service = { .options = options };
	time_t seconds = window_seconds(options->seconds, SECONDS);
	char library[EXECUTABLE_PATH_BYTES], state[64];
	bool answers;
	int status;

	if (seconds < 0)
		return CMD_FAILED;
	if (!executable_library(library, sizeof(library)))
		return cmd_fail("libwcprof.so is neither in the directory of wcprof nor in "
				"../lib/wcprof");
	if (!systemctl_name(&service.unit, options->arguments[0], options->of_user))
		return cmd_fail("%s cannot be a service here", options->arguments[0]);
	answers = systemctl_get(&service.unit, "LoadState", state, sizeof(state));
	if (!answers || strcmp(state, "loaded") != 0)
		return refuse(&service, library, answers);
	service.window =
		(struct window){ .options = options, .process = service.pid, .how = TARGET_TREE };
	window_prepare(&service.window);
	status = systemctl_preload(&service.unit, library, options->filtered);
	if (status == 0) {
		status = restart_and_record(&service, library, seconds);
		if (status == CMD_DONE)
			cmd_say(options,
				"the library%s in %s until it is restarted; recording is off",
				options->filtered ? " and the milder filter stay" : " stays",
				service.unit.name);
	} else {
		status = cmd_fail("%s: %s", service.unit.drop_in, strerror(-status));
	}
	systemctl_restore(&service.unit);
	if (service.has_not_started)
		(void)systemctl_run(&service.unit, "restart", true);
	return status;
}
