/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen() and dlmopen(): a note that one begins while recording is on, then a tail jump to libc's.
 *
 * In assembler because libc looks at the return address to find who calls: its search path and its
 * name space hold. A compiler is free not to make a tail jump.
 */
#define GATE_ON 2

	.text
	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	cmpl	$GATE_ON, recorder_gate(%rip)
	jne	1f
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	hook_loading
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
1:	movq	hooks_real_dlopen(%rip), %rax
	testq	%rax, %rax
	jz	2f
	jmp	*%rax

	/* A call from before the constructor. */
2:	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	hooks_resolve_once
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	1b
	.cfi_endproc
	.size	dlopen, . - dlopen

	.globl	dlmopen
	.type	dlmopen, @function
	.p2align 4
dlmopen:
	.cfi_startproc
	cmpl	$GATE_ON, recorder_gate(%rip)
	jne	1f
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	movq	%rsi, %rdi
	movl	%edx, %esi
	call	hook_loading
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
1:	movq	hooks_real_dlmopen(%rip), %rax
	testq	%rax, %rax
	jz	2f
	jmp	*%rax

	/* A call from before the constructor. */
2:	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	call	hooks_resolve_once
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	1b
	.cfi_endproc
	.size	dlmopen, . - dlmopen

	/* For wrappers.S. */
	.globl	wcprof_own_dlopen
	.hidden	wcprof_own_dlopen
	.set	wcprof_own_dlopen, dlopen
	.globl	wcprof_own_dlmopen
	.hidden	wcprof_own_dlmopen
	.set	wcprof_own_dlmopen, dlmopen
	.section .note.GNU-stack, "", @progbits
