/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording itself, as the recorder estimates it: part of the summary.
 */
#ifndef WCPROF_REPORT_OWNCOST_H
#define WCPROF_REPORT_OWNCOST_H

#include "base/emit.h"
#include "recording/recording.h"

/* Text: a line, or none where no dump tells. The share is of the CPU time of the last windows. */
void owncost_emit(const struct recording *recording, struct emit *emit);

#endif
