/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of runs: in one the ops of a class take longer, in the other one nothing is added.
 *
 * Each run is recorded as wcprof record does it, so that both of a pair pay for the same. Rules are
 * in a file that WCPROF_SLOW names. The time of a run is that from its program's start to its end;
 * what its children do after that does not count. The order within a pair is tossed.
 */
#include "try_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "record.h"
#include "try_analysis.h"

enum { PATH_BYTES = 128, IMAGES_MAX = 4096 };

struct runs {
	struct try_plan *plan;
	int output_fd;
	off_t input_at; /* where standard input stands, -1 = it cannot be read again */
	uint64_t random;
	uint64_t deadline_ns;
	size_t dumps;   /* of undisturbed runs, after the first one */
	double seconds; /* of undisturbed runs, in all */
	size_t count;
	struct image *images; /* of the run that is counted; IMAGES_MAX of them */
};

/* A process, or what exec made of it. Its counters go on from dump to dump. */
struct image {
	uint64_t pid;
	uint64_t epoch_ns;
	uint64_t counters[3]; /* slowed, slowed_ns, slow_refused */
};

/* --- One run ---------------------------------------------------------------------------------- */

/* Signals are as before for the next program, whatever recording one has changed. */
static int record(const struct cmd_options *options, struct record_run *run)
{
	struct sigaction pipes, files;
	sigset_t mask;
	int status;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaction(SIGPIPE, NULL, &pipes);
	sigaction(SIGXFSZ, NULL, &files);
	status = record_program(options, run);
	sigaction(SIGPIPE, &pipes, NULL);
	sigaction(SIGXFSZ, &files, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return status;
}

static int refuse_run(const struct try_plan *plan, int status)
{
	const char *program = plan->options->arguments[0];

	if (status >= 128)
		return cmd_fail("%s was ended by signal %d", program, status - 128);
	if (status >= CMD_RECORD_FAILED)
		return CMD_FAILED; /* said already */
	return cmd_fail("%s failed, with exit status %d: only runs that succeed can be compared",
			program, status);
}

/* Its time in seconds; below 0: it failed, or was interrupted. */
static double run_program(struct runs *runs, const char *slow, const char *dump)
{
	struct cmd_options options = *runs->plan->options;
	struct record_run run = { .output_fd = runs->output_fd, .slow = slow };
	int status;

	options.output = dump;
	options.quiet = true;
	if (runs->input_at >= 0)
		lseek(STDIN_FILENO, runs->input_at, SEEK_SET);
	status = record(&options, &run);
	if (run.is_interrupted)
		try_is_interrupted = 1;
	if (try_is_interrupted)
		return -1;
	if (status != CMD_DONE) {
		refuse_run(runs->plan, status);
		return -1;
	}
	return (double)run.wall_ns / 1e9;
}

/* --- Rules ------------------------------------------------------------------------------------ */

static void slow_path(const struct try_plan *plan, const struct try_row *row, bool is_slower,
		      char *path)
{
	snprintf(path, PATH_BYTES, "%s/%zu.%s", plan->directory, (size_t)(row - plan->rows),
		 is_slower ? "slower" : "undisturbed");
}

static int write_rules(const struct try_plan *plan, const struct try_row *row, bool is_slower)
{
	char path[PATH_BYTES];
	FILE *file;

	slow_path(plan, row, is_slower, path);
	file = fopen(path, "we");
	if (!file)
		return cmd_fail("%s: %s", path, strerror(errno));
	fprintf(file, "factor %.3f\n", is_slower ? row->factor : 1.0);
	for (size_t i = 0; i < row->rule_count; i++)
		for (size_t k = 0; k < row->rules[i].key_count; k++)
			fprintf(file, "%s %s\n", row->rules[i].word, row->rules[i].keys[k]);
	if (fclose(file) != 0)
		return cmd_fail("%s: %s", path, strerror(errno));
	return CMD_DONE;
}

static int write_all_rules(const struct try_plan *plan)
{
	int status = CMD_DONE;

	for (size_t i = 0; status == CMD_DONE && i < plan->row_count; i++) {
		if (plan->rows[i].why_not[0])
			continue;
		status = write_rules(plan, &plan->rows[i], true);
		if (status == CMD_DONE)
			status = write_rules(plan, &plan->rows[i], false);
	}
	return status;
}

/* --- What was slowed -------------------------------------------------------------------------- */

/* The line of a dump that has its counters. */
static void take_header(struct image *images, size_t *count, const char *header)
{
	static const char *const names[] = { "slowed", "slowed_ns", "slow_refused" };
	/* No string of the header has this: quotes within strings are escaped. */
	const char *at = strstr(header, "\"counters\":{");
	struct image image = { .pid = 0 };
	char *counters = at ? strndup(at, strcspn(at, "}") + 1) : NULL;
	size_t i = 0;

	if (!counters)
		return;
	(void)client_number(header, "pid", &image.pid);
	(void)client_number(header, "epoch_mono_nano", &image.epoch_ns);
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		(void)client_number(counters + strlen("\"counters\":"), names[k],
				    &image.counters[k]);
	free(counters);
	while (i < *count && (images[i].pid != image.pid || images[i].epoch_ns != image.epoch_ns))
		i++;
	if (i == IMAGES_MAX)
		return;
	images[i] = image;
	*count += i == *count;
}

/* Adds what a slower run's dump says to the row: whether anything was slowed at all. */
static int count_slowed(struct runs *runs, struct try_row *row, const char *dump)
{
	static const char begin[] = "{\"schema_version\"";
	FILE *file = fopen(dump, "re");
	char *line = NULL;
	size_t room = 0, count = 0;

	if (!file)
		return cmd_fail("%s: %s", dump, strerror(errno));
	while (getline(&line, &room, file) > 0)
		if (strncmp(line, begin, sizeof(begin) - 1) == 0)
			take_header(runs->images, &count, line);
	free(line);
	fclose(file);
	for (size_t i = 0; i < count; i++) {
		row->slowed += runs->images[i].counters[0];
		row->extra_ns += runs->images[i].counters[1];
		row->refused += runs->images[i].counters[2];
	}
	return CMD_DONE;
}

/* --- A pair ----------------------------------------------------------------------------------- */

static void dump_path(const struct try_plan *plan, size_t number, char *path)
{
	snprintf(path, PATH_BYTES, "%s/%zu.jsonl", plan->directory, number);
}

/* One run of a pair. Dumps of undisturbed ones are kept, spread over all pairs. */
static double run_one(struct runs *runs, struct try_row *row, size_t pair, bool is_slower)
{
	const struct try_plan *plan = runs->plan;
	bool is_kept = !is_slower && runs->dumps + 1 < TRY_PREDICTIONS_MAX &&
		       pair * (TRY_PREDICTIONS_MAX - 1) >= runs->dumps * plan->pairs;
	char slow[PATH_BYTES], dump[PATH_BYTES];
	double seconds;

	slow_path(plan, row, is_slower, slow);
	dump_path(plan, runs->dumps + 1, dump);
	seconds = run_program(runs, slow, dump);
	if (seconds >= 0 && is_slower && count_slowed(runs, row, dump) != CMD_DONE)
		seconds = -1;
	if (seconds >= 0 && is_kept)
		runs->dumps++;
	else
		unlink(dump);
	return seconds;
}

static bool run_pair(struct runs *runs, struct try_row *row, size_t pair)
{
	bool is_slower_first = try_random(&runs->random) & 1;
	double first = run_one(runs, row, pair, is_slower_first);
	double second = first < 0 ? -1 : run_one(runs, row, pair, !is_slower_first);
	double slower = is_slower_first ? first : second;
	double undisturbed = is_slower_first ? second : first;

	if (second < 0)
		return false;
	row->log_ratios[row->pair_count++] = log(slower / undisturbed);
	runs->seconds += undisturbed;
	runs->count++;
	if (try_shows_progress())
		cmd_say(runs->plan->options, "%s*%g: pair %zu of %zu: %.3f s to %.3f s, %+.1f%%",
			row->name, row->factor, row->pair_count, runs->plan->pairs, slower,
			undisturbed, 100 * (slower / undisturbed - 1));
	return true;
}

/* --- All -------------------------------------------------------------------------------------- */

/* The first run would take what others are to read. One that has ended already is the same to all,
 * and one that nobody writes to may never end: it is not read ahead. */
static int check_input(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat status;
	bool is_pipe, is_stream;

	if (fstat(STDIN_FILENO, &status) != 0)
		return CMD_DONE;
	is_pipe = S_ISFIFO(status.st_mode);
	is_stream = is_pipe || S_ISSOCK(status.st_mode);
	if (!is_stream || (poll(&input, 1, 0) == 1 && input.revents == POLLHUP))
		return CMD_DONE;
	return cmd_fail("standard input is a %s, which only the first run could read: give a file, "
			"or < /dev/null",
			is_pipe ? "pipe" : "socket");
}

/* CMD_FAILED: a run failed. An interrupt ends it as well, with what there is. */
static int measure(struct runs *runs)
{
	struct try_plan *plan = runs->plan;

	for (size_t pair = 0; pair < plan->pairs; pair++) {
		for (size_t i = 0; i < plan->row_count; i++) {
			if (plan->rows[i].why_not[0])
				continue;
			if (plan->has_for && runs->count > 0 && try_now_ns() > runs->deadline_ns)
				return CMD_DONE;
			if (!run_pair(runs, &plan->rows[i], pair))
				return try_is_interrupted ? CMD_DONE : CMD_FAILED;
		}
	}
	return CMD_DONE;
}

static int first_run(struct runs *runs)
{
	struct try_plan *plan = runs->plan;
	char dump[PATH_BYTES];
	double seconds;
	int status;

	dump_path(plan, 0, dump);
	if (plan->takes_samples)
		setenv("WCPROF_SAMPLE_HZ", TRY_SAMPLE_HZ, 1);
	cmd_say(plan->options, "a first run of %s, undisturbed", plan->options->arguments[0]);
	seconds = run_program(runs, NULL, dump);
	if (seconds < 0)
		return try_is_interrupted ? cmd_fail("interrupted before anything was measured")
					  : CMD_FAILED;
	status = try_analysis_begin(plan, dump, NULL, NULL);
	if (status == CMD_DONE)
		status = try_check_rows(plan);
	if (status != CMD_DONE)
		return status;
	if (try_slows_cpu(plan))
		setenv("WCPROF_SAMPLE_HZ", TRY_SAMPLE_HZ, 1);
	if (!try_make_room(plan))
		return cmd_fail("out of memory");
	cmd_say(plan->options, "%zu pairs of runs of %.1f s for each of %zu classes: about %.0f s",
		plan->pairs, seconds, try_count_slowable(plan),
		2 * seconds * (double)(plan->pairs * try_count_slowable(plan)));
	return write_all_rules(plan);
}

static int try_all(struct runs *runs)
{
	struct try_plan *plan = runs->plan;
	int status = first_run(runs);
	uint64_t begun_ns = try_now_ns();
	char dump[PATH_BYTES];

	if (status != CMD_DONE)
		return status;
	runs->deadline_ns = begun_ns + plan->for_ms * 1000000;
	status = measure(runs);
	plan->took_seconds = (double)(try_now_ns() - begun_ns) / 1e9;
	if (status != CMD_DONE)
		return status;
	if (runs->count == 0)
		return cmd_fail("interrupted before a pair was measured");
	plan->run_seconds = runs->seconds / (double)runs->count;
	cmd_say(plan->options, "analyzing %zu undisturbed recordings", runs->dumps + 1);
	for (size_t i = 0; i <= runs->dumps; i++) {
		dump_path(plan, i, dump);
		try_analysis_predict(plan, dump);
	}
	return CMD_DONE;
}

int try_runs(struct try_plan *plan)
{
	const char *output = plan->options->output ? plan->options->output : "/dev/null";
	struct runs runs = { .plan = plan, .random = plan->seed };
	int status = check_input();

	if (status != CMD_DONE)
		return status;
	snprintf(plan->program, sizeof(plan->program), "%s", plan->options->arguments[0]);
	runs.input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	runs.output_fd = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (runs.output_fd < 0)
		return cmd_fail("%s: %s", output, strerror(errno));
	runs.images = calloc(IMAGES_MAX, sizeof(*runs.images));
	status = runs.images ? try_all(&runs) : cmd_fail("out of memory");
	free(runs.images);
	close(runs.output_fd);
	return status;
}
