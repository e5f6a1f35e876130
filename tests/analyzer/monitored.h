/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sketched recording with its monitors, for the tests of what is made of those.
 *
 * 	struct monitored monitored;
 * 	sketch_begin(&monitored.sketch);
 * 	... the threads and their calls
 * 	monitored_build(&monitored);
 */
#ifndef WCPROF_TESTS_MONITORED_H
#define WCPROF_TESTS_MONITORED_H

#include "infer/monitors.h"
#include "recording/timeline.h"
#include "sketch.h"

struct monitored {
	struct sketch sketch;
	struct timeline timeline;
	struct releases releases;
	struct monitors monitors;
};

static inline void monitored_build(struct monitored *monitored)
{
	sketch_end(&monitored->sketch);
	timeline_build(&monitored->timeline, &monitored->sketch.rec);
	releases_build(&monitored->releases, &monitored->sketch.rec);
	monitors_build(&monitored->monitors, &monitored->sketch.rec, &monitored->timeline,
		       &monitored->releases);
}

static inline void monitored_free(struct monitored *monitored)
{
	monitors_free(&monitored->monitors);
	releases_free(&monitored->releases);
	timeline_free(&monitored->timeline);
	sketch_free(&monitored->sketch);
}

#endif
