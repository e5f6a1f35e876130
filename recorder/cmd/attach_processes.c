/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of an attach: the command, and the one that traces.
 *
 *     the command     waits for a report; a signal to it closes the pipe that ends the attempt
 *       the tracer    attach.c
 *
 * The tracer blocks all signals, and is not in the process group of the command, which may be
 * killed as a whole. If it is killed by SIGKILL, the kernel lets go of the program's threads, and
 * there is nothing to be cleaned up (attach_threads.h). A thread waits for it at each stop: so it
 * is urgent.
 */
#include "attach_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advice.h"
#include "libraries.h"
#include "procfs.h"

enum { MOST_URGENT = -20 };

#define LOADER "/lib64/ld-linux-x86-64.so.2"

struct report {
	bool is_done;
	char error[ATTACH_ERROR_BYTES];
};

enum pipe_end { FOR_READING, FOR_WRITING };

struct attempt {
	struct attach_order order;
	int reports[2];
	int ends[2]; /* the command keeps it open as long as the attempt is wanted */
};

/* --- The tracer ------------------------------------------------------------------------------- */

void attach_be_urgent(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
		(void)setpriority(PRIO_PROCESS, 0, MOST_URGENT);
}

static void trace(struct attempt *attempt)
{
	struct report report = { .error = "" };

	(void)setsid();
	close(attempt->ends[FOR_WRITING]);
	close(attempt->reports[FOR_READING]);
	report.is_done = attach_trace(&attempt->order, report.error);
	(void)!write(attempt->reports[FOR_WRITING], &report, sizeof(report));
	_exit(0);
}

/* --- The command ------------------------------------------------------------------------------ */

/* Signals that would end it have the attempt end first. */
static void await(struct attempt *attempt, int signals, struct report *report)
{
	struct pollfd news[] = { { attempt->reports[FOR_READING], POLLIN, 0 },
				 { signals, POLLIN, 0 } };

	close(attempt->reports[FOR_WRITING]);
	close(attempt->ends[FOR_READING]);
	do {
		if (poll(news, 2, -1) > 0 && news[1].revents) {
			close(attempt->ends[FOR_WRITING]);
			news[1].fd = -1;
		}
	} while (!news[0].revents);
	if (read(attempt->reports[FOR_READING], report, sizeof(*report)) != sizeof(*report))
		report->is_done = false;
	if (news[1].fd >= 0)
		close(attempt->ends[FOR_WRITING]);
	close(attempt->reports[FOR_READING]);
}

/* Those that would end the command. */
static void find_endings(sigset_t *endings)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action;

	sigemptyset(endings);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(endings, numbers[i]);
}

/* A signal that came ends the command at the end of this, as it has not been taken. */
static bool run(struct attempt *attempt, struct report *report)
{
	sigset_t endings, all, before;
	int signals;
	pid_t tracer;

	find_endings(&endings);
	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	signals = signalfd(-1, &endings, SFD_CLOEXEC);
	tracer = signals < 0 ? -1 : fork();
	if (tracer == 0)
		trace(attempt);
	if (tracer > 0) {
		await(attempt, signals, report);
		(void)waitpid(tracer, NULL, 0);
	}
	if (signals >= 0)
		close(signals);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return tracer > 0;
}

/* It may be in another mount name space. */
static bool sees(pid_t pid, const char *library)
{
	struct stat own, there;
	int fd = procfs_open_seen(pid, library, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (fstat(fd, &there) != 0)
		there.st_ino = 0;
	close(fd);
	return stat(library, &own) == 0 && own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

bool attach_sees_library(pid_t pid)
{
	char library[EXECUTABLE_PATH_BYTES];

	return executable_library(library, sizeof(library)) && sees(pid, library);
}

static void note_needed(void *context, const char *path)
{
	struct attach_order *order = context;
	const char *name = strrchr(path, '/') + 1;

	if (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-linux", 8) == 0 ||
	    order->needed_count == ATTACH_NEEDED_MAX)
		return;
	snprintf(order->needed[order->needed_count++], EXECUTABLE_PATH_BYTES, "%s", path);
}

static void find_needed(struct attach_order *order)
{
	struct executable program;

	snprintf(program.path, sizeof(program.path), "%s", order->library);
	snprintf(program.interpreter, sizeof(program.interpreter), "%s", LOADER);
	(void)libraries_list(&program, note_needed, order);
}

static bool prepare(struct attempt *attempt, pid_t pid, bool may_interrupt)
{
	*attempt = (struct attempt){ .order = { .pid = pid,
						.has_library = advice_has_library(pid),
						.may_interrupt = may_interrupt } };
	if (pipe(attempt->reports) != 0)
		return false;
	if (pipe(attempt->ends) != 0) {
		close(attempt->reports[FOR_READING]);
		close(attempt->reports[FOR_WRITING]);
		return false;
	}
	attempt->order.end = attempt->ends[FOR_READING];
	return true;
}

bool attach_load(pid_t pid, bool may_interrupt, char error[ATTACH_ERROR_BYTES])
{
	static struct attempt attempt;
	struct report report = { .error = "the process that traced it was killed; it goes on as "
					  "before" };

	if (!prepare(&attempt, pid, may_interrupt)) {
		snprintf(error, ATTACH_ERROR_BYTES, "%s", strerror(errno));
		return false;
	}
	if (!executable_library(attempt.order.library, sizeof(attempt.order.library))) {
		snprintf(error, ATTACH_ERROR_BYTES,
			 "libwcprof.so is neither beside this command "
			 "nor where it is installed");
		return false;
	}
	attempt.order.sees_library = sees(pid, attempt.order.library);
	if (!attempt.order.sees_library)
		find_needed(&attempt.order);
	if (!run(&attempt, &report))
		snprintf(report.error, sizeof(report.error), "%s", strerror(errno));
	snprintf(error, ATTACH_ERROR_BYTES, "%s", report.error);
	return report.is_done;
}
