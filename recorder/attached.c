/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that was loaded into a running process. See attached.h.
 *
 * preload/slots.c does the work. After `wcprof detach` no call leads here, and the control thread
 * ends; the library stays, as threads may be inside of it. `wcprof attach` has a thread of the
 * program make the next one (recorder_attach()). A forked child has its parent's slots.
 */
#include "attached.h"

#include "arena.h"
#include "aside.h"
#include "control.h"
#include "gate.h"
#include "options.h"
#include "switch.h"

#include "in_target.h"

enum { LOOK_MS = 10 /* for objects that were loaded: two numbers of the loader's, 1 us */ };

static struct {
	bool is_on;
	bool thread_ends;
	uint32_t copies; /* of function pointers, when calls were made to lead here */
} attached;

bool attached_may_be(void)
{
	return switch_host() && switch_host()->point_calls;
}

void recorder_attach(void)
{
	/* In a forked child of such a process, this makes the thread. */
	recorder_wake_up(true);
	if (attached_may_be() && recorder_options.control && !gate_is_confined() &&
	    aside_has_ended())
		(void)control_start(switch_host()->thread_create);
}

bool attached_point(bool here, struct recorder_slots *slots)
{
	if (!attached_may_be() || !switch_host()->point_calls(here, slots))
		return false;
	attached.is_on = here;
	attached.copies = slots->copies;
	return true;
}

void attached_tick(void)
{
	if (!attached.is_on)
		return;
	switch_host()->look_for_objects();
	store_relaxed(&recorder_arena->counters[COUNTER_unredirected_pointers], attached.copies);
}

int attached_wait_ms(int wait_ms)
{
	return attached.is_on && wait_ms > LOOK_MS ? LOOK_MS : wait_ms;
}

void attached_send_thread(void)
{
	attached.thread_ends = true;
}

bool attached_thread_ends(void)
{
	return attached.thread_ends;
}

void attached_thread_begins(void)
{
	attached.thread_ends = false;
}

void attached_put_status(struct text *text)
{
	if (!attached_may_be())
		return;
	text_put_key(text, "attached");
	text_put(text, attached.is_on ? "true" : "false");
}
