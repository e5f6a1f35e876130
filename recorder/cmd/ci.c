/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof ci check: reads, judges, has what was found confirmed, prints; ci.h says what there is.
 *
 * The verdict is worse if a gate or a limit has failed, passed if all have passed, and cannot tell
 * otherwise. So what cannot be judged never passes.
 */
#include "ci.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

static const char *const usual_budget = "wcprof.budget";

static bool cannot_tell(struct ci_plan *plan, const char *why)
{
	snprintf(plan->why, sizeof(plan->why), "%s", why);
	return false;
}

/* --- Judging ---------------------------------------------------------------------------------- */

static bool check_whole(struct ci_plan *plan)
{
	static const char *const names[CI_SIDES] = { "base", "new" };

	for (int side = 0; side < CI_SIDES; side++) {
		for (size_t i = 0; i < plan->runs.pairs; i++) {
			double dropped = plan->runs.runs[side][i].dropped;

			if (dropped == 0)
				continue;
			snprintf(plan->why, sizeof(plan->why),
				 "%s/%zu.jsonl lacks %.0f events that there was no room for: its "
				 "counts are too low (WCPROF_MAX_EVENTS)",
				 names[side], i + 1, dropped);
			return false;
		}
	}
	return true;
}

static bool read_runs(struct ci_plan *plan, size_t pairs)
{
	return ci_read(plan, plan->options.directory, pairs) && check_whole(plan);
}

/* As far as it is there already, else by running it. */
static bool make_second_round(struct ci_plan *plan)
{
	const struct cmd_options says = { .quiet = plan->options.quiet };
	const char *directory = plan->options.directory;
	size_t wanted = CI_ROUNDS * plan->pairs;

	if (plan->pairs > 0 && ci_stored_pairs(directory) >= wanted)
		return true;
	if (!plan->has_commands || plan->options.no_confirm) {
		snprintf(plan->note, sizeof(plan->note),
			 plan->options.no_confirm ? "--no-confirm"
						  : "%s does not have the commands",
			 directory);
		return false;
	}
	cmd_say(&says, "%zu gates failed and %zu could not be told: %zu more pairs for them",
		ci_gates_count(plan, CI_GATE_FAILED), ci_gates_count(plan, CI_GATE_UNTOLD),
		plan->pairs);
	if (ci_run_pairs(plan, directory, wanted) == CI_PASSED)
		return true;
	snprintf(plan->why, sizeof(plan->why), "the second round of runs has failed");
	return false;
}

/* A gate that failed by chance passes in other runs, and more of them have less noise. */
static bool judge_second_round(struct ci_plan *plan)
{
	if (!ci_gates_want_more(plan) || !make_second_round(plan))
		return !plan->why[0];
	if (!read_runs(plan, CI_ROUNDS * plan->pairs))
		return false;
	plan->rounds = CI_ROUNDS;
	return ci_gates_judge(plan, 1, plan->pairs) || cannot_tell(plan, "no memory");
}

static bool judge(struct ci_plan *plan)
{
	size_t stored = ci_stored_pairs(plan->options.directory);
	size_t first_round = plan->pairs && plan->pairs < stored ? plan->pairs : stored;

	if (first_round < plan->pairs) {
		snprintf(plan->why, sizeof(plan->why),
			 "%zu of %zu pairs are there: wcprof ci run goes on", stored, plan->pairs);
		return false;
	}
	if (first_round < SIGNED_RANK_PAIRS_LEAST) {
		snprintf(plan->why, sizeof(plan->why),
			 "%s has %zu pairs of runs (base/1.jsonl and new/1.jsonl are one), and 5 "
			 "are the least that show what is chance",
			 plan->options.directory, first_round);
		return false;
	}
	if (!read_runs(plan, first_round))
		return false;
	plan->rounds = 1;
	if (!ci_gates_choose(plan) || !ci_gates_judge(plan, 0, first_round))
		return cannot_tell(plan, "no memory");
	if (!judge_second_round(plan))
		return false;
	ci_budget_judge(plan);
	return true;
}

static enum ci_verdict verdict_of(const struct ci_plan *plan)
{
	bool has_failed = ci_gates_count(plan, CI_GATE_FAILED) > 0;
	bool is_told = ci_gates_count(plan, CI_GATE_UNTOLD) == 0;
	bool has_passed = ci_gates_count(plan, CI_GATE_PASSED) + plan->limit_count > 0;

	if (plan->why[0])
		return CI_CANNOT_TELL;
	for (size_t i = 0; i < plan->limit_count; i++) {
		has_failed |= plan->limits[i].state == CI_GATE_FAILED;
		is_told &= plan->limits[i].state != CI_GATE_UNTOLD;
	}
	if (has_failed)
		return CI_WORSE;
	return is_told && has_passed ? CI_PASSED : CI_CANNOT_TELL;
}

/* --- All of it -------------------------------------------------------------------------------- */

static bool read_budget(struct ci_plan *plan)
{
	const char *path = plan->options.budget;

	if (!path && access(usual_budget, F_OK) != 0 && errno == ENOENT)
		return true;
	return ci_budget_read(plan, path ? path : usual_budget);
}

static bool write_junit(const struct ci_plan *plan)
{
	const char *path = plan->options.junit;
	FILE *file = path ? fopen(path, "we") : NULL;
	bool is_written;

	if (!path)
		return true;
	if (!file) {
		cmd_fail("--junit: %s: %s", path, strerror(errno));
		return false;
	}
	is_written = ci_write_junit(plan, file);
	if (fclose(file) != 0 || !is_written) {
		cmd_fail("--junit: %s: cannot be written: is the disk full?", path);
		return false;
	}
	return true;
}

static bool print(const struct ci_plan *plan)
{
	const struct ci_options *options = &plan->options;
	bool has_changes = !plan->why[0] && !options->quiet;
	char *changes = has_changes ? ci_changes(options->directory, options->json) : NULL;

	if (options->json)
		ci_print_json(plan, changes);
	else if (options->markdown)
		ci_print_markdown(plan, changes);
	else
		ci_print_text(plan, changes);
	free(changes);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return write_junit(plan);
	cmd_fail("standard output: %s", strerror(errno));
	return false;
}

enum ci_verdict ci_check(struct ci_plan *plan)
{
	plan->has_commands = ci_stored(plan, plan->options.directory);
	if (!read_budget(plan))
		return CI_CANNOT_TELL;
	(void)judge(plan);
	plan->verdict = verdict_of(plan);
	return print(plan) ? plan->verdict : CI_CANNOT_TELL;
}

void ci_plan_free(struct ci_plan *plan)
{
	for (size_t i = 0; i < plan->gate_count; i++)
		free(plan->gates[i].figure.name);
	for (size_t i = 0; i < plan->limit_count; i++) {
		free(plan->limits[i].figure.name);
		free(plan->limits[i].text);
	}
	for (int side = 0; side < CI_SIDES; side++)
		free(plan->commands[side]);
	free(plan->gates);
	free(plan->limits);
	ci_runs_free(&plan->runs);
}
