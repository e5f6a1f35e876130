/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wcprof command of other hosts, by ssh: what it writes goes to files here.
 *
 * Nothing is installed or left there: the hosts' own wcprof is run, and ends with the connection.
 * Each command waits until all hosts can be reached, so that all begin at one time. Signals that
 * would end the command end those of all hosts first. One thread.
 */
#ifndef WCPROF_REMOTE_H
#define WCPROF_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd.h"

/* A line: the script is there. */
#define REMOTE_READY "wcprof is ready"

enum {
	REMOTE_HOST_BYTES = 256,
	REMOTE_SCRIPT_BYTES = 8192,
	REMOTE_LINE_BYTES = 1024,
	REMOTE_FILE_BYTES = 4096
};

struct remote {
	char host[REMOTE_HOST_BYTES];
	char file[REMOTE_FILE_BYTES];
	int status;     /* of the command there, or of ssh; 0: its dump is in the file */
	uint64_t bytes; /* of the file */
	char script[REMOTE_SCRIPT_BYTES];
	/* remote.c's. */
	struct output *output;
	pid_t pid;
	int in, out, err;             /* -1: closed */
	bool is_ready;                /* it waits to be told to go, or has been told */
	size_t ready_bytes;           /* of the line that says so */
	bool is_late;                 /* it was left out */
	bool has_begun;               /* something has come that begins like a dump */
	char line[REMOTE_LINE_BYTES]; /* of its errors, or what comes before it is ready */
	size_t line_bytes;
};

/* HOST:PROCESS; false: it is not of that form. A host that ssh might take for something else is
 * none. */
bool remote_parse(const char *text, char host[REMOTE_HOST_BYTES], const char **process);
/* As a host's name on the command line. */
bool remote_is_host(const char *text);

/* The command that is run there: words are quoted, the last one is NULL. False: it is too long. */
bool remote_script(struct remote *, const struct cmd_options *, const char *const *words);

/* Runs all of them. Each that fails has been complained of, and its file is gone. The status of the
 * command here: that of the host if there is one. */
int remote_run(struct remote *, size_t count, const struct cmd_options *);

#endif
