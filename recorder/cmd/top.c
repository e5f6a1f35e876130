/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of wcprof top: looks, shows, and obeys keys; top.h has the contract.
 *
 * Signals are blocked and read as data: nothing is interrupted. One thread.
 */
#include "top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "procfs.h"
#include "top_session.h"
#include "visible.h"

enum {
	PLAIN_ROWS = 20,
	PLAIN_COLUMNS = 100,
	JSON_ROWS = 200,
	KEYS_AT_ONCE = 64, /* then the screen is shown, whoever sends more */
	/* Where nobody sees them come, names are waited for: the first ones take the longest. */
	NAMES_MS = 10000
};

/* --- looking --- */

/* CPU time of this process and of the one that finds names. */
static void measure_self(struct top *top)
{
	struct timespec used = { 0, 0 };
	uint64_t now_ns = clock_mono_ns(), cpu_ns;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	cpu_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec +
		 top_resolver_cpu_ns(top->resolver);
	if (top->own_at_ns && now_ns > top->own_at_ns && cpu_ns >= top->own_cpu_ns)
		top->own_cpu =
			(double)(cpu_ns - top->own_cpu_ns) / (double)(now_ns - top->own_at_ns);
	top->own_cpu_ns = cpu_ns;
	top->own_at_ns = now_ns;
}

static void look_at_open(struct top *top)
{
	const struct snapshot_open *opens;
	uint32_t count;

	(void)top_open_look(&top->open, &top->reader, top->now_ns);
	opens = top_reader_opens(&top->reader, &count);
	top_marks_look(&top->sums.marks, &top->sums.requests, &top->sums.stacks, opens, count,
		       top->sums.second);
}

static void ask_others(struct top *top)
{
	double seconds = top_view_seconds(&top->sums, top->view, top->now_ns);

	top->sums.sample_ns = top_control_sample_ns(&top->control);
	top_probe_tick(top);
	(void)top_dump_is_done(&top->frozen);
	if (top->kind == TOP_WHATIF || top->options->whatif)
		top_whatif_tick(&top->whatif, top->target.socket, top->now_ns, top_window_ns(top),
				top_weighted(&top->sums, top->sums.events, top->view) / seconds);
}

/* A request on a connection that was closed without an answer hangs no more. */
static void forget_closed(struct top *top)
{
	size_t count;
	struct top_request *list = top_requests_running(&top->sums.requests, top->now_ns, &count);
	char path[64], name[64];

	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)top->target.pid, list[i].fd);
		if (readlink(path, name, sizeof(name)) < 0 && errno == ENOENT)
			top_requests_forget(&top->sums.requests, list[i].ident);
	}
	free(list);
}

static void process_ended(struct top *top)
{
	bool is_left = access(top->reader.remains.path, F_OK) == 0;

	top->has_ended = true;
	top_cpu_stop(&top->cpu);
	if (is_left)
		snprintf(top->ended, sizeof(top->ended),
			 "the process has ended: wcprof recover %d saves what it recorded",
			 (int)top->target.pid);
	else
		snprintf(top->ended, sizeof(top->ended),
			 "the process has ended, and its recording is not in memory any more");
}

/* Children that were begun while it lived may still have something to say. */
static void take_leave(struct top *top)
{
	top_probe_tick(top);
	top_whatif_take(&top->whatif);
	(void)top_dump_is_done(&top->frozen);
}

void top_look(struct top *top)
{
	struct top_names names = top_labels_names(top->labels);
	bool lives;

	if (top->has_ended) {
		take_leave(top);
		return;
	}
	lives = procfs_lives(top->target.pid, 0) &&
		(top->is_frozen || top_cpu_look(&top->cpu, top->target.pid));
	measure_self(top);
	if (!top_reader_next(&top->reader))
		snprintf(top->note, sizeof(top->note), "out of memory");
	if (!top->is_frozen) {
		for (size_t i = 0; i < top->reader.count; i++)
			top_sums_add(&top->sums, &top->reader.records[i], &names);
		top->now_ns = top_reader_now_ns(&top->reader);
		top_sums_tick(&top->sums, top->now_ns);
	}
	if (!lives) {
		/* open calls stay as they were last seen */
		process_ended(top);
		return;
	}
	if (!top->is_frozen) {
		look_at_open(top);
		forget_closed(top);
	}
	ask_others(top);
}

static struct top_state state_of(const struct top *top)
{
	return (struct top_state){
		.pid = top->target.pid,
		.program = top->target.name,
		.reader = &top->reader,
		.sums = &top->sums,
		.cpu = &top->cpu,
		.open = &top->open,
		.labels = top->labels,
		.now_ns = top->now_ns,
		.view = top->view,
		.columns = top->terminal.is_on ? top->terminal.columns : PLAIN_COLUMNS,
		.picture = top->picture,
		.filter = top->filter,
		.status = top->control.status.is_ok ? top->control.status.text : NULL,
		.note = top->note,
		.cost = &top->control.cost,
		.own_cpu = top->own_cpu,
		.probes = top->control.probes.is_ok ? top->control.probes.text : NULL,
		.whatif = &top->whatif,
		.is_whatif_wanted = top->options->whatif,
		.is_frozen = top->is_frozen,
		.is_being_dumped = top->is_frozen && top->frozen.child > 0,
		.ended = top->has_ended ? top->ended : NULL
	};
}

/* --- the screen --- */

static void show(struct top *top)
{
	const struct top_state state = state_of(top);
	char prompt[2 * TOP_INPUT_BYTES] = "c l r t w f p  [ ] e  /  space d  h s S W i T P K  ? q";

	top->lines.count = 0;
	top_view_head(&state, &top->lines);
	if (top->shows_help)
		top_help(&top->lines);
	else
		top_view_table(&state, top->kind,
			       top->terminal.rows > top->lines.count + 2
				       ? top->terminal.rows - top->lines.count - 2
				       : 1,
			       &top->lines);
	if (top->question)
		snprintf(prompt, sizeof(prompt), "%s: %s", top->question, top->input);
	else if (top->filter[0])
		snprintf(prompt, sizeof(prompt), "rows with \"%s\" (/ changes that)",
			 visible(top->filter));
	top_terminal_show(&top->terminal, &top->lines, prompt);
}

static void write_lines(struct top *top)
{
	const struct top_state state = state_of(top);

	top->lines.count = 0;
	top_view_head(&state, &top->lines);
	top_view_table(&state, TOP_CLASSES, PLAIN_ROWS, &top->lines);
	top_view_table(&state, TOP_LOCKS, PLAIN_ROWS, &top->lines);
	if (top->options->whatif)
		top_view_table(&state, TOP_WHATIF, PLAIN_ROWS, &top->lines);
}

static void print(struct top *top)
{
	/* The names that are in it are asked for by making it once in vain. */
	write_lines(top);
	if (top->resolver && top_resolver_wait(top->resolver, NAMES_MS))
		write_lines(top);
	if (top->options->json) {
		const struct top_state state = state_of(top);

		top_view_json(&state, JSON_ROWS);
	} else {
		for (size_t i = 0; i < top->lines.count; i++)
			puts(top->lines.lines[i].text);
		putchar('\n');
	}
	fflush(stdout);
}

/* --- the loop --- */

/* By another signal than came: that one stops nothing in a session without a shell. */
static void stop(struct top *top)
{
	bool was_on = top->terminal.is_on;

	top_terminal_end(&top->terminal);
	raise(SIGSTOP); /* goes on here when it is continued */
	if (was_on)
		(void)top_terminal_begin(&top->terminal);
}

static void take_signal(struct top *top)
{
	struct signalfd_siginfo info;

	if (read(top->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		top_terminal_measure(&top->terminal);
	else if (info.ssi_signo == SIGTSTP)
		stop(top);
	else
		top->is_over = true;
}

/* Until it is time to look again, or something else is to be shown. */
static void wait_until(struct top *top, uint64_t until_ns)
{
	struct pollfd fds[3] = { { .fd = top->signals, .events = POLLIN },
				 { .fd = top->terminal.is_on ? STDIN_FILENO : -1,
				   .events = POLLIN },
				 { .fd = top_resolver_fd(top->resolver), .events = POLLIN } };
	uint64_t now_ns = clock_mono_ns();
	uint64_t ms = until_ns > now_ns ? (until_ns - now_ns) / 1000000 + 1 : 0;

	if (poll(fds, 3, (int)ms) <= 0)
		return;
	if (fds[0].revents)
		take_signal(top);
	if (fds[2].revents & POLLIN)
		top_resolver_take(top->resolver);
	if (fds[1].revents & (POLLHUP | POLLERR))
		top->is_over = true;
	else if (fds[1].revents)
		for (int key, left = KEYS_AT_ONCE; left > 0 && (key = top_terminal_key()) >= 0;
		     left--)
			top_pressed(top, key);
}

static uint64_t soonest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void run(struct top *top)
{
	uint64_t next_ns = clock_mono_ns();

	/* the first look has nothing to compare with */
	(void)top_cpu_look(&top->cpu, top->target.pid);
	look_at_open(top);
	next_ns += top->interval_ns;
	while (!top->is_over) {
		if (top->terminal.is_on)
			show(top);
		wait_until(top, soonest(next_ns, clock_mono_ns() + TOP_CONTROL_EVERY_NS));
		if (!top->has_ended)
			top_control_tick(&top->control, top->note);
		if (clock_mono_ns() < next_ns)
			continue;
		next_ns += top->interval_ns;
		top_look(top);
		if (top->terminal.is_on)
			continue;
		print(top);
		top->is_over = top->is_over || top->has_ended ||
			       (top->looks_left && --top->looks_left == 0);
	}
}

/* --- begin and end --- */

static void block_signals(struct top *top)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	top->signals = signalfd(-1, &set, SFD_CLOEXEC);
}

static bool begin(struct top *top, const char *arena)
{
	int result = top_reader_open(&top->reader, arena);

	if (result != 0) {
		cmd_fail("%s: %s", arena,
			 result == -EPROTO ? "made by another version of wcprof"
					   : strerror(-result));
		return false;
	}
	top_control_share(&top->control, top->reader.remains.fd);
	top->resolver = top_resolver_begin(top->target.pid);
	top->labels = top_labels_begin(&top->reader, top->resolver);
	top->lines.lines = calloc(TOP_LINES_MAX, sizeof(*top->lines.lines));
	top->now_ns = top_reader_now_ns(&top->reader);
	if (top_sums_begin(&top->sums, top->now_ns) && top->labels && top->lines.lines)
		return true;
	cmd_fail("out of memory");
	return false;
}

static void end(struct top *top)
{
	top_terminal_end(&top->terminal);
	top_probe_end(top);
	top_whatif_end(&top->whatif);
	top_dump_end(&top->frozen);
	top_directory_end(&top->directory);
	if (!top->has_ended)
		top_control_end(&top->control);
	top_labels_end(top->labels);
	top_resolver_end(top->resolver);
	top_sums_end(&top->sums);
	top_cpu_free(&top->cpu);
	top_open_free(&top->open);
	top_reader_close(&top->reader);
	free(top->lines.lines);
	if (top->has_ended)
		cmd_say(top->options, "%d %s: %s", (int)top->target.pid, top->target.name,
			top->ended);
	close(top->signals);
}

int top_run(struct cmd_options *options, const struct target *target, char *const *settings,
	    struct top_rhythm rhythm)
{
	struct top top = { .options = options,
			   .target = *target,
			   .interval_ns = rhythm.interval_ns,
			   .looks_left = rhythm.looks,
			   .view = { TOP_VIEW_SECONDS } };
	char arena[TOP_ARENA_BYTES], error[512];
	int status = CMD_DONE;

	block_signals(&top);
	if (!top_control_begin(&top.control, top.target.socket, settings, arena, error,
			       sizeof(error))) {
		close(top.signals);
		return cmd_fail("%d %s: %s", (int)top.target.pid, top.target.name, error);
	}
	if (begin(&top, arena)) {
		top_directory_begin(&top.directory);
		top_whatif_begin(&top.whatif, top.directory.path);
		if (!options->json && !top.looks_left)
			(void)top_terminal_begin(&top.terminal);
		run(&top);
	} else {
		status = CMD_FAILED;
	}
	end(&top);
	return status;
}
