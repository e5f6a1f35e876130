/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that dumps and analyzes, now and then; top_whatif.h has the contract.
 */
#include "top_whatif.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cmd.h"
#include "procfs.h"
#include "top_dump.h"
#include "try_analysis.h"
#include "visible.h"

#define EVERY_NS UINT64_C(5000000000)
/* After an answer that did not come: on a machine without idle time the lowest one gets nothing. */
enum { LOW_PRIORITY = 10 };
enum { ANSWER_BYTES = 65536, WITHHELD = 3 /* of wcprof-analyze */ };
/* An answer is to take some seconds of the analyzer, which needs about 40 us of a CPU for an event
 * of a busy server. So the first window has few, and one with the most makes a dump of 300 MB. */
static const double events_first = 2e4, events_least = 1e4, events_most = 2e6;
#define WINDOW_LEAST_NS UINT64_C(1000000000)
#define LONG_NS         UINT64_C(5000000000)
#define SHORT_NS        UINT64_C(2000000000)
#define GIVE_UP_NS      UINT64_C(15000000000)

void top_whatif_begin(struct top_whatif *whatif, const char *directory)
{
	*whatif = (struct top_whatif){ .directory = directory, .events_most = events_first };
}

static void end_child(struct top_whatif *whatif)
{
	if (whatif->child <= 0)
		return;
	kill(whatif->child, SIGKILL);
	waitpid(whatif->child, NULL, 0);
	whatif->child = 0;
}

void top_whatif_end(struct top_whatif *whatif)
{
	end_child(whatif);
	free(whatif->answer);
	*whatif = (struct top_whatif){ .directory = "" };
}

/* In the child. The answer is a report's first screen, whatever it says: also that answers are
 * withheld, and why. */
static _Noreturn void answer(const struct top_whatif *whatif, const char *socket)
{
	char dump[TOP_PATH_BYTES], report[512];
	const struct sched_param idle = { 0 };
	int error, output;

	snprintf(dump, sizeof(dump), "%s/window.jsonl", whatif->directory);
	snprintf(report, sizeof(report), "%s/report", whatif->directory);
	if (!whatif->is_starved)
		(void)sched_setscheduler(0, SCHED_IDLE, &idle);
	(void)setpriority(PRIO_PROCESS, 0, whatif->is_starved ? LOW_PRIORITY : 19);
	output = open(report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (output < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(CMD_FAILED);
	error = top_dump_write(dump, socket, whatif->last_ns);
	if (error != 0) {
		(void)cmd_fail("no dump of the window: %s", strerror(-error));
		_exit(CMD_FAILED);
	}
	try_analysis_program(report, sizeof(report));
	execlp(report, "wcprof-analyze", dump, (char *)NULL);
	(void)cmd_fail("wcprof-analyze: %s", strerror(errno));
	_exit(CMD_NOT_FOUND);
}

static char *read_report(const struct top_whatif *whatif)
{
	char path[TOP_PATH_BYTES];
	char *text = malloc(ANSWER_BYTES);

	snprintf(path, sizeof(path), "%s/report", whatif->directory);
	if (text && procfs_read_file(path, text, ANSWER_BYTES) > 0)
		return text;
	free(text);
	return NULL;
}

/* A report that says that answers are withheld is one, too. */
static void take_answer(struct top_whatif *whatif, int status)
{
	char *text = read_report(whatif);

	whatif->child = 0;
	if (text && WIFEXITED(status) &&
	    (WEXITSTATUS(status) == CMD_DONE || WEXITSTATUS(status) == WITHHELD)) {
		free(whatif->answer);
		whatif->answer = text;
		whatif->answer_ns = whatif->asked_ns;
		whatif->answer_last_ns = whatif->last_ns;
		whatif->problem[0] = '\0';
		return;
	}
	snprintf(whatif->problem, sizeof(whatif->problem), "no answer: %.*s",
		 text ? (int)strcspn(text, "\n") : 40,
		 text ? visible(text) : "the analyzer has said nothing");
	free(text);
}

void top_whatif_took(struct top_whatif *whatif, uint64_t took_ns)
{
	double factor = took_ns > GIVE_UP_NS     ? 0.25
			: took_ns > LONG_NS      ? 0.5
			: took_ns > SHORT_NS     ? 1
			: took_ns > SHORT_NS / 4 ? 2
						 : 4;

	whatif->is_starved = took_ns > GIVE_UP_NS || (whatif->is_starved && took_ns > SHORT_NS) ||
			     (took_ns > LONG_NS && whatif->events_most <= events_least);
	whatif->events_most = fmin(fmax(whatif->events_most * factor, events_least), events_most);
}

uint64_t top_whatif_window_ns(const struct top_whatif *whatif, uint64_t last_ns,
			      double events_per_s)
{
	if (events_per_s * (double)last_ns / 1e9 <= whatif->events_most)
		return last_ns;
	return (uint64_t)(whatif->events_most / events_per_s * 1e9);
}

static void give_up(struct top_whatif *whatif)
{
	end_child(whatif);
	snprintf(whatif->problem, sizeof(whatif->problem),
		 "no answer for %.1f s of events within %d s: next is a shorter window",
		 (double)whatif->last_ns / 1e9, (int)(GIVE_UP_NS / 1000000000));
}

void top_whatif_take(struct top_whatif *whatif)
{
	uint64_t took_ns = clock_mono_ns() - whatif->begun_ns;
	int status;

	if (whatif->child <= 0)
		return;
	if (waitpid(whatif->child, &status, WNOHANG) == whatif->child)
		take_answer(whatif, status);
	else if (took_ns > GIVE_UP_NS)
		give_up(whatif);
	else
		return;
	top_whatif_took(whatif, took_ns);
}

void top_whatif_narrow(struct top_whatif *whatif, uint64_t now_ns)
{
	end_child(whatif);
	whatif->since_ns = now_ns;
	whatif->asked_ns = 0;
}

/* A dump that reaches back to before that has two windows, and means over both. 0: wait. */
static uint64_t of_one_window(const struct top_whatif *whatif, uint64_t now_ns, uint64_t last_ns)
{
	uint64_t has_ns = now_ns > whatif->since_ns ? now_ns - whatif->since_ns : 0;

	if (!whatif->since_ns || last_ns < has_ns)
		return last_ns;
	return has_ns >= WINDOW_LEAST_NS ? has_ns : 0;
}

void top_whatif_tick(struct top_whatif *whatif, const char *socket, uint64_t now_ns,
		     uint64_t last_ns, double events_per_s)
{
	if (!whatif->directory[0])
		return;
	top_whatif_take(whatif);
	last_ns = of_one_window(whatif, now_ns, last_ns);
	if (whatif->child > 0 || !last_ns ||
	    (whatif->asked_ns && now_ns < whatif->asked_ns + EVERY_NS))
		return;
	whatif->asked_ns = now_ns;
	whatif->begun_ns = clock_mono_ns();
	whatif->last_ns = top_whatif_window_ns(whatif, last_ns, events_per_s);
	whatif->child = fork();
	if (whatif->child == 0)
		answer(whatif, socket);
	if (whatif->child < 0)
		whatif->child = 0;
}
