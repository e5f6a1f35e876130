/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program says about itself, as the rest of the recorder sees it; wcprof.h has the
 * program's view.
 */
#ifndef WCPROF_ANNOTATIONS_H
#define WCPROF_ANNOTATIONS_H

#include "recorder.h"

/* In a forked child: the parent's handles are null handles from now on. */
void annotations_forget(void) HIDDEN;

#endif
