/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service that this process is: its name, version, deployment environment and
 * instance.
 *
 * Its tracer publishes that in memory (OpenTelemetry's process context, a mapping OTEL_CTX). Else
 * the environment says it, as it was at load: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES,
 * DD_SERVICE, DD_VERSION, DD_ENV.
 */
#ifndef WCPROF_DEPLOYMENT_H
#define WCPROF_DEPLOYMENT_H

#include "format.h"
#include "maps.h"

/* At load: notes what the environment says. */
void deployment_start(const char *(*get_environment)(const char *name)) HIDDEN;

/* Into an arena that is made. */
void deployment_begin(struct arena *) HIDDEN;

/* A mapping of this process, whichever it is, as its mappings are gone through. If it is the
 * tracer's, it is read. One thread at a time; can neither fault nor hang. */
void deployment_look(struct arena *, const struct mapping *) HIDDEN;

#endif
