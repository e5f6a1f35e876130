/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds by trial how much strangers are in the way; pressure.h has the contract.
 *
 * Method. The time that threads waited in queues was left out of the script. Replays of the
 * unchanged run make it anew: the more of it, the more strangers are in the way. The pressure is
 * that at which they make as much as was left out. How long such a run lasts is not looked at.
 *
 * A little more pressure may make threads wait less, as they meet in another order. So the search
 * may end beside a pressure that it had tried: the closest of all is taken.
 *
 * One thread.
 */
#include "pressure.h"

#include <math.h>

#include "replay/simulate.h"

enum { PRESSURE_HALVINGS = 7 };

static const double PRESSURE_MOST = 64;
static const double CLOSE = 0.005; /* of the run */

/* The pressure that came closest so far. */
struct closest {
	double pressure;
	double off_ns;
};

/* How much longer threads wait than was left out. */
static double surplus_ns(struct script *script, const struct replayer *replayer, double pressure,
			 struct closest *closest)
{
	const struct trial unchanged = { .as_recorded = true };

	script->others.pressure = pressure;
	double surplus = replayer_try(replayer, &unchanged).queued_ns - (double)script->queued_ns;

	if (fabs(surplus) < closest->off_ns)
		*closest = (struct closest){ pressure, fabs(surplus) };
	return surplus;
}

void pressure_find(struct script *script, const struct machine *machine)
{
	if (!machine->has_others || !script->others.stranger_count)
		return;
	const struct replayer replayer = simulate_replayer(script, machine);
	double close_ns = CLOSE * (double)script->actual_ns;
	struct closest closest = { 1, INFINITY };
	double low = 0, high = 1, surplus = surplus_ns(script, &replayer, 1, &closest);

	while (surplus < -close_ns && high < PRESSURE_MOST) {
		low = high;
		high *= 2;
		surplus = surplus_ns(script, &replayer, high, &closest);
	}
	for (int i = 0; i < PRESSURE_HALVINGS && fabs(surplus) > close_ns; i++) {
		double middle = (low + high) / 2;

		surplus = surplus_ns(script, &replayer, middle, &closest);
		if (surplus > 0)
			high = middle;
		else
			low = middle;
	}
	script->others.pressure = closest.pressure;
}
