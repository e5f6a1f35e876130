// SPDX-License-Identifier: Apache-2.0
// Commands, versions, and the report's data to take along.
wcprof.section('again', [], (root, data) => {
	const { el } = wcprof;
	const about = data.again;
	// As a shell reads it back.
	const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word
		: `'${word.replaceAll("'", "'\\''")}'`);
	const command = (words) => el('pre', {}, words.map(quoted).join(' '));

	root.append(el('p', {}, 'This page was written by'), command(about.command),
		el('p', { class: 'faint' }, `wcprof ${about.version}. The same figures as text, as JSON:`),
		command([about.command[0], ...about.dumps]),
		command([about.command[0], '--json', ...about.dumps]));

	function save(name, type, text) {
		const url = URL.createObjectURL(new Blob([text], { type }));
		el('a', { href: url, download: name }).click();
		setTimeout(() => URL.revokeObjectURL(url), 1000);
	}
	root.append(el('div', { class: 'controls' }, el('button', { type: 'button', onclick: () =>
		save('wcprof.json', 'application/json', JSON.stringify(data.report, null, 1)) },
	'Save the report as JSON')));
});
