/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unloading: what has been learnt of code that goes away is forgotten, before it is gone and after,
 * as other threads may learn meanwhile. On or off. dlopen is left alone: a call of ours between it
 * and its caller would change where it searches.
 */
#include "hooks.h"

int hook_dlclose(void *handle)
{
	stack_forget_all();
	int result = real.dlclose(handle);
	stack_forget_all();
	return result;
}
