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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advice.h"
#include "client.h"
#include "executable.h"
#include "systemctl.h"

enum { SECONDS = 10, SECONDS_MOST = 86400, START_SECONDS = 10, START_PAUSE_NS = 50000000 };

struct service {
	struct cmd_options *options;
	struct systemctl_unit unit;
	sigset_t signals;
	bool is_interrupted;
	bool has_not_started; /* with the library */
	char pid[16];         /* of its main process */
};

/* So long, or until a signal comes. */
static void wait_for(struct service *service, time_t seconds, long ns)
{
	const struct timespec time = { seconds, ns };

	if (!service->is_interrupted)
		service->is_interrupted = sigtimedwait(&service->signals, NULL, &time) > 0;
}

/* Sends a line to all its processes; how many took it. */
static size_t tell(const struct service *service, const char *line)
{
	struct target_list found;
	char error[512];
	size_t count = 0;

	if (target_find(&found, service->pid, TARGET_TREE, error, sizeof(error)) != 0)
		return 0;
	for (size_t i = 0; i < found.count; i++) {
		struct client_answer answer;

		count += found.targets[i].socket[0] &&
			 client_ask(found.targets[i].socket, line, &answer);
	}
	target_list_free(&found);
	return count;
}

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

	while (count == 0 && now_seconds() < end && !service->is_interrupted) {
		wait_for(service, 0, START_PAUSE_NS);
		if (systemctl_get(&service->unit, "MainPID", service->pid, sizeof(service->pid)) &&
		    atoi(service->pid) > 0)
			count = tell(service, "ENABLE");
	}
	return count;
}

static int record(struct service *service, time_t seconds)
{
	struct cmd_options dump = *service->options;
	char *arguments[] = { service->pid, NULL };
	char path[300];
	int status;

	cmd_say(service->options, "%s is recorded for %ld seconds, or until Ctrl-C",
		service->unit.name, (long)seconds);
	wait_for(service, seconds, 0);
	snprintf(path, sizeof(path), "wcprof.%s.jsonl", service->unit.name);
	if (!dump.output)
		dump.output = path;
	dump.how = TARGET_TREE;
	dump.arguments = arguments;
	dump.argument_count = 1;
	status = cmd_dump(&dump);
	(void)tell(service, "DISABLE");
	return status;
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
	if (service->is_interrupted)
		return cmd_fail("%s: interrupted before it listened", name);
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
	const char *seconds = options->seconds;
	time_t wanted = seconds ? strtol(seconds, NULL, 10) : SECONDS;
	char library[EXECUTABLE_PATH_BYTES], state[64];
	bool answers;
	int status;

	if (wanted < 1 || wanted > SECONDS_MOST ||
	    (seconds && seconds[strspn(seconds, "0123456789")] != '\0'))
		return cmd_fail("%s is no number of seconds from 1 to %d", seconds, SECONDS_MOST);
	if (!executable_library(library, sizeof(library)))
		return cmd_fail("libwcprof.so is neither in the directory of wcprof nor in "
				"../lib/wcprof");
	if (!systemctl_name(&service.unit, options->arguments[0], options->of_user))
		return cmd_fail("%s cannot be a service here", options->arguments[0]);
	answers = systemctl_get(&service.unit, "LoadState", state, sizeof(state));
	if (!answers || strcmp(state, "loaded") != 0)
		return refuse(&service, library, answers);
	sigemptyset(&service.signals);
	sigaddset(&service.signals, SIGINT);
	sigaddset(&service.signals, SIGTERM);
	sigaddset(&service.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &service.signals, NULL);
	status = systemctl_preload(&service.unit, library);
	if (status == 0) {
		status = restart_and_record(&service, library, wanted);
		if (status == CMD_DONE)
			cmd_say(options,
				"the library stays in %s, and is off, until it is restarted",
				service.unit.name);
	} else {
		status = cmd_fail("%s: %s", service.unit.drop_in, strerror(-status));
	}
	systemctl_restore(&service.unit);
	if (service.has_not_started)
		(void)systemctl_run(&service.unit, "restart", true);
	return status;
}
