/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service of systemd: asked, restarted, and given the library by a drop-in that is gone when the
 * machine is restarted.
 */
#ifndef WCPROF_SYSTEMCTL_H
#define WCPROF_SYSTEMCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct systemctl_unit {
	char name[256];    /* NAME.service */
	char drop_in[512]; /* the file's path */
	bool is_user;      /* of this user's systemd, not of the system's */
};

/* ".service" is added if no type of unit is there. False: the name, or the directory of this user,
 * is none. */
bool systemctl_name(struct systemctl_unit *unit, const char *name, bool is_user);
/* Runs `systemctl VERB [UNIT]`: its exit status, 127 when there is none. */
int systemctl_run(const struct systemctl_unit *unit, const char *verb, bool with_unit);
/* A property of the unit. False: systemd does not answer. */
bool systemctl_get(const struct systemctl_unit *unit, const char *property, char *to, size_t size);
/* Writes the drop-in, in front of what the unit preloads already: 0, or -errno. `filtered`: what
 * its filters of system calls forbid fails instead of ending it, and the library knows that. */
int systemctl_preload(const struct systemctl_unit *unit, const char *library, bool filtered);
/* Takes it away. */
void systemctl_restore(const struct systemctl_unit *unit);

#endif
