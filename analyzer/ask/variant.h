/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same run by a program that is built differently. A lock is split into several, a pool has
 * more or fewer threads, a queue has another capacity, or there is another number of CPUs.
 *
 * Made from a script and a machine. The script must outlive it and is not changed; a variant is
 * read-only once built, and stays where it was built.
 */
#ifndef WCPROF_VARIANT_H
#define WCPROF_VARIANT_H

#include "question.h"
#include "replay/machine.h"
#include "script/script.h"

/*
 * Which part of a split lock a section needs is not recorded: each way to tell is one answer. All
 * but the last deal parts out by chance; the last one gives each thread one after the other.
 */
enum { VARIANT_DEALS = 4 };

struct variant {
	const struct script *script; /* the one that it was made from, or `edited` */
	struct machine machine;
	struct script edited; /* shares all that is not changed */
	bool owns_steps;
	bool owns_actors;    /* and jobs */
	bool owns_queues;    /* conditions, permits and flows */
	bool owns_starts;    /* actors alone */
	bool owns_clientele; /* all tables that another number of clients changes */
};

/* 0, or -EINVAL with a line in `error`: a lock that cannot be split, threads that are no pool, a
 * queue whose capacity is not known. */
int variant_build(struct variant *variant, const struct script *script, const struct machine *,
		  const struct class_table *classes, const struct question *question, unsigned deal,
		  char error[OPTIONS_ERROR_BYTES]);
void variant_free(struct variant *variant);

#endif
