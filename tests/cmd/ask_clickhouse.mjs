// SPDX-License-Identifier: Apache-2.0
// Runs files of SQL in ClickHouse, in the directory that it is started in, and prints the rows of the last statement of
// each as an array: ask_clickhouse.mjs MODULES DIRECTORY FILE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, directory, ...files] = process.argv.slice(2);
const { Session } = createRequire(modules + "/")("chdb");
const session = new Session(directory);
for (const file of files) {
	let rows = "";
	for (const statement of readFileSync(file, "utf8").split(/;$/m))
		if (statement.replace(/--.*$/gm, "").trim())
			rows = session.query(statement, "JSONEachRow");
	console.log("[" + rows.trim().replaceAll("\n", ",") + "]");
}
