/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process that has no recorder is to be started, so that it has one.
 */
#ifndef WCPROF_ADVICE_H
#define WCPROF_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* The oldest process that is called so, or has that pid; 0: there is none. */
pid_t advice_process(const char *word);
/* Says on some lines how just this process gets the library: as a unit of systemd, in a container,
 * or by its command line. Else they say why it cannot have it, or does not listen. */
void advice_put(FILE *stream, pid_t pid);
/* Whether the process has the library, as far as this user may know. */
bool advice_has_library(pid_t pid);
/* Why a process with the library does not listen, as a sentence's end. NULL: its environment says
 * that it was started with the library. */
const char *advice_of_detached(pid_t pid);
/* Whether it has a filter of system calls for which the library does nothing, unless it is told. */
bool advice_is_filtered(pid_t pid);

/* Parts of systemd: the service in whose control group a process is. */
struct advice_unit {
	char name[256]; /* "NAME.service"; empty: none */
	bool is_user;   /* of the systemd of a user */
};
/* `cgroups`: the text of /proc/PID/cgroup. */
void advice_unit_of(const char *cgroups, struct advice_unit *unit);
/* The beginning of the container's hash, as docker, podman and others write it there; empty:
 * none. */
void advice_container_of(const char *cgroups, char *to, size_t size);

#endif
