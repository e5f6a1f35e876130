/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: a signal's handler records where its thread is, while the thread runs on a CPU.
 *
 * The signal is SIGSTKFLT, which Linux never sends and programs do not use, rather than SIGPROF. So
 * a program's own profiler or interval timer works as without us. The control thread installs the
 * handler; sampler.c sends the signals.
 */
#ifndef WCPROF_SAMPLE_H
#define WCPROF_SAMPLE_H

#include <signal.h>

#include "recorder.h"

enum { SAMPLE_SIGNAL = SIGSTKFLT };

/*
 * Installs the handler if the signal's disposition is the default; false when it is the program's.
 * A signal may be pending on a thread that blocks it. If the disposition just became the default
 * again, that signal would end the program: see sample_uninstall().
 */
bool sample_install(void) HIDDEN;
/* The disposition is read while it is not ours; set like that again, with nothing pending of ours;
 * or set to the default. */
void sample_read_default(struct signal_as_if *) HIDDEN;
void sample_uninstall(const struct signal_as_if *) HIDDEN;
void sample_set_default(const struct signal_as_if *to, struct signal_as_if *from) HIDDEN;
bool sample_is_handler(const void *) HIDDEN;
/*
 * Of threads for which this condition (condition.h) does not hold, samples have no call stack, but
 * a text that says so; "": all have one. The signal comes all the same. A timer that stops and goes
 * with the condition would take a system call at each change, and not tell how much was left out.
 * The control thread and the constructor.
 */
void sample_set_condition(const char *text) HIDDEN;
/* Whether the handler is there, and has not been replaced by the program. */
bool sample_is_installed(void) HIDDEN;

#endif
