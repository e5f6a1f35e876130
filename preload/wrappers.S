/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the wrapper of each row of hooks.def is, in the order of `real`: distances from here, which
 * the loader need not write into each process.
 */
	.macro	own symbol
	.long	wcprof_own_\symbol - hooks_wrappers
	.endm

	.section .rodata
	.p2align 2
	.globl	hooks_wrappers
	.hidden	hooks_wrappers
	.type	hooks_wrappers, @object
hooks_wrappers:
#define HOOK(type, symbol, parameters, arguments) own symbol
#define HOOK_OWN(type, symbol, parameters) own symbol
#define HOOK_AT(type, id, symbol, version, parameters, arguments) own id
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) own symbol
#include "hooks.def"
	.size	hooks_wrappers, . - hooks_wrappers
	.section .note.GNU-stack, "", @progbits
