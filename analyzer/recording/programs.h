/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name that a process goes by. Any thread; strings are the recording's.
 */
#ifndef WCPROF_PROGRAMS_H
#define WCPROF_PROGRAMS_H

#include "recording.h"

/*
 * The name, without directories, by which process number `process` was started: a link may say more
 * than the file that runs. Where no op of it was recorded the file's; "" = neither is known.
 */
const char *program_called(const struct recording *recording, uint32_t process);

#endif
