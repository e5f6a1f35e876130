/* SPDX-License-Identifier: Apache-2.0 */
/* See script_balance.h. The sorts are conditions, then semaphores, then locks. */
#include "script_balance.h"

static bool add(struct script_balance *balance, uint32_t sort, int count)
{
	size_t i = 0;

	while (i < balance->size && balance->sorts[i] != sort)
		i++;
	if (!count)
		return true;
	if (i == SCRIPT_BALANCE_MAX)
		return false;
	if (i == balance->size) {
		balance->sorts[balance->size] = sort;
		balance->counts[balance->size++] = 0;
	}
	balance->counts[i] += count;
	if (!balance->counts[i]) {
		balance->sorts[i] = balance->sorts[--balance->size];
		balance->counts[i] = balance->counts[balance->size];
	}
	return true;
}

bool script_is_even(const struct script_balance *balance)
{
	return balance->size == 0;
}

bool script_is_even_but(const struct script_balance *balance, const struct script *script,
			uint32_t given, uint32_t taken)
{
	uint32_t semaphores = (uint32_t)script->monitors.condition_count;
	struct script_balance left = *balance;

	if (given != NO_INDEX && taken != NO_INDEX && given != taken)
		return add(&left, semaphores + given, 1) && add(&left, semaphores + taken, -1) &&
		       script_is_even(&left);
	return script_is_even(balance);
}

/* Of a condition that stands for jobs nothing may be left out. */
static bool add_token(struct script_balance *balance, const struct script *script,
		      uint32_t condition, int count)
{
	return condition != NO_INDEX && !script->monitors.conditions[condition].is_pool &&
	       add(balance, condition, count);
}

static bool add_signal(struct script_balance *balance, const struct script *script, uint32_t link)
{
	const struct signal_role *role = &script->monitors.signals[link];
	bool puts = role->condition != NO_INDEX &&
		    script->monitors.conditions[role->condition].model == PUT_BY_SIGNAL &&
		    !role->is_gate;

	return add_token(balance, script, role->condition, puts ? -1 : 0);
}

bool script_balances(struct script_balance *balance, const struct script *script,
		     const struct step *step)
{
	uint32_t semaphores = (uint32_t)script->monitors.condition_count;
	uint32_t locks = semaphores + (uint32_t)script->semaphore_count;

	switch (step->type) {
	case STEP_TAKE:
		return add_token(balance, script, step->arg, 1);
	case STEP_PUT:
		return add_token(balance, script, step->arg, -1);
	case STEP_YIELD: /* puts one and takes one */
		return add_token(balance, script, step->arg, 0);
	case STEP_SIGNAL:
		return add_signal(balance, script, step->arg);
	case STEP_PERMIT:
	case STEP_CLAIM:
		return add(balance, semaphores + step->arg, 1);
	case STEP_POST:
		return add(balance, semaphores + step->arg, -1);
	case STEP_ACQUIRE:
	case STEP_SHARE:
	case STEP_GRAB:
		return add(balance, locks + step->arg, 1);
	case STEP_RELEASE:
	case STEP_UNSHARE:
		return add(balance, locks + step->arg, -1);
	case STEP_LOOK:
	case STEP_AGAIN:
	case STEP_RACE:
	case STEP_CUT:
		return true;
	default:
		return script_is_private((enum step_type)step->type);
	}
}
