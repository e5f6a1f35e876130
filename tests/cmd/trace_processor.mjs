// SPDX-License-Identifier: Apache-2.0
// Answers SQL queries on a trace by Perfetto's own importer, a line of JSON each: node FILE FOLDER TRACE QUERY...
// FOLDER has the importer as WebAssembly with the glue of Perfetto's user interface, which is made for a browser.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const [folder, trace, ...queries] = process.argv.slice(2);
const CHUNK_BYTES = 1 << 25;

// The glue of a worker finds its file, and the bridge that it makes is found, by these changes.
const CHANGES = [
    ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
    ["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.importer,"],
    ["const wasmBridge = new wasm_bridge_1.WasmBridge();",
        "const wasmBridge = globalThis.bridge = new wasm_bridge_1.WasmBridge();"],
];

function startBridge() {
    let glue = readFileSync(`${folder}/engine_bundle.node.js`, "utf8");
    for (const [from, to] of CHANGES) {
        if (!glue.includes(from))
            throw new Error(`the glue has no ${from}`);
        glue = glue.replace(from, to);
    }
    Object.defineProperty(globalThis, "self", { value: globalThis, configurable: true });
    globalThis.WorkerGlobalScope = class {};
    globalThis.location = { href: `${pathToFileURL(folder).href}/` };
    globalThis.importer = new Uint8Array(readFileSync(`${folder}/trace_processor.wasm`));
    console.warn = () => {};
    vm.runInThisContext(glue);
}

async function makeEngine() {
    const { EngineBase } = await import(pathToFileURL(`${folder}/engine.mjs`).href);
    class Engine extends EngineBase {
        mode = "WASM";
        id = "test";
        constructor(port) {
            super();
            this.port = port;
            port.onmessage = (message) => message.data instanceof Uint8Array && this.onRpcResponseBytes(message.data);
        }
        rpcSendRequestBytes(data) {
            this.port.postMessage(data);
        }
    }
    const channel = new MessageChannel();
    globalThis.bridge.initialize(channel.port1);
    while (!globalThis.bridge.reqBufferAddr)
        await new Promise(setImmediate);
    return new Engine(channel.port2);
}

function rowsOf(result) {
    if (result.error())
        throw new Error(result.error());
    const rows = [], columns = result.columns();
    for (const at = result.iter({}); at.valid(); at.next())
        rows.push(columns.map((column) => at.get(column)));
    return rows;
}

function plainNumber(_, cell) {
    return typeof cell === "bigint" ? Number(cell) : cell;
}

startBridge();
const engine = await makeEngine();
const bytes = new Uint8Array(readFileSync(trace));
for (let from = 0; from < bytes.length; from += CHUNK_BYTES)
    await engine.parse(bytes.subarray(from, from + CHUNK_BYTES));
await engine.notifyEof();
for (const query of queries)
    console.log(JSON.stringify(rowsOf(await engine.query(query)), plainNumber));
process.exit(0);
