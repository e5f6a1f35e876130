/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that can be changed while the program runs: the live rows of options.def.
 *
 * The control thread changes them, under way in any thread.
 */
#ifndef WCPROF_SETTINGS_H
#define WCPROF_SETTINGS_H

#include "text.h"

struct setting_value {
	const char *key;
	size_t key_bytes;
	const char *value;
	size_t value_bytes;
};

/* Makes the environment's options take effect, at load. */
void settings_start(void) HIDDEN;
/* Whether there is such a key. */
bool settings_have(const char *key, size_t bytes) HIDDEN;
/* Changes all of them or, when one is wrong, none: then a message is written that says which. Their
 * keys are settings'. */
bool settings_change(const struct setting_value *, uint32_t count, struct text *wrong) HIDDEN;
/* All of them as they were. */
struct options;
void settings_restore(const struct options *) HIDDEN;
/* "key":value,... as they are now: members of a JSON object. */
void settings_put(struct text *) HIDDEN;
/* key|key|... */
void settings_put_keys(struct text *) HIDDEN;
/* ,"SET key=":"help: allowed values" for each. */
void settings_put_help(struct text *) HIDDEN;

#endif
