/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of threads that were there while recording was on, and made no recorded call.
 *
 * Such a thread has no slot. The census (census.h) has seen it as recording began. When that has
 * ended, the control thread writes that the thread was there, and its CPU time. It writes the call
 * that the thread was inside of, and the locks that it had and others waited for. The thread gets a
 * number of its own. If it makes a recorded call later, it is another thread to a reader.
 */
#ifndef WCPROF_UNSEEN_H
#define WCPROF_UNSEEN_H

#include "inside.h"
#include "record.h"

/* The control thread, which has taken the entry, with a `self` of its own. Changes the record. */
void unseen_write(struct self *, struct inside *) HIDDEN;

#endif
