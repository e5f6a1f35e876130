/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides by the limits of checks.def; verdict.h has the contract.
 *
 * Answers are withheld if one check, at least, withholds them and the user does not force them. The
 * check of requests withholds answers about requests alone.
 */
#include "verdict.h"

#include <assert.h>

#include "ask/shortened.h"

static const struct {
	const char *name;
	double failed_above;
	double withheld_above;
	const char *advice;
} limits[CHECK_COUNT] = {
#define CHECK(id, name, failed_above, withheld_above, advice, meaning) \
	{ name, failed_above, withheld_above, advice },
#include "checks.def"
};

static enum check_state judge(enum check_id id, const struct check *check, bool may_withhold)
{
	if (check->state == CHECK_UNKNOWN || !(check->value > limits[id].failed_above))
		return check->state;
	may_withhold = may_withhold || id == CHECK_IDLE; /* no model has an answer then */
	return may_withhold && check->value > limits[id].withheld_above ? CHECK_WITHHOLDS
									: CHECK_FAILED;
}

bool verdict_is_handed(const struct checks *checks, enum request_figure figure)
{
	return checks->handed_percent > shortened_slower_percent(figure);
}

void verdict_reach(struct checks *checks, bool may_withhold, bool is_forced)
{
	checks->gravest = CHECK_COUNT;
	for (enum check_id id = 0; id < CHECK_COUNT; id++) {
		struct check *check = &checks->rows[id];
		assert(check->state == CHECK_UNKNOWN || check->state == CHECK_PASSED);
		check->state = judge(id, check, may_withhold);
		if (check->state == CHECK_WITHHOLDS && id != CHECK_LATENCY &&
		    checks->gravest == CHECK_COUNT)
			checks->gravest = id;
		if (check->state < CHECK_FAILED) {
			check->line[0] = '\0';
			check->place.action = NULL;
		}
	}
	checks->is_withheld = checks->gravest != CHECK_COUNT && !is_forced;
	checks->are_requests_withheld = true;
	for (enum request_figure i = 0; i < REQUEST_FIGURES; i++) {
		bool is_unknown = checks->figure_off[i] > limits[CHECK_LATENCY].withheld_above ||
				  verdict_is_handed(checks, i);
		checks->is_figure_withheld[i] =
			checks->is_withheld || (may_withhold && !is_forced && is_unknown);
		checks->are_requests_withheld =
			checks->are_requests_withheld && checks->is_figure_withheld[i];
	}
}

double verdict_failed_above(enum check_id id)
{
	assert(id < CHECK_COUNT);
	return limits[id].failed_above;
}

double verdict_withheld_above(enum check_id id)
{
	assert(id < CHECK_COUNT);
	return limits[id].withheld_above;
}

const char *verdict_check_name(enum check_id id)
{
	assert(id < CHECK_COUNT);
	return limits[id].name;
}

const char *verdict_advice(enum check_id id)
{
	assert(id < CHECK_COUNT);
	return limits[id].advice;
}

const char *verdict_state_word(enum check_state state)
{
	static const char *const words[] = { [CHECK_UNKNOWN] = "unknown",
					     [CHECK_PASSED] = "passed",
					     [CHECK_FAILED] = "failed",
					     [CHECK_WITHHOLDS] = "withholds" };
	assert(state < sizeof(words) / sizeof(words[0]));
	return words[state];
}
