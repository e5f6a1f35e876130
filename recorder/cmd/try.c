/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a trial's windows, and its results: the parts of a trial share them. See try.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "try.h"

volatile sig_atomic_t try_is_interrupted;

uint64_t try_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool try_shows_progress(void)
{
	return isatty(STDERR_FILENO);
}

/* A Weyl sequence whose bits are mixed well. */
uint64_t try_random(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

bool try_made(const struct try_row *row, struct try_interval *made)
{
	if (row->pair_count == 0)
		return false;
	*made = try_interval_percent(row->log_ratios, row->pair_count);
	return true;
}

/* The mean of what the recordings say, and the union of what they hold possible. */
bool try_predicted(const struct try_row *row, struct try_interval *predicted)
{
	double sum = 0;

	if (row->prediction_count == 0)
		return false;
	*predicted = row->predictions[0];
	for (size_t i = 0; i < row->prediction_count; i++) {
		const struct try_interval *one = &row->predictions[i];

		sum += one->value;
		predicted->low = fmin(predicted->low, fmin(one->low, one->value));
		predicted->high = fmax(predicted->high, fmax(one->high, one->value));
	}
	predicted->value = sum / (double)row->prediction_count;
	return true;
}

bool try_slows_cpu(const struct try_plan *plan)
{
	for (size_t i = 0; i < plan->row_count; i++)
		for (size_t k = 0; k < plan->rows[i].rule_count; k++)
			if (strcmp(plan->rows[i].rules[k].word, "range") == 0 ||
			    strcmp(plan->rows[i].rules[k].word, "routine") == 0)
				return true;
	return false;
}

bool try_make_room(struct try_plan *plan)
{
	for (size_t i = 0; i < plan->row_count; i++) {
		plan->rows[i].log_ratios = calloc(plan->pairs, sizeof(double));
		if (!plan->rows[i].log_ratios)
			return false;
	}
	return true;
}

size_t try_count_slowable(const struct try_plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->row_count; i++)
		count += !plan->rows[i].why_not[0];
	return count;
}

int try_check_rows(const struct try_plan *plan)
{
	if (plan->row_count == 0)
		return cmd_fail("there is no class that could be slowed: does it have work now?");
	if (try_count_slowable(plan) > 0)
		return CMD_DONE;
	return cmd_fail("%s cannot be slowed: it %s", plan->rows[0].name, plan->rows[0].why_not);
}

void try_plan_free(struct try_plan *plan)
{
	for (size_t i = 0; i < plan->row_count; i++) {
		struct try_row *row = &plan->rows[i];

		for (size_t k = 0; k < row->rule_count; k++)
			free(row->rules[k].keys);
		free(row->name);
		free(row->query);
		free(row->what_if);
		free(row->log_ratios);
	}
	for (size_t i = 0; i < plan->progress_count; i++) {
		free(plan->progress[i].rule.keys);
		free(plan->progress[i].name);
	}
}
