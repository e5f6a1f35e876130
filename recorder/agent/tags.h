/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags of an upload, which say of the process: its service, version, environment, and the host.
 *
 * Each comes from the first of these that has it: the configuration; the process context of
 * OpenTelemetry; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES; DD_SERVICE, DD_VERSION and DD_ENV.
 * Without any, the service is the program's name, and the others are empty.
 */
#ifndef WCPROF_TAGS_H
#define WCPROF_TAGS_H

#include <stddef.h>
#include <sys/types.h>

#include "config.h"

struct tags {
	char service[CONFIG_TAG_BYTES], version[CONFIG_TAG_BYTES], environment[CONFIG_TAG_BYTES];
	char host[CONFIG_TAG_BYTES];
	char instance[CONFIG_TAG_BYTES]; /* of the service: the id that its tracer uses, too */
	char program[CONFIG_TAG_BYTES];
	pid_t pid;
};

/* `rule` is the process's; `host` is empty for the machine's name. */
void tags_of(struct tags *tags, const struct config_process *rule, const char *host,
	     const char *program, pid_t pid);
/* Adds those of an environment: variables that end in a NUL each, `bytes` in all. */
void tags_add_environment(struct tags *tags, const char *variables, size_t bytes);
/* Adds that of one attribute of a resource. */
void tags_add_attribute(void *tags, const char *key, const char *value);

#endif
