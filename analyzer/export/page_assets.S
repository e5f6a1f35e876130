/* SPDX-License-Identifier: Apache-2.0 */
/* The page's style and its scripts, as they are in analyzer/page/: read-only text, ended by a zero. */
#define TEXT_OF(words) #words
#define ASSET(file)    .incbin TEXT_OF(analyzer/page/file)

	.section .rodata

	.globl page_style
	.hidden page_style
	.type page_style, @object
page_style:
	ASSET(page.css)
	.byte 0
	.size page_style, . - page_style

	.globl page_script
	.hidden page_script
	.type page_script, @object
page_script:
	ASSET(page.js)
#define PART(name)                ASSET(name.js)
#define SECTION(name, title)      ASSET(name.js)
#define DATA_SECTION(name, title) ASSET(name.js)
#include "page.def"
	.byte 0
	.size page_script, . - page_script

	.section .note.GNU-stack, "", @progbits
