/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: threads that work for traces, and say so by the record of a library that is
 * opened late, the file TRACER.
 */
#include "traced.h"

#include <dlfcn.h>

static void *tracer;

static void open_tracer(void)
{
	tracer = dlopen(getenv("TRACER"), RTLD_NOW);
	*(void **)&publish = tracer ? dlsym(tracer, "tracer_publish") : NULL;
	printf("found: %d\n", publish != NULL);
}

static void opened(void)
{
	open_tracer();
	work_on_threads();
}

/* Opened in another's place: numbers of storage are given again. */
static void closed(void)
{
	open_tracer();
	dlclose(tracer);
	open_tracer();
	work_on_threads();
	dlclose(tracer);
	read_once();
}

static const struct scenario scenarios[] = { { "opened", opened }, { "closed", closed } };

SCENARIOS_MAIN
