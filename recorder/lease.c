/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lease. See lease.h.
 *
 * Its end is what DISABLE does, and then the settings are put back, of which one is the lease
 * itself. Whoever sets others meanwhile does that for the time of the lease.
 */
#include "lease.h"

#include "budget.h"
#include "clock.h"
#include "options.h"
#include "settings.h"

#include "in_target.h"

enum { NS_PER_MS = 1000000 };

static struct {
	uint64_t until_ns; /* by the monotonic clock; 0 = there is none */
	struct options before;
} lease;

void lease_note_settings(void)
{
	if (lease.until_ns == 0)
		lease.before = recorder_options;
}

void lease_set(uint64_t seconds, uint64_t now_ns)
{
	lease.until_ns = seconds > 0 ? now_ns + seconds * 1000 * NS_PER_MS : 0;
}

void lease_give_up(void)
{
	if (lease.until_ns == 0)
		return;
	lease.until_ns = 0;
	settings_restore(&lease.before);
}

static void end(void)
{
	budget_end();
	budget_turn_off();
	lease_give_up();
}

int lease_tick(uint64_t now_ns)
{
	if (lease.until_ns == 0)
		return -1;
	if (now_ns < lease.until_ns)
		return (int)((lease.until_ns - now_ns) / NS_PER_MS) + 1;
	end();
	return -1;
}

void lease_leave(void)
{
	if (lease.until_ns != 0)
		end();
}

void lease_put_status(struct text *text, uint64_t now_ns)
{
	if (lease.until_ns != 0)
		text_put_key_u64(text, "lease_left_ms",
				 now_ns < lease.until_ns ? (lease.until_ns - now_ns) / NS_PER_MS
							 : 0);
}
