/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfork(): libc's, called with our caller's stack pointer, so that the child finds nothing of ours
 * on the stack that it may not overwrite. See hook_vfork.c for where the return address goes
 * meanwhile.
 */
	.text
	.globl	vfork, __vfork
	.type	vfork, @function
	.type	__vfork, @function
	.p2align 4
vfork:
__vfork:
	.cfi_startproc
	cmpq	$0, hooks_real_vfork(%rip)
	je	1f
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	movq	8(%rbp), %rdi
	movq	%rbp, %rsi
	call	hook_vfork_begin
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	testb	%al, %al
	jz	1f

	/* From here to the push there is no return address on the stack. */
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	.cfi_undefined %rip
3:	call	*hooks_real_vfork(%rip)
	movl	%eax, %edi
	call	hook_vfork_end
	testq	%rdx, %rdx
	jz	3b
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	ret

1:	.cfi_endproc
	.cfi_startproc
	movq	hooks_real_vfork(%rip), %rax
	testq	%rax, %rax
	jz	2f
	jmp	*%rax

	/* A call from before the constructor. */
2:	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	hooks_resolve_once
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp	1b
	.cfi_endproc
	.size	vfork, . - vfork
	.size	__vfork, . - __vfork

	/* For wrappers.S. */
	.globl	wcprof_own_vfork
	.hidden	wcprof_own_vfork
	.set	wcprof_own_vfork, vfork
	.globl	wcprof_own___vfork
	.hidden	wcprof_own___vfork
	.set	wcprof_own___vfork, __vfork
	.section .note.GNU-stack, "", @progbits
