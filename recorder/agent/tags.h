/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags of an upload, which say of the process: its service, version, environment, and the host.
 *
 * Each comes from the configuration, else from the header of the process's dump (which has what
 * recorder/deployment.h finds). Without both, the service is the program's name, and the others are
 * empty.
 */
#ifndef WCPROF_TAGS_H
#define WCPROF_TAGS_H

#include <sys/types.h>

#include "config.h"

struct tags {
	char service[CONFIG_TAG_BYTES], version[CONFIG_TAG_BYTES], environment[CONFIG_TAG_BYTES];
	char host[CONFIG_TAG_BYTES];
	char instance[CONFIG_TAG_BYTES]; /* of the service: the id that its tracer uses, too */
	char program[CONFIG_TAG_BYTES];
	pid_t pid;
};

/* `rule` is the process's, `header` the begin of its dump's; `host` is empty for the machine's
 * name. */
void tags_of(struct tags *tags, const struct config_process *rule, const char *header,
	     const char *host, const char *program, pid_t pid);

#endif
