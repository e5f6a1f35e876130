/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether answers are withheld: what the checks found, held against the limits of
 * checks.def.
 *
 * One thread.
 */
#ifndef WCPROF_VERDICT_H
#define WCPROF_VERDICT_H

#include "checks.h"

/*
 * A check whose figure is above its limits fails, or withholds the answers; one that does not keeps
 * no line. `may_withhold`: failing is the worst that a check does, if false, but for an idle run.
 * `is_forced`: answers are shown all the same.
 */
void verdict_reach(struct checks *checks, bool may_withhold, bool is_forced);

/* A loop gives more answers for other threads than are beyond the figure. Nobody knows which of
 * them come sooner in a replay. */
bool verdict_is_handed(const struct checks *checks, enum request_figure figure);

/* Limits, in percent, and what a check and a state are called. */
double verdict_failed_above(enum check_id id);
double verdict_withheld_above(enum check_id id);
const char *verdict_check_name(enum check_id id);
const char *verdict_advice(enum check_id id); /* "" = its line says it */
const char *verdict_state_word(enum check_state state);

#endif
