/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures and names of an analysis that are in no table of it, for reports and checks.
 *
 * Any thread, as an analysis is only read.
 */
#ifndef WCPROF_FACTS_H
#define WCPROF_FACTS_H

#include "analysis.h"

/* The makespan without pauses in which nobody asked a server: errors and gains are parts of that.
 * As recorded, and of the replay of the unchanged run without what recording took to begin. */
double facts_recorded_ns(const struct analysis *analysis);
double facts_replayed_ns(const struct analysis *analysis);

/* How far that replay is off, in percent of what was recorded. */
double facts_drift_percent(const struct analysis *analysis);

/* The time waited for which the replay knows no cause, in percent of all time waited, or of the
 * recorded run if that is longer. Waits that had not ended do not count. */
double facts_unexplained_percent(const struct analysis *analysis);

/* The class of a thread's op, or NO_INDEX. */
uint32_t facts_thread_class(const struct analysis *analysis, uint32_t thread);

/* Its name: the thread's routine; "?" = not known. Of a client that is not recorded a word. */
const char *facts_thread_name(const struct analysis *analysis, uint32_t thread);

/* The word of --clients. 0, or -EINVAL with a line in `error`: no such word. */
int facts_clients_wanted(struct clients_wanted *wanted, const char *word,
			 char error[OPTIONS_ERROR_BYTES]);

/* Whether the recording can be of as many clients as are wanted. 0, or -EINVAL with a line in
 * `error`. */
int facts_clients_check(const struct clients *clients, const struct clients_wanted *wanted,
			char error[OPTIONS_ERROR_BYTES]);

/* How a request is known: "marked" ... */
const char *facts_request_source(enum request_source source);

/* Name, kind, own time and ops of a class, or of a function that samples show. Functions have the
 * numbers from the count of the classes on; their time is by samples, with their callees'. */
const char *facts_class_name(const struct analysis *analysis, uint32_t class);
const char *facts_class_kind(const struct analysis *analysis, uint32_t class);
/* The package of the function that it is named after; "own", "" = not known. */
const char *facts_class_package(const struct analysis *analysis, uint32_t class);
/* The same of a frame. */
const char *facts_frame_package(const struct analysis *analysis, uint32_t frame);
uint64_t facts_class_self_ns(const struct analysis *analysis, uint32_t class);
uint32_t facts_class_op_count(const struct analysis *analysis, uint32_t class);

#endif
