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
#include <unistd.h>

#include "clock.h"
#include "output.h"
#include "top_control.h"
#include "top_terminal.h"
#include "top_whatif.h"
#include "visible.h"

enum { VIEW_SECONDS = 10, PLAIN_ROWS = 20, PLAIN_COLUMNS = 100, JSON_ROWS = 200, INPUT_BYTES = 64 };

struct top {
	struct cmd_options *options;
	struct target target;
	struct top_control control;
	struct top_reader reader;
	struct frames *frames;
	struct top_labels *labels;
	struct top_sums sums;
	struct top_cpu cpu;
	struct top_whatif whatif;
	struct top_terminal terminal;
	struct top_lines lines;
	enum top_kind kind;
	struct top_view view;
	uint64_t now_ns; /* when it looked last */
	uint64_t interval_ns;
	unsigned long looks_left; /* 0 = no bound */
	char filter[INPUT_BYTES];
	char input[INPUT_BYTES]; /* that is being typed, after its question */
	const char *question;    /* NULL = keys are commands */
	int question_key;
	char note[256];
	bool is_frozen;
	bool has_ended;
	bool is_over;
	bool shows_help;
	int signals; /* fd */
};

/* --- looking --- */

static void look(struct top *top)
{
	struct top_names names = top_labels_names(top->labels);

	if (top->has_ended)
		return;
	top->has_ended = !top_cpu_look(&top->cpu, top->target.pid);
	if (!top_reader_next(&top->reader))
		snprintf(top->note, sizeof(top->note), "out of memory");
	if (top->is_frozen)
		return;
	for (size_t i = 0; i < top->reader.count; i++)
		top_sums_add(&top->sums, &top->reader.records[i], &names);
	top->now_ns = top_reader_now_ns(&top->reader);
	top_sums_tick(&top->sums, top->now_ns);
	if (!top->has_ended)
		top_control_tick(&top->control, top->now_ns);
	if (!top->has_ended && top->kind == TOP_WHATIF)
		top_whatif_tick(&top->whatif, top->target.socket, top->now_ns);
}

static struct top_state state_of(const struct top *top)
{
	return (struct top_state){
		.pid = top->target.pid,
		.program = top->target.name,
		.reader = &top->reader,
		.sums = &top->sums,
		.cpu = &top->cpu,
		.labels = top->labels,
		.now_ns = top->now_ns,
		.view = top->view,
		.columns = top->terminal.is_on ? top->terminal.columns : PLAIN_COLUMNS,
		.filter = top->filter,
		.status = top->control.status.is_ok ? top->control.status.text : NULL,
		.note = top->note,
		.whatif = top->whatif.answer,
		.whatif_ns = top->whatif.answer_ns,
		.is_frozen = top->is_frozen,
		.has_ended = top->has_ended
	};
}

/* --- the screen --- */

static const char *const help_lines[] = {
	"c classes   l locks   r slow requests   t threads   w what a fix would buy",
	"[ ] shorter or longer window (1 to 60 s)    e decaying    / show rows that have a word",
	"space freeze and go on    d dump what is recorded to a file    ? this text    q end",
	"",
	"What is recorded:  h holds of locks: contended, all, none    s S fewer, more samples",
	"                   i io from 0, 100 us, 1 ms on    T only threads    P only a port",
};

static void show_help(struct top *top)
{
	for (size_t i = 0; i < sizeof(help_lines) / sizeof(help_lines[0]); i++) {
		struct top_line *line = &top->lines.lines[top->lines.count++];

		snprintf(line->text, sizeof(line->text), "%s", help_lines[i]);
		line->style = TOP_PLAIN;
	}
}

static void show(struct top *top)
{
	const struct top_state state = state_of(top);
	char prompt[2 * INPUT_BYTES] = "c l r t w  [ ] e  /  space d  h s S i T P  ? q";

	top->lines.count = 0;
	top_view_head(&state, &top->lines);
	if (top->shows_help)
		show_help(top);
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

static void print(struct top *top)
{
	const struct top_state state = state_of(top);

	if (top->options->json) {
		top_view_json(&state, JSON_ROWS);
		fflush(stdout);
		return;
	}
	top->lines.count = 0;
	top_view_head(&state, &top->lines);
	top_view_table(&state, TOP_CLASSES, PLAIN_ROWS, &top->lines);
	top_view_table(&state, TOP_LOCKS, PLAIN_ROWS, &top->lines);
	for (size_t i = 0; i < top->lines.count; i++)
		puts(top->lines.lines[i].text);
	putchar('\n');
	fflush(stdout);
}

/* --- keys --- */

static void save_dump(struct top *top)
{
	char path[128];
	int error = 0;

	cmd_name_file(&top->target, path, sizeof(path));
	if (strcmp(path, "-") == 0)
		snprintf(path, sizeof(path), "wcprof.%d.jsonl", (int)top->target.pid);
	struct output *output = output_open(path, &error);

	if (output) {
		output_begin(output);
		error = client_dump(top->target.socket, false, output_write, output);
		(void)output_settle(output, error);
		int closed = output_close(output);

		error = error ? error : closed;
	}
	if (error)
		snprintf(top->note, sizeof(top->note), "%s: %s", visible(path), output_why(error));
	else
		snprintf(top->note, sizeof(top->note), "all that is recorded is in %s (d)",
			 visible(path));
}

static void change_window(struct top *top, int key)
{
	static const unsigned windows[] = { 1, 2, 5, 10, 20, 30, 60 };
	size_t last = sizeof(windows) / sizeof(windows[0]) - 1, at = 0;

	while (at < last && windows[at] < top->view.seconds)
		at++;
	if (top->view.seconds)
		at = key == '[' ? (at ? at - 1 : 0) : at < last ? at + 1 : last;
	else
		at = 3;
	top->view.seconds = windows[at];
}

static void ask_user(struct top *top, int key, const char *question)
{
	top->question = question;
	top->question_key = key;
	top->input[0] = '\0';
}

static void answered(struct top *top)
{
	top->question = NULL;
	switch (top->question_key) {
	case '/':
		memcpy(top->filter, top->input, sizeof(top->filter));
		break;
	case 'T':
		top_control_set(&top->control, "thread", top->input, top->note, sizeof(top->note));
		break;
	default:
		top_control_set(&top->control, "port", top->input[0] ? top->input : "0", top->note,
				sizeof(top->note));
		break;
	}
}

static void typed(struct top *top, int key)
{
	size_t length = strlen(top->input);

	if (key == '\n' || key == '\r')
		answered(top);
	else if (key == 27)
		top->question = NULL;
	else if ((key == 127 || key == '\b') && length)
		top->input[length - 1] = '\0';
	else if (key >= ' ' && key < 127 && length + 1 < sizeof(top->input)) {
		top->input[length] = (char)key;
		top->input[length + 1] = '\0';
	}
}

static bool choose_table(struct top *top, int key)
{
	static const char keys[TOP_KINDS + 1] = "clrtw";
	const char *found = strchr(keys, key);

	if (!found)
		return false;
	top->kind = (enum top_kind)(found - keys);
	top->shows_help = false;
	return true;
}

static void pressed(struct top *top, int key)
{
	if (top->question) {
		typed(top, key);
		return;
	}
	if (key <= 0 || choose_table(top, key))
		return;
	switch (key) {
	case '[':
	case ']':
		change_window(top, key);
		break;
	case 'e':
		top->view.seconds = top->view.seconds ? 0 : VIEW_SECONDS;
		break;
	case ' ':
		top->is_frozen = !top->is_frozen;
		break;
	case 'd':
		save_dump(top);
		break;
	case '?':
		top->shows_help = !top->shows_help;
		break;
	case '/':
		ask_user(top, key, "rows with");
		break;
	case 'T':
		ask_user(top, key, "only threads named (a pattern; empty: all)");
		break;
	case 'P':
		ask_user(top, key, "only requests on port (empty: all)");
		break;
	case 'q':
		top->is_over = true;
		break;
	default:
		top_control_step(&top->control, key, top->note, sizeof(top->note));
		break;
	}
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
	struct pollfd fds[2] = { { .fd = top->signals, .events = POLLIN },
				 { .fd = top->terminal.is_on ? STDIN_FILENO : -1,
				   .events = POLLIN } };
	uint64_t now_ns = clock_mono_ns();
	uint64_t ms = until_ns > now_ns ? (until_ns - now_ns) / 1000000 + 1 : 0;

	if (poll(fds, 2, (int)ms) <= 0)
		return;
	if (fds[0].revents)
		take_signal(top);
	if (fds[1].revents & (POLLHUP | POLLERR))
		top->is_over = true;
	else if (fds[1].revents)
		for (int key; (key = top_terminal_key()) >= 0;)
			pressed(top, key);
}

static void run(struct top *top)
{
	uint64_t next_ns = clock_mono_ns();

	/* the first look has nothing to compare with */
	(void)top_cpu_look(&top->cpu, top->target.pid);
	next_ns += top->interval_ns;
	while (!top->is_over) {
		if (top->terminal.is_on)
			show(top);
		wait_until(top, next_ns);
		if (clock_mono_ns() < next_ns)
			continue;
		next_ns += top->interval_ns;
		look(top);
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
	top->frames = frames_open(top->target.pid);
	top->labels = top_labels_begin(&top->reader, top->frames);
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
	top_whatif_end(&top->whatif);
	if (!top->has_ended)
		top_control_end(&top->control);
	top_labels_end(top->labels);
	frames_close(top->frames);
	top_sums_end(&top->sums);
	top_cpu_free(&top->cpu);
	top_reader_close(&top->reader);
	free(top->lines.lines);
	if (top->has_ended)
		cmd_say(top->options, "%d %s has ended", (int)top->target.pid, top->target.name);
	close(top->signals);
}

int top_run(struct cmd_options *options, const struct target *target, struct top_rhythm rhythm)
{
	struct top top = { .options = options,
			   .target = *target,
			   .interval_ns = rhythm.interval_ns,
			   .looks_left = rhythm.looks,
			   .view = { VIEW_SECONDS } };
	char arena[TOP_ARENA_BYTES], error[512];
	int status = CMD_DONE;

	block_signals(&top);
	if (!top_control_begin(&top.control, top.target.socket, arena, error, sizeof(error))) {
		close(top.signals);
		return cmd_fail("%d %s: %s", (int)top.target.pid, top.target.name, error);
	}
	if (begin(&top, arena)) {
		top_whatif_begin(&top.whatif);
		if (!options->json && !top.looks_left)
			(void)top_terminal_begin(&top.terminal);
		run(&top);
	} else {
		status = CMD_FAILED;
	}
	end(&top);
	return status;
}
