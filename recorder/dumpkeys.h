/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the keys of each object in a dump's header are spelled, as keys.def has them; events' are in
 * eventtext.c. For dump.c, costtext.c and probetext.c, which write them.
 */
#ifndef WCPROF_DUMPKEYS_H
#define WCPROF_DUMPKEYS_H

static const struct {
	struct {
#define HEADER_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
	} header;
	struct {
#define RECORDER_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
	} recorder;
	struct {
#define PROCESS_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
	} process;
	struct {
#define COUNTERS_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
	} counters;
	struct {
#define THREAD_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
	} thread;
	struct {
#define MODULE_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
	} module;
	struct {
#define OBJECT_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
	} object;
	struct {
#define PROBE_KEY(name, key, type, meaning) char name[sizeof(key)];
#include "keys.def"
	} probe;
} keys = {
	.header = {
#define HEADER_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
	},
	.recorder = {
#define RECORDER_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
	},
	.process = {
#define PROCESS_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
	},
	.counters = {
#define COUNTERS_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
	},
	.thread = {
#define THREAD_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
	},
	.module = {
#define MODULE_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
	},
	.object = {
#define OBJECT_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
	},
	.probe = {
#define PROBE_KEY(name, key, type, meaning) .name = key,
#include "keys.def"
	},
};

#endif
