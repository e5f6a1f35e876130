/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the replay of the unchanged run leaves the recording: the wait, or the code of a thread,
 * that brought in most of its error.
 *
 * One thread.
 */
#ifndef WCPROF_ASTRAY_H
#define WCPROF_ASTRAY_H

#include "replay/replayer.h"
#include "script/script.h"

struct astray {
	struct replay_place place; /* one of several steps that are alike */
	bool is_wait;              /* else what the actor did before that step */
	double ns;                 /* error that came in there, in all; < 0: too early */
};

/*
 * Of the script's replayer: makes a replay. `error_ns`: that of the replay as a whole; < 0: it is
 * too early. False: no error of that sort came in where the recording has a time to compare with,
 * or the script is too large. An actor that is further off than twice that has errors that did not
 * come to the end, and is left out.
 */
bool astray_find(struct astray *, const struct script *, const struct replayer *, double error_ns);

#endif
