/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of a group, as in group commit. One thread works for all that came before it began. The
 * others wait for the end of the first turn that began after they came.
 *
 * Built once from a recording and its monitors, read-only afterwards.
 */
#ifndef WCPROF_TURNS_H
#define WCPROF_TURNS_H

#include "monitors.h"
#include "recording/releases.h"

struct turn {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t group;
	uint32_t thread;
	uint32_t opening; /* op index: it begins when this hold ends, or this call begins;
				  NO_INDEX = with `wait` */
	uint32_t
		closing_hold; /* op index: it ends with this hold, NO_INDEX = with `closing_link` */
	uint32_t closing_link;
	uint32_t wait;  /* wait index: its thread waited before, and then had to work; or
				  NO_INDEX */
	uint32_t items; /* threads that it works for, with its own if it is led */
};

struct turn_group {
	uint64_t latency_ns; /* median, from a turn's end to a wait's */
	bool is_led;   /* a thread that finds no turn under way makes one; else only one does */
	bool is_asked; /* that one waits until another comes */
};

struct turns {
	struct turn *turns; /* in order of group, then time */
	size_t count;
	struct turn_group *groups;
	size_t group_count;
	/* The rest is NULL if there are no groups. By wait index: the group that a thread begins to
	 * wait for, or that its wait ends in; NO_INDEX = none. There may be other waits between. */
	uint32_t *begins;
	uint32_t *ends;
	uint32_t *led_by_wait;    /* by wait index: the turn that the thread makes after it */
	uint32_t *opened_by;      /* by op index: the turn that begins when this hold ends, or this
				  call begins */
	uint32_t *asked_by;       /* by op index: the group that its thread comes to as this hold
				  ends, to wait for it later */
	uint32_t *closed_by;      /* by op index: the turn that ends with it */
	uint32_t *closed_by_link; /* by link index: the turn that ends with it */
	bool *is_idle; /* by wait index: for others to come, by the one that makes turns */
	bool *is_call; /* by link index: it only tells the others that a turn has ended */
};

void turns_build(struct turns *, const struct recording *, const struct timeline *,
		 const struct releases *, const struct monitors *);
void turns_free(struct turns *);

#endif
