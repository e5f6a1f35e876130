/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading and unloading. Unwind rules of code that goes away are forgotten, before it is gone and
 * after, as other threads may learn meanwhile. On or off.
 *
 * dlopen() and dlmopen() search by their caller. So loader.S goes on to them with the program's own
 * return address, and only the beginning of the call can be noted.
 */
#include <dlfcn.h>

#include "hooks.h"

void hook_loading(const char *file, int flags)
{
	if (!file || flags & RTLD_NOLOAD)
		return;
	if (flags & RTLD_DEEPBIND)
		recorder_binds_deep();
	modules_loading();
	publishers_find();
}

int hook_dlclose(void *handle)
{
	modules_note();
	stack_forget_all();
	publishers_closing();
	int result = real.dlclose(handle);
	publishers_closed();
	modules_unloaded();
	stack_forget_all();
	return result;
}
