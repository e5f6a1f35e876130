/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs what stands between reading and analysis, in its order; opened.h has the contract.
 */
#include "opened.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>

#include "infer/asking.h"
#include "infer/clocks.h"
#include "infer/ended.h"
#include "infer/filelocks.h"
#include "infer/futexlocks.h"
#include "infer/holders.h"
#include "infer/lives.h"
#include "infer/peers.h"
#include "infer/posters.h"
#include "infer/reaps.h"
#include "infer/signals.h"
#include "infer/timers.h"
#include "recording/hosts.h"
#include "recording/select.h"

/* The patterns of --skip, and how classes are made. */
struct naming {
	regex_t skips[TEXTS_MAX];
	size_t skip_count;
	enum class_by by;
};

static void naming_free(struct naming *naming)
{
	while (naming->skip_count > 0)
		regfree(&naming->skips[--naming->skip_count]);
}

static int naming_parse(struct naming *naming, const struct options *options,
			char error[OPTIONS_ERROR_BYTES])
{
	*naming = (struct naming){ 0 };
	if (!class_by_parse(options->class_by, &naming->by)) {
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--class-by: \"%.60s\" is none of function, caller, line, "
			 "lock, thread; give one of them",
			 options->class_by);
		return -EINVAL;
	}
	for (size_t i = 0; i < options->skips.count; i++) {
		char reason[100];
		int failed = regcomp(&naming->skips[i], options->skips.texts[i],
				     REG_EXTENDED | REG_NOSUB);
		if (failed) {
			regerror(failed, &naming->skips[i], reason, sizeof(reason));
			snprintf(error, OPTIONS_ERROR_BYTES,
				 "--skip: \"%.60s\" is no regular expression (%s); correct it",
				 options->skips.texts[i], reason);
			naming_free(naming);
			return -EINVAL;
		}
		naming->skip_count++;
	}
	return 0;
}

int opened_name(struct labels *labels, struct recording *recording, const struct options *options,
		char error[OPTIONS_ERROR_BYTES])
{
	struct naming naming;
	if (naming_parse(&naming, options, error) != 0)
		return -EINVAL;
	const struct callers_options skips = { naming.skips, naming.skip_count };
	labels_build(labels, recording, options, &skips, naming.by);
	naming_free(&naming);
	return 0;
}

static size_t longest(const struct window *windows, size_t count)
{
	size_t best = 0;
	for (size_t i = 1; i < count; i++)
		if (windows[i].to_ns - windows[i].from_ns >
		    windows[best].to_ns - windows[best].from_ns)
			best = i;
	return best;
}

/* A server's requests are the run: what it did before the first and after the last one is cut off
 * like any other part. */
static void keep_asked(struct window *window, const struct recording *recording)
{
	struct asking asking;
	if (!asking_find(&asking, recording) || asking.to_ns < window->from_ns ||
	    asking.from_ns > window->to_ns)
		return;
	window->from_ns = asking.from_ns > window->from_ns ? asking.from_ns : window->from_ns;
	window->to_ns = asking.to_ns < window->to_ns ? asking.to_ns : window->to_ns;
}

static bool is_narrowed(const struct options *options)
{
	return options->client[0] || options->thread_glob[0] || options->has_span;
}

/* All time is a span, too, and the only window is all. */
static bool keeps_all(const struct options *options, size_t window_count)
{
	return window_count <= 1 && !options->client[0] && !options->thread_glob[0] &&
	       options->from_ns == 0 && options->to_ns == UINT64_MAX;
}

int opened_select(struct recording *recording, const struct options *options, bool is_whole,
		  char error[OPTIONS_ERROR_BYTES])
{
	hosts_find(recording);
	clocks_align(recording);
	file_locks_find(recording);
	futex_locks_find(recording);
	lives_tell_apart(recording);
	holders_find(recording);
	posters_find(recording);
	peers_find(recording);
	size_t count;
	struct window *windows = windows_find(recording, &count);
	size_t selected = options->window > 0 && options->window <= count ? options->window - 1
									  : longest(windows, count);
	struct selection selection = {
		.client = options->client,
		.thread_glob = options->thread_glob,
		.from_ns = options->from_ns,
		.to_ns = options->to_ns,
		.window = windows[selected],
	};
	recording->windows_left_out = options->window > 0 ? 0 : count - 1;
	recording->has_last_window = selected + 1 == count && !is_narrowed(options);
	free(windows);
	if (!is_whole && !is_narrowed(options))
		keep_asked(&selection.window, recording);
	bool has_ops = selection_apply(&selection, recording) == 0;
	/* A recording without any is one, too. */
	if (has_ops || keeps_all(options, count)) {
		reaps_find(recording);
		signals_find(recording);
		ended_find(recording);
		timers_find(recording);
		return 0;
	}
	snprintf(error, OPTIONS_ERROR_BYTES,
		 "--client, --thread, --from, --to and --window leave no op; select more");
	return -EINVAL;
}
