/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much fits into a queue, and what a script is with another capacity.
 *
 * A capacity is so much as can be taken before anything is given back. Of condition variables and
 * semaphores it is the tokens or permits that were there at the start.
 */
#ifndef WCPROF_CAPACITY_H
#define WCPROF_CAPACITY_H

#include "question.h"
#include "script/script.h"

/*
 * Gives all queues of that name another capacity. `wait_name` has a string id per wait; NULL takes
 * each wait's own ident. `edited` is a copy of `script` whose conditions,
 * permits and flows are its own. 0, or -EINVAL with a line in `error`: there is no such queue, or
 * its capacity is not in the recording.
 */
int capacity_change(struct script *edited, const struct script *script,
		    const struct class_table *classes, const uint32_t *wait_name,
		    const struct resize *resize, char error[OPTIONS_ERROR_BYTES]);

#endif
