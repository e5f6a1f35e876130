/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording made ready for analysis: read, completed by what its records imply, cut to the part
 * that options ask for, with names.
 *
 *     recording_read()  ->  opened_select()  ->  opened_name()
 *
 * One thread. Errors are lines that say what is wrong and what to do.
 */
#ifndef WCPROF_OPENED_H
#define WCPROF_OPENED_H

#include "base/options.h"
#include "labels.h"
#include "recording/recording.h"

/* Completes the recording, and keeps the part that --client, --thread, --from and --to leave.
 * Without these that is the time of a server's requests (infer/asking.h), unless all is wanted.
 * 0, or -EINVAL with a line in `error`. */
int opened_select(struct recording *recording, const struct options *options, bool is_whole,
		  char error[OPTIONS_ERROR_BYTES]);

/* Names, by --class-by and --skip; to be freed if 0 is returned. 0, or -EINVAL with a line in
 * `error`. */
int opened_name(struct labels *labels, struct recording *recording, const struct options *options,
		char error[OPTIONS_ERROR_BYTES]);

#endif
