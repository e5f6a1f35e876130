/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws samples from a sample; bootstrap.h has the contract.
 *
 * An interval is that of the middle 95% of the draws. Draws from few units scatter less than
 * samples do, so its sides are stretched as Student's t is wider than the normal distribution.
 */
#include "bootstrap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static const double NORMAL = 1.959964; /* deviations to either side that hold 95% */
static const double STRETCH_MOST = 6.5;

static uint64_t next_number(uint64_t *state)
{
	uint64_t number = *state += 0x9e3779b97f4a7c15;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
	number = (number ^ number >> 27) * 0x94d049bb133111eb;
	return number ^ number >> 31;
}

/* From 0 to below `count`. */
static size_t pick(uint64_t *state, size_t count)
{
	return (size_t)((unsigned __int128)next_number(state) * count >> 64);
}

/* Blocks go round from the last unit to the first, so that each unit is as likely as the others. */
static void draw(uint64_t *state, uint32_t *times, size_t count)
{
	size_t block = (size_t)(cbrt((double)count) + 0.5);
	memset(times, 0, count * sizeof(*times));
	for (size_t drawn = 0; drawn < count;) {
		size_t at = pick(state, count);
		for (size_t i = 0; i < block && drawn < count; i++, drawn++) {
			times[at]++;
			at = at + 1 < count ? at + 1 : 0;
		}
	}
}

/* Beyond the normal distribution, by the first terms of Cornish and Fisher. */
static double stretch_of(size_t units)
{
	if (units < 2)
		return STRETCH_MOST;
	double free = (double)units - 1, z = NORMAL, z3 = z * z * z;
	double student =
		z + (z3 + z) / (4 * free) + (5 * z3 * z * z + 16 * z3 + 3 * z) / (96 * free * free);
	return fmin(STRETCH_MOST, student / z * sqrt((double)units / free));
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* `drawn` has one result of each draw, `stride` apart; `room` is for all of them. */
static void set_interval(struct bootstrap_interval *interval, const double *drawn, size_t draws,
			 size_t stride, double stretch, double *room)
{
	for (size_t i = 0; i < draws; i++) {
		room[i] = drawn[i * stride];
		assert(isfinite(room[i]));
	}
	qsort(room, draws, sizeof(*room), compare);
	size_t outside = draws / 40; /* on either side */
	interval->least = interval->value + fmin(room[outside] - interval->value, 0) * stretch;
	interval->most =
		interval->value + fmax(room[draws - 1 - outside] - interval->value, 0) * stretch;
}

void bootstrap_run(const struct bootstrap *bootstrap, struct bootstrap_interval *intervals)
{
	uint32_t *times[BOOTSTRAP_GROUPS_MAX];
	size_t units = 0, fewest = SIZE_MAX, results = bootstrap->result_count;
	uint64_t state = 1;
	assert(bootstrap->group_count && bootstrap->group_count <= BOOTSTRAP_GROUPS_MAX);
	for (size_t g = 0; g < bootstrap->group_count; g++) {
		size_t count = bootstrap->unit_counts[g];
		assert(count > 0);
		times[g] = memory_new(count, sizeof(*times[g]));
		for (size_t i = 0; i < count; i++)
			times[g][i] = 1;
		units += count;
		fewest = count < fewest ? count : fewest;
	}
	size_t draws = BOOTSTRAP_UNITS_MAX / units;
	draws = draws > BOOTSTRAP_DRAWS         ? BOOTSTRAP_DRAWS
		: draws < BOOTSTRAP_DRAWS_LEAST ? BOOTSTRAP_DRAWS_LEAST
						: draws;
	double *drawn = memory_new((draws + 2) * (results + 1), sizeof(*drawn));
	bootstrap->statistic(bootstrap->context, (const uint32_t *const *)times, drawn);
	for (size_t r = 0; r < results; r++)
		intervals[r].value = drawn[r];
	for (size_t d = 0; d < draws; d++) {
		for (size_t g = 0; g < bootstrap->group_count; g++)
			draw(&state, times[g], bootstrap->unit_counts[g]);
		bootstrap->statistic(bootstrap->context, (const uint32_t *const *)times,
				     drawn + d * results);
	}
	double stretch = stretch_of(bootstrap->few ? bootstrap->few : fewest);
	for (size_t r = 0; r < results; r++)
		set_interval(&intervals[r], drawn + r, draws, results, stretch,
			     drawn + draws * results);
	for (size_t g = 0; g < bootstrap->group_count; g++)
		free(times[g]);
	free(drawn);
}

bool bootstrap_is_told(const struct bootstrap_interval *interval)
{
	return interval->least > 0 || interval->most < 0;
}
