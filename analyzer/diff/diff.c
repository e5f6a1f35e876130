/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a comparison from the paths to the findings; diff.h has the contract.
 *
 * The first recordings of both sides are held against each other, which also says what the unit
 * is. The others of a side are measured one by one after that.
 */
#include "diff.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/facts.h"

static const char *const side_names[DIFF_SIDES] = { "OLD", "NEW" };

struct diffing {
	struct diff *diff;
	struct mapping mapping;
	struct side sides[DIFF_SIDES];
	char *programs[DIFF_SIDES]; /* of the first recording */
	char *error;
};

static char *copy(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(memory_new(bytes, 1), text, bytes);
}

/* --- costs of all recordings --- */

/* Of OLD, names become those of NEW. */
static const struct mapping *mapping_of(const struct diffing *diffing, int side)
{
	return side == DIFF_OLD ? &diffing->mapping : NULL;
}

static void add_first(struct diffing *diffing, int side, const struct analysis *analysis)
{
	struct diff *diff = diffing->diff;
	struct costs one;
	settings_add_losses(&diff->settings, analysis->recording, side_names[side]);
	diffing->programs[side] = copy(settings_program(analysis->recording));
	costs_build(&one, analysis, diff->unit, mapping_of(diffing, side));
	if (diffing->sides[side].count == 1) {
		diff->costs[side] = one;
		return;
	}
	costs_add(&diff->costs[side], &one);
	costs_free(&one);
}

static int add_other(struct diffing *diffing, int side, const struct side_recording *from)
{
	struct diff *diff = diffing->diff;
	struct side_analysis loaded;
	struct costs one;
	int failed = side_analyze(&loaded, from, diff->options, false, diffing->error);
	if (failed)
		return failed;
	settings_add_losses(&diff->settings, &loaded.recording, side_names[side]);
	bool is_program = settings_has_program(&loaded.recording, diffing->programs[side]);
	bool has_unit = diff->unit == UNIT_RUN || stretches_has_requests(&loaded.analysis);
	has_unit = has_unit && is_program;
	if (has_unit) {
		costs_build(&one, &loaded.analysis, diff->unit, mapping_of(diffing, side));
		costs_add(&diff->costs[side], &one);
		costs_free(&one);
	}
	side_analysis_free(&loaded);
	if (has_unit)
		return 0;
	if (is_program)
		snprintf(diffing->error, SIDES_ERROR_BYTES,
			 "--diff: %.600s has no requests, as others of %s have; take it away",
			 from->paths[0], side_names[side]);
	else
		snprintf(diffing->error, SIDES_ERROR_BYTES,
			 "--diff: %.600s is no recording of %.60s, as others of %s are; put dumps "
			 "of one recording into a directory of their own",
			 from->paths[0], diffing->programs[side], side_names[side]);
	return -EINVAL;
}

static int add_others(struct diffing *diffing, int side)
{
	const struct side *of = &diffing->sides[side];
	int failed = 0;
	for (size_t i = 1; i < of->count && !failed; i++)
		failed = add_other(diffing, side, &of->recordings[i]);
	return failed;
}

/* --- whether there is enough to compare --- */

static void refuse_few(struct diff *diff)
{
	for (int side = DIFF_OLD; side < DIFF_SIDES; side++)
		if (diff->costs[side].recordings == 1 &&
		    diff->costs[side].stretch_count < STRETCHES_LEAST)
			snprintf(diff->settings.refusal, sizeof(diff->settings.refusal),
				 "%s is too short to tell chance; give directories of several",
				 side_names[side]);
}

static int check_counts(const struct diffing *diffing)
{
	size_t old_count = diffing->sides[DIFF_OLD].count;
	size_t new_count = diffing->sides[DIFF_NEW].count;
	if ((old_count > 1) == (new_count > 1))
		return 0;
	snprintf(diffing->error, SIDES_ERROR_BYTES,
		 "--diff: OLD has %zu recordings and NEW %zu; give one of each, or at least two of "
		 "each",
		 old_count, new_count);
	return -EINVAL;
}

/* --- all of it --- */

static char *name_of_request(const struct analysis *analysis)
{
	uint32_t class = analysis->script.requests.judged_class;
	const char *name =
		stretches_has_requests(analysis) ? facts_class_name(analysis, class) : "";
	return copy(name);
}

/* Both first recordings: what they are, and what they cost. */
static void measure_first(struct diffing *diffing, const struct analysis *of_old,
			  const struct analysis *of_new)
{
	struct diff *diff = diffing->diff;
	settings_compare(&diff->settings, of_old, of_new, &diffing->mapping);
	diff->unit = stretches_has_requests(of_old) ? UNIT_REQUEST : UNIT_RUN;
	diff->request = name_of_request(of_new);
	if (diff->settings.refusal[0])
		return;
	add_first(diffing, DIFF_OLD, of_old);
	add_first(diffing, DIFF_NEW, of_new);
}

static int measure(struct diffing *diffing, struct side_analysis *of_new)
{
	struct side_analysis of_old;
	int failed = side_analyze(&of_old, &diffing->sides[DIFF_OLD].recordings[0],
				  diffing->diff->options, false, diffing->error);
	if (failed)
		return failed;
	failed = side_analyze(of_new, &diffing->sides[DIFF_NEW].recordings[0],
			      diffing->diff->options, true, diffing->error);
	if (!failed)
		measure_first(diffing, &of_old.analysis, &of_new->analysis);
	side_analysis_free(&of_old);
	if (failed || diffing->diff->settings.refusal[0])
		return failed;
	failed = add_others(diffing, DIFF_OLD);
	return failed ? failed : add_others(diffing, DIFF_NEW);
}

static void conclude(struct diff *diff, const struct analysis *of_new)
{
	struct costs *costs = diff->costs;
	diff->outcome = DIFF_UNTOLD;
	if (!diff->settings.refusal[0])
		refuse_few(diff);
	if (diff->settings.refusal[0])
		return;
	settings_add_load(&diff->settings, &costs[DIFF_OLD], &costs[DIFF_NEW]);
	comparison_build(&diff->comparison, &costs[DIFF_OLD], &costs[DIFF_NEW]);
	diff->outcome = comparison_is_worse(&diff->comparison) ? DIFF_WORSE : DIFF_NOT_WORSE;
	if (diff->comparison.found_count > 0)
		causes_build(&diff->causes, &diff->comparison, of_new);
	bool is_disturbed = diff->settings.disturbed[0] && costs[DIFF_NEW].recordings == 1;
	if (is_disturbed && diff->comparison.found_count > 0 && !diff->options->force)
		diff->outcome = DIFF_UNSURE;
}

int diff_build(struct diff *diff, const struct options *options, char error[SIDES_ERROR_BYTES])
{
	struct diffing diffing = { .diff = diff, .error = error };
	struct side_analysis of_new = { 0 };
	assert(options->path_count == DIFF_SIDES);
	*diff = (struct diff){ .options = options };
	int failed = mapping_parse(&diffing.mapping, &options->maps, error);
	for (int side = DIFF_OLD; side < DIFF_SIDES && !failed; side++)
		failed = side_list(&diffing.sides[side], options->paths[side], error);
	if (!failed)
		failed = check_counts(&diffing);
	if (!failed)
		failed = measure(&diffing, &of_new);
	if (!failed)
		conclude(diff, &of_new.analysis);
	side_analysis_free(&of_new);
	for (int side = DIFF_OLD; side < DIFF_SIDES; side++) {
		side_free(&diffing.sides[side]);
		free(diffing.programs[side]);
	}
	mapping_free(&diffing.mapping);
	if (failed)
		diff_free(diff);
	return failed;
}

void diff_free(struct diff *diff)
{
	causes_free(&diff->causes);
	comparison_free(&diff->comparison);
	for (int side = DIFF_OLD; side < DIFF_SIDES; side++)
		costs_free(&diff->costs[side]);
	free(diff->request);
	*diff = (struct diff){ 0 };
}
