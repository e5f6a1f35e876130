/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More requests, or fewer, from as many clients that are not recorded.
 */
#ifndef WCPROF_LOAD_H
#define WCPROF_LOAD_H

#include "base/options.h"
#include "script/script.h"

/*
 * Open clients send so many times as often. Closed ones think for so much less, or longer, that
 * they would, too, if answers took as long as they did. `script` has steps and actors of its own.
 * 0, or -EINVAL with a line in `error`: there are none, or they have too little time to think.
 */
int load_change(struct script *script, double times, char error[OPTIONS_ERROR_BYTES]);

#endif
