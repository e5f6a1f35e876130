/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of top, and the line in which a user answers its questions. top_session.h has the
 * contract.
 */
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "procfs.h"
#include "top_session.h"
#include "visible.h"

static const char *const help_lines[] = {
	"c classes   l locks   r slow requests   t threads   w what a fix would buy",
	"f icicle of call stacks: running; again: the next sort of time, slow requests,",
	"  slow calls of each probed function   F back",
	"p probe a function: parse_query(len, text:str) if len > 100 --min 1ms --when lock",
	"K take probes out",
	"[ ] shorter or longer window (1 to 60 s)    e decaying    / show rows that have a word",
	"space freeze and go on    d dump the window to a file    ? this text    q end",
	"",
	"What is recorded:  h holds of locks: contended, all, none    s S fewer, more samples",
	"                   i io from 0, 100 us, 1 ms on    T only threads    P only a port",
	"                   W stacks of samples only when, as request>p95 or lock",
};

void top_help(struct top_lines *lines)
{
	for (size_t i = 0; i < sizeof(help_lines) / sizeof(help_lines[0]); i++)
		top_line_add(lines, TOP_PLAIN, "%s", help_lines[i]);
}

static void save_dump(struct top *top)
{
	char path[128];
	int error;

	cmd_name_file(&top->target, path, sizeof(path));
	if (strcmp(path, "-") == 0)
		snprintf(path, sizeof(path), "wcprof.%d.jsonl", (int)top->target.pid);
	if (top->is_frozen && !top_dump_is_done(&top->frozen)) {
		snprintf(top->note, sizeof(top->note),
			 "the frozen window is still being written: d once more");
		return;
	}
	error = top->is_frozen ? top_dump_copy(&top->frozen, path)
			       : top_dump_write(path, top->target.socket, top_window_ns(top));
	if (error)
		snprintf(top->note, sizeof(top->note), "%s: %s", visible(path), output_why(error));
	else
		snprintf(top->note, sizeof(top->note), "the %s %.1f s are in %s",
			 top->is_frozen ? "frozen" : "last", (double)top_window_ns(top) / 1e9,
			 visible(path));
}

/* The screen stays as it is, and a dump of just that window is taken. */
static void freeze(struct top *top)
{
	if (!top->is_frozen) {
		top_look(top);
		top_dump_begin(&top->frozen, top->directory.path, top->target.socket,
			       top_window_ns(top));
	} else {
		/* events of that time were not added up: windows begin anew, so none has a hole */
		top_dump_end(&top->frozen);
		top_sums_end(&top->sums);
		top->is_over = !top_sums_begin(&top->sums, top_reader_now_ns(&top->reader));
	}
	top->is_frozen = !top->is_frozen;
}

static void change_window(struct top *top, int key)
{
	static const unsigned windows[] = { 1, 2, 5, 10, 20, 30, 60 };
	size_t last = sizeof(windows) / sizeof(windows[0]) - 1, at = 0;

	if (top->is_frozen) {
		snprintf(top->note, sizeof(top->note), "the window is frozen (space)");
		return;
	}
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

/* Nobody is there to obey. */
static bool is_in_vain(struct top *top, int key)
{
	bool is_for_process = strchr("dhsSWiTPpK ", key) && !(key == 'd' && top->is_frozen);

	if (top->has_ended && is_for_process)
		snprintf(top->note, sizeof(top->note), "it has ended: that key does nothing now");
	return top->has_ended && is_for_process;
}

/* Recording goes off and on: what a fix would buy is asked of the time since then. */
static void narrow(struct top *top, const char *key, const char *value)
{
	if (top_control_set(&top->control, key, value, top->note))
		top_whatif_narrow(&top->whatif, top_reader_now_ns(&top->reader));
}

static void answered(struct top *top)
{
	top->question = NULL;
	top->note[0] = '\0';
	if (is_in_vain(top, top->question_key))
		return;
	switch (top->question_key) {
	case '/':
		snprintf(top->filter, sizeof(top->filter), "%.*s", TOP_FILTER_BYTES - 1,
			 top->input);
		break;
	case 'T':
		narrow(top, "thread", top->input);
		break;
	case 'W':
		(void)top_control_set(&top->control, "sample_when", top->input, top->note);
		break;
	case 'p':
		top_probe(top, top->input, false);
		break;
	case 'K':
		top_probe(top, top->input[0] ? top->input : "all", true);
		break;
	default:
		narrow(top, "port", top->input[0] ? top->input : "0");
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
	else if (key == 'U' - '@') /* Ctrl-U */
		top->input[0] = '\0';
	else if ((key == 127 || key == '\b') && length)
		top->input[length - 1] = '\0';
	else if (key >= ' ' && key < 127 && length + 1 < sizeof(top->input)) {
		top->input[length] = (char)key;
		top->input[length + 1] = '\0';
	}
}

static void change_picture(struct top *top, bool is_back)
{
	uint64_t since_ns = top_view_since_ns(&top->sums, top->view, top->now_ns);

	top->picture = top_picture_next(&top->sums, since_ns, top->picture, is_back);
}

static bool choose_table(struct top *top, int key)
{
	static const char keys[] = "clrtwfp";
	const char *found = strchr(keys, key);

	if (!found)
		return false;
	if (key == 'f' && top->kind == TOP_ICICLE)
		change_picture(top, false);
	top->kind = (enum top_kind)(found - keys);
	top->shows_help = false;
	if (key == 'p' && !top->has_ended) {
		top_control_ask_probes(&top->control);
		ask_user(top, key, "probe (empty: only look)");
	}
	return true;
}

static void ask_what(struct top *top, int key)
{
	switch (key) {
	case '/':
		ask_user(top, key, "rows with");
		break;
	case 'T':
		ask_user(top, key, "only threads named (a pattern; empty: all)");
		break;
	case 'W':
		ask_user(top, key, "stacks of samples only when (empty: always)");
		break;
	case 'P':
		ask_user(top, key, "only requests on port (empty: all)");
		break;
	default:
		ask_user(top, key, "take out the probes named (empty: all)");
		break;
	}
}

static void command(struct top *top, int key)
{
	switch (key) {
	case '[':
	case ']':
		change_window(top, key);
		break;
	case 'e':
		top->view.seconds = top->view.seconds ? 0 : TOP_VIEW_SECONDS;
		break;
	case 'F':
		top->kind = TOP_ICICLE;
		change_picture(top, true);
		break;
	case ' ':
		freeze(top);
		break;
	case 'd':
		save_dump(top);
		break;
	case '?':
		top->shows_help = !top->shows_help;
		break;
	case '/':
	case 'T':
	case 'P':
	case 'W':
	case 'K':
		ask_what(top, key);
		break;
	case 'q':
		top->is_over = true;
		break;
	default:
		top_control_step(&top->control, key, top->note);
		break;
	}
}

void top_pressed(struct top *top, int key)
{
	if (top->question) {
		typed(top, key);
		return;
	}
	if (key <= 0)
		return;
	if (!procfs_lives(top->target.pid, 0))
		top_look(top);
	top->note[0] = '\0';
	if (!choose_table(top, key) && !is_in_vain(top, key))
		command(top, key);
}
