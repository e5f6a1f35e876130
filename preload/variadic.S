/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrappers of calls with variable arguments: libc's function while recording is off, else the
 * hook's body, by a tail jump.
 *
 * In assembler because a compiler would lay the arguments out anew, and lose %al, which says how
 * many of them are floating-point numbers. Nothing here touches a register or the stack.
 *
 * Each row of hooks.def counts, so that the place of a row in `real` is known.
 */
#define GATE_OFF 1

	.set	row_at, 0

	.macro	row
	.set	row_at, row_at + 8
	.endm

	.macro	variadic symbol
	.globl	\symbol
	.type	\symbol, @function
	.p2align 4
\symbol:
	.cfi_startproc
	cmpl	$GATE_OFF, recorder_gate(%rip)
	jne	1f
	jmp	*real+row_at(%rip)
1:	jmp	hook_\symbol
	.cfi_endproc
	.size	\symbol, . - \symbol
	.globl	wcprof_own_\symbol
	.hidden	wcprof_own_\symbol
	.set	wcprof_own_\symbol, \symbol
	row
	.endm

	.macro	alias symbol other
	.globl	\symbol
	.type	\symbol, @function
	.set	\symbol, \other
	.endm

	.text
#define HOOK(type, symbol, parameters, arguments) row
#define HOOK_OWN(type, symbol, parameters) row
#define HOOK_AT(type, id, symbol, version, parameters, arguments) row
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) row
#define VARIADIC_OWN(type, symbol, call, parameters) variadic symbol
#define VARIADIC_ALIAS(symbol, other) alias symbol other
#include "hooks.def"
	.section .note.GNU-stack, "", @progbits
