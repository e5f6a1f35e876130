/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several reports and checks say of an analysis: figures and names that are in no table of it.
 *
 * Any thread, as an analysis is only read.
 */
#ifndef WCPROF_FACTS_H
#define WCPROF_FACTS_H

#include "analysis.h"

/* How far the replay of the unchanged run is off, in percent of what was recorded. */
double facts_drift_percent(const struct analysis *analysis);

/* The share of time waited for which the replay knows no cause, in percent. Waits that had not
 * ended do not count. */
double facts_unexplained_percent(const struct analysis *analysis);

/* Classes, and from their count on the functions that samples show: what they are called, the
 * time that is theirs (of functions: about, by samples, with what they call). */
const char *facts_class_name(const struct analysis *analysis, uint32_t class);
const char *facts_class_kind(const struct analysis *analysis, uint32_t class);
uint64_t facts_class_self_ns(const struct analysis *analysis, uint32_t class);
uint32_t facts_class_op_count(const struct analysis *analysis, uint32_t class);

#endif
