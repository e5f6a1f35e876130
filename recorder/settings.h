/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be changed while the program runs. See settings.def; the environment gives the values at
 * load. Changed by the control thread only, under way in any thread.
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

/* From the environment's options, at load. */
void settings_start(void) HIDDEN;
/* Changes all of them or, when one is wrong, none: then a message is written that says which. */
bool settings_change(const struct setting_value *, uint32_t count, struct text *wrong) HIDDEN;
/* "key":value,... as they are now. */
void settings_put(struct text *) HIDDEN;
/* ,"SET key=":"help: allowed values" for each. */
void settings_put_help(struct text *) HIDDEN;

#endif
