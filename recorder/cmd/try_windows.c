/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of windows: in one the ops of a class take longer, in the other one nothing is added.
 *
 * Method. The order within a pair is tossed, so that what drifts falls on both. Progress is counted
 * from a little after a window's begin, when what was under way before is done. Of each pair counts
 * the ratio of the times that one piece of progress took. Rows take turns, pair by pair, so that a
 * trial that ends early has something of each.
 *
 * Both windows of a pair do the same, at another factor; dumps are written between windows. They
 * are analyzed when all is measured, as an analysis has the CPUs for itself.
 */
#include "try_windows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "try_analysis.h"
#include "try_session.h"

enum {
	LOOK_MS = 250,
	TREE_LOOK_MS = 100, /* a process counts from when it is seen */
	SETTLE_PART = 10,   /* of a window, before counting begins */
	RULES_MS = 50,      /* until rules are known of all stacks */
	WINDOW_LEAST_MS = 500,
	PAIRS_LEAST = 5, /* rather shorter windows than fewer pairs */
	ANALYSIS_MS = 600000,
	TRIAL_MS_MAX = 3600000,
	OVERHEAD_MS = 100, /* of a window, about */
	GRACE_MS = 2000    /* until a window ends by itself, when we are late */
};

struct windows {
	struct try_plan *plan;
	struct try_session *session;
	uint64_t random;
	uint64_t begun_ns;
	uint64_t deadline_ns;
	size_t dumps;      /* of undisturbed windows, after the first recording */
	uint64_t progress; /* undisturbed, in so much time */
	double seconds;
	uint64_t all_progress;
	size_t late_pairs;
};

/* False: interrupted. */
static bool pause_until(uint64_t end_ns)
{
	for (uint64_t now = try_now_ns(); now < end_ns && !try_is_interrupted; now = try_now_ns()) {
		uint64_t left = end_ns - now;
		const struct timespec wait = { (time_t)(left / 1000000000),
					       (long)(left % 1000000000) };

		nanosleep(&wait, NULL);
	}
	return !try_is_interrupted;
}

static bool pause_ms(uint64_t ms)
{
	return pause_until(try_now_ns() + ms * 1000000);
}

static void dump_path(const struct try_plan *plan, size_t number, char *path, size_t size)
{
	snprintf(path, size, "%s/%zu.jsonl", plan->directory, number);
}

/* --- One window ------------------------------------------------------------------------------- */

/* A window, seen from outside. */
struct measured {
	double seconds;
	struct try_figures figures; /* of the part that counts */
	bool is_late;               /* it may have been over when its end was looked at */
};

static struct try_figures minus(struct try_figures a, const struct try_figures *b)
{
	a.progress -= b->progress;
	a.slowed -= b->slowed;
	a.extra_ns -= b->extra_ns;
	a.refused -= b->refused;
	return a;
}

/* Looks now and then: processes come, and one that ends takes what it counted with it. False: all
 * have ended, which was complained of, or it was interrupted. */
static bool look_for(struct windows *windows, uint64_t ms)
{
	uint64_t look_ms = windows->plan->options->how & TARGET_TREE ? TREE_LOOK_MS : LOOK_MS;

	for (uint64_t end_ns = try_now_ns() + ms * 1000000; try_now_ns() < end_ns;) {
		uint64_t next_ns = try_now_ns() + look_ms * 1000000;

		if (!pause_until(next_ns < end_ns ? next_ns : end_ns))
			return false;
		(void)try_session_look(windows->session);
		if (try_session_living(windows->session) == 0) {
			try_session_fail(windows->session);
			return false;
		}
	}
	return true;
}

static bool run_window(struct windows *windows, double factor, struct measured *measured)
{
	const struct try_plan *plan = windows->plan;
	uint64_t settle_ms = plan->window_ms / SETTLE_PART;
	uint64_t most_ms = settle_ms + plan->window_ms + GRACE_MS, over_ns;
	struct try_figures begin, end;

	try_session_reset(windows->session);
	over_ns = try_now_ns() + most_ms * 1000000;
	if (try_session_slow(windows->session, factor, most_ms) != CMD_DONE || !pause_ms(settle_ms))
		return false;
	begin = try_session_look(windows->session);
	if (!look_for(windows, plan->window_ms))
		return false;
	end = try_session_look(windows->session);
	measured->figures = minus(end, &begin);
	measured->seconds = (end.at_ns - begin.at_ns) / 1e9;
	measured->is_late = try_now_ns() > over_ns;
	return true;
}

/* --- A pair ----------------------------------------------------------------------------------- */

static void add_pair(struct windows *windows, struct try_row *row, const struct measured *slower,
		     const struct measured *undisturbed)
{
	double slower_each = slower->seconds / (double)slower->figures.progress;
	double undisturbed_each = undisturbed->seconds / (double)undisturbed->figures.progress;

	row->slowed += slower->figures.slowed;
	row->extra_ns += slower->figures.extra_ns;
	row->refused += slower->figures.refused;
	if (slower->is_late || undisturbed->is_late) {
		row->late_pairs++;
		windows->late_pairs++;
		return;
	}
	windows->all_progress += slower->figures.progress + undisturbed->figures.progress;
	windows->progress += undisturbed->figures.progress;
	windows->seconds += undisturbed->seconds;
	if (slower->figures.progress == 0 || undisturbed->figures.progress == 0) {
		row->idle_pairs++;
		return;
	}
	row->log_ratios[row->pair_count++] = log(slower_each / undisturbed_each);
	if (windows->plan->options->quiet || !try_shows_progress())
		return;
	cmd_say(windows->plan->options, "%s*%g: pair %zu of %zu: %+.1f%%", row->name, row->factor,
		row->pair_count, windows->plan->pairs, 100 * (slower_each / undisturbed_each - 1));
}

/* Undisturbed windows whose dumps are kept, spread over all pairs. */
static void keep_dump(struct windows *windows, size_t pair)
{
	const struct try_plan *plan = windows->plan;
	char path[128];

	if (windows->dumps + 1 >= TRY_PREDICTIONS_MAX ||
	    pair * (TRY_PREDICTIONS_MAX - 1) < windows->dumps * plan->pairs)
		return;
	dump_path(plan, windows->dumps + 1, path, sizeof(path));
	if (try_session_dump(windows->session, path) == CMD_DONE)
		windows->dumps++;
}

static bool run_pair(struct windows *windows, struct try_row *row, size_t pair)
{
	struct measured slower, undisturbed;
	bool is_slower_first = try_random(&windows->random) & 1;

	if (is_slower_first && !run_window(windows, row->factor, &slower))
		return false;
	if (!run_window(windows, 1, &undisturbed))
		return false;
	keep_dump(windows, pair);
	if (!is_slower_first && !run_window(windows, row->factor, &slower))
		return false;
	add_pair(windows, row, &slower, &undisturbed);
	return true;
}

/* --- All -------------------------------------------------------------------------------------- */

static void reset_meanwhile(void *windows)
{
	try_session_reset(((struct windows *)windows)->session);
}

/* Recorded undisturbed, then analyzed; the processes go on recording, and forget it. */
static int first_recording(struct windows *windows)
{
	struct try_plan *plan = windows->plan;
	char path[128];

	dump_path(plan, 0, path, sizeof(path));
	cmd_say(plan->options, "recording %s for %.1f s", try_session_name(windows->session),
		(double)plan->window_ms / 1e3);
	if (!look_for(windows, plan->window_ms))
		return try_is_interrupted ? cmd_fail("interrupted before anything was measured")
					  : CMD_FAILED;
	if (try_session_dump(windows->session, path) != CMD_DONE)
		return CMD_FAILED;
	return try_analysis_begin(plan, path, reset_meanwhile, windows);
}

/* As many pairs as there is time for; if nobody asks for the length of windows, rather shorter
 * ones than too few. */
static void fit(struct try_plan *plan)
{
	uint64_t rows = try_count_slowable(plan), windows = 2 * rows * plan->pairs;

	if (!plan->has_window && windows * (plan->window_ms + OVERHEAD_MS) > plan->for_ms) {
		uint64_t room_ms = plan->for_ms / (2 * rows * PAIRS_LEAST);

		if (room_ms < WINDOW_LEAST_MS + OVERHEAD_MS)
			plan->window_ms = WINDOW_LEAST_MS;
		else if (room_ms < plan->window_ms + OVERHEAD_MS)
			plan->window_ms = room_ms - OVERHEAD_MS;
	}
	uint64_t window_ms =
		plan->window_ms + plan->window_ms / SETTLE_PART + OVERHEAD_MS / 2 + RULES_MS;
	if (windows * window_ms > plan->for_ms)
		plan->pairs = plan->for_ms / (2 * rows * window_ms);
	if (plan->pairs < 2)
		plan->pairs = 2;
}

static bool is_over(const struct windows *windows)
{
	uint64_t pair_ns = 2 * windows->plan->window_ms * UINT64_C(1000000);

	return try_is_interrupted || try_now_ns() + pair_ns > windows->deadline_ns;
}

static int measure(struct windows *windows)
{
	struct try_plan *plan = windows->plan;
	const struct try_row *ruled = NULL;

	for (size_t pair = 0; pair < plan->pairs; pair++) {
		for (size_t i = 0; i < plan->row_count; i++) {
			struct try_row *row = &plan->rows[i];

			if (row->why_not[0])
				continue;
			if (pair > 0 && is_over(windows))
				return CMD_DONE;
			if (ruled != row && try_session_rules(windows->session, row,
							      &plan->progress[0].rule) != CMD_DONE)
				return CMD_FAILED;
			if (ruled != row && !pause_ms(RULES_MS))
				return CMD_DONE;
			ruled = row;
			if (!run_pair(windows, row, pair))
				return CMD_DONE;
		}
	}
	return CMD_DONE;
}

/* One line, with what may be counted instead. */
static int refuse_progress(const struct try_plan *plan)
{
	char others[400] = "";
	size_t used = 0;

	for (size_t i = 0; i < plan->progress_count && used + 100 < sizeof(others); i++)
		used += (size_t)snprintf(others + used, sizeof(others) - used, "%s%.60s (%llu)",
					 i ? ", " : "", plan->progress[i].name,
					 (unsigned long long)plan->progress[i].ops);
	if (plan->progress_count == 0)
		return cmd_fail("nothing was done that could be counted: does it have work now?");
	return cmd_fail("no progress was counted: is there work now? --progress NAME counts "
			"something else; in the first recording there were %s",
			others);
}

static void predict(struct windows *windows)
{
	char path[128];

	cmd_say(windows->plan->options, "analyzing %zu undisturbed recordings", windows->dumps + 1);
	for (size_t i = 0; i <= windows->dumps; i++) {
		dump_path(windows->plan, i, path, sizeof(path));
		try_analysis_predict(windows->plan, path);
	}
}

static int try_all(struct windows *windows)
{
	struct try_plan *plan = windows->plan;
	int status = first_recording(windows);

	if (status == CMD_DONE)
		status = try_check_rows(plan);
	if (status == CMD_DONE && plan->progress_count == 0)
		status = refuse_progress(plan);
	if (status != CMD_DONE)
		return status;
	if (try_slows_cpu(plan) && !plan->takes_samples)
		status = try_session_sample(windows->session);
	if (status != CMD_DONE)
		return status;
	fit(plan);
	if (!try_make_room(plan))
		return cmd_fail("out of memory");
	windows->begun_ns = try_now_ns();
	windows->deadline_ns = windows->begun_ns + plan->for_ms * 1000000;
	cmd_say(plan->options,
		"%zu pairs of windows of %.1f s for each of %zu classes: about %.0f s", plan->pairs,
		(double)plan->window_ms / 1e3, try_count_slowable(plan),
		(double)(2 * plan->pairs * try_count_slowable(plan) *
			 (plan->window_ms + plan->window_ms / SETTLE_PART)) /
			1e3);
	status = measure(windows);
	plan->took_seconds = (double)(try_now_ns() - windows->begun_ns) / 1e9;
	plan->progress_per_second =
		windows->seconds > 0 ? (double)windows->progress / windows->seconds : 0;
	return status;
}

int try_windows(struct try_plan *plan)
{
	struct windows windows = { .plan = plan, .random = plan->seed };
	uint64_t most_ms = plan->for_ms + plan->window_ms + ANALYSIS_MS;
	int status;

	windows.session =
		try_session_open(plan->options, most_ms < TRIAL_MS_MAX ? most_ms : TRIAL_MS_MAX,
				 plan->takes_samples);
	if (!windows.session)
		return CMD_FAILED;
	status = try_all(&windows);
	snprintf(plan->program, sizeof(plan->program), "%s", try_session_name(windows.session));
	plan->processes = try_session_seen(windows.session);
	/* Nothing is slowed, or recorded, while the rest is analyzed. */
	try_session_close(windows.session);
	if (status != CMD_DONE)
		return status;
	if (windows.progress == 0 && windows.late_pairs == 0)
		return try_is_interrupted ? cmd_fail("interrupted before a pair was measured")
					  : refuse_progress(plan);
	predict(&windows);
	return CMD_DONE;
}
