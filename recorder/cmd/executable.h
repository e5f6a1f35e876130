/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a library can be preloaded into a program, by its file.
 */
#ifndef WCPROF_EXECUTABLE_H
#define WCPROF_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { EXECUTABLE_PATH_BYTES = 4096 };

struct executable {
	char path[EXECUTABLE_PATH_BYTES];   /* as found in PATH; of a script: its interpreter */
	char script[EXECUTABLE_PATH_BYTES]; /* empty: it is no script */
	char interpreter[EXECUTABLE_PATH_BYTES]; /* the dynamic loader; empty: statically linked */
	bool is_elf;
	bool is_x86_64;
	bool is_go;
	bool gains_rights; /* set-user-id, set-group-id, or file capabilities */
};

/* The library itself: beside this command, as in a build directory, or where `make install` puts
 * it. False: it is in neither place. */
bool executable_library(char *path, size_t size);
/* 0, or -errno when there is no such program, or it cannot be read. */
int executable_read(struct executable *executable, const char *program);

#endif
