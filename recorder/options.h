/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the environment says, read once when the library is loaded and constant afterwards.
 */
#ifndef WCPROF_OPTIONS_H
#define WCPROF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

enum { OPTION_PATH_BYTES = 1024 };

/* Of `full`: its words, in their order. */
enum { FULL_DROP, FULL_RING };

struct options {
#define OPTION_NUMBER(field, name, value, least, most, unit, help) uint64_t field;
#define OPTION_CHOICE(field, name, value, words, help)             uint64_t field;
#define OPTION_PATH(field, name, shown, help)                      char field[OPTION_PATH_BYTES];
#include "options.def"
	char runtime_dir[OPTION_PATH_BYTES]; /* $XDG_RUNTIME_DIR */
};

extern struct options recorder_options HIDDEN;

/* Reads all of them; a bad value is one line on standard error, and the default is used. */
void options_read(struct options *, const char *(*get)(const char *name)) HIDDEN;

#endif
