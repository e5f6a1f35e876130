/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which queues hand each job over from the thread that puts it. Jobs of others keep the recorded
 * order.
 *
 * Private to the files that build a script. One thread.
 */
#ifndef WCPROF_SCRIPT_HANDOVERS_H
#define WCPROF_SCRIPT_HANDOVERS_H

#include "script_queued.h"

/* Those where that is seen by the queue alone. */
void script_handovers_find(struct script *, const struct queued *);
/* This one does, too, unless its messages have their jobs with them. */
void script_queue_hands_over(struct script *, uint32_t source);
/* When all are known: steps that put get their jobs, and signals theirs. */
void script_handovers_end(struct script *, const struct queued *);

#endif
